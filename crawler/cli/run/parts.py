"""Runs a crawl in parts in the foreground: signals, one progress, one summary."""

import asyncio
from collections.abc import Sequence
from functools import partial

from config import Loaded
from crawler.background import in_background
from crawler.cli.run.diagnostics import Diagnostics, diagnostics, logging_to
from crawler.cli.run.interrupts import Stopping, interrupts
from crawler.cli.run.messages import print_resumed, tell_changed, warn_of_address_space
from crawler.cli.run.running import in_event_loop, in_flight, show_progress
from crawler.control.requests import Reload
from crawler.library.crawl_log import log_beginning
from crawler.library.result import CrawlResult
from crawler.operate.settings.lines import log_reload
from crawler.operate.settings.start import Start
from crawler.progress import read_parts
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.operating import answer_operator
from crawler.supervise.preparing import Plan, lock_parts
from crawler.supervise.settings import SettingsOfParts, reconfigure
from crawler.supervise.supervisor import Supervisor


def run_in_parts(
    loaded: Loaded,
    *,
    fresh: bool,
    rebuild: bool = False,
    start: Start | None = None,
    changed: Sequence[str] = (),
) -> CrawlResult:
    """Crawl in parts, as `run_crawl` does in one process. Raises `PartFailed` if a part can't go on."""
    console = diagnostics()
    locked = lock_parts(loaded, fresh=fresh, rebuild=rebuild, start=start, on_wait=console.tell)
    with locked as plan, logging_to(plan.directory.log, loaded.config, console):
        warn_of_address_space()
        tell_changed(changed, console)
        result = in_event_loop(partial(_run, plan, console))
        plan.directory.ending = result.ending
    return result


async def _run(plan: Plan, console: Diagnostics) -> CrawlResult:
    with interrupts() as acting:
        supervisor = Supervisor(plan, tell=console.tell)
        # The third time, `stop` kills the parts.
        stopping = Stopping(
            acting,
            console.tell,
            in_flight=lambda: in_flight(supervisor.coordinator.status()),
            drain=supervisor.stop,
            drop=partial(supervisor.stop, now=True),
        )
        settings, reload_wanted = SettingsOfParts(supervisor.coordinator), asyncio.Event()
        acting.reload = reload_wanted.set
        running = asyncio.create_task(supervisor.run())
        async with in_background(
            _show(supervisor.coordinator, console),
            answer_operator(supervisor.coordinator, settings, stop=stopping.by_command),
            _reload_when_wanted(supervisor.coordinator, settings, reload_wanted),
        ):
            try:
                await asyncio.wait([running])
            finally:
                acting.ignore_reloads()
        return running.result()


async def _reload_when_wanted(coordinator: Coordinator, settings: SettingsOfParts, wanted: asyncio.Event) -> None:
    """Read the configuration again at each SIGHUP, and log what has changed, or why nothing has."""
    while True:
        await wanted.wait()
        wanted.clear()
        log_reload(await reconfigure(coordinator, settings, Reload()))


async def _show(coordinator: Coordinator, console: Diagnostics) -> None:
    plan, read = coordinator.plan, read_parts(coordinator.status)
    await coordinator.all_open.wait()
    for choice in coordinator.choices:
        console.tell(f"{choice}.")
    log_beginning(plan.loaded.config, str(plan.directory.path), resumed=coordinator.is_resumed)
    if coordinator.is_resumed:
        print_resumed(coordinator.first_frontier, console)
    await show_progress(read, console, plan.loaded.config)
