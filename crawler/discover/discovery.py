"""Turns the links of a page into URLs to crawl: resolved, judged, canonical, each with its queue. Pure.

Most links of a site stand on most of its pages, so `links.cache` remembers what an href means and what scope
says of it.

A sitemap that robots.txt or another sitemap names may lie anywhere: we fetch it unless an exclude pattern matches. It
does not count as a step away from the seed. The URLs that it lists are ordinary links. Its host does not bring them
into scope: they must be in scope themselves, or near the page whose robots.txt named the sitemap.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

import msgspec

from crawler.discover.focus import Focus
from crawler.discover.links.external import ExternalLinks, external_redirect
from crawler.discover.links.filter import LinkFilter, LinkRefusal, LinkRules
from crawler.discover.links.followed import FollowedLinks
from crawler.discover.marks import after_redirect, is_target, name_of_page
from crawler.discover.scope import ROBOTS_TXT, Scope, ScopeRefusal
from crawler.discover.traps import Traps
from crawler.page import EMBEDDED, EXTERNAL, SITEMAP, Link, LinkDetail, LinkKind, Redirect
from crawler.protocols import Discovered
from crawler.steps import Steps
from crawler.url.seeds import read_seed, scheme_adder
from crawler.url.urls import BadUrl, Target, UrlReader, join
from frontier import CrawlUrl, canonicals_of

REMEMBERED_LINKS: Final = 50_000
DEFAULT_LINK_RULES: Final = LinkRules()
_REMEMBERED_CHAINS: Final = 10_000


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
        self._chains: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        """By where they lead: the URLs that have redirected there one after another, if there are several."""

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
        checks = ExternalLinks(self._filter, parent) if self._rules.check_external else None
        on_outside = checks.add if checks else None
        followed = FollowedLinks(self._filter, parent, links, focus=self._focus, about=about, on_outside=on_outside)
        for step, judged in enumerate(self._filter.judge_distinct(links, base_url, parent=parent)):
            if step:
                yield
            followed.add(judged())
        refusals = followed.refusals
        return Discovered(
            urls=followed.urls(),
            self_links=followed.self_links,
            refused=_count_reasons(refusals) if refusals else {},
            refusals=refusals,
            checks=checks.urls if checks else [],
        )

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        # A link of a page to itself counts as a repeat, because the crawl knows the page already.
        is_repeat_of = dict.fromkeys(canonicals_of(found.urls), False) | {parent.canonical: True}
        is_repeat_of |= dict.fromkeys((name_of_page(url.canonical) for url in found.checks), False)
        repeats_left = self._rules.max_links_per_page
        unwanted_reason = self._filter.unwanted_reason
        references: list[str] = []
        for step, judged in enumerate(self._filter.judge_each(links, base_url)):
            if step:
                yield
            for place, href, _, judgement in zip(*judged(), strict=True):
                link, target = links[place], judgement.target
                if not isinstance(target, Target) or (not href and _stays_on(parent, target, base_url)):
                    continue
                if (unwanted_reason and unwanted_reason(link)) or (
                    is_repeat := is_repeat_of.get(target.canonical)
                ) is None:
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
        unwanted_reason, others_left = self._filter.unwanted_reason, self._filter.max_links
        followed = {*canonicals_of(found.urls), parent.canonical}
        first = followed - {parent.canonical}
        reasons = {url: str(reason) for url, reason in found.refusals}
        reason_of: dict[str, str] = {}
        """The reasons by canonical URL: `reasons` has only the first of several URLs with one canonical form."""
        details: list[LinkDetail] = []
        for step, judged in enumerate(self._filter.judge_each(links, base_url)):
            if step:
                yield
            for place, href, _, judgement in zip(*judged(), strict=True):
                link, target = links[place], judgement.target
                if isinstance(target, BadUrl) or (not href and _stays_on(parent, target, base_url)):
                    continue
                canonical = target.canonical
                refused: str | None = unwanted_reason(link) if unwanted_reason else None
                if refused is None and canonical not in followed:
                    refused = reasons.get(target.url) or reason_of.get(canonical) or judgement.refusal or "refused"
                    reason_of.setdefault(canonical, refused)
                if refused is None and canonical in first:
                    first.remove(canonical)
                elif others_left:
                    others_left -= 1
                else:
                    continue
                details.append(
                    LinkDetail(
                        url=target.url,
                        canonical=None if canonical == target.url else canonical,
                        kind=link.kind,
                        text=link.text or None,
                        rel=link.rel or None,
                        fragment=link.href.partition("#")[2] or None,
                        refused=None if refused is None else str(refused),
                    )
                )
        return details

    def sitemaps(self, links: Sequence[Link], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        robots_txt = join(parent.url, ROBOTS_TXT) or parent.url
        add_scheme = scheme_adder(robots_txt)
        may_be_outside = self._scope.distinguishes_embeds and parent.kind in EMBEDDED
        if may_be_outside and self._is_outside(self._urls.read(parent.url, parent.url)):
            links = []  # which would open the host to the crawl
        links = [msgspec.structs.replace(link, href=add_scheme(link.href)) for link in links]
        named = CrawlUrl(
            url=robots_txt,
            canonical=robots_txt,
            queue_key=parent.queue_key,
            kind=SITEMAP,
            depth=parent.depth,
            via=robots_txt,
            precedence=parent.precedence,
            redirects=-1,
        )
        return self.links(robots_txt, links, parent=named)

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        target = self._urls.read(redirect.location.strip(), parent.url)
        if isinstance(target, BadUrl):
            return target
        if target.url == parent.url and (parent.kind == EXTERNAL or not _sets_cookies(redirect)):
            return LinkRefusal.REDIRECT_LOOP
        if parent.redirects >= self._rules.max_redirects:
            return LinkRefusal.TOO_MANY_REDIRECTS
        if parent.kind == EXTERNAL:
            return external_redirect(target, parent, self._scope)
        refusal = self._filter.redirect_refusal(target, parent)
        if refusal is ScopeRefusal.OUT_OF_SCOPE and self._rules.check_external:
            return external_redirect(target, parent, self._scope)
        if refusal is not None:
            return refusal
        canonical = target.canonical
        if (
            canonical == parent.canonical
            or _is_back_to_https(target, parent)
            or target.url in self._chain(redirect, target, parent)
        ):
            # The server wants a session id or the like, which the canonical rules remove. So the visited set knows the
            # target already, and we would lose the page; so it does if https had no connection, but has one by now, and
            # if the server had to set a cookie first. No other canonical URL has a fragment.
            canonical = after_redirect(canonical, parent.redirects + 1)
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=target.queue_key,
            depth=parent.depth,
            via=parent.via if parent.kind == SITEMAP else parent.url,
            kind=self._kind_of_target(target, parent),
            anchor=None if redirect.message is None else parent.anchor,
            weight=parent.weight,
            precedence=parent.precedence,
            redirects=parent.redirects + 1,
            link_count=0,
        )

    def _kind_of_target(self, target: Target, parent: CrawlUrl) -> LinkKind:
        """Where a sitemap redirects to is one. An embed that leads out of the seeds' scope stays one, so that it
        lends its host to no link: servers redirect images of other sites to pages. Where embeds may come from
        anywhere, each stays one: its next redirect may lead there."""
        if parent.kind == SITEMAP:
            return SITEMAP
        stays = parent.kind in EMBEDDED and (self._scope.distinguishes_embeds or self._is_outside(target))
        return LinkKind(parent.kind) if stays else LinkKind.REDIRECT

    def _is_outside(self, target: Target | BadUrl) -> bool:
        """Whether the crawl has no pages there, unless one lends its host to it."""
        return not isinstance(target, BadUrl) and self._scope.judge(target)[0] is ScopeRefusal.OUT_OF_SCOPE

    def _chain(self, redirect: Redirect, target: Target, parent: CrawlUrl) -> tuple[str, ...]:
        """The URLs that have redirected to the target one after another, perhaps because they need a cookie, which the
        crawl keeps. A restart forgets all but the last two."""
        if not redirect.keeps_cookies:
            return ()
        if not is_target(parent) or parent.via is None:
            return (parent.url,)
        chain = (*self._chains.get(parent.url, (parent.via,)), parent.url)
        self._chains[target.url] = chain
        if len(self._chains) > _REMEMBERED_CHAINS:
            self._chains.popitem(last=False)
        return chain


def _stays_on(page: CrawlUrl, target: Target, base_url: str) -> bool:
    """Whether a link to a mere fragment leads to the page itself. A <base> may say that it leads to another one."""
    return base_url == page.url or target.canonical == page.canonical


def _count_reasons(refusals: Sequence[tuple[str, str]]) -> dict[str, int]:
    # There are few reasons, and a Counter takes 80 bytecodes of Python to count them.
    reasons = list(map(itemgetter(1), refusals))
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def _is_back_to_https(target: Target, parent: CrawlUrl) -> bool:
    """Whether http, which was tried because https had no connection, redirects to https."""
    return is_target(parent) and parent.anchor is not None and target.url == parent.via


def _sets_cookies(redirect: Redirect) -> bool:
    """Whether the next request for the same URL has cookies that this one did not have, or has others."""
    return redirect.keeps_cookies and redirect.header("set-cookie") is not None
