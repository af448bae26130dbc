"""Decides which URLs belong to the crawl. Pure.

Seeds are not judged: the user asked for them. The scope judges each other URL in this order; the first test that
refuses it is the reason:

1. port: the crawl must ask this port (`ports`);
2. `within`: the URL must lie on a seed's host, in a seed's registered domain, below a seed's directory, or anywhere; or
   in one of the additional `places`;
3. `exclude`: the URL must not lie in an excluded place, nor match an exclude pattern;
4. `include`: if there are include patterns, the URL must match one of them. They narrow the scope, and exclude wins;
5. `max_depth`: the URL must not be further away from a seed than that. What a page needs to be shown may be some steps
   further, so that the deepest pages are as complete as the others.

The last three may differ between sites (`reach`). The site of the URL counts, not that of the page that links to it.

A seed often redirects to another host, such as from example.org to www.example.org, and the user wants the pages there.
So a seed's redirect is followed wherever it leads, unless an exclude pattern matches; and every admitted page lends its
own host (domain, directory) to its links, unless it lies in one of the `places`. This needs no state that a restart
could lose. It adds at most one host for each hop of a seed's redirect: all other links to a foreign host are refused,
so no page there is ever admitted.
Embedded resources from elsewhere lend nothing, nor does what they redirect to.

Patterns and excluded places may change while URLs wait, so a URL must pass them once more when its turn comes.

Patterns run in RE2, in time proportional to the length of the URL: no pattern can hang a crawl.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, Literal

from crawler.discover.surt_prefixes import (
    SurtPrefixes,
    directory,
    is_covered,
    shortest,
    surt,
)
from crawler.page import EMBEDDED, EXTERNAL, SEED, SITEMAP, LinkKind
from crawler.url.hosts import domain_of_site
from crawler.url.patterns import compile_pattern, pattern_parser
from crawler.url.ports import Ports
from crawler.url.urls import BadUrl, Target, UrlReader
from frontier import CrawlUrl

Within = Literal["host", "domain", "prefix", "any"]

ROBOTS_TXT: Final = "/robots.txt"
_PATTERN_MEMORY_BYTES: Final = 64 << 20
_SITES_REMEMBERED: Final = 1024
_NO_PATTERN: Final = "{}: {!r} is not a pattern that RE2 can search for"


class ScopeRefusal(StrEnum):
    """Why a URL is not crawled, beside the reasons of `urls.BadUrl`. Users read these words in records."""

    OUT_OF_SCOPE = "out-of-scope"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not-included"
    TOO_DEEP = "too-deep"
    PORT = "port"


class Reach:
    """Which pages of a site are crawled, if the site is in scope."""

    def __init__(
        self, *, include: Sequence[str] = (), exclude: Sequence[str] = (), max_depth: int | None = None
    ) -> None:
        """Raises `ValueError`, with the pattern and the reason, for a pattern that RE2 can't compile."""
        self._include = pattern_search(include, "scope.include")
        self._exclude = pattern_search(exclude, "scope.exclude")
        self.has_patterns = bool(include or exclude)
        self.max_depth = max_depth

    def refusal(self, url: str, /) -> ScopeRefusal | None:
        """Why the patterns refuse the URL; None if they do not."""
        if self._exclude is not None and self._exclude(url):
            return ScopeRefusal.EXCLUDED
        if self._include is not None and not self._include(url):
            return ScopeRefusal.NOT_INCLUDED
        return None


