"""Decides about links with regard to the page on which they stand. Pure.

`cache` remembers what holds for an href on any page. This module adds what depends on the page: the kinds of links
that the crawl follows, and the page's own host, which it lends to its links (see `scope`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from crawler.discover.links.cache import JudgedLink, JudgedLinks, LinkJudge
from crawler.discover.scope import Refusal, Scope
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, Link, LinkKind
from crawler.url.urls import BadUrl, Target, UrlReader
from frontier import CrawlUrl

DistinctLink = tuple[Link, Target, Refusal | Trap | None, int]
"""The first link to a URL, the URL, why it is refused, if it is, and how many links led there so far."""


class LinkRefusal(StrEnum):
    """The reasons beside those of `urls.BadUrl`, `scope.Refusal` and `traps.Trap`. Users read these words in
    records."""

    TOO_MANY_LINKS = "too-many-links"
    NOFOLLOW = "nofollow"
    UNWANTED_KIND = "unwanted-kind"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    REDIRECT_LOOP = "redirect-loop"
    NESTED_SITEMAP = "nested-sitemap"
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

    @property
    def want_all(self) -> bool:
        """Whether `unwanted_reason` never refuses a link."""
        return not self.obey_nofollow and self.kinds == frozenset(LinkKind)

    def unwanted_reason(self, link: Link, /) -> LinkRefusal | None:
        """Why the crawl does not follow links like this one; None if it does."""
        if link.kind not in self.kinds:
            return LinkRefusal.UNWANTED_KIND
        if self.obey_nofollow and "nofollow" in link.rel.split():
            return LinkRefusal.NOFOLLOW
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
        self._urls = urls
        self._traps = traps
        self.unwanted_reason = None if rules.want_all else rules.unwanted_reason
        """Tells why the crawl does not follow links like a given one, or None. It is None if no link is unwanted."""
        self._judge = LinkJudge(urls=urls, scope=scope, traps=traps, capacity=remembered_links)

    def judge_each(self, links: Sequence[Link], base_url: str, /) -> JudgedLinks:
        """Judge each link with the cache, see `LinkJudge.judge`."""
        return self._judge.judge(links, base_url, grouped=False)

    def judge_distinct(self, links: Sequence[Link], base_url: str, /) -> JudgedLinks:
        """Judge one of equal links. Where links may be unwanted, each is looked at: equal ones may differ in `rel`,
        and each unwanted one is reported."""
        return self._judge.judge(links, base_url, grouped=self.unwanted_reason is None)

    def redirect_refusal(self, target: Target, parent: CrawlUrl, /) -> Refusal | Trap | None:
        """Why a redirect of `parent` to the target is not followed; None if it is."""
        if parent.depth == 0 or parent.kind == LinkKind.SITEMAP:
            return self.scope.exclusion(target)
        kind = LinkKind(parent.kind)
        refusal, _ = self.scope.judge(target, kind=kind)
        if refusal is Refusal.OUT_OF_SCOPE:
            return self.refusal_near(target, self.lending_page(parent), kind)
        return refusal or self.trap(target, kind)

    def lending_page(self, parent: CrawlUrl, /) -> Target | None:
        """The page that lends its host to the links of `parent`; None if there is none."""
        if parent.kind in EMBEDDED:
            return None
        url = parent.via or parent.url if parent.kind == LinkKind.SITEMAP else parent.url
        page = self._urls.read(url, url)
        return None if isinstance(page, BadUrl) else page

    def refusal_near(self, target: Target, page: Target | None, kind: LinkKind, /) -> Refusal | Trap | None:
        """Judge a target outside of the seeds' scope once more: it may be near the page that lends its host."""
        if page is None or not self.scope.is_near(target, page):
            return Refusal.OUT_OF_SCOPE
        return self.scope.pattern_refusal(target) or self.trap(target, kind)

    def trap(self, target: Target, kind: LinkKind, /) -> Trap | None:
        return self._traps(target.url).refusal(target, kind=kind)


class DistinctLinks:
    """Reduces the links of one page to the first link to each URL."""

    def __init__(self, link_filter: LinkFilter, parent: CrawlUrl) -> None:
        self.refusals: list[tuple[str, str]] = []
        """Hrefs that are no URLs, and URLs of unwanted links, with the reason."""
        self.repeats: dict[str, int] = {}
        """By canonical URL, the number of links to it after its `DistinctLink`. For the page itself, the number of all
        links."""
        self._filter = link_filter
        self._parent = parent
        self._bad_hrefs: set[str] = set()
        self._lending_page: Target | None = None
        self._seen = {parent.canonical}
        self._of_fragments = ""
        """The URL to which links to a mere fragment lead, if it is another page: a <base> may say so."""
        self._trapped: dict[str, int] = {}
        """By canonical URL, the number of links that a trap refused."""

    def read(self, base_url: str, links: Sequence[Link], /) -> Iterator[Iterable[DistinctLink]]:
        """The distinct links, in order and step by step."""
        for judged_links in self._filter.judge_distinct(links, base_url):
            yield self._distinct(judged_links)

    def _distinct(self, judged_links: Iterable[JudgedLink]) -> Iterator[DistinctLink]:
        depth, seen, repeats, trapped = self._parent.depth, self._seen, self.repeats, self._trapped
        unwanted_reason = self._filter.unwanted_reason
        for link, href, count, judgement in judged_links:
            target = judgement.target
            if not isinstance(target, Target):
                self._refuse_href(href, link, target)
                continue
            canonical = target.canonical
            if unwanted_reason and (reason := unwanted_reason(link)):
                if canonical not in seen:
                    self.refusals.append((target.url, reason))
                continue
            if canonical in seen:
                if href or canonical == self._of_fragments:
                    repeats[canonical] = repeats.get(canonical, 0) + count
                continue
            refusal, before = judgement.refusal, 0
            if refusal is not None:
                refusal = self._judge_again(link, target, refusal)
            if refusal.__class__ is Trap and link.kind not in EMBEDDED:
                # The same URL may come again as an embed, for which limits are looser.
                trapped[canonical] = trapped.get(canonical, 0) + count
                if trapped[canonical] > count:
                    continue
            else:
                seen.add(canonical)
                if trapped:
                    before = trapped.get(canonical, 0)
                if not href:
                    self._of_fragments = canonical
            # To name a member of an enumeration takes 70 ns in Python 3.11, so this asks for the depth first.
            max_depth = judgement.max_depth
            if max_depth is not None and depth >= max_depth and refusal is not Refusal.OUT_OF_SCOPE:
                refusal = Refusal.TOO_DEEP
            yield link, target, refusal, count + before

    def _refuse_href(self, href: str, link: Link, reason: BadUrl) -> None:
        if href not in self._bad_hrefs:
            self._bad_hrefs.add(href)
            self.refusals.append((link.href, reason))

    def _judge_again(self, link: Link, target: Target, refusal: Refusal | Trap) -> Refusal | Trap | None:
        """The judgement of the cache holds for an ordinary link on any page. Judge this link on this page."""
        if refusal is Refusal.OUT_OF_SCOPE:
            self._lending_page = self._lending_page or self._filter.lending_page(self._parent)
            return self._filter.refusal_near(target, self._lending_page, link.kind)
        if refusal.__class__ is Trap and link.kind is not LinkKind.LINK:
            return self._filter.trap(target, link.kind)
        return refusal
