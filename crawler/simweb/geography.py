"""Says what exists in a simulated web: hosts, their resources, and the paths of these. Pure arithmetic.

The pages of a host are numbered. Page n links to pages n·b+1 … n·b+b (b = `branching`), so they form a tree from page
0, which is `/`. Pages with children are the *trunk* (numbers below `trunk_count`); the others are *leaves*. Only leaves
can fail, and resources that the trunk links to, so everything is reachable without passing through a failure. Hosts
form a tree in the same way: the root page of a host links to the root pages of its child hosts.
"""

import struct
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b

import msgspec

from crawler.simweb.params import WorldParams
from crawler.simweb.paths import Sort, Spot, canonical_target, path_of, spot_at

TRAP_ENTRIES = (Spot(Sort.CALENDAR, 0, 0), Spot(Sort.MAZE, 0, 1))
LOOP_LENGTHS = (1, 2, 5)
MAX_CHAIN_LENGTH = 4
MAX_SITEMAP_ENTRIES = 50_000
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_CACHED_SITES = 4096
_MAX_DIGITS = 18
"""Of the number of a host. Python refuses to read thousands of digits."""


class Obstacle(StrEnum):
    """What makes a leaf page hard to fetch."""

    FLAKY = "flaky"
    THROTTLED = "throttled"
    SLOW = "slow"
    CUT = "cut"


