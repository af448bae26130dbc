"""From the links of a page to URLs to crawl: resolved, judged, canonical, each in its queue. Pure.

Most links of a site stand on most of its pages, so what an href means, and what scope says of it, is remembered.

A sitemap is no step away from a seed, and may lie anywhere, if robots.txt or another sitemap names it: it is fetched
unless an exclude pattern matches. What it lists is a link like others, and its host lends it nothing: it must be in
scope, or near the page whose robots.txt named the sitemap.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from crawler.discover.focus import Focus, precedence_of
from crawler.discover.link_cache import LinkJudge
from crawler.discover.scope import Refusal, Scope
from crawler.discover.traps import Trap, Traps
from crawler.page import EMBEDDED, Link, LinkKind, Redirect
from crawler.protocols import Discovered
from crawler.steps import Steps
from crawler.url.urls import (
    BadUrl,
    Target,
    UrlReader,
    join,
)
from frontier import CrawlUrl

MAX_LINKS_PER_PAGE: Final = 6000
MAX_REDIRECTS: Final = 10
_WORST_PRECEDENCE: Final = 255
MAX_NESTED_SITEMAPS: Final = 5
"""The protocol knows one level; some have two, and a generator of sitemaps would have no end."""
REMEMBERED_LINKS: Final = 50_000


class LinkRefusal(StrEnum):
    """Why a link is not followed, beside `urls.BadUrl` and `scope.Refusal`."""

    TOO_MANY_LINKS = "too-many-links"
    NOFOLLOW = "nofollow"
    UNWANTED_KIND = "unwanted-kind"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    REDIRECT_LOOP = "redirect-loop"
    NESTED_SITEMAP = "nested-sitemap"
    IRRELEVANT = "irrelevant"
    """promises too little by the guide words"""


class ScopedDiscovery:
    """Links and redirects within a scope."""

    def __init__(
        self,
        *,
        urls: UrlReader,
        scope: Scope,
        traps: Callable[[str], Traps] | None = None,
        focus: Focus | None = None,
        min_weight: float = 0.0,
        max_links_per_page: int = MAX_LINKS_PER_PAGE,
        max_redirects: int = MAX_REDIRECTS,
        obey_nofollow: bool = False,
        kinds: frozenset[LinkKind] = frozenset(LinkKind),
        remembered_links: int = REMEMBERED_LINKS,
    ) -> None:
        """`max_links_per_page` does not count for what sitemaps list, which is long by nature; `kinds` are followed,
        others not; `traps` gives the limits for a URL; `remembered_links` bounds the memory of hrefs. With a
        `focus`, precedence follows weight instead of depth, and links of less than `min_weight` are not
        followed."""
        self._urls = urls
        self._scope = scope
        usual = Traps()
        self._traps = traps or (lambda _: usual)
        self._focus = focus or None
        self._min_weight = min_weight
        self._max_links_per_page = max_links_per_page
        self._max_redirects = max_redirects
        self._kinds = kinds
        self._obey_nofollow = obey_nofollow
        self._picky = obey_nofollow or kinds != frozenset(LinkKind)
        self._meanings = LinkJudge(urls=urls, scope=scope, traps=self._traps, capacity=remembered_links)

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        unique: dict[str, Target] = {}
        for url in urls:
            target = self._urls.seed(url)
            unique.setdefault(target.canonical, target)
        return [
            CrawlUrl(
                url=target.url,
                canonical=target.canonical,
                queue_key=target.queue_key,
                kind=LinkKind.SEED,
                hits=0,
                weight=1.0 if self._focus else 0.0,
                precedence=0,
            )
            for target in unique.values()
        ]

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        found: list[CrawlUrl] = []
        refusals: list[tuple[str, str]] = []
        depth = parent.depth + 1
        via = parent.url
        precedence, weight = min(255, depth), 0.0
        focus, max_links = self._focus, self._max_links_per_page
        worth_of_page = focus.of_page(about, parent.weight) if focus else 0.0
        is_sitemap = parent.kind == LinkKind.SITEMAP
        repeats: dict[str, int] = {}
        for distinct in self._distinct(base_url, links, parent, refusals, repeats):
            if distinct is None:
                yield
                continue
            link, target, refusal = distinct
            reason: str | None = refusal
            if is_sitemap and link.kind is LinkKind.SITEMAP:
                nested = self._sitemap(target, parent)
                if isinstance(nested, CrawlUrl):
                    found.append(nested)
                    continue
                reason = nested
            elif reason is None and len(found) >= max_links and link.kind is not LinkKind.LISTED:
                reason = LinkRefusal.TOO_MANY_LINKS
            if focus and reason is None:
                weight = focus.of_link(link.text, target.url, worth_of_page)
                precedence = precedence_of(weight)
                if weight < self._min_weight:
                    reason = LinkRefusal.IRRELEVANT
            if reason is not None:
                refusals.append((target.url, reason))
                continue
            found.append(
                CrawlUrl(
                    url=target.url,
                    canonical=target.canonical,
                    queue_key=target.queue_key,
                    depth=depth,
                    via=via,
                    kind=link.kind,
                    anchor=link.text or None,
                    weight=weight,
                    precedence=precedence,
                    last_modified=link.last_modified or None,
                )
            )
        refused = dict(Counter(reason for _, reason in refusals))
        self_links = repeats.pop(parent.canonical, 0)
        if repeats:
            found = [
                replace(url, hits=url.hits + more) if (more := repeats.get(url.canonical)) else url for url in found
            ]
        return Discovered(urls=found, self_links=self_links, refused=refused, refusals=refusals)

    def _distinct(
        self,
        base_url: str,
        links: Sequence[Link],
        parent: CrawlUrl,
        refusals: list[tuple[str, str]],
        repeats: dict[str, int],
    ) -> Iterator[tuple[Link, Target, Refusal | Trap | None] | None]:
        """The first link to each URL, what it means, and why scope refuses it. Adds to `refusals` what is no URL, and
        links of kinds that are not wanted; counts in `repeats` further links to each canonical URL, and all to the page
        itself. None stands between two steps."""
        seen = {parent.canonical}
        met: dict[str, str] = {}
        bad: set[str] = set()
        trapped: set[str] = set()
        depth, picky = parent.depth, self._picky
        near: Target | None = None
        out_of_scope = Refusal.OUT_OF_SCOPE
        for meant in self._meanings.of(links, base_url):
            if meant is None:
                yield None
                continue
            link, href, left = meant
            # Manuals and indexes link to many places of one document, which is met once.
            judged = left.pop(href, None)
            if judged is None:
                if (canonical := met.get(href, "")) and not (picky and self._unwanted(link)):
                    repeats[canonical] = repeats.get(canonical, 0) + 1
                continue
            target = judged.target
            if isinstance(target, BadUrl):
                if href not in bad:
                    bad.add(href)
                    refusals.append((link.href, target))
                continue
            canonical = target.canonical
            if canonical in seen:
                if picky and self._unwanted(link):
                    left[href] = judged
                elif href:
                    met[href] = canonical
                    repeats[canonical] = repeats.get(canonical, 0) + 1
                continue
            if picky and (unwanted := self._unwanted(link)):
                refusals.append((target.url, unwanted))
                left[href] = judged  # another link to it may be wanted
                continue
            seen.add(canonical)
            met[href] = canonical
            refusal = judged.refusal
            if refusal is out_of_scope:
                near = near or self._near(parent)
                refusal = self._refusal_near(target, near, link.kind)
            elif refusal.__class__ is Trap and link.kind is not LinkKind.LINK:
                # What is remembered is said of a link.
                refusal = self._traps(target.url).refusal(target, kind=link.kind)
            if refusal.__class__ is Trap and link.kind not in EMBEDDED:
                left[href] = judged  # the page may be shown with it
                seen.discard(canonical)
                del met[href]
                if canonical in trapped:
                    continue
                trapped.add(canonical)
            if (max_depth := judged.max_depth) is not None and depth >= max_depth:
                refusal = Refusal.TOO_DEEP
            yield link, target, refusal

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        # A page to itself is a repeat: it was met before it was fetched.
        met = dict.fromkeys((url.canonical for url in found.urls), False) | {parent.canonical: True}
        repeats_left = self._max_links_per_page
        references: list[str] = []
        for meant in self._meanings.of(links, base_url):
            if meant is None:
                yield
                continue
            link, href, meanings = meant
            if not href or (self._picky and self._unwanted(link)):
                continue
            target = meanings[href].target
            if isinstance(target, BadUrl) or (is_repeat := met.get(target.canonical)) is None:
                continue
            if is_repeat:
                if repeats_left == 0:
                    continue
                repeats_left -= 1
            met[target.canonical] = True
            references.append(target.canonical)
        return references

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        robots_txt = join(parent.url, "/robots.txt") or parent.url
        named = CrawlUrl(
            url=robots_txt,
            canonical=robots_txt,
            queue_key=parent.queue_key,
            kind=LinkKind.SITEMAP,
            depth=parent.depth,
            via=robots_txt,
            precedence=parent.precedence,
            redirects=-1,
        )
        return self.links(robots_txt, [Link(href, LinkKind.SITEMAP) for href in hrefs], parent=named)

    def _sitemap(self, target: Target, parent: CrawlUrl) -> CrawlUrl | str:
        """A sitemap that a sitemap or robots.txt names."""
        if (barred := self._scope.bar(target)) is not None:
            return barred
        if parent.redirects >= MAX_NESTED_SITEMAPS:
            return LinkRefusal.NESTED_SITEMAP
        return CrawlUrl(
            url=target.url,
            canonical=target.canonical,
            queue_key=target.queue_key,
            depth=parent.depth,
            via=parent.via,  # what it lists is judged from there, however many sitemaps lie between
            kind=LinkKind.SITEMAP,
            precedence=_sitemap_precedence(parent),
            redirects=parent.redirects + 1,
            hits=0 if parent.redirects < 0 else 1,  # robots.txt is no page
        )

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        target = self._urls.read(redirect.location.strip(), parent.url)
        if isinstance(target, BadUrl):
            return target
        if target.url == parent.url:
            return LinkRefusal.REDIRECT_LOOP
        if parent.redirects >= self._max_redirects:
            return LinkRefusal.TOO_MANY_REDIRECTS
        refusal = self._redirect_refusal(target, parent)
        if refusal is not None:
            return refusal
        canonical = target.canonical
        if canonical == parent.canonical:
            # The server wants a session id or the like, which canonical rules remove. The visited set would know the
            # target already, and the page be lost; a fragment is part of no other canonical URL.
            canonical = f"{canonical}#redirect-{parent.redirects + 1}"
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=target.queue_key,
            depth=parent.depth,
            via=parent.via if parent.kind == LinkKind.SITEMAP else parent.url,
            kind=LinkKind.SITEMAP if parent.kind == LinkKind.SITEMAP else LinkKind.REDIRECT,
            weight=parent.weight,
            precedence=parent.precedence,
            redirects=parent.redirects + 1,
            hits=0,
        )

    def _redirect_refusal(self, target: Target, parent: CrawlUrl) -> Refusal | Trap | None:
        if parent.depth == 0 or parent.kind == LinkKind.SITEMAP:
            return self._scope.bar(target)
        kind = LinkKind(parent.kind)
        refusal, _ = self._scope.standing(target, kind=kind)
        if refusal is Refusal.OUT_OF_SCOPE:
            return self._refusal_near(target, self._near(parent), kind)
        return refusal or self._traps(target.url).refusal(target, kind=kind)

    def _near(self, parent: CrawlUrl) -> Target | None:
        """The page that lends its place to the links on it, if one does."""
        if parent.kind in EMBEDDED:
            return None
        url = parent.via or parent.url if parent.kind == LinkKind.SITEMAP else parent.url
        page = self._urls.read(url, url)
        return None if isinstance(page, BadUrl) else page

    def _refusal_near(self, target: Target, page: Target | None, kind: LinkKind) -> Refusal | Trap | None:
        """Judge once more a URL that is out of the seeds' scope: it may be near the page it stands on."""
        if page is None or not self._scope.is_lent(target, page):
            return Refusal.OUT_OF_SCOPE
        return self._scope.pattern_refusal(target) or self._traps(target.url).refusal(target, kind=kind)

    def _unwanted(self, link: Link) -> LinkRefusal | None:
        if link.kind not in self._kinds:
            return LinkRefusal.UNWANTED_KIND
        if self._obey_nofollow and "nofollow" in link.rel.split():
            return LinkRefusal.NOFOLLOW
        return None


def _sitemap_precedence(parent: CrawlUrl) -> int:
    """Of a sitemap that `parent` names. What robots.txt names goes with its page, and what an index names goes one step
    later; deeper ones, of which there may be millions, wait for pages of many steps."""
    nested = parent.redirects
    return parent.precedence if nested < 0 else min(_WORST_PRECEDENCE, parent.precedence + 4**nested)
