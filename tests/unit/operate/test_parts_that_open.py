"""Commands to a crawl in parts while a part is being opened, as at its start or after it has died."""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from crawler.control.replies import PauseState, Refusal
from crawler.control.requests import AnyRequest, Resume
from crawler.disk.directory import CrawlDirectory
from crawler.operate.parts.crawl import Parts, RunningPart
from crawler.testing.loops import in_event_loop
from tests.unit.operate.answering import listening

RESUMED = PauseState(paused=None, running=True)


async def resume(_request: AnyRequest) -> PauseState:
    return RESUMED


def parts_in(folder: Path) -> tuple[Parts, list[Path]]:
    places = [folder / f"part-{number}" for number in range(2)]
    for place in places:
        with CrawlDirectory(place):
            pass
    return Parts({number: RunningPart(place) for number, place in enumerate(places)}), places


@in_event_loop
async def test_a_command_waits_for_a_part_that_is_being_opened(tmp_path: Path) -> None:
    parts, places = parts_in(tmp_path)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(listening(places[0], resume))
        asking = asyncio.create_task(parts.all(Resume()))
        await asyncio.sleep(0.3)
        assert not asking.done()
        await stack.enter_async_context(listening(places[1], resume))
        assert await asking == {0: RESUMED, 1: RESUMED}


@in_event_loop
async def test_what_is_shown_waits_for_no_part_while_another_one_can_tell(tmp_path: Path) -> None:
    parts, places = parts_in(tmp_path)
    async with AsyncExitStack() as stack:
        asking = asyncio.create_task(parts.any(Resume()))
        await asyncio.sleep(0.3)
        assert not asking.done(), "nobody can tell, so it waits"
        await stack.enter_async_context(listening(places[0], resume))
        await stack.enter_async_context(listening(places[1], resume))
        assert await asking == {0: RESUMED, 1: RESUMED}
    async with listening(places[0], resume):
        first, second = (await parts.any(Resume())).values()
    assert first == RESUMED
    assert isinstance(second, Refusal)
    assert "part 1" in second.message
    assert "it is being opened, or does not run at the moment; try again" in second.message


@in_event_loop
async def test_a_part_whose_process_is_stopped_before_it_is_open_is_not_waited_for(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    try:
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        _, places = parts_in(tmp_path)
        reply = await RunningPart(places[0], lambda: process.pid).ask(Resume(), wait_s=1e9)
        assert isinstance(reply, Refusal)
        assert f"`kill -CONT {process.pid}` lets it go on" in reply.message
    finally:
        process.kill()
        await process.wait()
