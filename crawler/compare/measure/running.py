"""Schedules trials, and runs each in its own process."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.compare.measure.folder import Journal
from crawler.compare.measure.trial import Competitor, Done, Effort, Failed, Kind, Outcome, ReportProgress, Trial
from crawler.compare.measure.work import Live, Work

_LINE_BYTES = 1 << 24
_MAX_STDERR_CHARACTERS = 300
_END_S = 10.0
"""How long a process that a trial left behind may keep the output of the trial open."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    trial: Trial
    number: int
    total: int
    share: float
    """The share of this trial that is done, 0..1."""


class _Message(msgspec.Struct, frozen=True):
    """What the process of a trial says in a line."""

    outcome: Outcome | None = None
    done: float | None = None


def schedule(
    works: Iterable[Work], competitors: Sequence[Competitor], *, rounds: int, effort: Effort, version: str
) -> Iterator[Trial]:
    """All trials in their order: first the timed ones, in rounds, then the checks.

    Another competitor begins each round, so that none always runs after the same other one.
    """
    for work in works:
        participants = [each for each in competitors if not each.works or work.name in each.works]
        kinds: list[tuple[Kind, int]] = [("time", number) for number in range(rounds)] + [("check", 0)]
        if isinstance(work.stream, Live):
            kinds = [("crawl", 0)]
        for kind, number in kinds:
            turn = number % max(1, len(participants))
            for competitor in [*participants[turn:], *participants[:turn]]:
                yield Trial(kind=kind, work=work, competitor=competitor, round=number, effort=effort, version=version)


async def run_trials(
    trials: Sequence[Trial],
    journal: Journal,
    done: list[Done],
    *,
    run: Callable[[Trial, ReportProgress], Awaitable[Outcome]],
    progress: Callable[[Progress], None],
) -> None:
    """Run the trials that are not in the journal, one after the other, and append all outcomes to `done`.

    If a competitor fails on a work, it is not tried on it again in this run. A cancellation does not damage the
    journal.
    """
    failed: dict[tuple[str, str], Failed] = {}
    for number, trial in enumerate(trials):

        def report(share: float, number: int = number, trial: Trial = trial) -> None:
            progress(Progress(trial=trial, number=number, total=len(trials), share=share))

        report(0.0)
        key = (trial.work.name, trial.competitor.name)
        found = journal.outcome_of(trial.key)
        if found is None:
            outcome = failed.get(key) or await run(trial, report)
            found = Done(
                key=trial.key,
                kind=trial.kind,
                work=trial.work.name,
                competitor=trial.competitor.name,
                round=trial.round,
                outcome=outcome,
            )
            if isinstance(outcome, Failed):
                # It is not written to the journal, because the next run may have the library or the memory that it
                # needs.
                failed[key] = outcome
            else:
                journal.add(found)
        done.append(found)


async def run_in_process(
    trial: Trial,
    report: ReportProgress,
    *,
    command: Sequence[str],
    scratch: Path,
    timeout_s: float | None,
    to_clean_up_s: float = 0.0,
) -> Outcome:
    """Run a trial in a new process, and return its outcome, or why there is none. Cancelling it kills the process,
    which has some time before that to clean up."""
    with (
        tempfile.TemporaryDirectory(prefix="trial-", dir=scratch) as directory,
        tempfile.TemporaryFile(dir=directory) as errors,
    ):
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=_LINE_BYTES,
            # The threads of the linear algebra library are not needed, and would take address space, which may be
            # limited.
            env={**os.environ, "TMPDIR": directory, "OPENBLAS_NUM_THREADS": "1"},
            # Ctrl-C must only reach the parent, which then ends the trial.
            process_group=0,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(msgspec.json.encode(trial) + b"\n")
            async with asyncio.timeout(timeout_s):
                outcome = await _outcome(process, report)
                code = await process.wait()
        except TimeoutError:
            return Failed(reason=f"took longer than {timeout_s:g} s")
        finally:
            await _kill(process, to_clean_up_s)
        if outcome is not None:
            return outcome
        errors.seek(0)
        return Failed(reason=_death_reason(code, errors.read().decode("utf-8", "replace")))


async def _outcome(process: asyncio.subprocess.Process, report: ReportProgress) -> Outcome | None:
    assert process.stdout is not None
    decoder = msgspec.json.Decoder(_Message)
    async for line in process.stdout:
        try:
            message = decoder.decode(line)
        except UNREADABLE:
            continue  # printed by a library
        if message.outcome is not None:
            return message.outcome
        if message.done is not None:
            report(message.done)
    return None


async def _kill(process: asyncio.subprocess.Process, to_clean_up_s: float) -> None:
    """Kill the process and all that it has started, and close its pipes. A pipe that is open when the event loop ends
    would cause a warning."""
    assert process.stdin is not None
    assert process.stdout is not None
    if process.returncode is None and to_clean_up_s:
        process.stdin.close()  # by which it knows
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(to_clean_up_s):
                await process.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    process.stdin.close()
    with contextlib.suppress(ConnectionError):
        await process.stdin.wait_closed()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            while await process.stdout.read(_LINE_BYTES):
                continue


def _death_reason(code: int, errors: str) -> str:
    last_line = errors.strip().rpartition("\n")[2][-_MAX_STDERR_CHARACTERS:]
    last_line = f": {last_line}" if last_line else ""
    if code == -signal.SIGKILL:
        return f"killed, as the system does when memory runs out{last_line}"
    if code < 0:
        return f"died of {signal.Signals(-code).name}{last_line}"
    return f"ended with exit code {code} and without an outcome{last_line}"
