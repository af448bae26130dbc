"""Puts the parts of a crawl together, and takes them apart in order."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec

from config import Config, Loaded
from crawler.directory import CrawlDirectory
from crawler.engine import Engine, Limits
from crawler.fulldisk import FullDisk
from crawler.passage import Parts, Wanted
from crawler.progress import Gauge
from crawler.readdressing import Readdressing
from crawler.room import RoomGuard
from crawler.wiring import addressing, fetching, keeping, processing, rendering
from crawler.wiring.sites import Sites
from frontier import Notes
from frontier.shell import QueueFrontier
from visited import VisitedSet


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
    sites = Sites(loaded)
    urls = addressing.url_reader(loaded)
    seeds = addressing.seeds(loaded, urls)
    discovery = addressing.discovery(loaded, sites, urls, seeds)
    async with AsyncExitStack() as stack:
        readdressing = addressing.readdressing(config, urls) if rebuild else None
        frontier, visited, notes = await _frontier(config, directory, readdressing, rebuilding, stack)
        full_disk = FullDisk(hold=partial(frontier.hold, by="output"), let_go=partial(frontier.let_go, by="output"))
        sink = processing.sink(config, directory, full_disk)
        stack.push_async_callback(sink.aclose)
        fetcher = fetching.fetcher(loaded, sites, notes)
        stack.push_async_callback(fetcher.aclose)
        robots = fetching.robots(config, sites, fetcher, notes)
        rendering_fetcher = await rendering.rendering(loaded, directory, fetcher, robots)
        stack.push_async_callback(rendering_fetcher.aclose)
        guard = RoomGuard(
            [directory.path],
            min_free_bytes=config.output.min_free_bytes,
            hold=partial(frontier.hold, by="room"),
            let_go=partial(frontier.let_go, by="room"),
        )
        stack.callback(guard.close)
        guard.start()
        parts = Parts(
            frontier=frontier,
            fetcher=rendering_fetcher,
            extractor=processing.extractor(loaded),
            robots=robots,
            discovery=discovery,
            sink=sink,
            manners=sites.each(fetching.manners).of,
            addresses=fetcher if "ip" in keeping.grouping(config).limits else None,
            quota=addressing.quota(loaded, sites, notes),
        )
        engine = Engine(
            parts,
            concurrency=config.fetch.concurrency,
            spare=config.fetch.spare,
            limits=Limits(pages=config.limits.pages, bytes=config.limits.bytes, seconds=config.limits.seconds),
            wanted=Wanted(
                references=config.output.links, refusals=config.output.refusals, sitemaps=config.scope.sitemaps
            ),
            stopping=full_disk.stop,
        )
        new_seeds = await frontier.add(discovery.seeds([seed.url for seed in seeds]))
        gauge = Gauge(engine.tally, frontier.describe, visited.describe)
        yield Crawl(engine=engine, frontier=frontier, gauge=gauge, new_seeds=new_seeds)


async def _frontier(
    config: Config,
    directory: CrawlDirectory,
    readdressing: Readdressing | None,
    rebuilding: Rebuilding,
    stack: AsyncExitStack,
) -> tuple[QueueFrontier, VisitedSet, Notes]:
    """The frontier with its visited set, and the notes of its store; `stack` closes them."""
    store, notes = await keeping.open_store(
        config,
        directory,
        readdressing=readdressing,
        progress=partial(rebuilding, "the ledger by the new rules"),
    )
    try:
        visited = keeping.visited_set(config, directory, store)
        stack.push_async_callback(visited.aclose)
        frontier = await QueueFrontier.open(
            store,
            visited,
            snapshots=keeping.snapshots(config, directory),
            rules=keeping.rules(config),
            rest_after_crash_s=config.politeness.min_delay_s,
            rebuilding=partial(rebuilding, "the visited set from the ledger"),
        )
    except BaseException:
        store.close()
        raise
    stack.push_async_callback(frontier.aclose)
    return frontier, visited, notes


def check_configuration(loaded: Loaded) -> None:
    """Judge what only the parts can: places, seeds, patterns, rules. Raises `ConfigError`."""
    addressing.scope(loaded, Sites(loaded), addressing.seeds(loaded, addressing.url_reader(loaded)))
    processing.extractor(loaded)
    fetching.routes(loaded)
    for each in (loaded, *Sites(loaded).alone()):
        fetching.manners(each)
    rendering.check(loaded)
