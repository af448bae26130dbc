"""The components of a crawl, and the options of its pipeline."""

import time
from collections.abc import Callable, Coroutine
from typing import Final

import msgspec

from crawler.page import Wanted
from crawler.politeness.response_policy import ResponsePolicy
from crawler.preferences.judging import NO_PURPOSE, Preferences
from crawler.protocols import Addresses, ContentReading, Discovery, Planning, Quota, Repeats
from crawler.record import ArchiveFilter
from crawler.seams import Fetcher, LinkExtractor, Robots, Sink
from frontier import CrawlUrl, Frontier, Recrawling, VisitsSince

NOTHING_WANTED: Final = Wanted()


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """What the pipeline works with."""

    frontier: Frontier
    fetcher: Fetcher
    extractor: LinkExtractor
    robots: Robots
    discovery: Discovery
    sink: Sink
    policy_for: Callable[[str], ResponsePolicy]
    """The policy for a URL."""
    queue_key: Callable[[str], str]
    """The key of the queue that a URL would belong to."""
    read_content: ContentReading | None = None
    """Needed only if the content of pages is wanted."""
    repeats: Repeats | None = None
    """Needed only if something follows from what a page repeats."""
    preferences: Preferences = NO_PURPOSE
    """Judges the use of pages by what the crawl is for."""
    addresses: Addresses | None = None
    """Needed only if hosts at one address share a pace."""
    quota: Quota | None = None
    """The limits of pages for hosts, domains and patterns."""
    sitemap_quota: Quota | None = None
    refusal_while_waiting: Callable[[CrawlUrl], str | None] = lambda _: None
    """Why the scope, which may have changed while a URL waited, refuses it by now; None if it does not."""
    planning: Planning | None = None
    """When pages are visited again; None if they are not."""
    recrawling: Recrawling | None = None
    """Takes pages that have changed according to a sitemap."""
    visiting: Callable[[], Coroutine[object, object, None]] | None = None
    """Queues pages again when their visits are due, until it is cancelled."""
    may_be_conditional: Callable[[CrawlUrl], bool] = lambda _: True
    """Whether the request for a URL may be conditional: if the page has not changed, the crawl will keep its copy."""
    archive_began: Callable[[], VisitsSince] = VisitsSince
    """Since when the archive began anew. Nothing in it refers to what was fetched before."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds since an arbitrary moment; progress must use the same clock."""


class PipelineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the pipeline does in addition."""

    references: bool = False
    """Write the links of each page into its record, repeats included."""
    link_details: bool = False
    """Write the links of each page with their texts, also those that were not admitted."""
    refusals: bool = False
    """Write the links that were not admitted into the record."""
    archive_filter: ArchiveFilter | None = None
    """Which pages the archive gets; None for all."""
    wanted: Wanted = NOTHING_WANTED
    """What the record of each page takes of its content."""
    sitemaps: bool = False
    """Read the sitemaps that robots.txt names."""
