"""A change that a running crawl can't make for now, as while its disk is full."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from crawler.control import address
from crawler.control.replies import CrawlStatus, PartStatus, PauseState, Refusal
from crawler.control.requests import AnyRequest, GetStatus, Pause
from crawler.control.server import Bounds, ControlServer
from tests.e2e.crawling import COMPLETE, assert_told
from tests.e2e.operating import command_here
from tests.frontier_stats import frontier_stats

FULL = "the disk is full: free some space"


class WaitingCrawl:
    """Makes a change once somebody has asked how it stands."""

    def __init__(self, paused: str | None, *, in_part: bool, by_operator: str | None = None) -> None:
        self._asked = asyncio.Event()
        here = frontier_stats(paused=None if in_part else paused)
        self._status = CrawlStatus(directory="", running=True, pid=7, paused=by_operator, frontier=here, run=None)
        if in_part:
            of_part = msgspec.structs.replace(self._status, frontier=frontier_stats(paused=paused))
            parts = [PartStatus(part=0, directory="", status=None), PartStatus(part=1, directory="", status=of_part)]
            self._status = msgspec.structs.replace(self._status, parts=parts)

    async def answer(self, request: AnyRequest) -> msgspec.Struct | Refusal:
        if isinstance(request, GetStatus):
            self._asked.set()
            return self._status
        assert isinstance(request, Pause)
        await self._asked.wait()
        return PauseState(paused=request.reason, running=True)


@contextmanager
def running(directory: Path, crawl: WaitingCrawl) -> Iterator[None]:
    """It answers from an event loop in a thread of its own, and is heard of all the time."""
    loop = asyncio.new_event_loop()
    server = ControlServer(address.listen(directory), crawl.answer, bounds=Bounds(heartbeat_s=0.01))
    serving = loop.create_task(server.run())

    def serve() -> None:
        loop.run_until_complete(asyncio.wait([serving]))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()
        loop.close()
        address.remove(directory)


@pytest.mark.parametrize("in_part", [False, True])
def test_who_waits_for_a_change_is_told_why_the_crawl_can_not_make_it(tmp_path: Path, in_part: bool) -> None:
    with running(tmp_path, WaitingCrawl(FULL, in_part=in_part)):
        ended = command_here("pause", str(tmp_path), "--reason", "the site moves")
    assert_told(ended, COMPLETE, f"the crawl waits: {FULL}; it carries out the change when it goes on")
    assert "is paused: the site moves" in ended.out
    assert FULL not in ended.out


@pytest.mark.parametrize("in_part", [False, True])
@pytest.mark.parametrize("paused", [None, "the site moves"])
def test_nothing_is_told_of_a_crawl_that_only_takes_long(tmp_path: Path, paused: str | None, in_part: bool) -> None:
    """Nor that its operator has paused it: that keeps it from no change."""
    with running(tmp_path, WaitingCrawl(paused, in_part=in_part, by_operator=paused)):
        ended = command_here("pause", str(tmp_path), "--reason", "the site moves")
    assert (ended.code, ended.err) == (COMPLETE, "")
