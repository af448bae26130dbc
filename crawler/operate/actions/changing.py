"""pause, resume, set, reload, checkpoint; freeze and hold-parcels, for copies of a crawl"""

import asyncio
import time
from contextlib import closing

from crawler.codes.exit_codes import FAILED
from crawler.codes.full_disk import DISK_FULL
from crawler.control.frozen import Frozen, FrozenState, Held
from crawler.control.replies import Checkpoint, PauseState, Reconfigured, WrittenFile
from crawler.control.requests import Reload, Set
from crawler.copies.freezing import Freezing
from crawler.disk.layout import part_at, whole_crawl
from crawler.disk.syncing import SyncFailed
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import change_settings
from crawler.operate.target import OperatedCrawl, pausing
from crawler.page import rfc3339
from crawler.wiring.backends import frontier_backend
from frontier import part_links_of


async def pause(crawl: OperatedCrawl, reason: str) -> PauseState:
    controls = pausing(crawl)
    if controls.paused is not None:
        raise Refused(f"{crawl.directory.path} is already paused: {controls.paused}; resume it first")
    await controls.pause(reason)
    return _state(crawl, reason)


async def resume(crawl: OperatedCrawl) -> PauseState:
    controls = pausing(crawl)
    if controls.paused is None:
        raise Refused(f"{crawl.directory.path} is not paused; nothing was changed")
    await controls.resume()
    return _state(crawl, None)


def _state(crawl: OperatedCrawl, paused: str | None) -> PauseState:
    status = crawl.status()
    return PauseState(paused=paused, running=status.running, in_flight=len(crawl.in_flight))


async def reconfigure(crawl: OperatedCrawl, request: Set | Reload) -> Reconfigured:
    path = crawl.directory.path
    if part_at(path) is not None:
        raise Refused(
            f"{path} is one part of the crawl in {whole_crawl(path)}, whose settings all parts share: name that"
        )
    return await change_settings(crawl.settings, crawl.directory, request, is_running=crawl.status().running)


async def take_checkpoint(crawl: OperatedCrawl) -> Checkpoint:
    """What is settled when this begins is on the disk when it ends, with its output."""
    status, at = crawl.status(), time.time()
    files = crawl.files.newest_files()
    try:
        await crawl.make_safe()
    except SyncFailed as error:
        raise Refused(str(error), FAILED) from error
    frontier = status.frontier
    return Checkpoint(
        running=status.running,
        at=rfc3339(at),
        settled=frontier.settled,
        queued=frontier.queued,
        files=[WrittenFile(file=file, bytes=size) for file, size in files.items()],
    )


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
        advice = ". Free some space on its disk, then try again" if error.errno in DISK_FULL else ""
        raise Refused(f"{crawl.directory.path} can't be kept as it is for a copy: {error}{advice}", FAILED) from error
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
