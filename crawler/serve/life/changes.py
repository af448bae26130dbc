"""What happens to a crawl: from facts to facts."""

import errno
from typing import Final

import msgspec

from crawler.codes.exit_codes import REFUSED
from crawler.codes.full_disk import DISK_FULL
from crawler.codes.scarce import SCARCE
from crawler.serve.life.endings import BY_COMMAND, GONE, READ_ONLY, RUNS_GONE, Ended, how_text, rest_after, short
from crawler.serve.life.facts import (
    FINISHED,
    LASTING,
    MAX_RUNS,
    Draining,
    Facts,
    Plan,
    Process,
    Record,
    Rest,
    Restarts,
    RunEntry,
    Why,
    Wish,
)

_LONG_AGO: Final = 0.0
_FAULTS: Final = (Why.HELD, Why.CRASHED, Why.SHORT)

_replace = msgspec.structs.replace


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in the directory of a crawl."""

    paused: str | None = None
    waiting_urls: int | None = None
    """None if that could not be found out."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a running crawl says and takes."""

    answers: bool = True
    paused: str | None
    waiting: str | None
    pages: int
    memory_bytes: int
    open_files: int


def wished(facts: Facts, wish: Wish, now: float) -> Facts:
    """Somebody wants it to run or to stop. To run ends a rest, unless the crawl is paused; if that says that the crawl
    is gone, a new one may begin in its place. A schedule does not make up for what was due while the crawl was stopped;
    of a crawl that waits for its schedule, to run begins it anew."""
    record, rest = facts.record, facts.record.rest
    if wish is Wish.STOP:
        return _replace(facts, record=_replace(_unwanted(facts), wish=wish))
    was_stopped = record.wish is Wish.STOP
    is_paused = rest is not None and rest.why is Why.PAUSED
    if rest is not None and rest.reason in (GONE, RUNS_GONE) and not was_stopped:
        record = _replace(record, begun_in=None)
    ticked_at = now if was_stopped else record.ticked_at
    record = _replace(record, wish=wish, falls=(), ticked_at=ticked_at, unwanted_pid=None)
    if facts.plan is not None and facts.plan.next_tick is not None and facts.is_between_runs:
        record = record if was_stopped else _replace(record, ticked_at=_LONG_AGO)
    elif not is_paused:
        record = _replace(record, rest=None)
    return _replace(facts, record=record, to_look=is_paused)


def configured(facts: Facts, plan: Plan) -> Facts:
    """The configuration was read. If it has changed since the daemon last saw it, it ends what the old one may have
    caused: crashes, and that nothing is left to fetch."""
    after = _replace(facts, plan=plan, broken=(), is_removed=False)
    record = _replace(facts.record, digest=plan.digest)
    if plan.next_tick is None:
        record = _replace(record, place=None, ticked_at=None)
    after = _replace(after, record=record)
    has_moved = facts.record.digest is not None and facts.plan is not None and facts.directory != after.directory
    rest = record.rest
    if rest is not None and facts.record.digest != plan.digest:
        ends = _FAULTS if plan.next_tick is not None else (*_FAULTS, *FINISHED)
        if has_moved or rest.why in ends:
            record = _replace(record, rest=None, falls=())
    return _replace(after, record=record)


def broke(facts: Facts, problems: tuple[str, ...]) -> Facts:
    """The configuration can't be used. What runs goes on, by the configuration that it has."""
    return _replace(facts, broken=problems, is_removed=False)


def removed(facts: Facts) -> Facts:
    return _replace(facts, record=_unwanted(facts), is_removed=True, broken=())


def _unwanted(facts: Facts) -> Record:
    process = facts.process
    return facts.record if process is None else _replace(facts.record, unwanted_pid=process.pid)


def started(facts: Facts, process: Process) -> Facts:
    """A process runs it now, or works on it: a new one, or one that was found."""
    record = facts.record
    if not process.is_foreign and not any(_is_of(run, process) for run in record.runs):
        entry = RunEntry(pid=process.pid, directory=process.directory, began_at=process.began_at)
        record = _replace(record, runs=(*record.runs, entry)[-MAX_RUNS:])
    if not (process.may_be_command or (process.is_foreign and _lasts(record.rest) and not facts.to_look)):
        # A start that was refused because somebody else runs the crawl was no crash.
        record = _replace(record, rest=None, falls=() if process.is_foreign else record.falls)
    return _replace(facts, record=record, process=process, to_look=False, to_find=False)


