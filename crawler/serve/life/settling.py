"""What time does to a crawl: rests end, schedules are due."""

from datetime import UTC, datetime
from itertools import count
from pathlib import PurePath
from typing import Final

import msgspec

from crawler.serve.life.facts import Facts, Rest, Why, Wish

_replace = msgspec.structs.replace

_SET_BACK_S: Final = 3 * 3600.0
"""A clock that was set back by less repeats no run of a schedule."""


def settle(facts: Facts, now: float) -> tuple[Facts, list[str]]:
    """The facts at a moment, and notes for the log."""
    facts, notes = _end_rest(_with_clock(facts, now), now)
    facts, more = _obey_schedule(facts, now)
    return facts, notes + more


def _with_clock(facts: Facts, now: float) -> Facts:
    """When the clock was set back, what began in the future begins now, and lasts as long as it would have."""
    record, process = facts.record, facts.process
    rest = record.rest
    if rest is not None and rest.since > now:
        until = None if rest.until is None else now + rest.until - rest.since
        record = _replace(record, rest=_replace(rest, since=now, until=until))
    if record.ticked_at is not None and record.ticked_at - now > _SET_BACK_S:
        record = _replace(record, ticked_at=now)
    if process is not None and process.draining is not None and process.draining.since > now:
        process = _replace(process, draining=_replace(process.draining, since=now))
    return _replace(facts, record=record, process=process)


def closed(facts: Facts, now: float) -> Facts:
    """The daemon ends in order. A crawl that was stopped a moment ago was probably stopped by what ends the daemon."""
    rest = facts.record.rest
    if rest is None or rest.why is not Why.STOPPED or rest.until is None or rest.until <= now:
        return facts
    return _replace(facts, record=_replace(facts.record, rest=None))


def _end_rest(facts: Facts, now: float) -> tuple[Facts, list[str]]:
    rest = facts.record.rest
    if rest is None or rest.until is None or rest.until > now:
        return facts, []
    if rest.why is Why.STOPPED:
        lasting = Rest(why=Why.STOPPED, reason=rest.reason, since=rest.since)
        record = _replace(facts.record, wish=Wish.STOP, rest=lasting)
        return _replace(facts, record=record), ["stays stopped, because somebody else has stopped it"]
    return _replace(facts, record=_replace(facts.record, rest=None)), []


def _obey_schedule(facts: Facts, now: float) -> tuple[Facts, list[str]]:
    plan, record = facts.plan, facts.record
    if plan is None or plan.next_tick is None or facts.unread is not None:
        return facts, []
    if record.ticked_at is None:
        return _replace(facts, record=_replace(record, ticked_at=now)), []
    if facts.is_closing or facts.is_removed or facts.broken or plan.next_tick(record.ticked_at) > now:
        return facts, []
    # Ticks that were missed while the daemon did not run are made up for once.
    ticked = _replace(record, ticked_at=now)
    if record.wish is Wish.STOP:
        return _replace(facts, record=ticked), []
    if not facts.is_between_runs:
        does = "is not finished" if facts.process is None else "still runs"
        return _replace(facts, record=ticked), [f"a run of the schedule is left out, because the last one {does}"]
    taken = {PurePath(each.directory).name for each in record.runs}
    # A run may be so short that the next one begins in the same second.
    name = next(name for name in map(stamp, count(now)) if name not in taken)
    place = f"{plan.directory}/{name}"
    return _replace(facts, record=_replace(ticked, place=place, rest=None)), [f"begins anew, in {place}"]


def stamp(now: float) -> str:
    """The name of a run that begins at a moment."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
