"""Why links were refused, with examples. Pure."""

from collections.abc import Iterator
from typing import Final

from crawler.operate.report.counting import CountsByName
from crawler.operate.report.lists.forms import RefusedExample, RefusedRow
from crawler.operate.report.lists.listed import Listed

MAX_EXAMPLES: Final = 5
MAX_SHOWN: Final = 2_083
"""Characters of an example. A link is refused as it is written, however long that is."""


class Refusals:
    """Counts refused links by rule. Only crawls with `output.refusals` have examples."""

    def __init__(self) -> None:
        self._counts = CountsByName()
        self._examples: dict[str, dict[str, str]] = {}

    def add(self, listed: Listed) -> None:
        for rule, count in (listed.refused or {}).items():
            self._counts.add(rule, count)
        for url, rule in listed.refusals or ():
            known = self._examples.setdefault(rule, {}) if rule in self._counts else {}
            if len(known) < MAX_EXAMPLES:
                known.setdefault(url if len(url) <= MAX_SHOWN else f"{url[:MAX_SHOWN]}…", listed.url)

    def rows(self) -> Iterator[RefusedRow]:
        """The rules with the most links first."""
        for rule, count in self._counts.counts().items():
            examples = [RefusedExample(url=url, page=page) for url, page in self._examples.get(rule, {}).items()]
            yield RefusedRow(rule=rule, links=count, examples=examples)
