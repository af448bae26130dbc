"""Which URLs belong to the crawl. Pure.

Seeds are crawled because somebody asked for them, and are not judged. Any other URL is judged in this order, and the
first that refuses it gives the reason:

1. `within`: it must lie on a seed's host, in a seed's registered domain, below a seed's directory, or anywhere; or in
   one of the `places` that are listed beside;
2. `exclude`: it may lie in no excluded place, and no exclude pattern may be found in it;
3. `include`: if there are include patterns, one of them must be found in it; so they narrow, and exclude wins;
4. `max_depth`: no more links than that may lie between it and a seed.

Before all of these, and wherever a redirect leads: its port must be one that a crawl asks, as `ports` says.

The last three may differ between sites, as `reach` says; it is the URL's own site that counts, and not that of the page
it stands on.

A seed often redirects to another host, as example.org to www.example.org, and who gave that seed wants the pages
there. So a seed's redirect is followed wherever it leads, unless an exclude pattern matches, and a page that was
admitted lends its own host (domain, directory) to the links on it. That needs no memory that a restart could lose, and
adds no more than one host for each hop of a seed's redirect: all other links to a foreign host are refused, so no page
there is ever admitted. Only embedded resources from elsewhere lend nothing.

Patterns run in RE2, whose time grows with the URL's length alone: no pattern can hang a crawl.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Literal

import re2

from crawler.discover.surt_prefixes import (
    SurtPrefixes,
    directory,
    is_covered,
    shortest,
    surt,
)
from crawler.page import EMBEDDED, LinkKind
from crawler.url.hosts import domain_of_site
from crawler.url.ports import Ports
from crawler.url.urls import Target

Within = Literal["host", "domain", "prefix", "any"]

_PATTERN_MEMORY_BYTES: Final = 64 << 20


class Refusal(StrEnum):
    """Why a URL is not crawled, beside those of `urls.BadUrl`. The words are what users read in records."""

    OUT_OF_SCOPE = "out-of-scope"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not-included"
    TOO_DEEP = "too-deep"
    PORT = "port"


class Reach:
    """What of a site is crawled, if it is in scope at all."""

    def __init__(
        self, *, include: Sequence[str] = (), exclude: Sequence[str] = (), max_depth: int | None = None
    ) -> None:
        """Raises `ValueError`, naming the pattern and the reason, for a pattern that RE2 can't compile."""
        self._include = pattern_search(include, "scope.include")
        self._exclude = pattern_search(exclude, "scope.exclude")
        self.has_patterns = bool(include or exclude)
        self.max_depth = max_depth

    def refusal(self, url: str, /) -> Refusal | None:
        """What the patterns say."""
        if self._exclude is not None and self._exclude(url):
            return Refusal.EXCLUDED
        if self._include is not None and not self._include(url):
            return Refusal.NOT_INCLUDED
        return None


class Scope:
    """The limits of one crawl."""

    def __init__(
        self,
        *,
        within: Within,
        seeds: Sequence[Target],
        reach: Callable[[str], Reach] | None = None,
        offsite_embeds: bool = False,
        places: Sequence[str] = (),
        exclude_places: Sequence[str] = (),
        ports: Ports | None = None,
    ) -> None:
        """`places`, written as the module of that name says, belong to the crawl beside those of the seeds, and nothing
        in `exclude_places` does. `reach` gives that of a URL; without it there are no other limits. `offsite_embeds`
        admits images, scripts and styles from other hosts too."""
        self._place_of = _place_function(within)
        self._within_any = within == "any"
        self._by_prefix = within == "prefix"
        self._places = frozenset(map(self._place_of, seeds))
        self._prefixes = shortest(self._places)
        self._more = SurtPrefixes(places) or None
        self._barred = SurtPrefixes(exclude_places) or None
        self._ports = ports or Ports()
        everywhere = Reach()
        self._reach = reach or (lambda _: everywhere)
        self._offsite_embeds = offsite_embeds
        self.tells_embeds_apart = offsite_embeds and within != "any"
        """Whether `standing` may depend on the kind of a link."""

    def refusal(
        self, target: Target, /, *, depth: int, kind: LinkKind = LinkKind.LINK, parent: Target | None = None
    ) -> Refusal | None:
        """Why the URL, found at that depth on an admitted parent, is not crawled; None if it is."""
        refusal, max_depth = self.standing(target, kind=kind)
        if max_depth is not None and depth > max_depth:
            return Refusal.TOO_DEEP
        if refusal is Refusal.OUT_OF_SCOPE and parent is not None and self.is_lent(target, parent):
            return self.pattern_refusal(target)
        return refusal

    def standing(self, target: Target, /, *, kind: LinkKind = LinkKind.LINK) -> tuple[Refusal | None, int | None]:
        """What holds of the URL wherever it is found, so that it may be remembered: why it is refused, and how deep it
        may be found."""
        reach = self._reach(target.url)
        if not self._ports.allow_site(target.site):
            return Refusal.PORT, reach.max_depth
        if not (self._within_any or self._is_within(target) or (self._offsite_embeds and kind in EMBEDDED)):
            return Refusal.OUT_OF_SCOPE, reach.max_depth
        if self._barred is not None and self._barred.cover(target):
            return Refusal.EXCLUDED, reach.max_depth
        return reach.refusal(target.url) if reach.has_patterns else None, reach.max_depth

    def is_lent(self, target: Target, parent: Target, /) -> bool:
        """Whether an admitted page has the URL on its own host, in its domain or below its directory."""
        if self._by_prefix:
            return surt(target).startswith(directory(parent))
        return self._place_of(target) == self._place_of(parent)

    def pattern_refusal(self, target: Target, /) -> Refusal | None:
        """What the port, the patterns and the excluded places alone say."""
        if not self._ports.allow_site(target.site):
            return Refusal.PORT
        if self._barred is not None and self._barred.cover(target):
            return Refusal.EXCLUDED
        return self._reach(target.url).refusal(target.url)

    def bar(self, target: Target, /) -> Refusal | None:
        """Why it is refused wherever it comes from: for its port, or because an excluded place or pattern has it. It is
        all that is asked of where a seed redirects to."""
        refusal = self.pattern_refusal(target)
        return None if refusal is Refusal.NOT_INCLUDED else refusal

    def _is_within(self, target: Target) -> bool:
        if self._more is not None and self._more.cover(target):
            return True
        if self._by_prefix:
            return is_covered(surt(target), self._prefixes)
        return self._place_of(target) in self._places


def _place_function(within: Within) -> Callable[[Target], str]:
    match within:
        case "host" | "any":
            return _host
        case "domain":
            return _domain
        case "prefix":
            return directory
    raise ValueError(f"scope must be within host, domain, prefix or any, not {within!r}")


def _host(target: Target) -> str:
    return target.site


def _domain(target: Target) -> str:
    return domain_of_site(target.site)


def pattern_search(patterns: Sequence[str], name: str) -> Callable[[str], object] | None:
    """One search for all patterns; None if there is none. Raises `ValueError`, naming `name`, the pattern and the
    reason, for one that RE2 can't compile."""
    if not patterns:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY_BYTES
    for pattern in patterns:
        try:
            re2.compile(pattern, options=options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
            raise ValueError(
                f"{name}: {pattern!r} is not a pattern that RE2 can search for ({reason}); "
                "look-around and back-references are not available"
            ) from None
    together = re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), options=options)
    search: Callable[[str], object] = together.search
    return search
