"""The crawls that share a visited set on a server, as one of them knows them."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, closing
from pathlib import Path

from config import Config, ConfigError, Problem
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.operate.opening import stored_configuration
from crawler.operate.upkeep.places import Place, Places
from crawler.wiring.plugins.blame import blaming, plugins_of
from crawler.wiring.storage import open_state, reaching_server, visited_set
from visited import SharedSet, Sharer, VisitedSet


def sharers(path: Path, *, gone: Sequence[str] = ()) -> list[Sharer]:
    """The crawls that share the set of the crawl in a directory, after some are said to be gone. The crawl may run.
    Raises `ConfigError`, and `StoreFailed` if the server does not answer."""
    config = stored_configuration(path).config
    layout = read_layout(path)
    here = {} if layout is None else layout.directories_here(path)
    with blaming(plugins_of(config)):  # it may be the set of a plug-in
        return asyncio.run(_sharers(config, CrawlDirectory(next(iter(here.values()), path)), gone))


async def _sharers(config: Config, directory: CrawlDirectory, gone: Sequence[str]) -> list[Sharer]:
    async with aclosing(visited_set(config, directory, lambda urls: [False] * len(urls))) as visited:
        shared = _shared(config, visited)
        with reaching_server(config):
            return await shared.sharers(gone=gone)


def refill(places: Places) -> None:
    """Add the ledgers of a locked crawl to its shared set again, if the server may lack them. Raises what `sharers`
    does."""
    for place in places.each:
        asyncio.run(_refill(place))


async def _refill(place: Place) -> None:
    config = place.loaded.config
    with closing(open_state(config, place.directory)) as state:
        async with aclosing(visited_set(config, place.directory, state.knows_many)) as visited:
            shared = _shared(config, visited)
            with reaching_server(config):
                # It also admits what was asked right before a crash.
                async with aclosing(await state.open_frontier(visited)):
                    await shared.register()


def _shared(config: Config, visited: VisitedSet) -> SharedSet:
    if not isinstance(visited, SharedSet) or config.visited.options.get("share") is None:
        problem = "expected a visited set that crawls share by visited.options.share, found one of this crawl alone"
        raise ConfigError([Problem(problem, key="visited.options")])
    return visited
