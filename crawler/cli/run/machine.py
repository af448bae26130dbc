"""Runs parts of a crawl on many machines in the foreground: signals, one progress, one summary."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec

from config import Loaded
from crawler.background import in_background
from crawler.cli.run.diagnostics import Diagnostics, diagnostics, logging_to
from crawler.cli.run.interrupts import Interrupts, Stopping, interrupts
from crawler.cli.run.messages import warn_of_address_space
from crawler.cli.run.running import in_event_loop, in_flight, print_result, show_progress
from crawler.cli.run.streams import say
from crawler.disk.going_on import how_to_go_on
from crawler.engine import Ending
from crawler.library.result import EXIT_CODES, CrawlResult
from crawler.parts.exchange.redis import RedisExchange
from crawler.progress import read_parts
from crawler.supervise.cluster.agent import CrawlAgent
from crawler.supervise.cluster.joining import Joined, join
from crawler.supervise.cluster.messages import WIRE
from crawler.supervise.cluster.operating import answer_operator


class MachineResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run has ended on a machine that had no part."""

    ending: Ending
    exit_code: int
    directory: str


def run_on_machine(reached: Loaded, directory: Path, *, max_parts: int, as_json: bool) -> int:
    """Run up to `max_parts` parts of the crawl that the server of `reached` has, with this directory. Returns the exit
    code. Raises `PartFailed` if a part can't go on, `ConfigError` and `DirectoryRefused`."""
    console = diagnostics()
    result = in_event_loop(partial(_run, reached, directory, max_parts, console))
    if isinstance(result, CrawlResult):
        print_result(result, as_json=as_json, again=how_to_go_on(directory), may_begin_anew=False)
    elif as_json:
        say(msgspec.json.encode(result))
    else:
        say(f"No part of the crawl was on this machine. The run has ended: {result.ending}.")
    return result.exit_code


async def _run(reached: Loaded, directory: Path, max_parts: int, console: Diagnostics) -> CrawlResult | MachineResult:
    with interrupts() as acting:
        async with join(reached, directory, on_wait=console.tell) as joined:
            with logging_to(joined.plan.directory.log, joined.plan.loaded.config, console):
                warn_of_address_space()
                return await _work(joined, max_parts, acting, console)


async def _work(
    joined: Joined, max_parts: int, acting: Interrupts, console: Diagnostics
) -> CrawlResult | MachineResult:
    address = f"agent-{joined.name}"
    exchange = await RedisExchange.begin(joined.server, address, prefix=joined.exchange_prefix, wire=WIRE)
    try:
        agent = CrawlAgent(joined, exchange, max_parts=max_parts, tell=console.tell)
        stopping = Stopping(
            acting,
            console.tell,
            in_flight=lambda: in_flight(agent.status()),
            drain=agent.stop,
            drop=partial(agent.stop, now=True),
            verb="leaving",
            announcement="This machine leaves {}. Other machines go on.",
        )
        running = asyncio.create_task(agent.run())
        async with in_background(_show(agent, console), answer_operator(agent, stop=stopping.by_command)):
            await asyncio.wait([running])
        result = running.result()
    finally:
        await exchange.aclose()
    if result is not None:
        return result
    ending = agent.ending or Ending.STOPPED
    return MachineResult(ending=ending, exit_code=EXIT_CODES[ending], directory=str(joined.plan.directory.path))


async def _show(agent: CrawlAgent, console: Diagnostics) -> None:
    console.tell(f"{agent.name}: waiting for leases of parts.")
    await agent.here.first_open.wait()
    await show_progress(read_parts(agent.status), console, agent.plan.loaded.config)
