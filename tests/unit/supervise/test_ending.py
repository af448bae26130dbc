"""The supervisor asks the parts whether the crawl is complete: when, how often, and with open or closed gates."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from crawler.parts.ending import Answer, Report
from crawler.parts.line.messages import Ask
from crawler.supervise.coordination.ending import EndSearch
from crawler.testing.loops import in_virtual_time

ANSWER_S = 0.1
SETTLED_S = 5.0
"""After so long, all has been asked and answered that was to be."""
OPEN, CLOSED = [False, False], [True, True]
"""A wave of two questions: whether the gate is to be closed."""


class Parts:
    """Two parts that are idle. Each answers a question after a moment, while it has a process."""

    def __init__(self) -> None:
        self.search = EndSearch(2, self.ask)
        self.reports = {
            0: Report(incarnation=10, transitions=5, is_idle=True, welcomed_by={1: 11}, unconfirmed={}),
            1: Report(incarnation=11, transitions=5, is_idle=True, welcomed_by={0: 10}, unconfirmed={}),
        }
        self.gone: set[int] = set()
        self.gates: list[bool] = []
        """Of each question: whether the gate was to be closed."""

    def ask(self, part: int, ask: Ask) -> bool:
        self.gates.append(ask.close_gate)
        if part not in self.gone:
            asyncio.get_running_loop().call_later(ANSWER_S, self._answer, part, ask)
        return part not in self.gone

    def _answer(self, part: int, ask: Ask) -> None:
        if part not in self.gone:
            answer = Answer(report=self.reports[part], gate_is_closed=ask.close_gate)
            self.search.take(part, ask.wave, answer)

    def change(self, part: int, **changes: Any) -> None:
        self.reports[part] = msgspec.structs.replace(self.reports[part], **changes)

    def say_idle(self, *parts: int) -> None:
        for part in parts:
            self.search.note(part, is_idle=True)


@asynccontextmanager
async def searching(parts: Parts) -> AsyncIterator[asyncio.Task[None]]:
    finding = asyncio.create_task(parts.search.find())
    try:
        yield finding
    finally:
        finding.cancel()
        await asyncio.wait({finding})


@in_virtual_time
async def test_three_equal_waves_are_the_end_and_only_the_last_finds_closed_gates() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == []
        parts.say_idle(0, 1)
        await finding
        assert parts.gates == OPEN + OPEN + CLOSED


@in_virtual_time
async def test_nobody_is_asked_while_a_part_has_work() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.say_idle(0)
        parts.search.note(0, is_idle=False)
        parts.say_idle(1)
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == []
        parts.say_idle(0)
        await finding


@in_virtual_time
async def test_after_a_wave_that_finds_work_all_parts_must_say_anew_that_they_are_idle() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.change(1, is_idle=False)
        parts.say_idle(0, 1)
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == OPEN
        parts.change(1, is_idle=True)
        parts.say_idle(0)
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == OPEN
        parts.say_idle(1)
        await finding


@in_virtual_time
async def test_gates_are_opened_again_when_something_has_changed_behind_them() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.say_idle(0, 1)
        await asyncio.sleep(2.5 * ANSWER_S)  # the third wave is on its way
        parts.change(0, transitions=6)
        await finding
        assert parts.gates == OPEN + OPEN + CLOSED + OPEN + CLOSED


@in_virtual_time
async def test_gates_are_opened_again_when_a_part_has_work_behind_them() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.say_idle(0, 1)
        await asyncio.sleep(2.5 * ANSWER_S)
        parts.change(0, is_idle=False)
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == OPEN + OPEN + CLOSED + OPEN
        assert not finding.done()


@in_virtual_time
async def test_a_part_without_a_process_is_not_idle() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.gone.add(1)
        parts.say_idle(0, 1)
        await asyncio.sleep(SETTLED_S)
        assert not finding.done()
        parts.gone.clear()
        parts.say_idle(0, 1)
        await finding


@in_virtual_time
async def test_a_part_that_dies_before_it_answers_does_not_hold_the_search() -> None:
    parts = Parts()
    async with searching(parts) as finding:
        parts.say_idle(0, 1)
        await asyncio.sleep(2.5 * ANSWER_S)
        parts.gone.add(1)
        parts.search.lose(1)
        await asyncio.sleep(SETTLED_S)
        assert not finding.done()
        parts.gone.clear()
        parts.say_idle(0, 1)
        await finding


@in_virtual_time
async def test_what_a_part_said_before_it_died_does_not_count() -> None:
    parts = Parts()
    async with searching(parts):
        parts.say_idle(0)
        parts.search.lose(0)
        parts.say_idle(1)
        await asyncio.sleep(SETTLED_S)
        assert parts.gates == []
