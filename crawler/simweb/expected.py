"""Computes what a complete crawl of a simulated web must settle, from the geography alone."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from crawler.simweb.geography import (
    TRAP_ENTRIES,
    Geography,
    Obstacle,
    RobotsStyle,
    Site,
    broken_status,
    dead_status,
    redirect_status,
)
from crawler.simweb.paths import Sort, Spot

PRIVILEGED_AGENT = "librarian"
"""On hosts with rules, robots.txt allows /private/ for this user agent."""


class Kind(StrEnum):
    """What becomes of a URL."""

    PAGE = "page"
    """Answers 200, perhaps after some failures."""
    REDIRECT = "redirect"
    DEAD = "dead"
    """404 or 410."""
    ERROR = "error"
    """Always 5xx."""
    CUT = "cut"
    """The connection always closes in the middle of the body."""
    EXCLUDED = "excluded-by-robots"
    BARRED = "robots-unreachable"
    """The robots.txt of its host answers 5xx, so it must not be fetched."""
    SITEMAP = "sitemap"


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """One URL that a complete crawl settles."""

    url: str
    """Canonical."""
    status: int | None
    """The status of the last response; None if it must not be fetched, or if its body is always cut."""
    kind: Kind
    obstacle: Obstacle | None = None
    """For pages: what delays them."""
    failures: int = 0
    """For pages: how many requests fail before one succeeds."""
    target: str | None = None
    """For redirects: the canonical target."""


def expected_on(
    geography: Geography, index: int, *, robots: bool, agent: str, sitemaps: bool, port: int | None
) -> Iterator[Expected]:
    """Every URL of one host that a complete crawl settles, each once.

    `robots`: whether the crawler obeys robots.txt, as `agent`. `sitemaps`: whether it reads the sitemaps that
    robots.txt names. The host itself links to all these URLs, so a crawl of only this host settles the same. Raises
    `ValueError` if the crawl would never leave a trap, or if pages come and go.
    """
    site = geography.site(index)

    def expect(spot: Spot, status: int | None, kind: Kind) -> Expected:
        return Expected(url=geography.url(index, spot, port=port), status=status, kind=kind)

    if site.trapped and not (robots and geography.params.traps_disallowed):
        raise ValueError(
            f"no crawl of this web is ever complete: {site.name} has endless paths that the crawler may enter; "
            "set traps to 0, or obey robots.txt and set traps_disallowed"
        )
    if geography.params.fleeting:
        raise ValueError(
            "what a crawl of this web finds depends on the time, because pages come and go; set fleeting to 0"
        )
    if robots and site.robots is RobotsStyle.BROKEN:
        yield expect(Spot(Sort.PAGE), None, Kind.BARRED)
        return
    yield from _pages(geography, site, port)
    yield from _redirects(geography, site, port)
    for n in range(site.counts[Sort.DEAD]):
        yield expect(Spot(Sort.DEAD, n), dead_status(Spot(Sort.DEAD, n)), Kind.DEAD)
    for n in range(site.counts[Sort.BROKEN]):
        yield expect(Spot(Sort.BROKEN, n), broken_status(Spot(Sort.BROKEN, n)), Kind.ERROR)
    for n in range(site.counts[Sort.CUT]):
        yield expect(Spot(Sort.CUT, n), None, Kind.CUT)
    privileged = agent.partition("/")[0].strip().lower() == PRIVILEGED_AGENT
    for n in range(site.counts[Sort.DISALLOWED]):
        is_open = not robots or (privileged and n % 2 == 0)
        yield expect(Spot(Sort.DISALLOWED, n), 200 if is_open else None, Kind.PAGE if is_open else Kind.EXCLUDED)
    if site.trapped:
        for entry in TRAP_ENTRIES:
            yield expect(entry, None, Kind.EXCLUDED)
    if sitemaps and robots and site.robots is not RobotsStyle.MISSING:
        for n in range(geography.sitemap_parts(site) + 1):
            yield expect(Spot(Sort.SITEMAP, n), 200, Kind.SITEMAP)
        for n in range(site.counts[Sort.HIDDEN]):
            yield expect(Spot(Sort.HIDDEN, n), 200, Kind.PAGE)


def statuses(expected: Iterable[Expected]) -> dict[str, int]:
    """The URLs that must have a record with a status, and that status: pages, redirects, dead links and errors."""
    return {e.url: e.status for e in expected if e.status is not None}


def urls(expected: Iterable[Expected], *kinds: Kind) -> set[str]:
    """The URLs of some kinds, or of all if none is named."""
    return {e.url for e in expected if not kinds or e.kind in kinds}


def counts(expected: Iterable[Expected]) -> dict[Kind, int]:
    """How many URLs there are of each kind."""
    return dict(Counter(e.kind for e in expected))


def _pages(geography: Geography, site: Site, port: int | None) -> Iterator[Expected]:
    params = geography.params
    failures = {
        Obstacle.FLAKY: params.flaky_failures,
        Obstacle.THROTTLED: params.throttled_answers,
        Obstacle.CUT: params.cut_answers,
    }
    for n in range(site.page_count):
        obstacle, *_ = geography.fate(site, n)
        yield Expected(
            url=geography.url(site.index, Spot(Sort.PAGE, n), port=port),
            status=200,
            kind=Kind.PAGE,
            obstacle=obstacle,
            failures=failures.get(obstacle, 0) if obstacle else 0,
        )


def _redirects(geography: Geography, site: Site, port: int | None) -> Iterator[Expected]:
    for sort in (Sort.REDIRECT, Sort.LOOP):
        for n in range(site.counts[sort]):
            for step in range(geography.steps(site, Spot(sort, n))):
                spot = Spot(sort, n, step)
                host, onward = geography.onward(site, spot)
                yield Expected(
                    url=geography.url(site.index, spot, port=port),
                    status=redirect_status(spot),
                    kind=Kind.REDIRECT,
                    target=geography.url(host, onward, port=port),
                )