class Scope:
    """The limits of one crawl."""

    def __init__(
        self,
        *,
        within: Within,
        seeds: Sequence[Target],
        reach: Reach | Callable[[str], Reach] | None = None,
        offsite_embeds: bool = False,
        places: Sequence[str] = (),
        exclude_places: Sequence[str] = (),
        ports: Ports | None = None,
    ) -> None:
        """`places` belong to the crawl in addition to those of the seeds, and `exclude_places` do not; `surt_prefixes`
        describes how they are written. `reach` has the limits of all sites, or returns those of a URL's site; by
        default there are none. `offsite_embeds` admits images, scripts and styles from other hosts."""
        self._place_of = _place_function(within)
        self._within_any = within == "any"
        self._by_prefix = within == "prefix"
        self._places = frozenset(map(self._place_of, seeds))
        self._prefixes = shortest(self._places)
        self._extra_places = SurtPrefixes(places) or None
        self._excluded_places = SurtPrefixes(exclude_places) or None
        self.ports = ports or Ports()
        reach = reach or Reach()
        self._reach = (lambda _: reach) if isinstance(reach, Reach) else reach
        self._offsite_embeds = offsite_embeds
        self.distinguishes_embeds = offsite_embeds and within != "any"
        """Whether `judge` may depend on the kind of a link."""
        depends_on_path = self._by_prefix or self._extra_places is not None or self._excluded_places is not None
        self._refusal_of_site: Callable[[str], ScopeRefusal | None] | None = None
        """What `judge` says before the patterns, if that depends on the site alone. Most new links of a page lead to
        few sites."""
        self.judge_site: Callable[[str], tuple[ScopeRefusal | None, int | None]] | None = None
        """What `judge` says of each URL of a site, if nothing but the site decides, as is usual."""
        if not (depends_on_path or self.distinguishes_embeds):
            within_places = None if self._within_any else self._places
            of_site = partial(_judge_site, ports=self.ports, places=within_places, by_domain=within == "domain")
            self._refusal_of_site = lru_cache(maxsize=_SITES_REMEMBERED)(of_site)
            if isinstance(reach, Reach) and not reach.has_patterns:
                max_depth = reach.max_depth
                self.judge_site = lru_cache(maxsize=_SITES_REMEMBERED)(lambda site: (of_site(site), max_depth))

    def judge(self, target: Target, /, *, kind: LinkKind = LinkKind.LINK) -> tuple[ScopeRefusal | None, int | None]:
        """Why the URL is refused, and its greatest depth. This does not depend on the page, so it can be cached."""
        if self.judge_site is not None:
            return self.judge_site(target.site)
        reach = self._reach(target.url)
        if self._refusal_of_site is not None:
            refusal = self._refusal_of_site(target.site)
            return refusal or (reach.refusal(target.url) if reach.has_patterns else None), reach.max_depth
        if not self.ports.allow_site(target.site):
            return ScopeRefusal.PORT, reach.max_depth
        if not (self._within_any or self._is_within(target) or (self._offsite_embeds and kind in EMBEDDED)):
            return ScopeRefusal.OUT_OF_SCOPE, reach.max_depth
        if self._excluded_places is not None and self._excluded_places.cover(target):
            return ScopeRefusal.EXCLUDED, reach.max_depth
        return reach.refusal(target.url) if reach.has_patterns else None, reach.max_depth

    def is_near(self, target: Target, parent: Target, /) -> bool:
        """Whether the URL lies on the host, in the domain or below the directory of an admitted page."""
        if self._by_prefix:
            return surt(target).startswith(directory(parent))
        return self._place_of(target) == self._place_of(parent)

    def lends(self, page: Target, /) -> bool:
        """Whether an admitted page brings URLs near it into scope that lie outside of the seeds' scope. One in an
        additional place does not: that place alone was asked for, perhaps a directory of its host. The same holds for
        the robots.txt of such a host, which stands for the pages that led there."""
        places = self._extra_places
        if places is not None and (places.cover(page) or (page.path == ROBOTS_TXT and places.touch(page))):
            return False
        if self._by_prefix:
            return not is_covered(directory(page), self._prefixes)
        return self._place_of(page) not in self._places

    def rule_refusal(self, target: Target, /) -> ScopeRefusal | None:
        """Why the port, the patterns or the excluded places refuse the URL; None if they do not."""
        if not self.ports.allow_site(target.site):
            return ScopeRefusal.PORT
        if self._excluded_places is not None and self._excluded_places.cover(target):
            return ScopeRefusal.EXCLUDED
        return self._reach(target.url).refusal(target.url)

    def exclusion(self, target: Target, /) -> ScopeRefusal | None:
        """Why the port, an excluded place or an exclude pattern refuses the URL; None if none does. The targets of a
        seed's redirects must pass this test only."""
        refusal = self.rule_refusal(target)
        return None if refusal is ScopeRefusal.NOT_INCLUDED else refusal

    def has_rules(self, url: str, /) -> bool:
        """Whether patterns or excluded places may refuse the URL."""
        return self._excluded_places is not None or self._reach(url).has_patterns

    def _is_within(self, target: Target) -> bool:
        if self._extra_places is not None and self._extra_places.cover(target):
            return True
        if self._by_prefix:
            return is_covered(surt(target), self._prefixes)
        return self._place_of(target) in self._places


