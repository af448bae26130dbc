"""Asks the parts whether the crawl is complete."""

import asyncio
from collections.abc import Callable
from typing import Final

from crawler.parts.ending import Answer, EndWatch, Step
from crawler.parts.line.messages import Ask

_NOBODY: Final = Answer(report=None)


class EndSearch:
    """Finds out when a crawl is complete. A part without a process counts as one that is not idle."""

    def __init__(self, parts: int, ask: Callable[[int, Ask], bool]) -> None:
        """`ask` sends the question to a part, and returns whether it has a process."""
        self._parts = parts
        self._ask = ask
        self._watch = EndWatch(parts)
        self._wave = 0
        self._step: asyncio.Future[Step] | None = None
        self._idle: set[int] = set()
        self._all_idle = asyncio.Event()

    def note(self, part: int, *, is_idle: bool) -> None:
        """A part has said how far it is."""
        if is_idle:
            self._idle.add(part)
        else:
            self._idle.discard(part)
        if len(self._idle) == self._parts:
            self._all_idle.set()

    def take(self, part: int, wave: int, answer: Answer) -> None:
        """A part has answered."""
        step = self._watch.take(wave, part, answer)
        if step is not Step.WAIT and self._step is not None and not self._step.done():
            self._step.set_result(step)

    def lose(self, part: int) -> None:
        """The process of a part has ended."""
        self._idle.discard(part)
        self.take(part, self._wave, _NOBODY)

    async def find(self) -> None:
        """Wait until the crawl is complete. The gates of all parts are closed then."""
        while True:
            await self._all_idle.wait()
            # Only what the parts say from now on lets the next search begin.
            self._idle.clear()
            self._all_idle.clear()
            if await self._search():
                return

    async def _search(self) -> bool:
        """Ask wave after wave, until the crawl is complete or a part has work."""
        close_gates = False
        while True:
            step = await self._begin_wave(close_gates=close_gates)
            if step is Step.END:
                return True
            if step is Step.ASK_LATER and not close_gates:
                return False
            close_gates = step is Step.CLOSE_GATES

    async def _begin_wave(self, *, close_gates: bool) -> Step:
        self._step = asyncio.get_running_loop().create_future()
        self._wave = self._watch.begin_wave()
        for part in range(self._parts):
            if not self._ask(part, Ask(wave=self._wave, close_gate=close_gates)):
                self.take(part, self._wave, _NOBODY)
        return await self._step
