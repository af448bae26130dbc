"""Opens what a crawl keeps between runs: its frontier with the state, and its visited set."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial

import msgspec

from config import Config
from crawler.discover.recanonicalize import Recanonicalizer
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import whole_crawl
from crawler.url.urls import UrlReader
from crawler.wiring import storage
from crawler.wiring.additions import Additions
from crawler.wiring.backends import frontier_backend, named_frontier
from crawler.wiring.components.visited_servers import wait_for_server
from crawler.wiring.plugins.guarded_frontier import check_frontier
from crawler.wiring.recovery.newer_output import numbers_owed_by_replaced_output, requeue_newer_output
from crawler.wiring.sharing import LeaseSource
from frontier import Frontier, NumberReads, StoreFailed
from frontier.state import FrontierState
from frontier.values import REPAIR_ADVICE
from visited import VisitedSet

RebuildProgress = Callable[[str, int], None]
"""Called with the name of what is being rebuilt, and the number of URLs so far."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    state: FrontierState
    frontier: Frontier
    visited: VisitedSet


async def open_kept(
    config: Config,
    directory: CrawlDirectory,
    recanonicalizer: Recanonicalizer | None,
    on_rebuild: RebuildProgress,
    additions: Additions,
    stack: AsyncExitStack,
) -> Kept:
    """Open the frontier with its state and its visited set. `stack` closes them.

    With a `recanonicalizer`, a state whose URLs are named by other rules is renamed instead of refused.
    """
    to_rename = recanonicalizer is not None and frontier_backend(config).is_persistent
    with _telling_what_mends(directory):
        state = storage.open_state(config, directory, to_rename=to_rename, before_write=additions.check)
    stack.callback(state.close)
    if to_rename and recanonicalizer is not None:
        await storage.rename(config, state, recanonicalizer, partial(on_rebuild, "the ledger by the new rules"))
    visited = storage.visited_set(config, directory, state.knows_many, instead=additions.visited)
    stack.push_async_callback(visited.aclose)
    open_frontier = partial(
        state.open_frontier, visited, rebuilding=partial(on_rebuild, "the visited set from the ledger")
    )
    has_begun = state.describe().admitted > 0
    with storage.reaching_server(config), _telling_what_mends(directory):
        opened = await (wait_for_server(open_frontier) if has_begun else open_frontier())
    frontier = additions.frontier(check_frontier(opened, named_frontier(config)))
    stack.push_async_callback(frontier.aclose)
    return Kept(state=state, frontier=frontier, visited=visited)


@contextmanager
def _telling_what_mends(directory: CrawlDirectory) -> Iterator[None]:
    """Of a damaged frontier, tell what helps without the settings of a run, by which it could be repaired."""
    try:
        yield
    except StoreFailed as error:
        configuration = CrawlDirectory(whole_crawl(directory.original)).configuration
        if REPAIR_ADVICE not in str(error) or configuration.exists():
            raise
        if directory.has_output():
            advice = f"to repair it, first restore {configuration}, which is missing, or copy the configuration there"
        else:
            advice = f"start over with --fresh if no run has begun, or to repair it, restore {configuration}"
        raise StoreFailed(str(error).replace(REPAIR_ADVICE, advice)) from error


async def agree_with_output(
    config: Config, directory: CrawlDirectory, kept: Kept, urls: UrlReader, leasing: LeaseSource
) -> None:
    """Queue the pages again that the output has and the ledger lacks, as after a crash."""
    frontier, numbers = kept.frontier, kept.state if isinstance(kept.state, NumberReads) else None
    owed = await requeue_newer_output(config, directory, frontier, urls, numbers=numbers)
    if leasing.owe is not None:
        leasing.owe(owed)
        leasing.owe(await numbers_owed_by_replaced_output(config, directory, frontier, urls))
