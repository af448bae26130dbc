"""Remembers what hrefs mean and what scope says of them. Pure.

An absolute href means the same URL everywhere, one that starts with a slash on the whole origin, and most others in one
directory. `?page=2` depends on the document, so it is not remembered.
"""

import re
from collections.abc import Callable
from itertools import islice
from typing import Final, cast

from crawler.discover.links.bulk import divide, look_up
from crawler.discover.links.judgement import Judgement
from crawler.url.urls import origin_of

_DEPENDS_ON_DOCUMENT = re.compile(r"[\x00- ]|[?#]|$|https?:(?![/\\])|h[^:/?#\t\n\r]*[\t\n\r][^:/?#]*:", re.IGNORECASE)
"""Hrefs that mean another URL in each document of a directory: empty ones, `?x`, and the odd `http:?x`, whose scheme
may contain a line break."""

_NONE: Final[dict[str, Judgement]] = {}
_MAX_REMEMBERED_LENGTH: Final = 512
"""Characters of an href, and of its base. Without a limit, images inlined as data and long bases would fill the
memory."""


class LinkCache:
    """Holds the judgements used last: at most `capacity`, and at least half of it."""

    def __init__(self, judge: Callable[[list[str], str], list[Judgement]], /, *, capacity: int) -> None:
        """`judge` takes hrefs and a base URL, and returns the judgements to remember."""
        self._judge = judge
        self._half = max(1, capacity // 2)
        self._young: dict[str, dict[str, Judgement]] = {}
        """By base and href."""
        self._old: dict[str, dict[str, Judgement]] = {}
        self._young_count = 0

    def judge(self, hrefs: list[str], base_url: str, /) -> list[Judgement]:
        """The judgements of hrefs in a document with that base URL, in their order."""
        directory, origin = base_url[: base_url.partition("?")[0].rindex("/") + 1], origin_of(base_url)
        # Most were judged lately, and are found without a look at their form. No href stands under two bases.
        young = self._young.get
        found, missing = look_up(hrefs, (young(origin, _NONE), young("", _NONE), young(directory, _NONE)))
        if missing:
            unknown = list(dict.fromkeys(map(hrefs.__getitem__, missing)))
            others = self._judge_others(unknown, base_url, directory, origin)
            for place in missing:
                found[place] = others[hrefs[place]]
        return cast(list[Judgement], found)

    def _judge_others(self, hrefs: list[str], base_url: str, directory: str, origin: str) -> dict[str, Judgement]:
        """The judgements of distinct hrefs that are not among the young ones; they are now, if they may be
        remembered."""
        found: dict[str, Judgement] = {}
        if self._old:
            old = self._old.get
            known, _ = look_up(hrefs, (old(origin, _NONE), old("", _NONE), old(directory, _NONE)))
            found = {href: judgement for href, judgement in zip(hrefs, known, strict=True) if judgement is not None}
            hrefs = [href for href in hrefs if href not in found]
        if hrefs:
            found.update(zip(hrefs, self._judge(hrefs, base_url), strict=True))
        absolute, rooted, relative, odd = divide(list(found), list(found.values()), _MAX_REMEMBERED_LENGTH)
        relative.update((href, found[href]) for href in odd if not _DEPENDS_ON_DOCUMENT.match(href))
        for base, of_base in (("", absolute), (origin, rooted), (directory, relative)):
            if of_base and len(base) <= _MAX_REMEMBERED_LENGTH:
                self._remember(base, of_base)
        return found

    def _remember(self, base: str, known: dict[str, Judgement]) -> None:
        """Add them to the young ones. When these are half of the capacity, they become the old ones."""
        while len(known) > (room := self._half - self._young_count):
            entries = iter(known.items())
            self._young.setdefault(base, {}).update(islice(entries, room))
            known = dict(entries)
            self._old, self._young, self._young_count = self._young, {}, 0
        self._young.setdefault(base, {}).update(known)
        self._young_count += len(known)
