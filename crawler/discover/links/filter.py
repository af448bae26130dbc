"""Decides about links with regard to the page on which they stand. Pure.

`cache` remembers what holds for an href on any page. This module adds what depends on the page: the kinds of links
that the crawl follows, and the page's own host, which it lends to its links (see `scope`).
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import compress
from operator import not_
from typing import Final

import msgspec

from crawler.discover.links.bulk import Groups, group_links, judge, without_fragment
from crawler.discover.links.cache import LinkCache
from crawler.discover.links.judgement import Judgement
from crawler.discover.scope import Scope, ScopeRefusal
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, SITEMAP, Link, LinkKind
from crawler.steps import LINKS_AT_ONCE
from crawler.url.urls import BadUrl, Target, UrlReader
from frontier import CrawlUrl

JudgedLinks = tuple[list[int], list[str], list[int], list[Judgement]]
"""Where the first link of each group of equal ones stands on the page, its href without fragment, their number, and the
judgement on the href. Of links that are known, nobody needs more: those of a scan become objects when they are asked
for."""
JudgedSteps = Iterator[Callable[[], JudgedLinks]]
"""Those of a page in steps. Each judges when it is called, so that the caller can pause before."""

_GROUPED_AT_ONCE: Final = 10 * LINKS_AT_ONCE
"""Links. To group so many takes less time than to judge `LINKS_AT_ONCE` of them."""


class LinkRefusal(StrEnum):
    """The reasons beside those of `urls.BadUrl`, `scope.ScopeRefusal` and `traps.Trap`. Users read these words in
    records."""

    TOO_MANY_LINKS = "too-many-links"
    NOFOLLOW = "nofollow"
    UNWANTED_KIND = "unwanted-kind"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    REDIRECT_LOOP = "redirect-loop"
    NESTED_SITEMAP = "nested-sitemap"
    OUTDATED = "outdated"
    """by the date of its entry in a sitemap or feed"""
    IRRELEVANT = "irrelevant"
    """its weight by the guide words is too low"""


class LinkRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which links of a page a crawl follows, apart from scope and traps."""

    kinds: frozenset[LinkKind] = frozenset(LinkKind)
    obey_nofollow: bool = False
    max_links_per_page: int = 6000
    """Does not apply to sitemaps, which are long by nature."""
    check_external: bool = False
    """Whether URLs out of scope are asked if they are there."""
    max_redirects: int = 10
    """In a row."""
    is_outdated: Callable[[str], bool] | None = None
    """Whether URLs in entries of sitemaps and feeds with that date are not followed; None if all are."""

    @property
    def want_all(self) -> bool:
        """Whether `unwanted_reason` never refuses a link."""
        return not self.obey_nofollow and self.is_outdated is None and self.kinds == frozenset(LinkKind)

    def unwanted_reason(self, link: Link, /) -> LinkRefusal | None:
        """Why the crawl does not follow links like this one; None if it does."""
        if link.kind not in self.kinds:
            return LinkRefusal.UNWANTED_KIND
        if self.obey_nofollow and "nofollow" in link.rel.split():
            return LinkRefusal.NOFOLLOW
        if self.is_outdated is not None and link.entry_date and self.is_outdated(link.entry_date):
            return LinkRefusal.OUTDATED
        return None


class LinkFilter:
    """The rules by which one crawl follows links."""

    def __init__(
        self,
        *,
        urls: UrlReader,
        scope: Scope,
        traps: Callable[[str], Traps],
        rules: LinkRules,
        remembered_links: int,
    ) -> None:
        """`traps` returns the limits for a URL. `remembered_links` limits the cache of hrefs."""
        self.scope = scope
        self.max_links = rules.max_links_per_page
        self._urls = urls
        self._traps = traps
        self.unwanted_reason = None if rules.want_all else rules.unwanted_reason
        """Tells why the crawl does not follow links like a given one, or None. It is None if no link is unwanted."""
        self._links = LinkCache(partial(self._judge_hrefs, kind=LinkKind.LINK), capacity=remembered_links)
        self._embeds: LinkCache | None = None
        if scope.distinguishes_embeds:
            self._embeds = LinkCache(partial(self._judge_hrefs, kind=LinkKind.EMBED), capacity=remembered_links)

    def judge_each(self, links: Sequence[Link], base_url: str, /) -> JudgedSteps:
        """Judge each link, in order."""
        return self._judge(links, base_url, grouped=False)

    def judge_distinct(self, links: Sequence[Link], base_url: str, /, *, parent: CrawlUrl) -> JudgedSteps:
        """Judge one of equal links of a page. Where links may be unwanted, each is looked at: equal ones may differ in
        `rel`, and each unwanted one is reported. Links to a mere fragment of the page, which most large pages have,
        change nothing."""
        leads_away = not base_url == parent.url == parent.canonical
        grouped = self.unwanted_reason is None
        return self._judge(links, base_url, grouped=grouped, with_fragments=leads_away)

    def _judge(
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
        by_site = self.scope.judge_site
        by_scope = by_site or partial(self.scope.judge, kind=kind)
        return judge(hrefs, self._urls.read_many(hrefs, base_url), by_scope, by_site is not None, self._trap_of)

    def _trap_of(self, target: Target) -> Trap | None:
        return self._traps(target.url).refusal(target)

    def redirect_refusal(self, target: Target, parent: CrawlUrl, /) -> ScopeRefusal | Trap | None:
        """Why a redirect of `parent` to the target is not followed; None if it is."""
        if parent.depth == 0 or parent.kind == SITEMAP:
            return self.scope.exclusion(target)
        kind = LinkKind(parent.kind)
        refusal, _ = self.scope.judge(target, kind=kind)
        if refusal is ScopeRefusal.OUT_OF_SCOPE:
            # An embed lends its host to no link, and may still redirect there.
            page = self._lends(parent.url) if kind in EMBEDDED else self.lending_page(parent)
            return self.refusal_near(target, page, kind)
        return refusal or self.trap(target, kind)

    def lending_page(self, parent: CrawlUrl, /) -> Target | None:
        """The page that lends its host to the links of `parent`; None if there is none, or if all near it is in the
        seeds' scope anyway."""
        if parent.kind in EMBEDDED:
            return None
        return self._lends(parent.via or parent.url if parent.kind == SITEMAP else parent.url)

    def _lends(self, url: str) -> Target | None:
        page = self._urls.read("", url)  # what a URL means on its own page, without looking for its parts
        return None if isinstance(page, BadUrl) or not self.scope.lends(page) else page

    def refusal_near(self, target: Target, page: Target | None, kind: LinkKind, /) -> ScopeRefusal | Trap | None:
        """Judge a target outside of the seeds' scope once more: it may be near the page that lends its host."""
        if page is None or not self.scope.is_near(target, page):
            return ScopeRefusal.OUT_OF_SCOPE
        return self.scope.rule_refusal(target) or self.trap(target, kind)

    def trap(self, target: Target, kind: LinkKind, /) -> Trap | None:
        return self._traps(target.url).refusal(target, kind=kind)


def _separate(links: Sequence[Link], start: int, stop: int) -> Groups:
    hrefs = [link.href for link in links[start:stop]]
    bare = [without_fragment(href) if "#" in href else href for href in hrefs]
    return list(range(start, start + len(hrefs))), bare, [1] * len(hrefs)
