"""What a part does while the supervisor talks to it. The supervisor is the test."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from crawler.parts.ending import Report
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.line.line import Line, open_line
from crawler.parts.line.messages import Answered, Ask, Ended, FromPart, Opened, Stop, ToPart
from crawler.supervise.part import run_part
from crawler.supervise.preparing import lock_parts
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.configuration import load

Supervisor = Line[FromPart, ToPart]
_Message = TypeVar("_Message", Opened, Answered, Ended)


@asynccontextmanager
async def supervised(directory: Path) -> AsyncIterator[Supervisor]:
    """The line to a part that works in this process, and has nothing to fetch."""
    values = {"crawl.seeds": ["http://one.test/"], "crawl.directory": str(directory), "crawl.parts": 2}
    loaded = load(None, options={key: ("test", value) for key, value in values.items()}, environ={})
    ours, its = socket.socketpair()
    line: Supervisor = await open_line(ours, FromPart)
    its_line = await open_line(its, ToPart)
    with lock_parts(loaded, on_wait=lambda _: None) as plan:
        part = asyncio.create_task(run_part(its_line, []))
        try:
            line.send(plan.begin(0, again=False))
            yield line
        finally:
            await line.aclose()
            part.cancel()
            with suppress(asyncio.CancelledError):
                await part
            await its_line.aclose()


async def heard(line: Supervisor, kind: type[_Message]) -> _Message:
    async with asyncio.timeout(MAX_WAIT_S):
        while (message := await line.receive()) is not None:
            if isinstance(message, kind):
                return message
    raise AssertionError("the part has ended its line")


@in_event_loop
async def test_a_part_that_waits_for_disk_space_to_answer_still_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()

    async def report(_carrier: Carrier) -> Report:
        waits.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Carrier, "report", report)
    async with supervised(tmp_path / "crawl") as line:
        await heard(line, Opened)
        line.send(Ask(wave=1, close_gate=False))
        await waits.wait()
        line.send(Stop(now=False))
        await heard(line, Ended)


@in_event_loop
async def test_a_part_answers_each_question_with_its_wave(tmp_path: Path) -> None:
    async with supervised(tmp_path / "crawl") as line:
        await heard(line, Opened)
        for wave in (1, 2):
            line.send(Ask(wave=wave, close_gate=wave == 2))
            answered = await heard(line, Answered)
            assert (answered.wave, answered.answer.gate_is_closed) == (wave, wave == 2)
