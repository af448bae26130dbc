"""Runs a crawl in the foreground: event loop, signals, progress, log and summary."""

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from config import Config, Loaded, render_toml
from crawler.cli.codes import COMPLETE, FAILED, LIMIT, STOPPED
from crawler.cli.run.allocator import settle_allocator
from crawler.cli.run.crawl_log import log_beginning, log_progress
from crawler.cli.run.interrupts import Interrupts, interrupts, was_interrupted
from crawler.cli.run.logs import logging_to
from crawler.cli.run.messages import Run, ending_text, print_resumed, rebuild_printer, warn_of_address_space
from crawler.cli.run.terminal import lasting_console, say
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.engine import Ending
from crawler.progress import show_progress, summary
from crawler.status import number_of
from crawler.wiring.auto_backend import choose_backend
from crawler.wiring.crawl import Crawl, check_configuration, open_crawl

log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.001
"""A fifth of the default of Python."""

_CODES = {Ending.COMPLETE: COMPLETE, Ending.INCOMPLETE: FAILED, Ending.LIMIT: LIMIT, Ending.SIGNAL: STOPPED}


def run_crawl(
    loaded: Loaded,
    *,
    fresh: bool,
    as_json: bool,
    again: str,
    max_pages: int | None = None,
    rebuild: bool = False,
    changed: Sequence[str] = (),
) -> Run:
    """Crawl in the configured directory, which is locked meanwhile.

    `again` is the command that resumes the crawl, for the summary. `max_pages` limits this run alone. `rebuild`
    rebuilds stored URLs after a change of the rules. `changed` says which settings differ from the last run. Raises
    whatever keeps a crawl from starting or continuing.
    """
    console = lasting_console()
    settle_allocator()
    # This must come before anything is deleted or locked.
    check_configuration(loaded)
    with CrawlDirectory(Path(loaded.config.crawl.directory)) as directory:
        if fresh:
            directory.clear()
        _check_output(directory, loaded.config)
        with logging_to(directory.log, console):
            warn_of_address_space()
            run = _in_event_loop(
                _run(loaded, directory, console, max_pages=max_pages, rebuild=rebuild, changed=changed)
            )
    if as_json:
        say(msgspec.json.encode(run))
    else:
        stdout = Console()
        for line in summary(run.status, ending=ending_text(run, again), directory=run.directory, width=stdout.width):
            say(line)
        if stdout.is_terminal:
            say("    (--json prints these figures, and more, for programs)")
    return run


def _check_output(directory: CrawlDirectory, config: Config) -> None:
    """Refuse to append the output of a new crawl to that of another: numbers of records would occur twice."""
    in_memory = config.frontier.backend == "memory"
    if directory.has_output() and (in_memory or not directory.has_state()):
        why = "frontier.backend is memory, which can't resume it" if in_memory else "its state is missing"
        back = "" if in_memory else f"rebuild it with `onceover inspect {directory.path} fsck --repair`, "
        raise DirectoryRefused(
            f"{directory.path} has the output of an earlier crawl, and {why}; {back}"
            "choose another directory with --dir, or delete that crawl with --fresh"
        )


async def _run(
    loaded: Loaded,
    directory: CrawlDirectory,
    console: Console,
    *,
    max_pages: int | None,
    rebuild: bool,
    changed: Sequence[str],
) -> Run:
    this = asyncio.current_task()
    assert this is not None
    interrupted_before = was_interrupted()
    with interrupts() as acting:
        acting.act = this.cancel
        if interrupted_before:
            raise asyncio.CancelledError
        limited = loaded if max_pages is None else _with_page_limit(loaded, max_pages)
        async with open_crawl(limited, directory, rebuild=rebuild, on_rebuild=rebuild_printer(console)) as crawl:
            if (reason := crawl.frontier.operator_hold) is not None:
                raise DirectoryRefused(
                    f"the crawl in {directory.path} is held: {reason}. "
                    f"`onceover frontier release {directory.path}` lets it continue"
                )
            # Not earlier: if something is refused until here, the old configuration must stay.
            directory.write_configuration(render_toml(loaded.lasting))
            for line in changed:
                console.print(f"Changed: {line}.", highlight=False, markup=False, soft_wrap=True)
                log.info("changed: %s", line)
            _, choice = choose_backend(loaded.config, directory)
            if choice is not None:
                console.print(f"{choice.text}.", highlight=False)
            resumed = crawl.frontier.describe().admitted > crawl.new_seeds
            if resumed:
                print_resumed(crawl, console)
            log_beginning(loaded.config, str(directory.path), resumed=resumed)
            if this.cancelling():
                raise asyncio.CancelledError
            ending = await _run_engine(crawl, console, acting, interval_s=loaded.config.progress.interval_s)
            acting.act = lambda _: None
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


def _with_page_limit(loaded: Loaded, max_pages: int) -> Loaded:
    limits = msgspec.structs.replace(loaded.config.limits, pages=max_pages)
    return msgspec.structs.replace(loaded, config=msgspec.structs.replace(loaded.config, limits=limits))


async def _run_engine(crawl: Crawl, console: Console, acting: Interrupts, *, interval_s: float) -> Ending:
    """Run the engine. The first signal lets the URLs in flight finish, the second one stops at once."""
    async with asyncio.TaskGroup() as group:
        displays = (
            group.create_task(_keep_running(show_progress(crawl.gauge, console, interval_s=interval_s))),
            group.create_task(_keep_running(log_progress(crawl.gauge))),
        )
        running = group.create_task(crawl.engine.run())
        running.add_done_callback(lambda _: [each.cancel() for each in displays])

        def drain(name: str) -> None:
            urls = number_of(len(crawl.engine.counters.in_flight), "URL in flight is done", "URLs in flight are done")
            log.info("%s: stopping when %s", name, urls)
            console.print(f"Stopping when {urls}. Ctrl-C again stops at once.", highlight=False)
            crawl.engine.stop(Ending.SIGNAL)
            acting.act = stop

        def stop(name: str) -> None:
            log.info("%s: stopping at once", name)
            running.cancel()

        acting.act = drain
    return Ending.SIGNAL if running.cancelled() else running.result()


async def _keep_running(display: Coroutine[None, None, None]) -> None:
    """Run a display of progress. A bug in it is logged, and does not end the crawl."""
    try:
        await display
    except Exception:
        log.exception("progress can't be shown any more; the crawl goes on")


def _in_event_loop(work: Coroutine[None, None, Run]) -> Run:
    # Reference counting frees most objects of a page. The default frequency of garbage collection costs 5 % of the
    # rate.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    # While a thread reads a large page, the event loop waits this long for the interpreter each time it wakes up.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(work)
        except asyncio.CancelledError:
            raise click.Abort from None  # by a signal, before the crawl began


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415 - not available everywhere
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
