"""Remembers what hrefs mean and what scope says of them.

An absolute href means the same URL everywhere, one that starts with a slash on the whole origin, and most others in one
directory. `?page=2` depends on the document, so it is not remembered.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress, islice
from operator import not_
from typing import Final, cast

from crawler.discover.links.bulk import Groups, divide, group_links, judge, look_up, without_fragment
from crawler.discover.links.judgement import Judgement
from crawler.discover.scope import Scope
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, Link, LinkKind
from crawler.steps import LINKS_AT_ONCE
from crawler.url.urls import Target, UrlReader, origin_of

JudgedLinks = tuple[list[int], list[str], list[int], list[Judgement]]
"""Where the first link of each group of equal ones stands on the page, its href without fragment, their number, and the
judgement on the href. Of links that are known, nobody needs more: those of a scan become objects when they are asked
for."""
JudgedSteps = Iterator[Callable[[], JudgedLinks]]
"""Those of a page in steps. Each judges when it is called, so that the caller can pause before."""

_DEPENDS_ON_DOCUMENT = re.compile(r"[\x00- ]|[?#]|$|https?:(?![/\\])|h[^:/?#\t\n\r]*[\t\n\r][^:/?#]*:", re.IGNORECASE)
"""Hrefs that mean another URL in each document of a directory: empty ones, `?x`, and the odd `http:?x`, whose scheme
may contain a line break."""

_GROUPED_AT_ONCE: Final = 10 * LINKS_AT_ONCE
"""Links. To group so many takes less time than to judge `LINKS_AT_ONCE` of them."""

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
        directory, origin = _directory_of(base_url), origin_of(base_url)
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


class LinkJudge:
    """Judges links by scope and traps, with a cache."""

    def __init__(self, *, urls: UrlReader, scope: Scope, traps: Callable[[str], Traps], capacity: int) -> None:
        """`capacity` limits the cache of hrefs; `traps` returns the limits for a URL."""
        self._urls = urls
        self._scope = scope
        self._traps = traps
        self._links = LinkCache(partial(self._judge_hrefs, kind=LinkKind.LINK), capacity=capacity)
        self._embeds: LinkCache | None = None
        if scope.distinguishes_embeds:
            self._embeds = LinkCache(partial(self._judge_hrefs, kind=LinkKind.EMBED), capacity=capacity)

    def judge(
        self, links: Sequence[Link], base_url: str, /, *, grouped: bool, with_fragments: bool = True
    ) -> JudgedSteps:
        """Judge the links in order: each alone, or only the first of equal ones. Equal are links of one kind whose
        hrefs differ at most in the fragment. Without `with_fragments`, pass over links to a mere fragment."""
        group = group_links if grouped else _separate
        for start in range(0, len(links), _GROUPED_AT_ONCE):
            firsts, hrefs, counts = group(links, start, start + _GROUPED_AT_ONCE)
            if not with_fragments and "" in hrefs:
                firsts, counts = list(compress(firsts, hrefs)), list(compress(counts, hrefs))
                hrefs = list(filter(None, hrefs))
            for at in range(0, len(firsts), LINKS_AT_ONCE):
                step = slice(at, at + LINKS_AT_ONCE)
                yield partial(self._judge_together, links, firsts[step], hrefs[step], counts[step], base_url)

    def _judge_together(
        self, links: Sequence[Link], places: list[int], hrefs: list[str], counts: list[int], base_url: str
    ) -> JudgedLinks:
        if self._embeds is None:
            return places, hrefs, counts, self._links.judge(hrefs, base_url)
        are_embeds = [links[place].kind in EMBEDDED for place in places]
        of_links = iter(self._links.judge(list(compress(hrefs, map(not_, are_embeds))), base_url))
        of_embeds = iter(self._embeds.judge(list(compress(hrefs, are_embeds)), base_url))
        return places, hrefs, counts, [next(of_embeds if is_embed else of_links) for is_embed in are_embeds]

    def _judge_hrefs(self, hrefs: list[str], base_url: str, *, kind: LinkKind) -> list[Judgement]:
        by_site = self._scope.judge_site
        by_scope = by_site or partial(self._scope.judge, kind=kind)
        return judge(hrefs, self._urls.read_many(hrefs, base_url), by_scope, by_site is not None, self._trap_of)

    def _trap_of(self, target: Target) -> Trap | None:
        return self._traps(target.url).refusal(target)


def _separate(links: Sequence[Link], start: int, stop: int) -> Groups:
    hrefs = [link.href for link in links[start:stop]]
    bare = [without_fragment(href) if "#" in href else href for href in hrefs]
    return list(range(start, start + len(hrefs))), bare, [1] * len(hrefs)


def _directory_of(base_url: str) -> str:
    return base_url[: base_url.partition("?")[0].rindex("/") + 1]
