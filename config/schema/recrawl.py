"""When pages are visited again."""

from typing import Annotated, Literal

import msgspec

from config.schema.kinds import MOST, YEAR_S, Text, between, meaning

_MOST_S = 10 * YEAR_S


class RecrawlPattern(msgspec.Struct, frozen=True, kw_only=True):
    """An interval for some pages, whatever the schedule says. The first of these patterns that is found in a URL
    counts."""

    matching: Annotated[Text, meaning("A pattern of RE2 that is found in the URL.")]
    interval_s: Annotated[float, between(1, _MOST_S, "seconds"), meaning("The interval between two visits.")]


class Recrawl(msgspec.Struct, frozen=True, kw_only=True):
    """When pages are visited again, with conditional requests. A crawl without a schedule visits each page once."""

    schedule: Annotated[
        Literal["off", "fixed", "sitemap", "cache", "adaptive", "estimate"],
        meaning(
            "How long it is to the next visit. fixed: interval_s. sitemap: interval_s for sitemaps; pages when a "
            "sitemap says that they have changed since (lastmod), or as often as it says that they change "
            "(changefreq), or else after max_interval_s. cache: as long as the server says that its answer is fresh. "
            "adaptive: a fifth shorter after a change, a fifth longer without one. estimate: by the estimated rate of "
            "change, so that the most copies are current for the same number of visits."
        ),
    ] = "off"
    interval_s: Annotated[
        float, between(1, _MOST_S, "seconds"), meaning("The first interval, and that of a fixed schedule.")
    ] = 604_800.0
    min_interval_s: Annotated[float, between(1, _MOST_S, "seconds"), meaning("The shortest interval.")] = 3600.0
    max_interval_s: Annotated[
        float, between(1, _MOST_S, "seconds"), meaning("The longest interval, also of pages that are gone.")
    ] = 7_776_000.0
    visits_per_day: Annotated[
        Annotated[int, between(1, MOST, "visits per day")] | None,
        meaning(
            "The budget of the schedule estimate. Unset means as many visits as if each page had one in each "
            "interval_s."
        ),
    ] = None
    aim: Annotated[
        Literal["current", "age"],
        meaning(
            "What the schedule estimate is for. current: that the most copies are current; pages that change too often "
            "are given up. age: that copies are the least old on average; no page is given up."
        ),
    ] = "current"
    stay: Annotated[
        bool,
        meaning(
            "Whether the crawl waits for the next visit when nothing is left to fetch. If not, it ends when no visit "
            "is due, and the next run goes on. A crawl of the daemon without daemon.schedule always waits."
        ),
    ] = False
    pattern: tuple[RecrawlPattern, ...] = ()
