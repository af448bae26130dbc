"""Makes what visits pages again: URLs from the ledger, and the schedule."""

import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final, assert_never

import msgspec

from config import Config, Loaded
from crawler.discover.marks import name_of_page
from crawler.discover.scope import pattern_search, refusal_of_admitted
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_at
from crawler.page import SITEMAP, LinkKind
from crawler.protocols import Discovery
from crawler.record import seed_without_scheme
from crawler.revisit.known_pages import KnownPages
from crawler.revisit.planning import VisitPlanning
from crawler.revisit.schedules import Adaptive, Bounds, ByCache, ByPattern, BySitemap, Fixed, Schedule
from crawler.wiring.backends import lacks
from crawler.wiring.components import discovering
from crawler.wiring.live.values import Latest, Values
from frontier import CrawlUrl, Frontier, LedgerEntry, Revisiting, UrlState
from frontier.state import FrontierState

STAY_VARIABLE: Final = "ONCEOVER_STAY"
"""Set by the daemon: a crawl with a schedule of visits waits for them."""
_UNKNOWN_PRECEDENCE: Final = 128
"""Behind what the crawl has not fetched yet."""
_DAY_S: Final = 86_400.0


class UrlsAgain:
    """Makes URLs to fetch of what the ledger knows of them."""

    def __init__(self, loaded: Loaded, discovery: Discovery | None = None) -> None:
        """`discovery` is that of the configuration, where somebody has made it already: all seeds are read for it."""
        self._discovery = discovering.rules_of(loaded).discovery if discovery is None else discovery
        self._deepest = loaded.config.scope.max_depth
        texts = [seed.url for seed in loaded.seeds if not seed.url.lstrip().startswith(("https://", "http://"))]
        seeds = self._discovery.seeds(texts)
        self._without_scheme = {seed.canonical: seed.anchor for seed in seeds if seed.anchor is not None}
        """By their canonical URLs, the seeds without a scheme as they were written."""

    def url(self, entry: LedgerEntry) -> CrawlUrl | None:
        """None if it can't be read any more."""
        try:
            (url,) = self._discovery.seeds([entry.url or name_of_page(entry.canonical)])
        except ValueError:
            return None
        return msgspec.structs.replace(
            url,
            canonical=entry.canonical,
            depth=self._depth(entry),
            via=entry.via,
            kind=entry.kind,
            anchor=self._anchor(entry, url.url),
            change_frequency=entry.change_frequency,
            precedence=_UNKNOWN_PRECEDENCE,
        )

    def _anchor(self, entry: LedgerEntry, url: str) -> str | None:
        """What was written of a seed without a scheme, unless https has answered at the last visit."""
        noted = seed_without_scheme(entry, url)
        has_answered = noted is None and (entry.state is UrlState.DONE or entry.kind != LinkKind.SEED)
        return None if has_answered else self._without_scheme.get(entry.canonical, noted)

    def _depth(self, entry: LedgerEntry) -> int:
        """A damaged entry has lost its depth. Then the page leads to no other pages."""
        if entry.depth is not None:
            return entry.depth
        return 0 if entry.via is None else self._deepest


class Plan:
    """A `RevisitPlan`."""

    def __init__(self, latest: Latest, planning: VisitPlanning) -> None:
        self._latest = latest
        self._planning = planning
        self._set(latest.values)

    def _set(self, values: Values) -> None:
        self._values, self._again = values, UrlsAgain(values.loaded, values.discovery)

    def url(self, entry: LedgerEntry, /) -> CrawlUrl | None:
        values = self._latest.values
        if values is not self._values:
            self._set(values)
        url = self._again.url(entry)
        is_refused = url is not None and refusal_of_admitted(url, scope=values.scope, urls=values.urls) is not None
        return None if is_refused else url

    def interval_s(self, entry: LedgerEntry, /) -> float | None:
        # A URL that a rule has excluded is visited too: the rule may have changed by then.
        return self._planning.after_entry_s(entry)


