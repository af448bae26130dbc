"""Group commit: all tasks that wait for the disk at the same time share one sync."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class GroupSync:
    """Counts writes and knows which are safe. `sync` runs in a thread; it makes everything written before it safe.

    After a failed sync nothing is safe until `reset`: the system forgets what it could not store, so another sync would
    succeed and prove nothing.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontier-sync")
        self._running: asyncio.Future[None] | None = None
        self._written = 0
        self._safe = 0
        self._failure: BaseException | None = None

    def count_write(self) -> None:
        self._written += 1

    async def wait(self) -> None:
        """Wait until everything written before the call is safe. Raises what `sync` raises."""
        mine = self._written
        while self._safe < mine:
            if self._failure is not None:
                raise self._failure
            if self._running is None:
                self._running = self._begin()
            # Others wait for it too, so a cancelled task must not cancel it.
            await asyncio.shield(self._running)

    def reset(self) -> None:
        """Everything written has become safe in another way."""
        self._failure = None
        self._safe = self._written

    def close(self, *, sync_rest: bool) -> None:
        """Wait for a running sync. With `sync_rest`, sync the rest too, so that tasks that still wait can go on."""
        self._thread.shutdown(wait=True)
        if sync_rest and self._failure is None and self._safe < self._written:
            self._sync()
            self._safe = self._written

    def _begin(self) -> asyncio.Future[None]:
        written = self._written
        loop = asyncio.get_running_loop()
        running = loop.create_future()

        def end(job: asyncio.Future[None]) -> None:
            # One step without await: a task that came in between would wait for a finished sync and block the loop.
            self._running = None
            self._failure = self._failure or job.exception()
            if self._failure is None:
                self._safe = max(self._safe, written)
            running.set_result(None)

        loop.run_in_executor(self._thread, self._sync).add_done_callback(end)
        return running
