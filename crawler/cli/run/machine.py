"""Runs parts of a crawl on many machines in the foreground: signals, one progress, one summary."""

import asyncio
import logging
from pathlib import Path

import msgspec

from config import Loaded
from crawler import __version__
from crawler.cli.run.diagnostics import Diagnostics, diagnostics
from crawler.cli.run.interrupts import Interrupts, interrupts, was_interrupted
from crawler.cli.run.logs import logging_to
from crawler.cli.run.messages import warn_of_address_space
from crawler.cli.run.running import in_event_loop, keep_running, print_result
from crawler.cli.run.streams import say
from crawler.disk.going_on import how_to_go_on
from crawler.engine import Ending
from crawler.library.crawl_log import log_progress
from crawler.library.log_form import log_form
from crawler.library.result import EXIT_CODES, CrawlResult
from crawler.parts.exchange.redis import RedisExchange
from crawler.progress import GaugeOfParts
from crawler.status import number_of
from crawler.supervise.cluster.agent import CrawlAgent
from crawler.supervise.cluster.joining import Joined, join
from crawler.supervise.cluster.messages import WIRE
from crawler.supervise.cluster.operating import answer_operator

log = logging.getLogger(__name__)


class MachineResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run has ended on a machine that had no part."""

    ending: Ending
    exit_code: int
    directory: str


def run_on_machine(reached: Loaded, directory: Path, *, max_parts: int, as_json: bool) -> int:
    """Run up to `max_parts` parts of the crawl that the server of `reached` has, with this directory. Returns the exit
    code. Raises `PartFailed` if a part can't go on, `ConfigError` and `DirectoryRefused`."""
    console = diagnostics()
    result = in_event_loop(_run(reached, directory, max_parts, console))
    if isinstance(result, CrawlResult):
        print_result(result, as_json=as_json, again=how_to_go_on(directory))
    elif as_json:
        say(msgspec.json.encode(result))
    else:
        say(f"No part of the crawl was on this machine. The run has ended: {result.ending}.")
    return result.exit_code


async def _run(reached: Loaded, directory: Path, max_parts: int, console: Diagnostics) -> CrawlResult | MachineResult:
    interrupted_before = was_interrupted()
    with interrupts() as acting:
        if interrupted_before:
            raise asyncio.CancelledError
        this = asyncio.current_task()
        assert this is not None
        acting.act = this.cancel
        async with join(reached, directory, version=__version__, on_wait=console.tell) as joined:
            crawl = joined.plan.loaded.config
            form = log_form(crawl.log.format, crawl=crawl.crawl.name)
            with logging_to(joined.plan.directory.log, form, console):
                warn_of_address_space()
                return await _work(joined, max_parts, acting, console)


async def _work(
    joined: Joined, max_parts: int, acting: Interrupts, console: Diagnostics
) -> CrawlResult | MachineResult:
    address = f"agent-{joined.name}"
    exchange = await RedisExchange.begin(joined.server, address, prefix=joined.exchange_prefix, wire=WIRE)
    try:
        agent = CrawlAgent(joined, exchange, max_parts=max_parts, tell=console.tell)
        stopping = _Stopping(agent, acting, console)
        acting.act = stopping.drain
        running = asyncio.create_task(agent.run())
        beside = [
            asyncio.create_task(_show(agent, console)),
            asyncio.create_task(answer_operator(agent, stop=stopping.stop)),
        ]
        try:
            await asyncio.wait([running])
        finally:
            for each in beside:
                each.cancel()
            await asyncio.wait(beside)
        result = running.result()
    finally:
        await exchange.aclose()
    if result is not None:
        return result
    ending = agent.ending or Ending.STOPPED
    return MachineResult(ending=ending, exit_code=EXIT_CODES[ending], directory=str(joined.plan.directory.path))


class _Stopping:
    """Ends the work of this machine as a signal does: the first time it lets URLs in flight finish."""

    def __init__(self, agent: CrawlAgent, acting: Interrupts, console: Diagnostics) -> None:
        self._agent = agent
        self._acting = acting
        self._console = console

    def drain(self, name: str) -> None:
        status = self._agent.status()
        in_flight = 0 if status is None else status.frontier.in_process
        urls = number_of(in_flight, "URL in flight is done", "URLs in flight are done")
        log.info("%s: leaving when %s", name, urls)
        self._console.tell(f"This machine leaves when {urls}. Other machines go on. Ctrl-C again stops at once.")
        self._agent.stop(Ending.SIGNAL)
        self._acting.act = self.drop

    def drop(self, name: str) -> None:
        log.info("%s: stopping at once", name)
        self._agent.stop(Ending.SIGNAL, now=True)

    def stop(self, now: bool) -> None:
        (self.drop if now else self.drain)("onceover stop")


async def _show(agent: CrawlAgent, console: Diagnostics) -> None:
    """Show how the parts of this machine come on."""
    console.tell(f"{agent.name}: waiting for leases of parts.")
    await agent.first_open.wait()
    gauge = GaugeOfParts(agent.status)
    interval_s = agent.plan.loaded.config.progress.interval_s
    async with asyncio.TaskGroup() as group:
        group.create_task(keep_running(console.show_progress(gauge, interval_s=interval_s)))
        group.create_task(keep_running(log_progress(gauge)))