class RobotsStyle(StrEnum):
    """The kind of robots.txt that a host has."""

    PLAIN = "plain"
    """Allows everything."""
    RULES = "rules"
    REDIRECT = "redirect"
    """Rules, behind a redirect."""
    MISSING = "missing"
    BROKEN = "broken"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One host, with how many resources of each sort it has."""

    index: int
    name: str
    page_count: int
    trunk_count: int
    robots: RobotsStyle
    crawl_delay_s: float | None
    counts: dict[Sort, int]
    """For the sorts other than pages: disallowed, hidden, redirect, loop, dead, broken, cut."""
    trapped: bool

    @property
    def has_rules(self) -> bool:
        return self.robots in (RobotsStyle.RULES, RobotsStyle.REDIRECT)


def draws(seed: int, *numbers: int) -> tuple[int, ...]:
    """Eight independent 64-bit numbers that depend only on the arguments."""
    key = struct.pack(f"<{len(numbers) + 1}q", seed, *numbers)
    return struct.unpack("<8Q", blake2b(key, digest_size=64).digest())


def share(draw: int) -> float:
    """A 64-bit number as a float in [0, 1)."""
    return (draw >> 11) / 9007199254740992.0


class Geography:
    """The map of one simulated web."""

    def __init__(self, params: WorldParams) -> None:
        self.params = params
        self.host_count = params.hosts
        self.barred_count = round(params.hosts * params.robots_broken)
        """Hosts whose robots.txt answers 5xx. Their indices follow those of the others."""
        self.site = lru_cache(maxsize=_CACHED_SITES)(self._site)

    def host_name(self, index: int) -> str:
        return f"h{index:05d}.{self.params.domain}"

    def host_index(self, name: str) -> int | None:
        """The host of that name; None if there is none. Names are not case-sensitive."""
        name = name.lower().rstrip(".")
        label, _, domain = name.partition(".")
        digits = label[1:]
        if domain != self.params.domain or not (digits.isascii() and digits.isdecimal()) or len(digits) > _MAX_DIGITS:
            return None
        index = int(digits)
        exists = index < self.host_count + self.barred_count and self.host_name(index) == name
        return index if exists else None

    def page_count(self, index: int) -> int:
        """The number of pages of a host; cheaper to compute than its `Site`."""
        p = self.params
        if index >= self.host_count:
            return 1
        if p.giant_hosts and share(draws(p.seed, index, 1)[0]) < p.giant_hosts:
            return p.pages_per_host * p.giant_factor
        return p.pages_per_host

    def child_hosts(self, index: int) -> Iterator[int]:
        """The hosts to which the root page of this host always links."""
        if index >= self.host_count:
            return
        first = index * self.params.host_branching + 1
        yield from range(first, min(first + self.params.host_branching, self.host_count))
        yield from range(self.host_count + index, self.host_count + self.barred_count, self.host_count)

    def child_pages(self, site: Site, number: int) -> range:
        first = number * self.params.branching + 1
        return range(min(first, site.page_count), min(first + self.params.branching, site.page_count))

    def origin(self, index: int, *, port: int | None = None) -> str:
        """Scheme and authority of a host, without `port` if it is None or the default one."""
        scheme, default = ("https", 443) if self.params.https else ("http", 80)
        name = self.host_name(index)
        return f"{scheme}://{name}" if port in (None, default) else f"{scheme}://{name}:{port}"

    def url(self, index: int, spot: Spot, *, port: int | None = None) -> str:
        """The canonical URL of a resource."""
        return self.origin(index, port=port) + path_of(index, spot)

    def locate(self, site: Site, target: str) -> Spot | None:
        """The resource at a path with query, ignoring session ids; None if there is none."""
        spot = spot_at(site.index, canonical_target(target))
        return spot if spot is not None and self._exists(site, spot) else None

    def fate(self, site: Site, number: int) -> tuple[Obstacle | None, int, bool]:
        """The obstacle of a page, and the page whose body it has: its own number, unless it is a duplicate; and whether
        it has some words of its own all the same.

        A page of the trunk has no obstacle and is not a duplicate. Duplicates have the bodies of trunk pages.
        """
        if number < site.trunk_count:
            return None, number, False
        p = self.params
        fate_draw, source_draw, *_ = draws(p.seed, site.index, 6, number)
        chance = share(fate_draw)
        for obstacle, wanted in (
            (Obstacle.FLAKY, p.flaky),
            (Obstacle.THROTTLED, p.throttled),
            (Obstacle.SLOW, p.slow),
            (Obstacle.CUT, p.cut),
        ):
            if chance < wanted:
                return obstacle, number, False
            chance -= wanted
        is_near = p.duplicates <= chance < p.duplicates + p.near_duplicates
        return None, source_draw % site.trunk_count if chance < p.duplicates or is_near else number, is_near

    def is_fleeting(self, site: Site, spot: Spot) -> bool:
        """Whether a page comes and goes. No page of the trunk does."""
        if spot.sort is not Sort.PAGE or spot.number < site.trunk_count:
            return False
        pick, *_ = draws(self.params.seed, site.index, 10, spot.number)
        return share(pick) < self.params.fleeting

    def chain_length(self, site: Site, number: int) -> int:
        """The number of redirects in a chain; most chains have one."""
        draw = draws(self.params.seed, site.index, 3, number)[0] % 8
        return 1 if draw < 4 else min(draw - 3, MAX_CHAIN_LENGTH)

    def onward(self, site: Site, spot: Spot) -> tuple[int, Spot]:
        """The target of a redirect: host and resource. A quarter of the chains end on a page of another host."""
        index = site.index
        if spot.sort is Sort.LOOP:
            return index, Spot(Sort.LOOP, spot.number, (spot.step + 1) % loop_length(spot.number))
        if spot.step + 1 < self.chain_length(site, spot.number):
            return index, Spot(Sort.REDIRECT, spot.number, spot.step + 1)
        chance, host_draw, page_draw, *_ = draws(self.params.seed, index, 4, spot.number)
        host = host_draw % self.host_count if chance % 4 == 0 else index
        return host, Spot(Sort.PAGE, page_draw % self.page_count(host))

    def steps(self, site: Site, spot: Spot) -> int:
        """The number of URLs in the chain or loop of a resource; 1 for other sorts."""
        if spot.sort is Sort.REDIRECT:
            return self.chain_length(site, spot.number)
        return loop_length(spot.number) if spot.sort is Sort.LOOP else 1

    def sitemap_parts(self, site: Site) -> int:
        """The number of files of a split sitemap, without its index; 0 if it is one file."""
        entries = site.page_count + site.counts[Sort.HIDDEN]
        return 0 if entries <= MAX_SITEMAP_ENTRIES else -(-entries // MAX_SITEMAP_ENTRIES)

    def _exists(self, site: Site, spot: Spot) -> bool:
        match spot.sort:
            case Sort.PAGE:
                return spot.number < site.page_count
            case Sort.CALENDAR | Sort.MAZE:
                return site.trapped
            case Sort.ROBOTS:
                return True
            case Sort.SITEMAP:
                return spot.number <= self.sitemap_parts(site)
            case Sort.ROBOTS_MOVED:
                return site.robots is RobotsStyle.REDIRECT
            case _:
                return spot.number < site.counts[spot.sort] and spot.step < self.steps(site, spot)

    def _site(self, index: int) -> Site:
        p = self.params
        style_draw, delay_draw, trap_draw, *_ = draws(p.seed, index, 2)
        pages = self.page_count(index)
        robots = self._robots_style(index, share(style_draw))
        has_rules = robots in (RobotsStyle.RULES, RobotsStyle.REDIRECT)
        ordinary = index < self.host_count
        advertised = robots is not RobotsStyle.MISSING
        shares = {
            Sort.DISALLOWED: p.disallowed * has_rules,
            Sort.HIDDEN: p.sitemap_only * advertised,
            Sort.REDIRECT: p.redirects,
            Sort.LOOP: p.redirect_loops,
            Sort.DEAD: p.not_found,
            Sort.BROKEN: p.broken,
            Sort.CUT: p.cut_forever,
        }
        rounding = draws(p.seed, index, 5)
        return Site(
            index=index,
            name=self.host_name(index),
            page_count=pages,
            trunk_count=1 if pages == 1 else (pages - 2) // p.branching + 1,
            robots=robots,
            crawl_delay_s=p.crawl_delay_s if advertised and share(delay_draw) < p.crawl_delays else None,
            counts={
                sort: int(wanted * pages + share(draw)) if ordinary else 0
                for (sort, wanted), draw in zip(shares.items(), rounding, strict=False)
            },
            trapped=ordinary and (has_rules or not p.traps_disallowed) and share(trap_draw) < p.traps,
        )

    def _robots_style(self, index: int, chance: float) -> RobotsStyle:
        p = self.params
        if index >= self.host_count:
            return RobotsStyle.BROKEN
        for style, wanted in (
            (RobotsStyle.RULES, p.robots_rules),
            (RobotsStyle.REDIRECT, p.robots_redirect),
            (RobotsStyle.MISSING, p.robots_missing),
        ):
            if chance < wanted:
                return style
            chance -= wanted
        return RobotsStyle.PLAIN


def loop_length(number: int) -> int:
    return LOOP_LENGTHS[number % len(LOOP_LENGTHS)]


def redirect_status(spot: Spot) -> int:
    return _REDIRECT_STATUSES[(spot.number + spot.step) % len(_REDIRECT_STATUSES)]


def dead_status(spot: Spot) -> int:
    return 410 if spot.number % 5 == 4 else 404


def broken_status(spot: Spot) -> int:
    return 502 if spot.number % 2 else 500
