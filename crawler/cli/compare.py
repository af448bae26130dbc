"""onceover compare"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from config import CompareBackend, CompareSet, CompareWork, Config, Loaded, load, parse_size
from crawler.cli.advising import advise_on
from crawler.cli.codes import COMPLETE, FAILED, STOPPED
from crawler.cli.completion import complete_preset, complete_setting
from crawler.cli.run.interrupts import ending_signals
from crawler.compare.measure.folder import Folder
from crawler.compare.measure.journal import Journal
from crawler.compare.measure.preparing import STDIN, WorkRefused
from crawler.compare.measure.running import Progress as Step
from crawler.compare.measure.running import run_trials
from crawler.compare.measure.trial import Done
from crawler.compare.measure.work import Work
from crawler.compare.report.page import page
from crawler.compare.report.table import render
from crawler.compare.report.value import Report, report_of
from crawler.wiring import comparing

_NARROWEST = 150
"""Columns of a table that goes to no terminal."""


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The command line."""

    configuration: Path | None
    urls: tuple[str, ...]
    crawls: tuple[str, ...]
    backends: tuple[CompareBackend, ...]
    preset: str | None
    directory: str | None
    fresh: bool
    settings: tuple[str, ...]
    as_json: bool
    advise: bool
    urls_expected: str | None
    loss: float
    memory: str | None


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared on what."""

    loaded: Loaded
    works: Sequence[CompareWork]
    sets: Sequence[CompareSet]


@click.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option("--urls", multiple=True, metavar="FILE", help="URLs, one on each line, also .gz; - is standard input.")
@click.option("--crawl", "crawls", multiple=True, metavar="DIR", help="Links of a crawl that ran with output.links.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(get_args(CompareBackend)),
    help="A visited set to compare, instead of the file's; repeat it for more.",
)
@click.option(
    "--preset", metavar="NAME", shell_complete=complete_preset, help="Settings to begin with, in place of the defaults."
)
@click.option("--dir", "directory", metavar="DIR", help="Where the report goes; the run in it is resumed.")
@click.option("--fresh", is_flag=True, help="Measure everything again.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=complete_setting,
    help="Set a value, as compare.rounds=5.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--advise", is_flag=True, help="Measure nothing: tell by the formulas which sets fit.")
@click.option("--urls-expected", metavar="N", help="With --advise: URLs that will come, as 2e8.")
@click.option("--loss", type=float, default=1e-4, show_default=True, help="With --advise: share that may be lost.")
@click.option("--memory", metavar="SIZE", help='With --advise: memory there is, as "1 GiB"; unset: a quarter of this.')
def compare(**given: Any) -> int:
    """Measure visited sets on the same work: speed, memory, and what they lose.

    Each is measured in a process of its own, in several rounds. Ctrl-C leaves a report of what was measured so far;
    the same command goes on.

    Exit codes: 0 complete, 1 nothing could be measured or a figure is not as expected, 2 wrong usage or configuration,
    4 stopped by a signal, 5 the directory is in use or not a comparison's.
    """
    asked = _Asked(**given)
    if not asked.advise:
        if asked.urls_expected is not None or asked.memory is not None:
            raise click.UsageError("--urls-expected and --memory go with --advise, which measures nothing")
        return _run(asked)
    if asked.urls_expected is None:
        raise click.UsageError("how many URLs will come? Give --urls-expected N, as 2e8")
    return advise_on(asked.urls_expected, loss=asked.loss, memory_bytes=_size(asked.memory), as_json=asked.as_json)


def _run(asked: _Asked) -> int:
    loaded = load(
        asked.configuration, overrides=asked.settings, environ=os.environ, preset=asked.preset, require_seeds=False
    )
    comparing.check_comparison(loaded)
    plan = _plan(asked, loaded)
    _check_places(asked, loaded)
    place = asked.directory or f"{loaded.config.compare.directory}/{loaded.config.crawl.name}"
    console = Console(stderr=True)
    with Folder(Path(place)) as folder:
        if asked.fresh:
            folder.clear()
        report = asyncio.run(_compare(plan, folder, console))
        _write(report, folder, console)
    if asked.as_json:
        click.echo(msgspec.json.encode(report))
    else:
        told = Console()
        told = told if told.is_terminal else Console(width=_NARROWEST)
        told.print(render(report, told.width))
    click.echo(f"{'Report' if report.complete else 'Stopped; a partial report is'} in {place}", err=True)
    return _exit_code(report)


def _plan(asked: _Asked, loaded: Loaded) -> _Plan:
    """Raises `UsageError` when there is nothing to compare on."""
    configured = loaded.config.compare
    works = [
        *configured.work,
        *(CompareWork(name="standard input" if path == "-" else Path(path).name, urls=path) for path in asked.urls),
        *(CompareWork(name=Path(path).name or path, crawl=path) for path in asked.crawls),
    ]
    if not works:
        raise click.UsageError(
            "what is to be compared on? Give --urls FILE, --crawl DIR, or a configuration with [[compare.work]]"
        )
    sets: Sequence[CompareSet] = [CompareSet(backend=each) for each in asked.backends]
    names = comparing.own_names([work.name for work in works])
    return _Plan(
        loaded=loaded,
        works=[msgspec.structs.replace(work, name=name) for work, name in zip(works, names, strict=True)],
        sets=sets or configured.set or comparing.USUAL,
    )


def _check_places(asked: _Asked, loaded: Loaded) -> None:
    """Refuse what is not there, before anything is made. What can't be read is told in the report."""
    for option, paths, kind in (("--urls", asked.urls, "file"), ("--crawl", asked.crawls, "directory")):
        for path in paths:
            if path != STDIN and not Path(path).exists():
                raise click.UsageError(f"{option}: can't read {path}: no such {kind}")
    for number, work in enumerate(loaded.config.compare.work, start=1):
        for place, kind in ((work.urls, "file"), (work.crawl, "directory")):
            if place is not None and place != STDIN and not Path(place).exists():
                raise loaded.refuse(f"compare.work[{number}]", f"can't read {place}: no such {kind}")


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise click.UsageError(f'expected a size, as "512 MB" or "1 GiB", found {text}') from error