def _judge_site(site: str, *, ports: Ports, places: frozenset[str] | None, by_domain: bool) -> ScopeRefusal | None:
    """Why a site is refused, if no part of it is in other places than the whole. `places` is None if any are."""
    if not ports.allow_site(site):
        return ScopeRefusal.PORT
    is_within = places is None or (domain_of_site(site) if by_domain else site) in places
    return None if is_within else ScopeRefusal.OUT_OF_SCOPE


def refusal_of_admitted(url: CrawlUrl, /, *, scope: Scope, urls: UrlReader) -> ScopeRefusal | BadUrl | None:
    """Why the rules that hold now refuse a URL that was admitted once: a port, a pattern or an excluded place; None if
    they do not. The page that it was found on may have brought it into scope, so the rest of the scope is not asked."""
    target = urls.read(url.url, url.url)
    if isinstance(target, BadUrl):
        return target
    is_free = url.depth == 0 or url.kind in (SITEMAP, EXTERNAL)
    return scope.exclusion(target) if is_free else scope.rule_refusal(target)


def refusal_while_waiting(url: CrawlUrl, /, *, scope: Scope, urls: UrlReader) -> ScopeRefusal | None:
    """Why patterns or excluded places, which may have changed while a URL waited, refuse it; None if they do not. They
    never refuse seeds."""
    if url.kind == SEED or not scope.has_rules(url.url):
        return None
    refusal = refusal_of_admitted(url, scope=scope, urls=urls)
    return refusal if isinstance(refusal, ScopeRefusal) and refusal is not ScopeRefusal.PORT else None


def _place_function(within: Within) -> Callable[[Target], str]:
    match within:
        case "host" | "any":
            return attrgetter("site")
        case "domain":
            return lambda target: domain_of_site(target.site)
        case "prefix":
            return directory
    raise ValueError(f"scope must be within host, domain, prefix or any, not {within!r}")


def pattern_search(patterns: Sequence[str], name: str) -> Callable[[str], object] | None:
    """One search for all patterns; None if there are none. Raises `ValueError`, with `name`, the pattern and the
    reason, for a pattern that RE2 can't compile."""
    if not patterns:
        return None
    compiled = partial(compile_pattern, max_bytes=_PATTERN_MEMORY_BYTES)
    is_pattern = pattern_parser()
    for pattern in patterns:
        # In a group, too: a `\Q` without its `\E` would reach into the next pattern.
        for form in (pattern, _group(pattern)):
            if not is_pattern(form):
                compiled(form, _NO_PATTERN.format(name, pattern))
    try:
        together = compiled(
            "|".join(map(_group, patterns)), f"{name}: RE2 can't search for all {len(patterns)} at once"
        )
    except ValueError:
        for pattern in patterns:
            compiled(pattern, _NO_PATTERN.format(name, pattern))
        raise
    search: Callable[[str], object] = together.search
    return search


def _group(pattern: str) -> str:
    return f"(?:{pattern})"
