"""Rows that are written at the same time share a transaction."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from crawler.write.database.rows import Row

MAX_ROWS = 1000
MAX_BYTES = 16_000_000


class _Waiting(msgspec.Struct, frozen=True, gc=False):
    row: Row
    stored: asyncio.Future[None]


class Batches:
    """Stores rows in batches, one batch after the other.

    A row alone is stored at once. What comes meanwhile makes up the next batch, up to `MAX_ROWS` and `MAX_BYTES`. So
    there are no more rows in memory than writers that wait.
    """

    def __init__(self, store: Callable[[Sequence[Row]], Awaitable[None]]) -> None:
        """`store` stores the rows of a batch. When it raises, any of them may have to be stored again. No two have the
        same number."""
        self._store = store
        self._waiting: deque[_Waiting] = deque()
        self._batch: list[_Waiting] = []
        """What is being stored."""
        self._task: asyncio.Task[None] | None = None

    async def add(self, row: Row) -> None:
        """Return once the row is stored. Raises what `store` raised for its batch. Who is cancelled does not know
        whether the row is stored."""
        waiting = _Waiting(row, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._store_all(), name="database batches")
        await waiting.stored

    async def aclose(self, *, cancels: bool = False) -> None:
        """Return once nothing waits any more. If it `cancels`, it cancels `store` when all writers were cancelled."""
        task = self._task
        if task is None:
            return
        if cancels and all(each.stored.done() for each in (*self._batch, *self._waiting)):
            task.cancel()
        await asyncio.wait([task])

    async def _store_all(self) -> None:
        try:
            while self._waiting:
                await self._store_next()
        finally:
            # Between the last look at the deque and this line nothing else runs.
            self._task = None
            while self._waiting:
                self._waiting.popleft().stored.cancel()

    async def _store_next(self) -> None:
        batch = self._batch = self._take()
        if not batch:
            return
        try:
            await self._store([each.row for each in batch])
        except asyncio.CancelledError:
            for each in batch:
                each.stored.cancel()
            raise
        except Exception as error:  # noqa: BLE001  # each writer gets it
            for each in batch:
                if not each.stored.done():
                    each.stored.set_exception(error)
        else:
            for each in batch:
                if not each.stored.done():
                    each.stored.set_result(None)

    def _take(self) -> list[_Waiting]:
        """The next batch, without rows whose writer was cancelled. A number that comes again waits for the next."""
        batch: list[_Waiting] = []
        numbers: set[int] = set()
        size = 0
        while self._waiting and len(batch) < MAX_ROWS:
            first = self._waiting[0]
            if first.stored.done():
                self._waiting.popleft()
                continue
            size += first.row.size_bytes
            if first.row.number in numbers or (batch and size > MAX_BYTES):
                break
            numbers.add(first.row.number)
            batch.append(self._waiting.popleft())
        return batch
