"""Asks about each name once at a time, of a bounded number of names at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_Answer = TypeVar("_Answer")


class Questions(Generic[_Answer]):
    """Runs `ask` for a name. A question goes on if nobody waits for it any more, because its answer will be cached.
    At most `at_once` are asked at a time, and the others wait; `aclose` ends them all.
    """

    def __init__(self, ask: Callable[[str], Awaitable[_Answer]], *, at_once: int) -> None:
        self._ask = ask
        self._asking: dict[str, asyncio.Task[_Answer]] = {}
        self._places = asyncio.Semaphore(at_once)

    def __len__(self) -> int:
        return len(self._asking)

    def __contains__(self, name: str) -> bool:
        return name in self._asking

    def begin(self, name: str, /) -> asyncio.Task[_Answer]:
        """Ask about a name, unless that is under way."""
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._run(name))
        return asking

    async def ask(self, name: str, /, *, timeout_s: float | None = None) -> _Answer | None:
        """Ask about a name, and wait for the answer; None if there is none after `timeout_s`."""
        asking = self.begin(name)
        await asyncio.wait([asking], timeout=timeout_s)
        return asking.result() if asking.done() else None

    async def _run(self, name: str) -> _Answer:
        try:
            async with self._places:
                return await self._ask(name)
        finally:
            self._asking.pop(name, None)

    async def aclose(self) -> None:
        asking = list(self._asking.values())
        self._asking.clear()  # those that have not begun yet do not leave by themselves
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
