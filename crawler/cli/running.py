"""Runs a crawl in the foreground: event loop, signals, progress, log and summary."""

import asyncio
import contextlib
import gc
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import click
import msgspec
from rich.console import Console

from config import Config, Loaded, render_toml
from crawler.cli.allocator import settle_allocator
from crawler.cli.codes import COMPLETE, LIMIT, STOPPED
from crawler.cli.interrupts import was_interrupted
from crawler.cli.logs import logging_to
from crawler.directory import CrawlDirectory, DirectoryRefused
from crawler.engine import Ending
from crawler.progress import show_progress, summary
from crawler.status import Status
from crawler.wiring.choosing import decided
from crawler.wiring.crawl import Crawl, assembled, check_configuration

log = logging.getLogger(__name__)

REBUILD_INTERVAL_S = 1.0

_CODES = {Ending.COMPLETE: COMPLETE, Ending.LIMIT: LIMIT, Ending.SIGNAL: STOPPED}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    ending: Ending
    exit_code: int
    directory: str
    new_seeds: int
    resumed: bool
    status: Status


def run_crawl(
    loaded: Loaded, *, fresh: bool, as_json: bool, again: str, max_pages: int | None = None, rebuild: bool = False
) -> Run:
    """Crawl in the configured directory, which is locked meanwhile.

    `again` is the command that goes on with the crawl, for the summary. `max_pages` limits this run alone; `rebuild`
    brings stored URLs under changed rules. Raises what keeps a crawl from starting or going on.
    """
    console = Console(stderr=True)
    settle_allocator()
    # Before anything is deleted or locked.
    check_configuration(loaded)
    with CrawlDirectory(Path(loaded.config.crawl.directory)) as directory:
        if fresh:
            directory.clear()
        _check_output(directory, loaded.config)
        with logging_to(directory.log, console):
            run = _in_event_loop(_run(loaded, directory, console, max_pages=max_pages, rebuild=rebuild))
    if as_json:
        click.echo(msgspec.json.encode(run))
    else:
        told = Console()
        for line in summary(run.status, ending=_words(run, again), directory=run.directory, width=told.width):
            click.echo(line)
        if told.is_terminal:
            click.echo("    (--json prints these figures, and more, for programs)")
    return run


def _check_output(directory: CrawlDirectory, config: Config) -> None:
    """Refuse to write a crawl's output behind that of another: the numbers of its records would stand twice."""
    in_memory = config.frontier.backend == "memory"
    if directory.has_output() and (in_memory or not directory.has_state()):
        why = "frontier.backend is memory, which resumes nothing" if in_memory else "its state is not there"
        raise DirectoryRefused(
            f"{directory.path} has the output of an earlier crawl, and {why}; "
            "choose another directory with --dir, or delete that crawl with --fresh"
        )


async def _run(
    loaded: Loaded, directory: CrawlDirectory, console: Console, *, max_pages: int | None, rebuild: bool
) -> Run:
    this = asyncio.current_task()
    assert this is not None
    came_before = was_interrupted()
    with _signals() as interrupts:
        interrupts.act = this.cancel
        if came_before:
            raise asyncio.CancelledError
        limited = loaded if max_pages is None else _limited(loaded, max_pages)
        async with assembled(limited, directory, rebuild=rebuild, rebuilding=_tell_rebuilding(console)) as crawl:
            if (reason := crawl.frontier.held_by_operator) is not None:
                raise DirectoryRefused(
                    f"the crawl in {directory.path} is held: {reason}. "
                    f"`onceover frontier release {directory.path}` lets it go on"
                )
            # Only now: what is refused on the way must leave the old configuration in place.
            directory.write_configuration(render_toml(loaded.config))
            _, choice = decided(loaded.config, directory)
            if choice is not None:
                console.print(f"{choice.words}.", highlight=False)
            resumed = crawl.frontier.describe().admitted > crawl.new_seeds
            if resumed:
                _tell_resumed(crawl, console)
            log.info("%s in %s", "resumed" if resumed else "begun", directory.path)
            if this.cancelling():
                raise asyncio.CancelledError
            ending = await _supervised(crawl, console, interrupts, interval_s=loaded.config.progress.interval_s)
            interrupts.act = lambda: None
            status = crawl.gauge.status()
            log.info("ended: %s, %d pages in this run", ending, status.pages)
    return Run(
        ending=ending,
        exit_code=_CODES[ending],
        directory=str(directory.path),
        new_seeds=crawl.new_seeds,
        resumed=resumed,
        status=status,
    )


def _limited(loaded: Loaded, max_pages: int) -> Loaded:
    limits = msgspec.structs.replace(loaded.config.limits, pages=max_pages)
    return msgspec.structs.replace(loaded, config=msgspec.structs.replace(loaded.config, limits=limits))


class _Interrupts:
    """What the next SIGINT or SIGTERM does."""

    def __init__(self) -> None:
        self.act: Callable[[], object] = lambda: None

    def __call__(self) -> None:
        self.act()


@contextlib.contextmanager
def _signals() -> Iterator[_Interrupts]:
    """SIGINT and SIGTERM act while a crawl runs; when it has ended, what is left takes a moment, undisturbed."""
    loop = asyncio.get_running_loop()
    interrupts = _Interrupts()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, interrupts)
    try:
        yield interrupts
    finally:
        # The event loop leaves SIGTERM deadly behind it: not for a moment, either.
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


async def _supervised(crawl: Crawl, console: Console, interrupts: _Interrupts, *, interval_s: float) -> Ending:
    """The first signal lets what is in flight finish, the second stops at once."""
    progress = asyncio.create_task(show_progress(crawl.gauge, console, interval_s=interval_s))
    running = asyncio.ensure_future(crawl.engine.run())

    def drain() -> None:
        urls = len(crawl.engine.tally.in_flight)
        console.print(f"Stopping when the {urls} URLs in flight are done; once more stops at once.", highlight=False)
        crawl.engine.stop(Ending.SIGNAL)
        interrupts.act = running.cancel

    interrupts.act = drain
    try:
        return await running
    except asyncio.CancelledError:
        if running.cancelled():
            return Ending.SIGNAL
        raise
    finally:
        progress.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await progress


def _tell_rebuilding(console: Console) -> Callable[[str, int], None]:
    told_at = 0.0

    def tell(what: str, urls: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= REBUILD_INTERVAL_S:
            told_at = time.monotonic()
            console.print(f"Rebuilding {what}: {urls:,} URLs so far.", highlight=False)

    return tell


def _tell_resumed(crawl: Crawl, console: Console) -> None:
    stats = crawl.frontier.describe()
    settled = stats.done + stats.failed + stats.excluded
    console.print(
        f"Resuming: {settled:,} of {stats.admitted:,} URLs are settled, {stats.pending + stats.retrying:,} wait.",
        highlight=False,
    )


def _words(run: Run, again: str) -> str:
    match run.ending:
        case Ending.COMPLETE if run.resumed and not run.status.responses and not run.status.failures:
            return "The crawl is complete: nothing was left to fetch."
        case Ending.COMPLETE:
            return "The crawl is complete."
        case Ending.LIMIT:
            return f"Stopped by a limit. To go on: {again}"
        case Ending.SIGNAL:
            return f"Stopped. To go on: {again}"


def _in_event_loop(work: Coroutine[None, None, Run]) -> Run:
    # Most of what a page makes dies with it, by reference count: looking for circles so often costs 5 % of the rate.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(work)
        except asyncio.CancelledError:
            raise click.Abort from None  # by a signal, before the crawl began


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415 - not to be had everywhere
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
