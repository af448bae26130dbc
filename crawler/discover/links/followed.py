"""Collects the links of one page that the crawl follows. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from crawler.discover.focus import WORST_PRECEDENCE, Focus, precedence_of
from crawler.discover.links.bulk import follow
from crawler.discover.links.filter import JudgedLinks, LinkFilter, LinkRefusal
from crawler.discover.links.judgement import Judgement
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.page import EMBEDDED, SITEMAP, Link, LinkKind
from crawler.steps import LINKS_AT_ONCE
from crawler.url.urls import Target
from frontier import CrawlUrl, UrlBatch

MAX_NESTED_SITEMAPS: Final = 5
"""The protocol allows one level of nesting, and some sites use two. Without a limit, a generator could go on
forever."""
MOST_STEPS_TO_EMBEDS: Final = 5
"""How much further from a seed than a page what a page needs to be shown may be: a style sheet may import another one,
which names a font. Without a limit, style sheets that import others could go on forever."""
_FOR_LATER: Final = frozenset({"prefetch", "enclosure"})
"""The `rel` of embeds that the page itself does not show: prefetched ones are mostly pages."""
_FOR_NOW: Final = frozenset({"stylesheet", "icon", "preload", "modulepreload"})
"""The `rel` of embeds that it shows, whatever else stands there: of `stylesheet prefetch`, browsers load the style
sheet."""


class FollowedLinks:
    """The first link to each URL that is followed, and the number of all links to it."""

    def __init__(
        self,
        link_filter: LinkFilter,
        parent: CrawlUrl,
        links: Sequence[Link],
        *,
        focus: Focus | None,
        about: str,
        on_outside: Callable[[Link, Target, int], None] | None,
    ) -> None:
        """`links` are all of the page. `about` is the text by which a focus weighs it. `on_outside` gets the first link
        to each URL out of scope, and how many equal ones there are."""
        self.refusals: list[tuple[str, str]] = []
        """URLs that are not followed, and hrefs that are no URLs, with the reason."""
        self._filter = link_filter
        self._parent = parent
        self._focus = focus
        self._on_outside = on_outside
        self._page_worth = focus.of_page(about, parent.weight) if focus else 0.0
        self._is_sitemap = parent.kind == SITEMAP
        self._lists: bool | None = None
        """Whether the page lists others, as a sitemap that is a seed does, so that its images are theirs; known once an
        embed is too deep for a page."""
        self._judges_each = bool(focus) or link_filter.unwanted_reason is not None
        """Whether more than the remembered judgement of an href decides."""
        self._found = {parent.canonical: 0}
        """The canonical URLs of the page itself and of those that are followed, and the number of links to each."""
        self._links = links
        self._firsts: list[int] = []
        """Where the first link to each of those that are followed stands among these."""
        self._targets: list[Target] = []
        """Where these lead."""
        self._is_ascii = True
        """Whether the canonical URLs of these are."""
        self._weights: list[float] = []
        """Their weights, if there is a focus."""
        self._refused: set[str] = set()
        """The canonical URLs that are refused from this page."""
        self._limited: dict[str, int] = {}
        """The number of links that were refused by a limit that is looser for embeds, by canonical URL."""
        self._bad_hrefs: set[str] = set()
        self._outside: list[tuple[str, str]] | None = None
        """The refusals, once it is known that each link out of the seeds' scope is refused, and nothing else is done
        about it. Most links that a crawl refuses are such ones."""
        self._lent: tuple[Target | None] | None = None
        """The page that lends its host to the links, or None; known once a link leads out of the seeds' scope."""
        self._of_fragments = ""
        """The URL to which links to a mere fragment lead, if it is another page: a <base> may say so."""

    def add(self, judged_links: JudgedLinks, /) -> None:
        """Take the next links of the page, at most `LINKS_AT_ONCE`."""
        places, hrefs, counts, judgements = judged_links
        depth = self._parent.depth
        judges_each = self._judges_each or len(self._firsts) + LINKS_AT_ONCE > self._filter.max_links
        if self._is_sitemap and not judges_each:  # sitemaps within sitemaps have limits of their own
            judges_each = any(self._links[place].kind is SITEMAP for place in places)
        at, end = 0, len(places)
        while at < end:
            if not judges_each:
                collected = self._found, self._refused, self._firsts, self._targets, self._outside
                at = follow(places, counts, judgements, at, depth, collected)
                at = self._refuse_deep(places, counts, judgements, at)
            if at < end:
                self._judge(places[at], hrefs[at], counts[at], judgements[at])
                at += 1

    @property
    def self_links(self) -> int:
        """Links of the page to itself, without links to a mere fragment of it."""
        return self._found[self._parent.canonical]

    def urls(self) -> UrlBatch:
        """The URLs that are followed, in document order."""
        found = self._found
        for canonical, count in self._limited.items():
            if canonical in found:
                found[canonical] += count
        self._limited.clear()
        return UrlBatch(list(found)[1:], list(found.values())[1:], self._make, is_ascii=self._is_ascii)

    def _refuse_deep(self, places: list[int], counts: list[int], judgements: list[Judgement], at: int) -> int:
        """Refuse the links from the one at `at` on, as long as they are new and of no embed, and only too deep. Returns
        where it has come. Most pages of a crawl of limited depth have little else, and `_judge` takes four times as
        long."""
        links, found, refused, limited, depth = (
            self._links,
            self._found,
            self._refused,
            self._limited,
            self._parent.depth,
        )
        for number in range(at, len(places)):
            judgement = judgements[number]
            target = judgement.allowed
            if target is None or depth < judgement.max_depth or links[places[number]].kind in EMBEDDED:
                return number
            canonical = target.canonical
            if canonical in limited:
                limited[canonical] += counts[number]
            elif canonical in found or canonical in refused:
                return number
            else:
                limited[canonical] = counts[number]
                self.refusals.append((target.url, ScopeRefusal.TOO_DEEP))
        return len(places)

    def _judge(self, place: int, href: str, count: int, judgement: Judgement) -> None:
        """Judge the link at that place: the remembered judgement holds for an ordinary link on any page."""
        link, target = self._links[place], judgement.target
        if not isinstance(target, Target):
            if href not in self._bad_hrefs:
                self._bad_hrefs.add(href)
                self.refusals.append((link.href, target))
            return
        canonical = target.canonical
        is_met = canonical in self._found or canonical in self._refused
        unwanted_reason = self._filter.unwanted_reason
        if unwanted_reason and (unwanted := unwanted_reason(link)):
            if not (is_met or canonical in self._limited):
                self.refusals.append((target.url, unwanted))
            return
        if is_met:
            if canonical in self._found and (href or canonical == self._of_fragments):
                self._found[canonical] += count
            return
        if not href:
            self._of_fragments = canonical
        weight = 0.0
        if self._is_sitemap and link.kind is SITEMAP:
            reason = self._nested_refusal(target)
            count -= self._parent.redirects < 0  # robots.txt is not a page
        elif (reason := self._refusal(link, target, judgement)) is None and self._focus:
            weight = self._focus.of_link(link.text, target.url, self._page_worth)
            if weight < self._focus.min_weight:
                reason = LinkRefusal.IRRELEVANT
        if reason is not None:
            self._refuse(link, target, reason, count)
            return
        self._found[canonical] = count
        self._is_ascii = self._is_ascii and canonical.isascii()
        self._firsts.append(place)
        self._targets.append(target)
        if self._focus:
            self._weights.append(weight)

    def _refuse(self, link: Link, target: Target, reason: str, count: int) -> None:
        canonical = target.canonical
        is_reported = canonical in self._limited
        if not _is_shown(link) and self._is_looser_for_embeds(reason):
            # The same URL may come again as an embed.
            self._limited[canonical] = self._limited.get(canonical, 0) + count
        else:
            self._refused.add(canonical)
        if is_reported:
            return
        self.refusals.append((target.url, reason))
        if reason is ScopeRefusal.OUT_OF_SCOPE and self._on_outside is not None:
            self._on_outside(link, target, count)

    def _is_looser_for_embeds(self, reason: str) -> bool:
        if reason is ScopeRefusal.OUT_OF_SCOPE:
            return self._filter.scope.distinguishes_embeds
        return reason is ScopeRefusal.TOO_DEEP or isinstance(reason, Trap)

    def _refusal(self, link: Link, target: Target, judgement: Judgement) -> str | None:
        refusal = judgement.refusal
        if refusal is ScopeRefusal.OUT_OF_SCOPE:
            if self._lent is None:
                self._lent = (self._filter.lending_page(self._parent),)
            [lending_page] = self._lent
            if lending_page is None:
                is_alike_for_all = self._on_outside is None and not self._filter.scope.distinguishes_embeds
                self._outside = self.refusals if is_alike_for_all else None
                return refusal
            refusal = self._filter.refusal_near(target, lending_page, link.kind)
            if refusal is ScopeRefusal.OUT_OF_SCOPE:
                return refusal
        elif isinstance(refusal, Trap) and link.kind is not LinkKind.LINK:
            refusal = self._filter.trap(target, link.kind)
        beyond = self._parent.depth - judgement.max_depth
        if beyond >= 0 and (beyond >= MOST_STEPS_TO_EMBEDS or not self._needs(link)):
            return ScopeRefusal.TOO_DEEP
        if refusal is None and len(self._firsts) >= self._filter.max_links and link.kind is not LinkKind.LISTED:
            return LinkRefusal.TOO_MANY_LINKS
        return refusal

    def _needs(self, link: Link) -> bool:
        """Whether the page needs the target to be shown."""
        if self._is_sitemap or not _is_shown(link):
            return False
        if self._lists is None:
            self._lists = any(each.kind is LinkKind.LISTED for each in self._links)
        return not self._lists

    def _nested_refusal(self, target: Target) -> str | None:
        """Why a sitemap that another one names, or robots.txt, is refused."""
        refusal = self._filter.scope.exclusion(target)
        if refusal is None and self._parent.redirects >= MAX_NESTED_SITEMAPS:
            return LinkRefusal.NESTED_SITEMAP
        return refusal

    def _make(self, place: int, count: int) -> CrawlUrl:
        link, target = self._links[self._firsts[place]], self._targets[place]
        parent = self._parent
        if self._is_sitemap and link.kind is SITEMAP:
            return CrawlUrl(
                url=target.url,
                canonical=target.canonical,
                queue_key=target.queue_key,
                depth=parent.depth,
                via=parent.via,  # its links are judged from there, however many sitemaps lie between
                kind=SITEMAP,
                anchor=link.text or None,
                precedence=_sitemap_precedence(parent),
                redirects=parent.redirects + 1,
                link_count=count,
            )
        depth, weight = parent.depth + 1, self._weights[place] if self._focus else 0.0
        return CrawlUrl(
            url=target.url,
            canonical=target.canonical,
            queue_key=target.queue_key,
            depth=depth,
            via=parent.url,
            kind=link.kind,
            anchor=link.text or None,
            weight=weight,
            precedence=precedence_of(weight) if self._focus else min(WORST_PRECEDENCE, depth),
            link_count=count,
            last_modified=link.last_modified or None,
            change_frequency=link.change_frequency or None,
        )


def _is_shown(link: Link) -> bool:
    if link.kind not in EMBEDDED:
        return False
    rel = link.rel.split()
    return _FOR_LATER.isdisjoint(rel) or not _FOR_NOW.isdisjoint(rel)


def _sitemap_precedence(parent: CrawlUrl) -> int:
    """The precedence of a sitemap that `parent` names. A sitemap from robots.txt has that of its page, one from an
    index goes one step later. Deeper ones, of which there may be millions, wait for pages many steps away."""
    nested = parent.redirects
    return parent.precedence if nested < 0 else min(WORST_PRECEDENCE, parent.precedence + 4**nested)
