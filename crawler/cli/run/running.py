"""Runs a crawl in the foreground: event loop, signals, progress, log and summary."""

import asyncio
import gc
import logging
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from config import Config, Loaded
from crawler.cli.run.allocator import settle_allocator
from crawler.cli.run.diagnostics import Diagnostics, diagnostics, logging_to
from crawler.cli.run.interrupts import Interrupts, Stopping, ask_before_leaving, ending_signals, interrupts
from crawler.cli.run.messages import ending_text, print_resumed, rebuild_printer, tell_changed, warn_of_address_space
from crawler.cli.run.streams import say
from crawler.disk.directory import CrawlDirectory
from crawler.engine import Ending
from crawler.library.crawl_log import log_progress
from crawler.library.opening import Run, lock_crawl, open_run
from crawler.library.result import CrawlResult
from crawler.operate.settings.start import Start
from crawler.progress import ReadStatus, summary
from crawler.status import Status
from crawler.wiring.plugins.blame import blaming, plugins_of

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

SWITCH_INTERVAL_S = 0.001
"""A fifth of the default of Python."""


def run_crawl(
    loaded: Loaded,
    *,
    fresh: bool,
    rebuild: bool = False,
    start: Start | None = None,
    changed: Sequence[str] = (),
) -> CrawlResult:
    """Crawl in the configured directory, which is locked meanwhile.

    `rebuild` rebuilds stored URLs after a change of the rules. `start` says how the configuration is read again.
    `changed` says which settings differ from the last run. Raises whatever keeps a crawl from starting or continuing.
    """
    console = diagnostics()
    settle_allocator()
    with lock_crawl(loaded, fresh=fresh) as directory, logging_to(directory.log, loaded.config, console):
        warn_of_address_space()
        # Outside of the loop too, because a task that raises SystemExit ends it at once.
        with _logging_errors(directory.log), blaming(plugins_of(loaded.config)):
            run = partial(_run, loaded, directory, console, rebuild=rebuild, start=start, changed=changed)
            result = in_event_loop(run)
        directory.ending = result.ending
    return result


@contextmanager
def _logging_errors(file: Path) -> Iterator[None]:
    """A context in which the error that ends a run is logged. A run that was refused has logged nothing, and leaves the
    log as it is. The log may have been rotated meanwhile, and be shorter than before."""

    def size_bytes() -> int | None:
        with suppress(OSError):
            return file.stat().st_size
        return None

    before = size_bytes()
    try:
        yield
    except (Exception, BaseExceptionGroup) as error:
        if size_bytes() != before and not isinstance(error, click.Abort):
            # With what it knows, it takes a megabyte.
            from crawler.cli.errors import known_error  # noqa: PLC0415 - see above

            known = known_error(error)
            text = "a fault of onceover" if known is None else known.message
            log.info("ended by an error: %s", text, exc_info=error if known is None else None)
        raise


def print_result(
    result: CrawlResult, *, as_json: bool, again: str, may_begin_anew: bool = True, why: Sequence[str] = ()
) -> None:
    """Print how a run has ended. `again` is the command that resumes the crawl; with `may_begin_anew` it takes
    `--fresh`. `why` says of seeds why they gave no page."""
    if as_json:
        say(msgspec.json.encode(result))
        return
    ending = ending_text(result, again, may_begin_anew=may_begin_anew, why=why)
    width = shutil.get_terminal_size().columns
    for line in summary(result.status, ending=ending, directory=result.directory, width=width):
        say(line)
    if sys.stdout.isatty():
        say("    (--json prints these figures, and more, for programs)")


async def _run(
    loaded: Loaded,
    directory: CrawlDirectory,
    console: Diagnostics,
    *,
    rebuild: bool,
    start: Start | None,
    changed: Sequence[str],
) -> CrawlResult:
    this = asyncio.current_task()
    assert this is not None
    with interrupts() as acting:
        opening = open_run(loaded, directory, rebuild=rebuild, on_rebuild=rebuild_printer(console), start=start)
        async with opening as run:
            tell_changed(changed, console)
            if run.choice is not None:
                console.tell(f"{run.choice}.")
            if run.resumed:
                print_resumed(run.crawl.frontier.describe(), console)
            if this.cancelling():
                raise asyncio.CancelledError
            ending = await _run_engine(run, console, acting)
            ask_before_leaving(acting, console.tell)
            return run.result(ending)


async def _run_engine(run: Run, console: Diagnostics, acting: Interrupts) -> Ending:
    """Run the engine until the crawl or a signal ends it."""
    crawl = run.crawl
    async with asyncio.TaskGroup() as group:
        running = group.create_task(crawl.engine.run())

        def drop(_ending: Ending) -> None:
            running.cancel()
            ask_before_leaving(acting, console.tell)

        stopping = Stopping(
            acting,
            console.tell,
            in_flight=lambda: len(crawl.engine.counters.in_flight),
            drain=crawl.engine.stop,
            drop=drop,
        )
        acting.reload = lambda: group.create_task(run.reload())
        beside = [
            group.create_task(show_progress(crawl.gauge.status, console, run.loaded.config)),
            group.create_task(run.course.keep()),
            group.create_task(run.answer_operator(stop=stopping.by_command)),
        ]
        running.add_done_callback(lambda _: [each.cancel() for each in beside])
        running.add_done_callback(lambda _: acting.ignore_reloads())
    return stopping.ending if running.cancelled() else running.result()


def in_flight(status: Status | None) -> int:
    """How many URLs are in flight, as far as that is known."""
    return 0 if status is None else status.frontier.in_process


async def show_progress(read: ReadStatus, console: Diagnostics, config: Config) -> None:
    """Show and log the progress until cancelled."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_keep_running(console.show_progress(read, interval_s=config.progress.interval_s)))
        group.create_task(_keep_running(log_progress(read)))


async def _keep_running(display: Coroutine[None, None, None]) -> None:
    """Run a display of progress. A bug in it is logged, and does not end the crawl."""
    try:
        await display
    except Exception:
        log.exception("progress can't be shown any more; the crawl goes on")


def in_event_loop(work: Callable[[], Coroutine[None, None, _Result]]) -> _Result:
    """Run what runs a crawl. Raises `click.Abort` if it was cancelled."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    async def begin() -> _Result:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return await work()

    try:
        # A signal between the making of a coroutine and its start would leave one that was never awaited. One that
        # comes right before is raised from here, with all of them blocked.
        signal.pthread_sigmask(signal.SIG_BLOCK, ending_signals())
        # A task that raises SystemExit leaves this pending. As it is frozen, no collection destroys and complains of
        # it.
        running = begin()
        # Reference counting frees most objects of a page. The default frequency of garbage collection costs 5 % of the
        # rate.
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)
        # While a thread reads a large page, the event loop waits this long for the interpreter each time it wakes up.
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(running)
    except asyncio.CancelledError:
        raise click.Abort from None  # by a signal, before the crawl began
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415 - not available everywhere
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
