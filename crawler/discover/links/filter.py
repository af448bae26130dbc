"""Decides about links with regard to the page on which they stand. Pure.

`cache` remembers what holds for an href on any page. This module adds what depends on the page: the kinds of links
that the crawl follows, and the page's own host, which it lends to its links (see `scope`).
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from crawler.discover.links.cache import JudgedSteps, LinkJudge
from crawler.discover.scope import Refusal, Scope
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, SITEMAP, Link, LinkKind
from crawler.url.urls import BadUrl, Target, UrlReader
from frontier import CrawlUrl


class LinkRefusal(StrEnum):
    """The reasons beside those of `urls.BadUrl`, `scope.Refusal` and `traps.Trap`. Users read these words in
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
        self.scope = scope
        self.max_links = rules.max_links_per_page
        self._urls = urls
        self._traps = traps
        self.unwanted_reason = None if rules.want_all else rules.unwanted_reason
        """Tells why the crawl does not follow links like a given one, or None. It is None if no link is unwanted."""
        self._judge = LinkJudge(urls=urls, scope=scope, traps=traps, capacity=remembered_links)

    def judge_each(self, links: Sequence[Link], base_url: str, /) -> JudgedSteps:
        """Judge each link with the cache, see `LinkJudge.judge`."""
        return self._judge.judge(links, base_url, grouped=False)

    def judge_distinct(self, links: Sequence[Link], base_url: str, /, *, parent: CrawlUrl) -> JudgedSteps:
        """Judge one of equal links of a page. Where links may be unwanted, each is looked at: equal ones may differ in
        `rel`, and each unwanted one is reported. Links to a mere fragment of the page, which most large pages have,
        change nothing."""
        leads_away = not base_url == parent.url == parent.canonical
        grouped = self.unwanted_reason is None
        return self._judge.judge(links, base_url, grouped=grouped, with_fragments=leads_away)

    def redirect_refusal(self, target: Target, parent: CrawlUrl, /) -> Refusal | Trap | None:
        """Why a redirect of `parent` to the target is not followed; None if it is."""
        if parent.depth == 0 or parent.kind == SITEMAP:
            return self.scope.exclusion(target)
        kind = LinkKind(parent.kind)
        refusal, _ = self.scope.judge(target, kind=kind)
        if refusal is Refusal.OUT_OF_SCOPE:
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

    def refusal_near(self, target: Target, page: Target | None, kind: LinkKind, /) -> Refusal | Trap | None:
        """Judge a target outside of the seeds' scope once more: it may be near the page that lends its host."""
        if page is None or not self.scope.is_near(target, page):
            return Refusal.OUT_OF_SCOPE
        return self.scope.rule_refusal(target) or self.trap(target, kind)

    def trap(self, target: Target, kind: LinkKind, /) -> Trap | None:
        return self._traps(target.url).refusal(target, kind=kind)
