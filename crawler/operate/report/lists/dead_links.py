"""Every page that links to an error."""

from collections.abc import Iterator

from crawler.operate.report.forms import DeadLink
from crawler.operate.report.lists.endings import Endings
from crawler.operate.report.lists.linking import Linking
from crawler.page import LinkKind


class DeadLinks:
    """First `find`, when all URLs are in the endings, then `rows`, when all links are known."""

    def __init__(self, endings: Endings, linking: Linking) -> None:
        self._endings = endings
        self._linking = linking
        self.count = 0
        """How many URLs lead to an error."""

    def find(self) -> None:
        for name, _, first in self._endings.dead():
            self._linking.want(name, first)
            self.count += 1

    def rows(self) -> Iterator[DeadLink]:
        """The rows in the order of URLs, then of pages."""
        for name, ending, first in self._endings.dead():
            for link in self._linking.links(name, first):
                yield DeadLink(
                    url=first.url,
                    leads_to=ending.url if ending.url != first.url else None,
                    status=ending.status,
                    reason=ending.reason,
                    page=link.page,
                    anchor=link.anchor,
                    kind=link.kind,
                    external=first.kind == LinkKind.EXTERNAL,
                )