def _lasts(rest: Rest | None) -> bool:
    return rest is not None and rest.why in LASTING


def told_to_end(facts: Facts, reason: str, *, force: int, is_fall: bool, now: float) -> Facts:
    assert facts.process is not None
    draining = Draining(reason=reason, force=force, since=now, is_fall=is_fall)
    return _replace(facts, process=_replace(facts.process, draining=draining))


def used(facts: Facts, pid: int, usage: Usage) -> Facts:
    """The running crawl was looked at."""
    if facts.process is None or facts.process.pid != pid:
        return facts
    process = _replace(
        facts.process,
        has_answered=facts.process.has_answered or usage.answers,
        paused=usage.paused,
        waiting=usage.waiting,
        pages=usage.pages,
        memory_bytes=usage.memory_bytes,
        open_files=usage.open_files,
    )
    if usage.answers:
        facts = _replace(facts, record=_replace(facts.record, begun_in=process.directory))
    if process.may_be_command and usage.answers:
        return started(facts, _replace(process, may_be_command=False))
    return _replace(facts, process=process)


def looked(facts: Facts, found: Looked, now: float) -> Facts:
    """The directory of a crawl without a process was looked at."""
    facts, record = _replace(facts, to_look=False, to_find=False), facts.record
    if found.paused is not None:
        return _paused(facts, found.paused, now)
    rest = record.rest
    if found.waiting_urls is None or (rest is not None and rest.why not in (Why.COMPLETE, Why.PAUSED)):
        return facts
    is_complete = found.waiting_urls == 0 and not _comes_back(facts)
    complete = Rest(why=Why.COMPLETE, reason="nothing is left to fetch", since=now)
    return _replace(facts, record=_replace(record, rest=complete if is_complete else None))


def _comes_back(facts: Facts) -> bool:
    return facts.plan is not None and facts.plan.comes_back


def was_paused(facts: Facts, reason: str | None, now: float) -> Facts:
    """Somebody has paused it, or ended a pause."""
    if facts.process is not None:
        return _replace(facts, process=_replace(facts.process, paused=reason, waiting=None))
    if reason is not None:
        return _paused(facts, reason, now)
    rest = facts.record.rest
    rest = None if rest is not None and rest.why is Why.PAUSED else rest
    return _replace(facts, record=_replace(facts.record, rest=rest), to_look=True)


def _paused(facts: Facts, reason: str, now: float) -> Facts:
    rest = Rest(why=Why.PAUSED, reason=reason, since=now)
    return _replace(facts, record=_replace(facts.record, rest=rest, falls=()))


def touched(facts: Facts) -> Facts:
    """Somebody has taken or left the lock of a crawl that does not run: who has it may run the crawl, and there may be
    new URLs, or no pause any more."""
    rest = facts.record.rest
    if facts.process is not None:
        return facts
    if rest is not None and rest.why in (Why.COMPLETE, Why.PAUSED):
        return _replace(facts, to_look=True)
    return _replace(facts, to_find=True)


def found_nobody(facts: Facts) -> Facts:
    """Nobody else runs it."""
    return _replace(facts, to_find=False)


def ended(facts: Facts, how: Ended, now: float, *, restarts: Restarts) -> Facts:
    """The process has ended."""
    process = facts.process
    assert process is not None
    record = _finished(facts.record, process, how, now)
    facts = _replace(facts, process=None, excess=None, record=record)
    rest = rest_after(how, now)
    if rest is not None and how.ending == BY_COMMAND:
        return _replace(facts, record=_replace(record, wish=Wish.STOP, rest=rest))
    if rest is not None and rest.why is Why.COMPLETE and process.is_foreign and _comes_back(facts):
        return _replace(facts, record=record)  # a process of somebody else does not wait for the next visit
    if rest is not None and (process.draining is None or rest.why is not Why.STOPPED):
        return _replace(facts, record=_replace(record, rest=rest))
    if process.draining is not None:
        if not process.draining.is_fall:
            if process.paused is None:
                return facts
            # Somebody may have resumed it since it was asked.
            rest = Rest(why=Why.PAUSED, reason=process.paused, since=now)
            return _replace(facts, record=_replace(record, rest=rest), to_look=True)
        # The reason says all. The messages tell how far it was, and would be taken for those of a crash.
        return _fallen(facts, process.began_at, (process.draining.reason, ()), now, restarts)
    if process.is_foreign and how.exit_code is None:
        return _replace(facts, to_look=process.may_be_command or not _lasts(facts.record.rest))
    facts = _fallen(facts, process.began_at, (how_text(how, process), how.lines), now, restarts)
    # A refused start may have a cause that passes: a pause, or another command that works on the directory.
    return _replace(facts, to_look=how.exit_code == REFUSED or process.paused is not None)


