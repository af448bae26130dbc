"""What hrefs mean, and what scope says of it, remembered.

An href that starts with a slash means the same on a whole origin, an absolute one everywhere, and others in one
directory; `?page=2` alone depends on the document, and is not remembered.
"""

import re
from collections.abc import Callable
from typing import Final

from crawler.scope import Refusal
from crawler.traps import Trap
from crawler.urls import MAX_URL_LENGTH, BadUrl, Target, origin_of

Judged = tuple[Target | BadUrl, Refusal | Trap | None, int | None]
"""What an href means, why it is refused wherever it stands, and how deep it may be found."""

_DEPENDS_ON_DOCUMENT = re.compile(r"[\x00- ]|[?#]|$|https?:(?![/\\])", re.IGNORECASE)
"""Hrefs that mean another URL in each document of a directory: empty ones, `?x`, and the odd `http:?x`."""

_MAX_REMEMBERED_LENGTH: Final = 512
"""Characters. Images inlined as data would fill the memory."""


class Meanings:
    """Holds the entries used lately: at most `capacity`, and at least half of it."""

    def __init__(self, judge: Callable[[str, str], Judged], /, *, capacity: int) -> None:
        """`judge` tells of an href and a base URL what is to be remembered."""
        self._judge = judge
        self._half = max(1, capacity // 2)
        self._young: dict[str, dict[str, Judged]] = {}
        """By base and href."""
        self._old: dict[str, dict[str, Judged]] = {}
        self._young_count = 0

    def on(self, base_url: str, /) -> Callable[[str], Judged]:
        """A function that tells what an href means in a document with that base URL."""
        if len(base_url) > MAX_URL_LENGTH:
            return lambda href: self._judge(href, base_url)
        directory = base_url[: base_url.partition("?")[0].rindex("/") + 1]
        origin = origin_of(base_url)
        # What was known when the document began; `_recall` sees the rest.
        below, across, anywhere = (self._young.get(base, _NOTHING) for base in (directory, origin, ""))

        def meaning(href: str) -> Judged:
            if href[:1] == "/":
                return across.get(href) or self._recall(origin, href, base_url)
            if href[:4] == "http" and href.startswith(("https://", "http://")):
                return anywhere.get(href) or self._recall("", href, base_url)
            known = below.get(href)
            if known is None and _DEPENDS_ON_DOCUMENT.match(href):
                return self._judge(href, base_url)
            return known or self._recall(directory, href, base_url)

        return meaning

    def _recall(self, base: str, href: str, base_url: str) -> Judged:
        known = self._young.get(base, _NOTHING).get(href)
        if known is None:
            known = self._old.get(base, _NOTHING).get(href) or self._judge(href, base_url)
            if len(href) <= _MAX_REMEMBERED_LENGTH:
                self._remember(base, href, known)
        return known

    def _remember(self, base: str, href: str, known: Judged) -> None:
        if self._young_count >= self._half:
            self._old = self._young
            self._young = {}
            self._young_count = 0
        self._young_count += 1
        there = self._young.get(base)
        if there is None:
            self._young[base] = {href: known}
        else:
            there[href] = known


_NOTHING: Final[dict[str, Judged]] = {}
