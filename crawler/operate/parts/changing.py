"""Requests that change all parts of a crawl. Each part changes for itself; a refusal says which of them have."""

from typing import Final

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.control.frozen import Frozen, Held
from crawler.control.replies import Changed, Checkpoint, PauseState, Reconfigured, Stopping
from crawler.control.requests import (
    Freeze,
    GetStatus,
    HoldParcels,
    Pause,
    Reload,
    Resume,
    Retire,
    Set,
    SetBudget,
    Stop,
    TakeCheckpoint,
    Unretire,
)
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.operate.parts.crawl import CrawlInParts, ask_of_host, divide_replies
from crawler.operate.parts.sums import same_of_all
from crawler.operate.refused import Refused, reply_or_raise
from crawler.operate.settings.changing import StoredSettings, change_settings
from crawler.status import name_parts

_HOLD_S: Final = 1800.0
"""Longer than all parts take to be frozen. After it they go on by themselves, should nobody tell them to."""


async def pause(crawl: CrawlInParts, request: Pause) -> PauseState:
    """Pause the parts that are not paused yet, so that a pause of some parts can be completed."""
    reasons, silent = await _pauses(crawl)
    if not (left := silent | {number for number, reason in reasons.items() if reason is None}):
        raise Refused(f"{crawl.directory} is already paused: {same_of_all(reasons)}; resume it first")
    return await _change(crawl, request, left)


async def resume(crawl: CrawlInParts) -> PauseState:
    reasons, silent = await _pauses(crawl)
    if not (left := silent | {number for number, reason in reasons.items() if reason is not None}):
        raise Refused(f"{crawl.directory} is not paused; nothing was changed")
    return await _change(crawl, Resume(), left)


async def _pauses(crawl: CrawlInParts) -> tuple[dict[int, str | None], set[int]]:
    """Why each part is paused, and the parts of a running crawl that can't tell: a part that hangs must not keep the
    others from being paused. Raises `Refused` if a part of another crawl can't tell."""
    statuses, refusals = divide_replies(await crawl.parts.each(GetStatus()))
    if refusals and crawl.pid is None:
        reply_or_raise(next(iter(refusals.values())))
    return {number: status.paused for number, status in statuses.items()}, set(refusals)


async def _change(crawl: CrawlInParts, request: Pause | Resume, numbers: set[int]) -> PauseState:
    states, refusals = divide_replies(await crawl.parts.each(request, of=sorted(numbers)))
    if refusals:
        changed = f"only {name_parts(states)} took this" if states else "nothing was changed"
        reasons = "; ".join(refusal.message for refusal in refusals.values())
        raise Refused(f"{changed}: {reasons}. Run the same command again for the rest", FAILED)
    return PauseState(
        paused=request.reason if isinstance(request, Pause) else None,
        running=crawl.parts.is_running,
        in_flight=sum(state.in_flight for state in states.values()),
    )


async def stop(crawl: CrawlInParts, request: Stop) -> Stopping:
    """Stop all parts that run. One that ends before it has answered has stopped."""
    stopping, _ = divide_replies(await crawl.parts.each(request, wait_s=0.0))
    return Stopping(was_running=crawl.parts.is_running, in_flight=sum(each.in_flight for each in stopping.values()))


async def take_checkpoint(crawl: CrawlInParts) -> Checkpoint:
    """Ask all parts at the same time for a checkpoint. Repeating it is safe."""
    taken, refusals = divide_replies(await crawl.parts.each(TakeCheckpoint()))
    if refusals:
        reasons = "; ".join(refusal.message for refusal in refusals.values())
        raise Refused(f"not all parts are on the disk: {reasons}. Run the same command again", FAILED)
    return Checkpoint(
        running=crawl.parts.is_running,
        at=min(each.at for each in taken.values()),
        settled=sum(each.settled for each in taken.values()),
        queued=sum(each.queued for each in taken.values()),
        files=[
            msgspec.structs.replace(each, file=f"{crawl.parts.directory(number).name}/{each.file}")
            for number, of_part in taken.items()
            for each in of_part.files
        ],
    )


async def reconfigure(crawl: CrawlInParts, request: Set | Reload) -> Reconfigured:
    """Change the settings of a crawl that nobody watches over. All parts work with one configuration, and only their
    supervisor can give them another one together. They get this one when they start."""
    if crawl.parts.is_running:
        raise Refused(
            f"the process that watched over {crawl.directory} has died, and some of its parts still finish what is in "
            "flight. They end within half a minute: repeat the command then",
            FAILED,
        )
    layout = read_layout(crawl.directory)
    if layout is not None and layout.cluster is not None:
        raise Refused(
            f"nothing was changed: the machine in {crawl.directory} has just stopped; repeat the command, which "
            "changes the settings in Redis then",
            FAILED,
        )
    directory = CrawlDirectory(crawl.directory)
    return await change_settings(StoredSettings(crawl.loaded, directory), directory, request, is_running=False)


async def change_host(crawl: CrawlInParts, request: Retire | Unretire | SetBudget) -> Changed:
    found = await ask_of_host(crawl, request.host, request)
    return Changed(
        queues=[
            msgspec.structs.replace(queue, part=number) for number, changed in found.items() for queue in changed.queues
        ]
    )


async def freeze(crawl: CrawlInParts) -> Frozen:
    """Keep all parts as they are, for a copy.

    Each part is frozen at a moment of its own. A part deletes a link from its outbox when it is safe at the receiver.
    If that happened after the receiver was frozen and before the sender was, neither copy would have the link. So all
    parts first hold what is safe, then all are frozen.
    """
    await hold_parcels(crawl, HoldParcels(seconds=_HOLD_S))
    try:
        frozen = await crawl.parts.all(Freeze())
    finally:
        await crawl.parts.each(HoldParcels(seconds=0))
    states = [msgspec.structs.replace(state, part=number) for number, each in frozen.items() for state in each.states]
    restarted = [str(state.part) for state in states if not state.holds_parcels]
    if restarted:
        raise Refused(
            f"part {', '.join(restarted)} was started anew while the crawl was to be copied; try again", FAILED
        )
    return Frozen(states=states)


async def hold_parcels(crawl: CrawlInParts, request: HoldParcels) -> Held:
    await crawl.parts.all(request)
    return Held(seconds=request.seconds)
