"""What hrefs mean, and what scope says of it, remembered.

An href that starts with a slash means the same on a whole origin, an absolute one everywhere, and others in one
directory; `?page=2` alone depends on the document, and is not remembered.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Final

import msgspec

from crawler.discover.scope import Refusal, Scope
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, Link, LinkKind
from crawler.steps import LINKS_AT_ONCE
from crawler.url.urls import (
    MAX_URL_LENGTH,
    BadUrl,
    Target,
    UrlReader,
    origin_of,
)


class Judged(msgspec.Struct, frozen=True, gc=False):
    """What an href means."""

    target: Target | BadUrl
    refusal: Refusal | Trap | None = None
    """Why a link to it is refused wherever it stands; traps are more tolerant of other kinds."""
    max_depth: int | None = None
    """How deep it may be found."""


Meant = tuple[Link, str, dict[str, Judged]]

_DEPENDS_ON_DOCUMENT = re.compile(r"[\x00- ]|[?#]|$|https?:(?![/\\])|h[^:/?#]*[\t\n\r][^:/?#]*:", re.IGNORECASE)
"""Hrefs that mean another URL in each document of a directory: empty ones, `?x`, and the odd `http:?x`, also where its
scheme has a line break. Others begin with a character above `?`, or are looked at."""

_MAX_REMEMBERED_LENGTH: Final = 512
"""Characters. Images inlined as data would fill the memory."""


class LinkCache:
    """Holds the entries used lately: at most `capacity`, and at least half of it."""

    def __init__(self, judge: Callable[[list[str], str], list[Judged]], /, *, capacity: int) -> None:
        """`judge` tells of hrefs and a base URL what is to be remembered of each."""
        self._judge = judge
        self._half = max(1, capacity // 2)
        self._young: dict[str, dict[str, Judged]] = {}
        """By base and href."""
        self._old: dict[str, dict[str, Judged]] = {}
        self._young_count = 0

    def of(self, hrefs: Iterable[str], base_url: str, /) -> dict[str, Judged]:
        """What each of these hrefs, which differ, means in a document with that base URL, in any order."""
        rooted: list[str] = []
        absolute: list[str] = []
        relative: list[str] = []
        passing: list[str] = []
        for href in hrefs:
            if not 0 < len(href) <= _MAX_REMEMBERED_LENGTH:
                passing.append(href)
            elif (first := href[0]) == "/":
                rooted.append(href)
            elif first == "h" and href.startswith(("https://", "http://")):
                absolute.append(href)
            elif (first > "?" and first not in "hH") or not _DEPENDS_ON_DOCUMENT.match(href):
                relative.append(href)
            else:
                passing.append(href)
        found = dict(zip(passing, self._judge(passing, base_url), strict=True)) if passing else {}
        if absolute:
            found |= self._recall("", absolute, base_url)
        if rooted:
            found |= self._recall(origin_of(base_url), rooted, base_url)
        if relative:
            found |= self._recall(base_url[: base_url.partition("?")[0].rindex("/") + 1], relative, base_url)
        return found

    def _recall(self, base: str, hrefs: list[str], base_url: str) -> dict[str, Judged]:
        found: dict[str, Judged] = {}
        if young := self._young.get(base):
            found = {href: known for href in hrefs if (known := young.get(href)) is not None}
            if len(found) == len(hrefs):
                return found
            hrefs = [href for href in hrefs if href not in found]
        again: dict[str, Judged] = {}
        if old := self._old.get(base):
            again = {href: known for href in hrefs if (known := old.get(href)) is not None}
            hrefs = [href for href in hrefs if href not in again]
        if hrefs:
            again.update(zip(hrefs, self._judge(hrefs, base_url), strict=True))
        if len(base) <= MAX_URL_LENGTH:
            self._remember(base, again)
        found |= again
        return found

    def _remember(self, base: str, known: dict[str, Judged]) -> None:
        entries = iter(known.items())
        for count in self._shares(len(known)):
            self._young.setdefault(base, {}).update(islice(entries, count))

    def _shares(self, count: int) -> Iterator[int]:
        """How many of so many entries each of the next generations may take; makes room for them."""
        while count:
            if self._young_count >= self._half:
                self._old = self._young
                self._young = {}
                self._young_count = 0
            share = min(count, self._half - self._young_count)
            self._young_count += share
            count -= share
            yield share


class LinkJudge:
    """What links mean by a reader of URLs, a scope and traps, remembered."""

    def __init__(self, *, urls: UrlReader, scope: Scope, traps: Callable[[str], Traps], capacity: int) -> None:
        """`capacity` bounds the memory of hrefs; `traps` gives the limits for a URL."""
        self._urls = urls
        self._scope = scope
        self._traps = traps
        self._links = LinkCache(self._judge_links, capacity=capacity)
        self._embeds = LinkCache(self._judge_embeds, capacity=capacity) if scope.tells_embeds_apart else None

    def of(self, links: Sequence[Link], base_url: str, /) -> Iterator[Meant | None]:
        """Each link, its href without fragment, and what the hrefs of the links of its kind around it mean; the caller
        may change that. None stands behind so many links as are to be judged in one step."""
        return chain.from_iterable(self._parts(links, base_url))

    def _parts(self, links: Sequence[Link], base_url: str) -> Iterator[Iterable[Meant | None]]:
        for at in range(0, len(links), LINKS_AT_ONCE):
            if at:
                yield (None,)
            yield self._of(links[at : at + LINKS_AT_ONCE], base_url)

    def _of(self, links: Sequence[Link], base_url: str) -> Iterator[Meant]:
        hrefs = [link.href for link in links]
        hrefs = [href.partition("#")[0] if "#" in href else href for href in hrefs]
        if self._embeds is None:
            return zip(links, hrefs, repeat(self._links.of(dict.fromkeys(hrefs), base_url)))
        embeds = {href: None for href, link in zip(hrefs, links, strict=True) if link.kind in EMBEDDED}
        others = {href: None for href, link in zip(hrefs, links, strict=True) if link.kind not in EMBEDDED}
        of_others, of_embeds = self._links.of(others, base_url), self._embeds.of(embeds, base_url)
        return zip(links, hrefs, (of_embeds if link.kind in EMBEDDED else of_others for link in links), strict=True)

    def _judge_links(self, hrefs: list[str], base_url: str) -> list[Judged]:
        return self._judge(hrefs, base_url, LinkKind.LINK)

    def _judge_embeds(self, hrefs: list[str], base_url: str) -> list[Judged]:
        return self._judge(hrefs, base_url, LinkKind.EMBED)

    def _judge(self, hrefs: list[str], base_url: str, kind: LinkKind) -> list[Judged]:
        judged: list[Judged] = []
        standing, traps = self._scope.standing, self._traps
        for target in self._urls.read_many(hrefs, base_url):
            if isinstance(target, BadUrl):
                judged.append(Judged(target))
                continue
            refusal, max_depth = standing(target, kind=kind)
            judged.append(Judged(target, refusal or traps(target.url).refusal(target), max_depth))
        return judged