def revisits(
    latest: Latest, directory: CrawlDirectory, state: FrontierState, frontier: Frontier
) -> tuple[VisitPlanning | None, Callable[[], Coroutine[object, object, None]] | None]:
    """The configured schedule, and what queues pages again when they are due. Raises `ConfigError`."""
    loaded = latest.values.loaded
    part = part_at(directory.original)
    pages = KnownPages(frontier.describe, state.notes)
    pages.count()  # before any of them waits again
    planning = make_planning(loaded, pages, parts=1 if part is None else part.parts)
    if planning is None:
        return None, None
    if not isinstance(frontier, Revisiting):
        raise lacks(loaded.config, "visit pages again, as recrawl.schedule asks")
    plan = Plan(latest, planning)
    is_kept_up = os.environ.get(STAY_VARIABLE) is not None and loaded.config.daemon.schedule is None
    return planning, partial(frontier.revisit, plan, stay=loaded.config.recrawl.stay or is_kept_up)


def make_planning(loaded: Loaded, pages: KnownPages | None = None, *, parts: int = 1) -> VisitPlanning | None:
    """The configured schedule; None if there is none. `pages` counts those of the part if the crawl is in parts. Raises
    `ConfigError`."""
    config = loaded.config
    recrawl = config.recrawl
    least, most = recrawl.min_interval_s, recrawl.max_interval_s
    if least > most:
        if loaded.origins["recrawl.min_interval_s"] == "default":  # nobody knows of that value
            found = f"expected at least recrawl.min_interval_s = {least}, found {most}"
            raise loaded.refuse("recrawl.max_interval_s", found)
        found = f"expected at most recrawl.max_interval_s = {most}, found {least}"
        raise loaded.refuse("recrawl.min_interval_s", found)
    patterns = []
    for number, each in enumerate(recrawl.pattern, start=1):
        key = f"recrawl.pattern[{number}].matching"
        with loaded.refusing(key):
            search = pattern_search([each.matching], key)
        if search is not None:
            patterns.append((search, each.interval_s))
    if recrawl.schedule == "off":
        return None
    others = _schedule(config, (lambda: 0) if pages is None else pages.count, parts)
    schedule = ByPattern(patterns, others, gone_s=recrawl.max_interval_s)
    return VisitPlanning(schedule, sitemaps=others if isinstance(others, BySitemap) else None, pages=pages)


def with_whole_sitemaps(
    may_be_conditional: Callable[[CrawlUrl], bool], planning: VisitPlanning | None
) -> Callable[[CrawlUrl], bool]:
    """Whether the request for a URL may be conditional. If pages are visited because of what sitemaps say, it may not
    for a sitemap: one that has not changed may now say something else of a page, which was visited since."""
    if planning is None or not planning.follows_sitemaps:
        return may_be_conditional
    return lambda url: url.kind != SITEMAP and may_be_conditional(url)


def _schedule(config: Config, pages: Callable[[], int], parts: int) -> Schedule:
    recrawl = config.recrawl
    bounds = Bounds(first_s=recrawl.interval_s, min_s=recrawl.min_interval_s, max_s=recrawl.max_interval_s)
    match recrawl.schedule:
        case "off" | "fixed":
            return Fixed(recrawl.interval_s)
        case "sitemap":
            return BySitemap(bounds)
        case "cache":
            return ByCache(bounds)
        case "adaptive":
            return Adaptive(bounds)
        case "estimate":
            from crawler.revisit.allotment import AIMS, Allotment, Estimated  # noqa: PLC0415 - needs NumPy

            per_day = recrawl.visits_per_day

            def mean_s() -> float:
                return recrawl.interval_s if per_day is None else max(pages(), 1) * _DAY_S * parts / per_day

            return Estimated(Allotment(bounds, mean_s=mean_s, aim=AIMS[recrawl.aim]))
    assert_never(recrawl.schedule)
