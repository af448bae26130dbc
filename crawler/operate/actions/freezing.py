"""freeze, hold-parcels: for copies of a crawl"""

import asyncio
import time
from contextlib import closing

from crawler.codes.exit_codes import FAILED
from crawler.control.frozen import Frozen, FrozenState, Held
from crawler.copies.freezing import Freezing
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl
from crawler.page import rfc3339
from crawler.wiring.backends import frontier_backend
from frontier import part_links_of


async def freeze(crawl: OperatedCrawl) -> Frozen:
    """Keep all files as they are now, between two changes."""
    upkeep = frontier_backend(crawl.loaded.config).upkeep
    if upkeep.link is None or upkeep.link_ahead is None:
        raise Refused(
            "the frontier of this crawl can't be copied: frontier.backend names one that lacks it; stop the crawl, and "
            "copy its directory"
        )
    links = part_links_of(crawl.controls)
    try:
        with closing(Freezing(crawl.directory)) as freezing:
            await asyncio.to_thread(freezing.prepare, upkeep.link_ahead)
            freezing.freeze(upkeep.link)
            at, stats = time.time(), crawl.status().frontier
            holds_parcels = links is None or links.holds_parcels
            listed = await asyncio.to_thread(freezing.finish)
    except OSError as error:
        raise Refused(f"{crawl.directory.path} can't be kept as it is for a copy: {error}", FAILED) from error
    state = FrozenState(
        directory=str(crawl.directory.path.absolute()),
        at=rfc3339(at),
        settled=stats.settled,
        queued=stats.queued,
        list=str(listed.absolute()),
        holds_parcels=holds_parcels,
    )
    return Frozen(states=[state])


async def hold_parcels(crawl: OperatedCrawl, seconds: float) -> Held:
    # A part that does not run has none, and deletes no parcels.
    if (links := part_links_of(crawl.controls)) is not None:
        await links.hold_parcels(seconds)
    return Held(seconds=seconds)
