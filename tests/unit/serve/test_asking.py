"""A crawl is not asked again for what it has just said."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import pytest

from crawler.control import address
from crawler.control.replies import CrawlStatus, HostList, PauseState, QueueList, Refusal
from crawler.control.requests import AnyRequest, GetStatus, InspectQueues, Pause, Resume, Top
from crawler.control.server import Bounds, ControlServer
from crawler.control.wire import encode_request
from crawler.disk.directory import CrawlDirectory
from crawler.operate.reach import ReachedCrawl, reach
from crawler.serve import asking, inspection
from crawler.serve.asking import Asker, Unanswered
from crawler.serve.inspection import Commands, CrawlWaits, NotDone, run_command
from tests.e2e.operating import command_here
from tests.frontier_stats import frontier_stats
from tests.unit.operate.stored_crawls import make


async def test_reads_of_a_stored_crawl_leave_each_others_replies_and_a_change_drops_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def count(*arguments: str, given: bytes = b"") -> tuple[int | None, bytes, str]:
        asked.append(given)
        return await run_command(*arguments, given=given)

    monkeypatch.setattr(asking, "run_command", count)
    directory, asker = (await asyncio.to_thread(make, tmp_path / "crawl")).directory, Asker()
    first = await asker.ask(directory, GetStatus())
    queues = await asker.ask(directory, InspectQueues())
    assert await asker.ask(directory, GetStatus()) == first
    assert await asker.ask(directory, InspectQueues()) == queues
    assert len(asked) == 2
    await asker.ask(directory, Pause(reason="tests"))
    assert (await asker.ask(directory, GetStatus())).paused == "tests"
    assert len(asked) == 4


def test_a_reply_holds_until_the_first_change_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl")
    lock = CrawlDirectory(crawl.directory).lock
    os.utime(lock, ns=(1_000, 2_000))

    @contextmanager
    def reach_and_be_overtaken(path: Path, *, to_change: bool) -> Iterator[ReachedCrawl]:
        with reach(path, to_change=to_change) as reached:
            yield reached
        os.utime(lock, ns=(3_000, 4_000))  # as by a command that has waited for this one

    monkeypatch.setattr("crawler.cli.operate.ask.reach", reach_and_be_overtaken)
    told = command_here("ask", str(crawl.directory), given=encode_request(GetStatus()))
    assert told.code == 0
    assert told.out.splitlines()[1] == "[2000]"


def test_the_lock_tells_when_somebody_has_begun_or_ended_a_change(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as directory:
        pass
    os.utime(directory.lock, ns=(1_000, 2_000))
    with CrawlDirectory(tmp_path, to="read"):
        assert directory.lock.read_text() == f"{os.getpid()} reads\n"
        assert directory.lock.stat().st_mtime_ns == 2_000
    assert (directory.lock.read_text(), directory.lock.stat().st_mtime_ns) == ("", 2_000)
    with CrawlDirectory(tmp_path):
        begun = directory.lock.stat().st_mtime_ns
        os.utime(directory.lock, ns=(1_000, 2_000))
    assert begun != 2_000 != directory.lock.stat().st_mtime_ns


class Running:
    """A crawl that runs, and counts what it is asked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.asked: list[AnyRequest] = []
        self.hold: asyncio.Event | None = None
        """What the next request waits for."""
        self.holding = asyncio.Event()
        self.refuses = False
        self.paused: str | None = None
        self.looked = asyncio.Event()
        """Set when somebody asks for its status."""
        self.made: list[AnyRequest] = []

    async def answer(self, request: AnyRequest) -> msgspec.Struct | Refusal:
        if isinstance(request, GetStatus):
            self.looked.set()
            frontier = frontier_stats(paused=self.paused)
            return CrawlStatus(directory="", running=True, pid=7, paused=None, frontier=frontier, run=None)
        self.asked.append(request)
        if self.hold is not None:
            self.holding.set()
            await self.hold.wait()
        self.made.append(request)
        if self.refuses:
            return Refusal("not now")
        match request:
            case Top():
                return HostList(hosts=[], left=len(self.asked))
            case InspectQueues():
                return QueueList(queues=[], ranks=[], left=len(self.asked))
        return PauseState(paused="tests", running=True)


