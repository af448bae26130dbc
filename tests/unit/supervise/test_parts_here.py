"""The processes of the parts of a machine."""

import asyncio
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.parts.exchange.redis import RedisExchange
from crawler.supervise.cluster.coordinator_client import CoordinatorClient
from crawler.supervise.cluster.parts_here import PartsHere
from crawler.supervise.preparing import Plan
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.configuration import load
from tests.unit.cluster.test_machine import begin


@in_event_loop
async def test_no_process_is_started_and_no_directory_made_for_a_part_whose_lease_has_ended(tmp_path: Path) -> None:
    """As for one that was moved to another machine while this one was asleep."""
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    with CrawlDirectory(tmp_path / "crawl") as directory:
        plan = Plan(loaded=loaded, directory=directory, layout=begin(directory).layout, version="1")
        exchange: RedisExchange[object] = object.__new__(RedisExchange)  # nobody connects
        client = CoordinatorClient("a", exchange, look_again=lambda: None, adopted=lambda _version, _part: None)
        told: list[str] = []
        here = PartsHere(
            lambda: plan, client, until=lambda _: float("-inf"), version=lambda: 1, options={}, tell=told.append
        )
        here.run(1)
        for _ in range(10):
            await asyncio.sleep(0)
        async with asyncio.timeout(MAX_WAIT_S):
            await here.lose(1)
        assert (here.numbers, told) == ([], [])
        assert not (directory.path / "part-1").exists()