def _fallen(facts: Facts, began_at: float, told: tuple[str, tuple[str, ...]], now: float, restarts: Restarts) -> Facts:
    reason, lines = told
    ran_long = now - began_at >= restarts.long_run_s
    falls = (*(() if ran_long else facts.record.falls), now)
    if len(falls) >= restarts.hold_after:
        reason = f"{reason}; it fell {len(falls)} times in a row, each time after less than {restarts.long_run_s:g} s"
        rest = Rest(why=Why.HELD, reason=reason, since=now, lines=lines)
    else:
        delay_s = min(restarts.first_delay_s * restarts.factor ** (len(falls) - 1), restarts.max_delay_s)
        rest = Rest(why=Why.CRASHED, reason=reason, since=now, until=now + delay_s, lines=lines)
    return _replace(facts, record=_replace(facts.record, rest=rest, falls=falls))


def _finished(record: Record, process: Process, how: Ended, now: float) -> Record:
    text, pages = how_text(how, process), process.pages if how.pages is None else how.pages
    end = {"ended_at": now, "how": text, "pages": pages, "exit_code": how.exit_code}
    runs = (_replace(run, **end) if _is_of(run, process) else run for run in record.runs)
    begun_in = record.begun_in if how.ending is None else process.directory
    return _replace(record, runs=tuple(runs), begun_in=begun_in, unwanted_pid=None)


def _is_of(run: RunEntry, process: Process) -> bool:
    return run.pid == process.pid and run.how is None


def not_started(facts: Facts, error: OSError, now: float, *, restarts: Restarts) -> Facts:
    """The system could not start a process."""
    if error.errno in DISK_FULL:
        return _replace(facts, record=_replace(facts.record, rest=short(now)))
    if error.errno == errno.EROFS:
        return _replace(facts, record=_replace(facts.record, rest=short(now, reason=READ_ONLY)))
    reason = f"its process can't be started: {error.strerror or error}"
    if (advice := SCARCE.get(error.errno or 0)) is not None:
        return _replace(facts, record=_replace(facts.record, rest=short(now, reason=f"{reason}; {advice}")))
    return _fallen(facts, now, (reason, ()), now, restarts)


def gone(facts: Facts, now: float, reason: str = GONE) -> Facts:
    """The crawl that had begun in its directory is not there any more, or no run of its schedule is."""
    return _replace(facts, record=_replace(facts.record, rest=short(now, reason=reason)))


def missed_end(facts: Facts, how: Ended | None, now: float) -> Facts:
    """No process runs it when the daemon starts. If the history has a process that ran, it ended meanwhile; `how` is
    what it reported. If a signal has stopped it, it is started, because the whole machine may have been stopped."""
    facts = _replace(facts, record=_replace(facts.record, unwanted_pid=None))
    runs, rest, wish = facts.record.runs, facts.record.rest, facts.record.wish
    if not runs or runs[-1].how is not None:
        return facts
    ending, pages, code = (None, None, None) if how is None else (how.ending, how.pages, how.exit_code)
    text = "ended while no daemon ran" if ending is None else f"{ending}, while no daemon ran"
    end = {"how": text, "pages": pages, "exit_code": code}
    runs = tuple(run if run.how is not None else _replace(run, **end) for run in runs)
    if how is not None and (ending == "limit" or (ending in ("complete", "incomplete") and not _comes_back(facts))):
        rest = rest_after(how, now)
    elif how is not None and ending == BY_COMMAND:
        rest, wish = rest_after(how, now), Wish.STOP
    return _replace(facts, record=_replace(facts.record, runs=runs, rest=rest, wish=wish))
