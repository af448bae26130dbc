"""Puts the parts of a crawl together, and takes them apart in order."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec

from config import Config, Loaded
from crawler.components import Components, PipelineOptions
from crawler.discover.recanonicalize import Recanonicalizer
from crawler.discover.refusal_counts import QuotaCounted, Refusals, TrapsCounted
from crawler.disk.directory import CrawlDirectory
from crawler.disk.free_space import FreeSpaceGuard
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.engine import Engine, Limits
from crawler.progress import Gauge
from crawler.url.canonical import RULES_VERSION
from crawler.url.hosts import registered_domain
from crawler.wiring import discovering, fetching, processing, rendering, storage
from crawler.wiring.recovery import take_up_newer_output
from crawler.wiring.sites import Sites
from frontier import Notes
from frontier.shell import QueueFrontier
from visited import VisitedSet

log = logging.getLogger(__name__)


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl, ready to run."""

    engine: Engine
    frontier: QueueFrontier
    gauge: Gauge
    new_seeds: int
    """Seeds that were not known before."""


Rebuilding = Callable[[str, int], None]
"""Told what is being rebuilt, and from how many URLs so far."""


@asynccontextmanager
async def assembled(
    loaded: Loaded,
    directory: CrawlDirectory,
    *,
    rebuild: bool = False,
    rebuilding: Rebuilding = lambda _what, _urls: None,
) -> AsyncIterator[Crawl]:
    """The crawl of a configuration in its locked directory; closed in order when left.

    With `rebuild`, a crawl whose URLs were named by other rules is rebuilt, not refused.

    Raises `ConfigError` for what only the parts could judge, `StoreRefused`, `StoreFailed`, and `BrowserRefused`.
    """
    config = loaded.config
    registered_domain("example.org")  # reads the list of suffixes, which takes a while, now
    sites = Sites(loaded)
    urls = discovering.url_reader(loaded)
    seeds = discovering.seeds(loaded, urls)
    discovery = discovering.discovery(loaded, sites, urls, seeds)
    async with AsyncExitStack() as stack:
        readdressing = discovering.readdressing(config, urls) if rebuild else None
        frontier, visited, notes, version = await _frontier(config, directory, readdressing, rebuilding, stack)
        if version != RULES_VERSION:
            log.warning(
                "begun with version %d of the canonical rules, and goes on with it; --rebuild brings in version %d",
                version,
                RULES_VERSION,
            )
            urls = discovering.url_reader(loaded, version=version)
            discovery = discovering.discovery(loaded, sites, urls, seeds)
        full_disk = FullDiskRetry(
            hold=partial(frontier.hold, by="output"), let_go=partial(frontier.let_go, by="output")
        )
        sink = processing.sink(config, directory, full_disk)
        stack.push_async_callback(sink.aclose)
        fetcher = fetching.fetcher(loaded, sites, notes, ports=discovering.ports(loaded, seeds))
        stack.push_async_callback(fetcher.aclose)
        robots = fetching.robots(config, sites, fetcher, notes)
        rendering_fetcher = await rendering.rendering(loaded, directory, fetcher, robots)
        stack.push_async_callback(rendering_fetcher.aclose)
        guard = FreeSpaceGuard(
            [directory.path],
            min_free_bytes=config.output.min_free_bytes,
            hold=partial(frontier.hold, by="room"),
            let_go=partial(frontier.let_go, by="room"),
        )
        stack.callback(guard.close)
        guard.start()
        refusals, quota = Refusals(notes), discovering.quota(loaded, sites, notes)
        components = Components(
            frontier=frontier,
            fetcher=rendering_fetcher,
            extractor=processing.extractor(loaded),
            robots=robots,
            discovery=TrapsCounted(discovery, refusals),
            sink=sink,
            policy_for=sites.each(fetching.response_policy).of,
            queue_key=partial(discovering.queue_key, urls),
            addresses=fetcher if "ip" in storage.grouping(config).limits else None,
            quota=None if quota is None else QuotaCounted(quota, refusals),
            sitemap_quota=QuotaCounted(discovering.sitemap_quota(sites, notes), refusals),
        )
        engine = Engine(
            components,
            concurrency=config.fetch.concurrency,
            spare=config.fetch.spare,
            limits=Limits(pages=config.limits.pages, bytes=config.limits.bytes, seconds=config.limits.seconds),
            options=PipelineOptions(
                references=config.output.links, refusals=config.output.refusals, sitemaps=config.scope.sitemaps
            ),
            on_stop=full_disk.stop,
        )
        if config.frontier.backend != "memory":
            await take_up_newer_output(config, directory, frontier, urls)
        new_seeds = await frontier.add(discovery.seeds([seed.url for seed in seeds]))
        gauge = Gauge(engine.counters, frontier.describe, visited.describe)
        yield Crawl(engine=engine, frontier=frontier, gauge=gauge, new_seeds=new_seeds)


async def _frontier(
    config: Config,
    directory: CrawlDirectory,
    readdressing: Recanonicalizer | None,
    rebuilding: Rebuilding,
    stack: AsyncExitStack,
) -> tuple[QueueFrontier, VisitedSet, Notes, int]:
    """The frontier with its visited set, the notes of its store, and by which version of the rules its URLs are named;
    `stack` closes them."""
    store, notes = await storage.open_store(
        config,
        directory,
        readdressing=readdressing,
        progress=partial(rebuilding, "the ledger by the new rules"),
    )
    try:
        visited = storage.visited_set(config, directory, store)
        stack.push_async_callback(visited.aclose)
        frontier = await QueueFrontier.open(
            store,
            visited,
            snapshots=storage.snapshots(config, directory),
            rules=storage.rules(config),
            rest_after_crash_s=config.politeness.min_delay_s,
            rebuilding=partial(rebuilding, "the visited set from the ledger"),
        )
    except BaseException:
        store.close()
        raise
    stack.push_async_callback(frontier.aclose)
    return frontier, visited, notes, storage.rules_version(store)


def check_configuration(loaded: Loaded) -> None:
    """Judge what only the parts can: places, seeds, patterns, rules. Raises `ConfigError`."""
    discovering.scope(loaded, Sites(loaded), discovering.seeds(loaded, discovering.url_reader(loaded)))
    processing.extractor(loaded)
    fetching.routes(loaded)
    for each in (loaded, *Sites(loaded).alone()):
        fetching.response_policy(each)
    rendering.check(loaded)
