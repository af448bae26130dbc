"""One iteration over the pages of a crawl."""

from collections.abc import Awaitable, Callable
from typing import Self
from weakref import finalize

from crawler.library.handout import Turn
from crawler.library.page import CrawledPage


class Consumer:
    """Iterates over pages. A page's turn ends when the next page is asked for. If the consumer is freed before, as a
    loop does that is left, the page is given back."""

    def __init__(self, take_turn: Callable[[], Awaitable[Turn | None]]) -> None:
        """`take_turn` returns the next turn; None when no more pages come."""
        self._take_turn = take_turn
        self._holder = _Holder()
        self._is_asking = False
        finalize(self, self._holder.abandon).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CrawledPage:
        if self._is_asking:
            raise RuntimeError("another task waits for a page of this iterator: each task needs a loop of its own")
        self._is_asking = True
        try:
            self._holder.end()
            turn = await self._take_turn()
        finally:
            self._is_asking = False
        if turn is None:
            raise StopAsyncIteration
        self._holder.turn = turn
        return turn.page


class _Holder:
    def __init__(self) -> None:
        self.turn: Turn | None = None

    def end(self) -> None:
        if self.turn is not None:
            self.turn.end()
            self.turn = None

    def abandon(self) -> None:
        """Give the page back. Any thread may free a consumer."""
        if self.turn is not None:
            self.turn.abandon()