@asynccontextmanager
async def running(directory: Path, bounds: Bounds | None = None) -> AsyncIterator[Running]:
    directory.mkdir()
    crawl = Running(directory)
    serving = asyncio.create_task(
        ControlServer(address.listen(directory), crawl.answer, bounds=bounds or Bounds()).run()
    )
    try:
        yield crawl
    finally:
        serving.cancel()
        await asyncio.wait({serving})


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reply counts as slow, and is kept for as long as any."""
    monkeypatch.setattr(asking, "SLOW_S", -1.0)
    monkeypatch.setattr(asking, "KEPT_TIMES", 1e9)
    monkeypatch.setattr(asking, "MAX_KEPT_RUNNING_S", 1e9)


@pytest.mark.usefixtures("slow")
async def test_a_slow_look_at_every_queue_is_kept_until_something_changes(tmp_path: Path) -> None:
    async with running(tmp_path / "crawl") as crawl:
        asker = Asker()
        looks = [asker.ask(crawl.directory, InspectQueues()) for _ in range(5)]
        assert {each.left for each in await asyncio.gather(*looks)} == {1}
        assert (await asker.ask(crawl.directory, Top(match="a"))).left == 2
        assert (await asker.ask(crawl.directory, Top(match="b"))).left == 3
        assert (await asker.ask(crawl.directory, Top(match="a"))).left == 2
        assert len(crawl.asked) == 3
        await asker.ask(crawl.directory, Pause(reason="tests"))
        assert (await asker.ask(crawl.directory, InspectQueues())).left == 5
        # What is answered without a look at all is never kept.
        for number in (6, 7):
            assert (await asker.ask(crawl.directory, Top())).left == number


@pytest.mark.usefixtures("slow")
async def test_a_reply_from_before_a_change_or_a_refusal_is_not_kept(tmp_path: Path) -> None:
    async with running(tmp_path / "crawl") as crawl:
        asker = Asker()
        crawl.refuses = True
        with pytest.raises(Unanswered, match="not now"):
            await asker.ask(crawl.directory, InspectQueues())
        crawl.refuses = False
        assert (await asker.ask(crawl.directory, InspectQueues())).left == 2
        # The change is made while a look is under way.
        changed = asyncio.Event()
        crawl.hold = changed
        async with asyncio.TaskGroup() as group:
            look = group.create_task(asker.ask(crawl.directory, Top(match="a")))
            await crawl.holding.wait()
            crawl.hold = None
            await asker.ask(crawl.directory, Pause(reason="tests"))
            changed.set()
        assert (await look).left == 4
        assert (await asker.ask(crawl.directory, Top(match="a"))).left == 5


async def test_a_quick_reply_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SLOW_S", 1e9)
    async with running(tmp_path / "crawl") as crawl:
        asker = Asker()
        for number in (1, 2):
            assert (await asker.ask(crawl.directory, InspectQueues())).left == number


async def test_a_crawl_that_can_not_be_reached_fails_and_is_not_silent(tmp_path: Path) -> None:
    (tmp_path / address.NAME).mkdir()
    with pytest.raises(Unanswered, match="expected the socket of a crawl") as unanswered:
        await Asker().ask(tmp_path, GetStatus())
    assert unanswered.value.exit_code == 1


async def test_who_asks_for_a_change_of_a_crawl_that_waits_is_told_so_and_the_crawl_makes_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "WAITING_S", 0.0)
    async with running(tmp_path / "crawl", Bounds(heartbeat_s=0.01)) as crawl:
        crawl.hold = asyncio.Event()
        looking = asyncio.create_task(Asker().ask(crawl.directory, InspectQueues()))
        changing = asyncio.create_task(Asker().ask(crawl.directory, Pause(reason="tests")))
        for _ in range(3):
            crawl.looked.clear()
            await crawl.looked.wait()
        assert not changing.done()
        crawl.paused = "the disk is full"
        with pytest.raises(Unanswered, match="the crawl waits: the disk is full; it carries out the change") as told:
            await changing
        assert told.value.exit_code is None
        # A question takes as long as it takes.
        assert not looking.done()
        assert crawl.made == []
        crawl.hold.set()
        await looking
        assert Pause(reason="tests") in crawl.made


async def test_a_crawl_that_waits_holds_up_no_reload_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "WAITING_S", 0.0)
    async with running(tmp_path / "crawl", Bounds(heartbeat_s=0.01)) as crawl:
        crawl.hold, crawl.paused = asyncio.Event(), "the disk is full"
        told = await inspection.reload_settings(crawl.directory)
        assert told == Refusal("the crawl waits: the disk is full; it carries out the change when it goes on")
        crawl.hold.set()


async def test_who_pauses_a_crawl_that_waits_is_told_so_and_keeps_nobody_from_pausing_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "WAITING_S", 0.0)
    async with running(tmp_path / "a", Bounds(heartbeat_s=0.01)) as waiting, running(tmp_path / "b") as other:
        commands = Commands()
        waiting.hold = asyncio.Event()
        pausing = [asyncio.create_task(commands.operate(waiting.directory, Pause(reason="rain"))) for _ in range(3)]
        await waiting.holding.wait()
        await commands.operate(other.directory, Pause(reason="rain"))
        await commands.operate(other.directory, Resume())
        assert other.made == [Pause(reason="rain"), Resume()]
        waiting.paused = "the disk is full"
        for each in pausing:
            with pytest.raises(CrawlWaits, match="the crawl waits: the disk is full; it carries out the change"):
                await each
        waiting.hold.set()
        other.refuses = True
        with pytest.raises(NotDone, match="not now"):
            await commands.operate(other.directory, Resume())
