"""What to do now."""

from typing import Final

import msgspec

from crawler.serve.life.facts import EndTimeouts, Facts, Process, Wish
from crawler.status import size

KILL: Final = 2
UNREAD: Final = "what the daemon remembers of it can't be read"


class Start(msgspec.Struct, frozen=True):
    """Start a process that runs the crawl there."""

    directory: str


class End(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the process to end."""

    reason: str
    force: int
    is_fall: bool


class Look(msgspec.Struct, frozen=True):
    """Look whether somebody else runs it. If nobody does, look inside the directory, too: whether it is paused, and
    whether URLs wait."""

    directory: str
    inside: bool = True


class Wait(msgspec.Struct, frozen=True):
    """Do nothing before an event, or a moment."""

    until: float | None


Step = Start | End | Look | Wait


def next_step(facts: Facts, now: float, *, timeouts: EndTimeouts) -> Step:
    """What to do with a crawl whose facts are settled at `now`."""
    if facts.process is not None:
        return _with_process(facts, facts.process, now, timeouts)
    rest, directory = facts.record.rest, facts.directory
    if (facts.to_look or facts.to_find) and directory is not None and not facts.is_closing:
        return Look(directory, inside=facts.to_look)
    if what_keeps(facts) is None and rest is None and directory is not None:
        return Start(directory)
    return Wait(_next_moment(facts))


def what_keeps(facts: Facts) -> str | None:
    """What keeps the crawl from running, besides a rest; None if nothing does."""
    if facts.is_closing:
        return "the daemon ends"
    if facts.is_removed:
        return "its configuration was removed"
    if facts.broken or facts.plan is None:
        return "its configuration can't be used"
    if facts.unread is not None:
        return UNREAD
    if facts.record.wish is Wish.STOP:
        return "it was stopped"
    return facts.shortage


def _with_process(facts: Facts, process: Process, now: float, timeouts: EndTimeouts) -> Step:
    draining = process.draining
    if process.may_be_command:
        return Wait(_next_moment(facts))
    if draining is not None:
        allowed_s = timeouts.finishing_s if draining.force == 0 else timeouts.dropping_s
        if draining.force >= KILL:
            return Wait(None)
        if now - draining.since < allowed_s:
            return Wait(draining.since + allowed_s)
        return End(reason=draining.reason, force=draining.force + 1, is_fall=draining.is_fall)
    reason = why_end(facts)
    if reason is not None:
        return End(reason=reason, force=0, is_fall=False)
    reason = _excess(facts, process)
    if reason is not None:
        return End(reason=reason, force=0, is_fall=True)
    return Wait(_next_moment(facts))


def why_end(facts: Facts) -> str | None:
    """Why its process has to end; None if it may go on. A broken configuration is none: the process has a good one."""
    process = facts.process
    is_spared = process is not None and process.is_foreign and process.pid != facts.record.unwanted_pid
    if facts.is_closing or ((facts.is_removed or facts.record.wish is Wish.STOP) and not is_spared):
        return what_keeps(facts)
    return facts.shortage


def _excess(facts: Facts, process: Process) -> str | None:
    plan = facts.plan
    if facts.excess is not None:
        return facts.excess
    if plan is None:
        return None
    if plan.max_memory_bytes is not None and process.memory_bytes > plan.max_memory_bytes:
        return (
            f"it takes {size(process.memory_bytes)} of memory, more than daemon.max_memory_bytes = "
            f"{size(plan.max_memory_bytes)}"
        )
    if plan.max_open_files is not None and process.open_files > plan.max_open_files:
        return f"it has {process.open_files:,} open files, more than daemon.max_open_files = {plan.max_open_files:,}"
    return None


def _next_moment(facts: Facts) -> float | None:
    """When `settle` may find something."""
    moments = []
    rest, plan, ticked_at = facts.record.rest, facts.plan, facts.record.ticked_at
    if rest is not None and rest.until is not None:
        moments.append(rest.until)
    is_obeyed = not (facts.is_closing or facts.is_removed or facts.broken or facts.unread)
    if is_obeyed and plan is not None and plan.next_tick is not None and ticked_at is not None:
        moments.append(plan.next_tick(ticked_at))
    return min(moments, default=None)
