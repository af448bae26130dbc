"""The processes of the parts of a machine."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.parts.exchange.redis import RedisExchange
from crawler.supervise import keeping
from crawler.supervise.cluster.coordinator_client import CoordinatorClient
from crawler.supervise.cluster.parts_here import PartsHere
from crawler.supervise.preparing import Plan
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.configuration import load
from tests.unit.cluster.test_machine import begin


@contextmanager
def parts_in(folder: Path, *, until: float, tell: Callable[[str], object]) -> Iterator[PartsHere]:
    """Leases last `until`."""
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    with CrawlDirectory(folder) as directory:
        plan = Plan(loaded=loaded, directory=directory, layout=begin(directory).layout)
        exchange: RedisExchange[object] = object.__new__(RedisExchange)  # nobody connects
        client = CoordinatorClient("a", exchange, look_again=lambda: None, adopted=lambda _version, _part: None)
        yield PartsHere(lambda: plan, client, until=lambda _: until, version=lambda: 1, options={}, tell=tell)


@in_event_loop
async def test_no_process_is_started_and_no_directory_made_for_a_part_whose_lease_has_ended(tmp_path: Path) -> None:
    """As for one that was moved to another machine while this one was asleep."""
    told: list[str] = []
    with parts_in(tmp_path / "crawl", until=float("-inf"), tell=told.append) as here:
        here.run(1)
        for _ in range(10):
            await asyncio.sleep(0)
        here.lose(1, "Redis is away")
        assert (here.numbers, told) == ([], [])
        assert not (tmp_path / "crawl" / "part-1").exists()


class Process:
    """One that ends only when it `dies`, as one that waits for a disk in the kernel."""

    pid = 1

    def __init__(self) -> None:
        self.dies = asyncio.Event()
        self.line = self

    def send(self, _message: object) -> None: ...

    async def receive(self) -> None:
        await self.dies.wait()

    async def aclose(self) -> None: ...

    async def wait(self) -> str:
        return "by SIGKILL"

    def kill(self) -> None: ...


@in_event_loop
async def test_a_process_that_does_not_die_when_its_lease_is_lost_holds_nobody_up_but_the_next_of_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: asyncio.Queue[Process] = asyncio.Queue()

    async def start(*_: object, **__: object) -> Process:
        processes.put_nowait(process := Process())
        return process

    monkeypatch.setattr(keeping, "start", start)
    told: list[str] = []
    ended: list[int] = []
    monkeypatch.setattr(CoordinatorClient, "end", lambda _, number: ended.append(number))
    with parts_in(tmp_path / "crawl", until=float("inf"), tell=told.append) as here:
        async with asyncio.timeout(MAX_WAIT_S):
            here.run(1)
            first = await processes.get()
            assert here.watched[1].pid_now() == Process.pid
            here.lose(1, "Redis is away")
            assert (here.numbers, here.watched[1].pid_now(), ended) == ([], None, [1])
            assert here.words() == {1: "its lease was lost: Redis is away"}
            here.refuse(1, "b holds it")
            here.refuse(2, "b holds it")
            assert here.words() == {1: "b holds it"}
            here.run(1)
            here.lose(1, "Redis is away")
            here.run(1)
            here.run(2)
            second = await processes.get()
            await asyncio.sleep(1.0)
            assert processes.empty()
            first.dies.set()
            third = await processes.get()
            here.lose(1, "Redis is away")
            here.lose(2, "Redis is away")
            for process in (second, third):
                process.dies.set()
    assert told == ["part 1 waits until its process from before has died: it was killed, and hangs in the system."]
