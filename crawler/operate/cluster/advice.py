"""What to do about a crawl on many machines."""

from collections.abc import Iterator

from crawler.disk.going_on import prefix_option
from crawler.operate.cluster.forms import ClusterStatus, Machine, PartOnMachine
from crawler.status import number_of

_NOTHING_LEFT = ("complete", "incomplete")
_SILENT_LEASES = 3
"""A machine that has said nothing for so many leases is not expected any more."""


def advice_of(status: ClusterStatus) -> list[str]:
    """One sentence for each thing that a person could do. Empty if all parts run, or nothing is left to fetch."""
    if status.retired_in is not None:
        where = f"the crawl is being divided anew in {status.retired_in}, or was"
        how = "finish `onceover parts` there, then register it by `onceover cluster init --from`, or run it there alone"
        return [f"{where}: {how}"]
    if status.last_ending in _NOTHING_LEFT:
        return list(_unsure(status))
    trouble = [] if status.server_trouble is None else [status.server_trouble]
    is_held = status.coordinator is not None or any(part.holder is not None for part in status.parts)
    if trouble and not is_held:
        return trouble  # machines that run can neither take leases nor say how they are; no other may start
    if not is_held and all(_is_silent(machine, status) for machine in status.machines):
        command = f"onceover crawl --cluster {status.url}{prefix_option(status.prefix)}"
        return [*_unsure(status), f"no machine runs the crawl: start `{command}` on each", *_silent(status)]
    return [*trouble, *_unsure(status), *_waiting(status), *_free(status), *_silent(status)]


def _unsure(status: ClusterStatus) -> Iterator[str]:
    unmade = _of_state(status, "unmade")
    if not unmade or (status.is_whole and status.is_first_server):
        return
    why = "another process of Redis answers than the one" if status.is_whole else "Redis has lost the register"
    why = f"{why} in which the crawl was made" if status.is_whole else f"{why} since the crawl was made"
    yield (
        f"{_names(unmade)} may have been made and forgotten: {why}. Start every machine that may have a directory for "
        f"it. If none has, `onceover cluster adopt {_numbers(unmade)} --yes` lets it be made"
    )


def _waiting(status: ClusterStatus) -> Iterator[str]:
    unmade = _of_state(status, "unmade") if status.is_whole and status.is_first_server else []
    for parts in filter(None, (_of_state(status, "to be made"), unmade)):
        yield f"{_names(parts)} waits for a machine that has room: start `onceover crawl --cluster` on one more"


def _free(status: ClusterStatus) -> Iterator[str]:
    for part in _of_state(status, "free"):
        machines = [machine for machine in status.machines if part.part in machine.parts]
        has_it = [machine.host for machine in machines if not _is_silent(machine, status)]
        if machines and not has_it:
            continue  # `_silent` says what to do
        if has_it:
            yield (
                f"part {part.part} is not run, though {' and '.join(has_it)} has a directory of it: see what is said "
                "of that part, and the log of that machine. It may be about to claim it"
            )
        else:
            last = "" if part.last_holder is None else f", as {part.last_holder} had"
            yield (
                f"part {part.part} is not run: start `onceover crawl --cluster` on the machine that has its directory"
                f"{last}, or restore a backup there. If both are lost, `onceover cluster adopt {part.part}` says what "
                "that means"
            )


def _silent(status: ClusterStatus) -> Iterator[str]:
    for machine in status.machines:
        # Others may have adopted its parts, or got their directories.
        has_parts = any(part.part in machine.parts and part.holder in (None, machine.holder) for part in status.parts)
        if not has_parts or not _is_silent(machine, status):
            continue
        if any(part.holder == machine.holder for part in status.parts):
            yield (
                f"{machine.host} (process {machine.pid}, {machine.directory}) keeps its leases, but has said nothing "
                f"for {machine.silent_s:.0f} s: its log says why, as that Redis refuses what it writes"
            )
        else:
            yield (
                f"{machine.host} (process {machine.pid}, {machine.directory}) has said nothing for "
                f"{machine.silent_s:.0f} s: its parts end by themselves when their leases do. Start it again, or move "
                "the directories of its parts to another machine"
            )


def _is_silent(machine: Machine, status: ClusterStatus) -> bool:
    return machine.silent_s > _SILENT_LEASES * status.lease_s


def _of_state(status: ClusterStatus, state: str) -> list[PartOnMachine]:
    return [part for part in status.parts if part.state == state]


def _names(parts: list[PartOnMachine]) -> str:
    return (
        f"part {parts[0].part}" if len(parts) == 1 else f"each of {number_of(len(parts), 'part')} ({_numbers(parts)})"
    )


def _numbers(parts: list[PartOnMachine]) -> str:
    return " ".join(str(part.part) for part in parts)