def _write(report: Report, folder: Folder, console: Console) -> None:
    """The report as files."""
    (folder.path / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    drawn: dict[str, list[str]] = {}
    try:
        from crawler.compare.report.plots import plots  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        console.print(
            f"The report has no plots, as {error.name} is not installed: pip install 'onceover-crawler[compare]'"
        )
    else:
        numbers = {work.name: number for number, work in enumerate(report.works)}
        for plot in plots(report):
            drawn.setdefault(plot.work, []).append(plot.svg)
            name = f"{comparing.file_name(numbers[plot.work], plot.work)}-{plot.name}.png"
            (folder.path / name).write_bytes(plot.png)
    (folder.path / "report.html").write_text(page(report, drawn), encoding="utf-8")


def _exit_code(report: Report) -> int:
    if not report.complete:
        return STOPPED
    measured = any(row.bytes is not None or row.pages is not None for row in report.rows)
    return COMPLETE if measured and all(each.met for each in report.findings) else FAILED


async def _compare(plan: _Plan, folder: Folder, console: Console) -> Report:
    """Measure what is not yet in the journal; the report is of whatever was measured when a signal comes."""
    config = plan.loaded.config
    entered = comparing.competitors(plan.sets)
    works: list[Work] = []
    refused: list[tuple[str, str]] = []
    done: list[Done] = []
    complete = False
    with contextlib.suppress(asyncio.CancelledError), _cancelled_by_signals(), _bar(console) as bar:
        for number, work in enumerate(plan.works):
            task = bar.add_task(f"reading {work.name}", total=None)
            place = folder.works / comparing.file_name(number, work.name)
            try:
                works.append(await comparing.prepared(plan.loaded, work, place))
            except WorkRefused as refusal:
                refused.append((work.name, str(refusal)))
            bar.remove_task(task)
        trials = comparing.trials(config, works, entered)
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=folder.path) as scratch:
            run = partial(comparing.run_trial, config, Path(scratch))
            await run_trials(trials, Journal(folder.journal), done, run=run, progress=_progress(bar, config))
        complete = True
    return report_of(
        works,
        refused,
        entered,
        done,
        wish=comparing.wish(config),
        expected=comparing.expectations(config),
        seed=config.compare.seed,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=complete,
    )


def _progress(bar: Progress, config: Config) -> Callable[[Step], None]:
    """Shows how far a run is."""
    task = bar.add_task("", total=None)

    def show(step: Step) -> None:
        trial = step.trial
        words = f"{trial.work.name}: {trial.competitor.name}, {trial.kind}"
        words += f" {trial.round + 1}/{config.compare.rounds}" if trial.kind == "time" else ""
        bar.update(task, completed=step.number + step.share, total=step.total, description=words)

    return show


@contextlib.contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """A signal cancels the running task."""
    loop, this = asyncio.get_running_loop(), cast("asyncio.Task[object]", asyncio.current_task())

    def stop() -> None:
        # Once: a second cancellation would reach what ends the trial.
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
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
