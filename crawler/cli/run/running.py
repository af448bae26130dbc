"""Runs a crawl in the foreground: event loop, signals, progress, log and summary."""

import asyncio
import gc
import logging
import resource
import shlex
import sys
import time
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
from crawler.cli.run.terminal import lasting_console, say
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.engine import Ending
from crawler.progress import show_progress, summary
from crawler.status import Status, number_of
from crawler.wiring.auto_backend import choose_backend
from crawler.wiring.crawl import Crawl, check_configuration, open_crawl

log = logging.getLogger(__name__)

REBUILD_INTERVAL_S = 1.0
SWITCH_INTERVAL_S = 0.001
"""A fifth of what Python takes by itself."""

_CODES = {Ending.COMPLETE: COMPLETE, Ending.INCOMPLETE: FAILED, Ending.LIMIT: LIMIT, Ending.SIGNAL: STOPPED}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    ending: Ending
    exit_code: int
    directory: str
    new_seeds: int
    resumed: bool
    status: Status


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

    `again` is the command that goes on with the crawl, for the summary. `max_pages` limits this run alone; `rebuild`
    brings stored URLs under changed rules; `changed` says what is set otherwise than before. Raises what keeps a crawl
    from starting or going on.
    """
    console = lasting_console()
    settle_allocator()
    # Before anything is deleted or locked.
    check_configuration(loaded)
    with CrawlDirectory(Path(loaded.config.crawl.directory)) as directory:
        if fresh:
            directory.clear()
        _check_output(directory, loaded.config)
        with logging_to(directory.log, console):
            _warn_of_limits()
            run = _in_event_loop(
                _run(loaded, directory, console, max_pages=max_pages, rebuild=rebuild, changed=changed)
            )
    if as_json:
        say(msgspec.json.encode(run))
    else:
        told = Console()
        for line in summary(run.status, ending=_words(run, again), directory=run.directory, width=told.width):
            say(line)
        if told.is_terminal:
            say("    (--json prints these figures, and more, for programs)")
    return run


def _warn_of_limits() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        log.warning(
            "the address space is limited to %d MiB (ulimit -v): LevelDB, which maps its files into it, aborts the "
            "process where that does not suffice; limit the memory by a control group instead",
            limit >> 20,
        )


def _check_output(directory: CrawlDirectory, config: Config) -> None:
    """Refuse to write a crawl's output behind that of another: the numbers of its records would stand twice."""
    in_memory = config.frontier.backend == "memory"
    if directory.has_output() and (in_memory or not directory.has_state()):
        why = "frontier.backend is memory, which resumes nothing" if in_memory else "its state is not there"
        back = "" if in_memory else f"bring it back with `onceover inspect {directory.path} fsck --repair`, "
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
    came_before = was_interrupted()
    with interrupts() as acting:
        acting.act = this.cancel
        if came_before:
            raise asyncio.CancelledError
        limited = loaded if max_pages is None else _limited(loaded, max_pages)
        async with open_crawl(limited, directory, rebuild=rebuild, on_rebuild=_tell_rebuilding(console)) as crawl:
            if (reason := crawl.frontier.operator_hold) is not None:
                raise DirectoryRefused(
                    f"the crawl in {directory.path} is held: {reason}. "
                    f"`onceover frontier release {directory.path}` lets it go on"
                )
            # Only now: what is refused on the way must leave the old configuration in place.
            directory.write_configuration(render_toml(loaded.lasting))
            for line in changed:
                console.print(f"Changed: {line}.", highlight=False, markup=False, soft_wrap=True)
                log.info("changed: %s", line)
            _, choice = choose_backend(loaded.config, directory)
            if choice is not None:
                console.print(f"{choice.text}.", highlight=False)
            resumed = crawl.frontier.describe().admitted > crawl.new_seeds
            if resumed:
                _tell_resumed(crawl, console)
            log_beginning(loaded.config, str(directory.path), resumed=resumed)
            if this.cancelling():
                raise asyncio.CancelledError
            ending = await _supervised(crawl, console, acting, interval_s=loaded.config.progress.interval_s)
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


