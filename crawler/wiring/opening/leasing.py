"""Decides where a crawl takes its leases from: from its frontier, as far as other crawls and other parts allow."""

import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_at
from crawler.shared_pace.frontier import PacedFrontier
from crawler.shared_pace.table import PaceTable
from crawler.wiring import storage
from crawler.wiring.backends import named_frontier
from crawler.wiring.live.live import LiveSettings
from crawler.wiring.opening.kept import Kept
from crawler.wiring.plugins.guarded_frontier import guarded_frontier
from crawler.wiring.queue_settings import pace_groups
from crawler.wiring.sharing import PACE_VARIABLE, LeaseSource, membership
from frontier import Frontier, PartLinks, StoreRefused, part_links_of

log = logging.getLogger(__name__)


async def open_leasing(
    config: Config, directory: CrawlDirectory, kept: Kept, live: Callable[[], LiveSettings], stack: AsyncExitStack
) -> LeaseSource:
    """Let the crawl keep the pace of hosts with others, and a part the limits of the whole crawl. `live` gives the
    settings of the crawl once it is open, and `stack` ends all that. Raises `StoreRefused` and `ConfigError`."""
    pace = os.environ.get(PACE_VARIABLE)
    guarded = guarded_frontier(kept.frontier, named_frontier(config))
    paced = _share_pace(config, guarded, pace, live, stack) if pace else guarded
    with storage.reaching_server(config):
        # Without a usable file, this crawl keeps the pace of its hosts alone.
        members = membership(kept.visited, kept.frontier, directory, None if paced is guarded else pace)
        await stack.enter_async_context(members)
    links = _part_links(kept.frontier, directory)
    if links is None:
        return LeaseSource(frontier=paced)
    from crawler.wiring.components.part_limits import share_limits  # noqa: PLC0415 - most crawls have no parts

    return await share_limits(config, links, paced, stack)


def _share_pace(
    config: Config, frontier: Frontier, path: str, live: Callable[[], LiveSettings], stack: AsyncExitStack
) -> Frontier:
    """The frontier that keeps the pace of hosts together with all crawls that use this file; the same frontier if the
    file can't be used."""
    try:
        table = PaceTable(Path(path))
    except OSError as error:
        log.warning("the pace of hosts can't be shared with other crawls, so this one keeps it alone: %s", error)
        return frontier
    stack.callback(table.close)

    return PacedFrontier(
        frontier,
        table,
        pace_groups(config, lambda: live().loaded.config),
        prerequisite_of=lambda url: live().robots.prerequisite(url),  # noqa: PLW0108 - made later
        rest_alone_of=lambda url: live().engine.rest_alone_s(url),  # noqa: PLW0108 - made later
        host_rest_of=lambda queue_key: live().engine.host_rest_s(queue_key),  # noqa: PLW0108 - made later
    )


def _part_links(frontier: Frontier, directory: CrawlDirectory) -> PartLinks | None:
    """Raises `StoreRefused` if this is a part, and the frontier can't be one."""
    links = part_links_of(frontier)
    if links is None and part_at(directory.original) is not None:
        raise StoreRefused(
            f"{directory.path} is a part of a crawl, and the backend of its frontier knows no parts; set "
            "crawl.parts = 1, or another frontier.backend"
        )
    return links
