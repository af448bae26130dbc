"""The schedule of trials, and their processes."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.journal import Journal
from crawler.compare.measure.trial import (
    Done,
    Effort,
    Failed,
    Kind,
    Outcome,
    Trial,
)
from crawler.compare.measure.work import Live, Work

_LINE_BYTES = 1 << 24
_TOLD_OF_STDERR = 300
_END_S = 10.0
"""How long something that a trial left behind may keep its output open."""

Tell = Callable[[float], None]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is."""

    trial: Trial
    number: int
    total: int
    share: float
    """Of this trial, 0..1."""


def schedule(
    works: Iterable[Work], competitors: Sequence[Competitor], *, rounds: int, effort: Effort, version: str
) -> Iterator[Trial]:
    """All trials, in their order: what is timed first, in rounds in which another competitor begins each time, so that
    none always has the machine as another leaves it; then the checks."""
    for work in works:
        entered = [each for each in competitors if not each.works or work.name in each.works]
        kinds: list[tuple[Kind, int]] = [("time", number) for number in range(rounds)] + [("check", 0)]
        if isinstance(work.stream, Live):
            kinds = [("crawl", 0)]
        for kind, number in kinds:
            turn = number % max(1, len(entered))
            for competitor in [*entered[turn:], *entered[:turn]]:
                yield Trial(kind=kind, work=work, competitor=competitor, round=number, effort=effort, version=version)


async def run_trials(
    trials: Sequence[Trial],
    journal: Journal,
    done: list[Done],
    *,
    run: Callable[[Trial, Tell], Awaitable[Outcome]],
    progress: Callable[[Progress], None],
) -> None:
    """Run those that the journal lacks, one after the other; all that are done are put into `done`, as they come.

    A competitor that failed on a work is not tried on it again in this run. A cancellation leaves the journal whole.
    """
    failed: dict[tuple[str, str], Failed] = {}
    for number, trial in enumerate(trials):

        def tell(share: float, number: int = number, trial: Trial = trial) -> None:
            progress(Progress(trial=trial, number=number, total=len(trials), share=share))

        tell(0.0)
        place = (trial.work.name, trial.competitor.name)
        found = journal.outcome_of(trial.key)
        if found is None:
            outcome = failed.get(place) or await run(trial, tell)
            found = Done(
                key=trial.key,
                kind=trial.kind,
                work=trial.work.name,
                competitor=trial.competitor.name,
                round=trial.round,
                outcome=outcome,
            )
            if isinstance(outcome, Failed):
                # Not for the journal: by the next run it may be installed, or have the memory it needs.
                failed[place] = outcome
            else:
                journal.add(found)
        done.append(found)


async def in_process(
    trial: Trial, tell: Tell, *, command: Sequence[str], scratch: Path, timeout_s: float | None
) -> Outcome:
    """Run a trial in a fresh process, and return what it says, or why it says nothing. Cancelled, it kills it."""
    with (
        tempfile.TemporaryDirectory(prefix="trial-", dir=scratch) as place,
        tempfile.TemporaryFile(dir=place) as errors,
    ):
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=_LINE_BYTES,
            # Threads of a linear algebra library that nobody needs would take address space, which may be limited.
            env={**os.environ, "TMPDIR": place, "OPENBLAS_NUM_THREADS": "1"},
            # Ctrl-C is for the parent, which then ends the trial itself.
            process_group=0,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(msgspec.json.encode(trial) + b"\n")
            async with asyncio.timeout(timeout_s):
                outcome = await _outcome(process, tell)
                code = await process.wait()
        except TimeoutError:
            return Failed(reason=f"took longer than {timeout_s:g} s")
        finally:
            await _kill(process)
        if outcome is not None:
            return outcome
        errors.seek(0)
        return Failed(reason=_death(code, errors.read().decode("utf-8", "replace")))


async def _outcome(process: asyncio.subprocess.Process, tell: Tell) -> Outcome | None:
    assert process.stdout is not None
    async for line in process.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # printed by a library
        if "outcome" in message:
            outcome: Outcome = msgspec.convert(message["outcome"], Outcome)
            return outcome
        tell(float(message["done"]))
    return None


async def _kill(process: asyncio.subprocess.Process) -> None:
    """With all that it has started. Its pipes are closed then: what is still open when the event loop ends complains
    of that."""
    assert process.stdin is not None
    assert process.stdout is not None
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


def _death(code: int, errors: str) -> str:
    said = errors.strip().rpartition("\n")[2][-_TOLD_OF_STDERR:]
    said = f": {said}" if said else ""
    if code == -signal.SIGKILL:
        return f"killed, as the system does when memory runs out{said}"
    if code < 0:
        return f"died of {signal.Signals(-code).name}{said}"
    return f"ended with exit code {code} and without an answer{said}"