def _limited(loaded: Loaded, max_pages: int) -> Loaded:
    limits = msgspec.structs.replace(loaded.config.limits, pages=max_pages)
    return msgspec.structs.replace(loaded, config=msgspec.structs.replace(loaded.config, limits=limits))


async def _supervised(crawl: Crawl, console: Console, acting: Interrupts, *, interval_s: float) -> Ending:
    """The first signal lets what is in flight finish, the second stops at once."""
    async with asyncio.TaskGroup() as group:
        telling = (
            group.create_task(_told(show_progress(crawl.gauge, console, interval_s=interval_s))),
            group.create_task(_told(log_progress(crawl.gauge))),
        )
        running = group.create_task(crawl.engine.run())
        running.add_done_callback(lambda _: [each.cancel() for each in telling])

        def drain(name: str) -> None:
            urls = number_of(len(crawl.engine.counters.in_flight), "URL in flight is done", "URLs in flight are done")
            log.info("%s: stopping when %s", name, urls)
            console.print(f"Stopping when {urls}; once more stops at once.", highlight=False)
            crawl.engine.stop(Ending.SIGNAL)
            acting.act = stop

        def stop(name: str) -> None:
            log.info("%s: stopping at once", name)
            running.cancel()

        acting.act = drain
    return Ending.SIGNAL if running.cancelled() else running.result()


async def _told(telling: Coroutine[None, None, None]) -> None:
    try:
        await telling
    except Exception:
        # Whatever is wrong with it, a display is no reason to end a crawl.
        log.exception("progress can't be told any more; the crawl goes on")


def _tell_rebuilding(console: Console) -> Callable[[str, int], None]:
    told_at = 0.0

    def tell(what: str, urls: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= REBUILD_INTERVAL_S:
            told_at = time.monotonic()
            console.print(f"Rebuilding {what}: {number_of(urls, 'URL')} so far.", highlight=False)

    return tell


def _tell_resumed(crawl: Crawl, console: Console) -> None:
    stats = crawl.frontier.describe()
    settled = stats.done + stats.failed + stats.excluded
    console.print(
        f"Resuming: {settled:,} of {number_of(stats.admitted, 'URL is', 'URLs are')} settled, "
        f"{number_of(stats.pending + stats.retrying, 'waits', 'wait')}.",
        highlight=False,
    )


def _words(run: Run, again: str) -> str:
    match run.ending:
        case Ending.COMPLETE if run.resumed and not run.status.responses and not run.status.failures:
            return "The crawl is complete: nothing was left to fetch."
        case Ending.COMPLETE:
            return "The crawl is complete."
        case Ending.INCOMPLETE:
            return _missing_words(run)
        case Ending.LIMIT:
            return f"Stopped by a limit. To go on: {again}"
        case Ending.SIGNAL:
            return f"Stopped. To go on: {again}"


def _missing_words(run: Run) -> str:
    frontier, where = run.status.frontier, shlex.quote(run.directory)
    aside = frontier.missing - frontier.lost
    told = []
    if frontier.lost:
        told.append(
            f"{frontier.lost:,} URLs were lost to damage. To fetch again what leads to them: "
            f"onceover inspect {where} fsck --refetch"
        )
    if aside:
        told.append(f"{aside:,} URLs were set aside, as they can't be read: onceover inspect {where} fsck --repair")
    return "The crawl is not complete, though nothing waits. " + "; ".join(told)


def _in_event_loop(work: Coroutine[None, None, Run]) -> Run:
    # Most of what a page makes dies with it, by reference count: looking for circles so often costs 5 % of the rate.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    # While a thread reads a large page, the event loop waits so long for the interpreter, each time that it woke up.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
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
