"""Stops a crawl on all machines, and lets a part that is lost be made again, or an older directory of it be taken."""

import secrets
from collections.abc import Sequence
from pathlib import Path

from config import Loaded
from crawler.cluster.machine import MachineDirectory
from crawler.cluster.values import Denied, EndingMark
from crawler.codes.exit_codes import FAILED
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.engine import Ending
from crawler.operate.cluster.forms import ClusterAdopted, ClusterStatus, ClusterStopping, PartOnMachine
from crawler.operate.cluster.reaching import reached
from crawler.operate.cluster.status import read_status
from crawler.operate.opening import stored_configuration
from crawler.operate.refused import Refused
from crawler.wiring.backends import frontier_backend


async def losses(loaded: Loaded, parts: Sequence[int], directory: Path | None) -> list[str]:
    """What adopting these parts loses, for people. Raises `Refused` if they can't be adopted, `DirectoryRefused` and
    `ConfigError`."""
    status = await read_status(loaded)
    for part in parts:
        if part >= len(status.parts):
            raise Refused(f"expected parts 0 to {len(status.parts) - 1}, found {part}")
        if (holder := status.parts[part].holder) is not None:
            raise Refused(f"{holder} holds part {part}: a part that somebody runs is not lost", FAILED)
    if directory is None:
        return [_loss(status, status.parts[part]) for part in parts]
    with CrawlDirectory(directory, to="change") as locked:
        machine = MachineDirectory(locked)
        return [_loss_of_older(status.parts[part], machine.check_adoption(part)) for part in parts]


def _loss(status: ClusterStatus, part: PartOnMachine) -> str:
    if part.state == "unmade":
        return (
            f"part {part.part} is made with an empty directory. That loses nothing if it was never made; if some "
            "machine has a directory of it, that can't be used any more"
        )
    has_it = [machine.host for machine in status.machines if part.part in machine.parts]
    where = f" (on {', '.join(has_it)})" if has_it else ""
    last = "" if part.last_holder is None else f", last by {part.last_holder}"
    return (
        f"part {part.part} was opened in epoch {part.epoch}{last}, and begins again with an empty directory. Its "
        "frontier and its visited set are lost: what it had fetched is fetched again, and URLs to which only pages of "
        "other parts link are lost until these pages are fetched again. So the crawl does not end as complete. Its "
        f"records and archives are missing, unless its directory{where} turns up: that can't be opened any more, only "
        "read"
    )


def _loss_of_older(part: PartOnMachine, epoch: int) -> str:
    found = (
        f"its epoch is {epoch}, and the part is in epoch {part.epoch}"
        if epoch
        else "it does not say when it was opened"
    )
    return (
        f"part {part.part} goes on from the directory that is here: {found}. What the part has done since is lost: "
        "pages are fetched again, and links that other parts have sent since are missing, so the crawl does not end as "
        "complete. No other directory of it can be opened any more"
    )


async def adopt(loaded: Loaded, parts: Sequence[int], directory: Path | None) -> ClusterAdopted:
    """Adopt the parts: make them anew where a machine has room, or go on from the directories that a machine has.
    Raises as `losses` does."""
    await losses(loaded, parts, directory)
    async with reached(loaded) as (_, register):
        if directory is None:
            for part in parts:
                _check(part, await register.adopt(part, is_made=False))
            return ClusterAdopted(parts=list(parts))
        with CrawlDirectory(directory, to="change") as locked:
            machine = MachineDirectory(locked)
            for part in parts:
                adopted = await register.adopt(part, is_made=True)
                _check(part, adopted)
                _set_lineage(directory, part, adopted.lineage)
                machine.adopt(part, epoch=adopted.epoch, lineage=adopted.lineage)
    return ClusterAdopted(parts=list(parts), directory=str(directory))


def _set_lineage(directory: Path, part: int, lineage: int) -> None:
    """Let the state that is adopted give numbers that it has not given since. Done first: if the rest is interrupted,
    the state is refused until it is adopted again."""
    change = frontier_backend(stored_configuration(directory).config).upkeep.set_lineage
    layout = read_layout(directory)
    if change is not None and layout is not None:
        change(CrawlDirectory(layout.directories(directory)[part]).frontier, lineage)


def _check(part: int, answer: object) -> None:
    if isinstance(answer, Denied):
        raise Refused(f"part {part}: {answer.why}", FAILED)


async def stop_cluster(loaded: Loaded, *, now: bool) -> ClusterStopping:
    """Let all machines finish what is in flight, or drop it, and end. Each obeys as soon as it reads the register.
    Raises `ConfigError` and `Refused`."""
    async with reached(loaded, also_full=True) as (_, register):
        cluster = await register.read()
        await register.end(EndingMark(mark=secrets.token_hex(8), ending=Ending.SIGNAL, now=now))
    held = [state for state in cluster.parts if state.lease is not None]
    return ClusterStopping(
        machines=sorted({state.lease.holder for state in held if state.lease is not None}),
        parts=[state.number for state in held],
    )
