"""Turns the links of a page into URLs to crawl: resolved, judged, canonical, each with its queue. Pure.

Most links of a site stand on most of its pages, so `links.cache` remembers what an href means and what scope
says of it.

A sitemap that robots.txt or another sitemap names may lie anywhere: we fetch it unless an exclude pattern matches. It
does not count as a step away from the seed. The URLs that it lists are ordinary links. Its host does not bring them
into scope: they must be in scope themselves, or near the page whose robots.txt named the sitemap.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.discover.focus import Focus, precedence_of
from crawler.discover.links.details import link_details
from crawler.discover.links.external import ExternalLinks, external_redirect, name_of_page
from crawler.discover.links.filter import DistinctLinks, LinkFilter, LinkRefusal, LinkRules
from crawler.discover.scope import Refusal, Scope
from crawler.discover.traps import Traps
from crawler.page import Link, LinkDetail, LinkKind, Redirect
from crawler.protocols import Discovered
from crawler.steps import Steps
from crawler.url.seeds import read_seed, scheme_adder
from crawler.url.urls import (
    BadUrl,
    Target,
    UrlReader,
    join,
)
from frontier import CrawlUrl

_WORST_PRECEDENCE: Final = 255
MAX_NESTED_SITEMAPS: Final = 5
"""The protocol allows one level of nesting, and some sites use two. Without a limit, a generator could go on
forever."""
REMEMBERED_LINKS: Final = 50_000
DEFAULT_LINK_RULES: Final = LinkRules()


class ScopedDiscovery:
    """Finds the links and redirects within a scope; a `Discovery`."""

    def __init__(
        self,
        *,
        urls: UrlReader,
        scope: Scope,
        traps: Callable[[str], Traps] | None = None,
        focus: Focus | None = None,
        rules: LinkRules = DEFAULT_LINK_RULES,
        remembered_links: int = REMEMBERED_LINKS,
    ) -> None:
        """`traps` returns the limits for a URL. With a `focus`, precedence depends on weight instead of depth.
        `remembered_links` limits the cache of hrefs."""
        self._urls = urls
        self._scope = scope
        self._focus = focus or None
        self._rules = rules
        default_traps = Traps()
        self._filter = LinkFilter(
            urls=urls,
            scope=scope,
            traps=traps or (lambda _: default_traps),
            rules=rules,
            remembered_links=remembered_links,
        )

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        unique: dict[str, tuple[Target, str | None]] = {}
        for url in urls:
            target, has_scheme = read_seed(self._urls, url)
            unique.setdefault(target.canonical, (target, None if has_scheme else url.strip()))
        return [
            CrawlUrl(
                url=target.url,
                canonical=target.canonical,
                queue_key=target.queue_key,
                kind=LinkKind.SEED,
                anchor=written,
                link_count=0,
                weight=1.0 if self._focus else 0.0,
                precedence=0,
            )
            for target, written in unique.values()
        ]

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        distinct = DistinctLinks(self._filter, parent)
        checks = ExternalLinks(self._scope, self._rules, parent)
        found = yield from self._follow(distinct, base_url, links, parent, about, checks)
        refused = dict(Counter(reason for _, reason in distinct.refusals)) if distinct.refusals else {}
        repeats = distinct.repeats
        self_links = repeats.pop(parent.canonical, 0)
        if repeats:
            found = [
                replace(url, link_count=url.link_count + more) if (more := repeats.get(url.canonical)) else url
                for url in found
            ]
        return Discovered(
            urls=found, self_links=self_links, refused=refused, refusals=distinct.refusals, checks=checks.urls
        )

    def _follow(
        self,
        distinct: DistinctLinks,
        base_url: str,
        links: Sequence[Link],
        parent: CrawlUrl,
        about: str,
        checks: ExternalLinks,
    ) -> Steps[list[CrawlUrl]]:
        """The URLs of the links that are followed; `distinct.refusals` gets the others, `checks` those out of scope."""
        found: list[CrawlUrl] = []
        refusals = distinct.refusals
        depth = parent.depth + 1
        via = parent.url
        precedence, weight = min(_WORST_PRECEDENCE, depth), 0.0
        focus, max_links = self._focus, self._rules.max_links_per_page
        page_worth = focus.of_page(about, parent.weight) if focus else 0.0
        is_sitemap = parent.kind == LinkKind.SITEMAP
        for step, distinct_links in enumerate(distinct.read(base_url, links)):
            if step:
                yield
            for link, target, refusal, count in distinct_links:
                reason: str | None = refusal
                if is_sitemap and link.kind is LinkKind.SITEMAP:
                    nested = self._sitemap(target, parent, count)
                    if isinstance(nested, CrawlUrl):
                        found.append(nested)
                        continue
                    reason = nested
                elif reason is None and len(found) >= max_links and link.kind is not LinkKind.LISTED:
                    reason = LinkRefusal.TOO_MANY_LINKS
                if focus and reason is None:
                    weight = focus.of_link(link.text, target.url, page_worth)
                    precedence = precedence_of(weight)
                    if weight < focus.min_weight:
                        reason = LinkRefusal.IRRELEVANT
                if reason is not None:
                    refusals.append((target.url, reason))
                    if reason is Refusal.OUT_OF_SCOPE:
                        checks.add(link, target, count)
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
                        link_count=count,
                        last_modified=link.last_modified or None,
                        change_frequency=link.change_frequency or None,
                    )
                )
        return found

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        # A link of a page to itself counts as a repeat, because the crawl knows the page already.
        is_repeat_of = dict.fromkeys((url.canonical for url in found.urls), False) | {parent.canonical: True}
        is_repeat_of |= dict.fromkeys((name_of_page(url.canonical) for url in found.checks), False)
        repeats_left = self._rules.max_links_per_page
        unwanted_reason = self._filter.unwanted_reason
        references: list[str] = []
        for step, judged_links in enumerate(self._filter.judge_each(links, base_url)):
            if step:
                yield
            for link, href, _, judgement in judged_links:
                if not href or (unwanted_reason and unwanted_reason(link)):
                    continue
                target = judgement.target
                if not isinstance(target, Target) or (is_repeat := is_repeat_of.get(target.canonical)) is None:
                    continue
                if is_repeat:
                    if repeats_left == 0:
                        continue
                    repeats_left -= 1
                is_repeat_of[target.canonical] = True
                references.append(target.canonical)
        return references

    def link_details(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[LinkDetail]]:
        max_others = self._rules.max_links_per_page
        return link_details(links, base_url, found, parent=parent, link_filter=self._filter, max_others=max_others)

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        robots_txt = join(parent.url, "/robots.txt") or parent.url
        hrefs = list(map(scheme_adder(robots_txt), hrefs))
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

    def _sitemap(self, target: Target, parent: CrawlUrl, count: int) -> CrawlUrl | str:
        """A sitemap that `parent`, a sitemap or robots.txt, names `count` times; or why it is refused."""
        if (refusal := self._scope.exclusion(target)) is not None:
            return refusal
        if parent.redirects >= MAX_NESTED_SITEMAPS:
            return LinkRefusal.NESTED_SITEMAP
        return CrawlUrl(
            url=target.url,
            canonical=target.canonical,
            queue_key=target.queue_key,
            depth=parent.depth,
            via=parent.via,  # its links are judged from there, however many sitemaps lie between
            kind=LinkKind.SITEMAP,
            precedence=_sitemap_precedence(parent),
            redirects=parent.redirects + 1,
            link_count=count - 1 if parent.redirects < 0 else count,  # robots.txt is not a page
        )

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        target = self._urls.read(redirect.location.strip(), parent.url)
        if isinstance(target, BadUrl):
            return target
        if target.url == parent.url and (parent.kind == LinkKind.EXTERNAL or not _sets_cookies(redirect)):
            return LinkRefusal.REDIRECT_LOOP
        if parent.redirects >= self._rules.max_redirects:
            return LinkRefusal.TOO_MANY_REDIRECTS
        if parent.kind == LinkKind.EXTERNAL:
            return external_redirect(target, parent, self._scope)
        refusal = self._filter.redirect_refusal(target, parent)
        if refusal is Refusal.OUT_OF_SCOPE and self._rules.check_external:
            return external_redirect(target, parent, self._scope)
        if refusal is not None:
            return refusal
        canonical = target.canonical
        if (
            canonical == parent.canonical
            or _is_back_to_https(target, parent)
            or _had_no_cookie(redirect, target, parent)
        ):
            # The server wants a session id or the like, which the canonical rules remove. So the visited set knows the
            # target already, and we would lose the page; so it does if https had no connection, but has one by now, and
            # if the server had to set a cookie first. No other canonical URL has a fragment.
            canonical = f"{canonical}#redirect-{parent.redirects + 1}"
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=target.queue_key,
            depth=parent.depth,
            via=parent.via if parent.kind == LinkKind.SITEMAP else parent.url,
            kind=LinkKind.SITEMAP if parent.kind == LinkKind.SITEMAP else LinkKind.REDIRECT,
            anchor=None if redirect.message is None else parent.anchor,
            weight=parent.weight,
            precedence=parent.precedence,
            redirects=parent.redirects + 1,
            link_count=0,
        )


def _is_back_to_https(target: Target, parent: CrawlUrl) -> bool:
    """Whether http, which was tried because https had no connection, redirects to https."""
    return parent.kind == LinkKind.REDIRECT and parent.anchor is not None and target.url == parent.via


def _sets_cookies(redirect: Redirect) -> bool:
    """Whether the next request for the same URL has cookies that this one did not have, or has others."""
    return redirect.keeps_cookies and redirect.header("set-cookie") is not None


def _had_no_cookie(redirect: Redirect, target: Target, parent: CrawlUrl) -> bool:
    """Whether a URL has redirected, perhaps because it needs a cookie, and the crawl is sent back there with one."""
    was_there = target.url == parent.url or (parent.kind == LinkKind.REDIRECT and target.url == parent.via)
    return redirect.keeps_cookies and was_there


def _sitemap_precedence(parent: CrawlUrl) -> int:
    """The precedence of a sitemap that `parent` names. A sitemap from robots.txt has that of its page, one from an
    index goes one step later. Deeper ones, of which there may be millions, wait for pages many steps away."""
    nested = parent.redirects
    return parent.precedence if nested < 0 else min(_WORST_PRECEDENCE, parent.precedence + 4**nested)
