"""Runs the trials of a comparison, with a progress bar. A signal ends it in order."""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, cast

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from config import CompareSet, CompareWork, Config, Loaded
from crawler.cli.run.interrupts import ending_signals
from crawler.compare.measure.folder import Folder, Journal
from crawler.compare.measure.preparing import WorkRefused
from crawler.compare.measure.running import Progress as Step
from crawler.compare.measure.running import run_in_process, run_trials, schedule
from crawler.compare.measure.trial import Done, Effort, Outcome, ReportProgress, Trial
from crawler.compare.measure.work import Work
from crawler.compare.report.expecting import Expectation
from crawler.compare.report.recommending import Requirements
from crawler.compare.report.value import Circumstances, Report, report_of
from crawler.wiring.comparing.blocks import competitors, file_name, prepare_work
from crawler.wiring.comparing.ending import to_clean_up_s

# -P: the process must not import modules from the current directory.
_PROGRAM: Final = (sys.executable, "-P", "-m")
_WORKER: Final = (*_PROGRAM, "crawler.wiring.comparing.worker")
_LIVE_WORKER: Final = (*_PROGRAM, "crawler.cli.compare.live")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which sets are compared on which works."""

    loaded: Loaded
    works: Sequence[CompareWork]
    sets: Sequence[CompareSet]


async def compare_sets(plan: Plan, folder: Folder, console: Console) -> Report:
    """Run all trials that are not in the journal yet. After a signal, the report has what was measured so far."""
    config, compare = plan.loaded.config, plan.loaded.config.compare
    entered = competitors(plan.sets)
    works: list[Work] = []
    refused: list[tuple[str, str]] = []
    done: list[Done] = []
    complete = False
    with contextlib.suppress(asyncio.CancelledError), _cancelled_by_signals(), _bar(console) as bar:
        for number, work in enumerate(plan.works):
            task = bar.add_task(f"reading {work.name}", total=None)
            path = folder.works / file_name(number, work.name)
            try:
                works.append(await prepare_work(plan.loaded, work, path))
            except WorkRefused as refusal:
                refused.append((work.name, str(refusal)))
            bar.remove_task(task)
        effort = Effort(
            probes=compare.probes,
            past_capacity=compare.past_capacity,
            memory_bytes=compare.memory_bytes,
            seed=compare.seed,
        )
        trials = list(
            schedule(works, entered, rounds=compare.rounds, effort=effort, version=version("onceover-crawler"))
        )
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=folder.works) as scratch:
            run = partial(_run_trial, Path(scratch), compare.trial_timeout_s)
            await run_trials(trials, Journal(folder.journal), done, run=run, progress=_progress(bar, config))
        complete = True
    return report_of(
        works,
        refused,
        entered,
        done,
        requirements=Requirements(max_loss=compare.max_loss, max_memory_bytes=compare.max_memory_bytes),
        expected=[Expectation(**msgspec.structs.asdict(each)) for each in compare.expect],
        circumstances=Circumstances(
            seed=compare.seed, measured_at=datetime.now(UTC).isoformat(timespec="seconds"), complete=complete
        ),
    )


async def _run_trial(scratch: Path, timeout_s: float, trial: Trial, report: ReportProgress) -> Outcome:
    """Run one trial in its own process."""
    command = _LIVE_WORKER if trial.kind == "crawl" else _WORKER
    return await run_in_process(
        trial,
        report,
        command=command,
        scratch=scratch,
        timeout_s=timeout_s,
        to_clean_up_s=to_clean_up_s(trial),
    )


def _progress(bar: Progress, config: Config) -> Callable[[Step], None]:
    """A function that shows how far the run is."""
    task = bar.add_task("", total=None)

    def show(step: Step) -> None:
        trial = step.trial
        words = f"{trial.work.name}: {trial.competitor.name}, {trial.kind}"
        words += f" {trial.round + 1}/{config.compare.rounds}" if trial.kind == "time" else ""
        bar.update(task, completed=step.number + step.share, total=step.total, description=words)

    return show


@contextlib.contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """Within this context, a signal cancels the running task."""
    loop, this = asyncio.get_running_loop(), cast("asyncio.Task[object]", asyncio.current_task())

    def stop() -> None:
        # Only once: a second cancellation would interrupt the end of the trial.
        if not this.cancelling():
            this.cancel()

    for number in ending_signals():
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in ending_signals():
            loop.remove_signal_handler(number)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
