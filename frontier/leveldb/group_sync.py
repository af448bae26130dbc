"""Group commit: whoever waits for the disk at the same time shares one sync."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class GroupSync:
    """Counts writes, and tells when they are safe. `sync`, run in a thread, makes all that was written before safe.

    Once it has failed, nothing is safe before `mended`: the system forgets what it could not store, and another sync
    would succeed and prove nothing.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontier-sync")
        self._running: asyncio.Future[None] | None = None
        self._written = 0
        self._safe = 0
        self._failure: BaseException | None = None

    def wrote(self) -> None:
        """Something was written."""
        self._written += 1

    async def synced(self) -> None:
        """Returns when all that was written before the call is safe; raises what `sync` raises."""
        mine = self._written
        while self._safe < mine:
            if self._failure is not None:
                raise self._failure
            if self._running is None:
                self._running = self._begin()
            # The others wait for it too, so whoever is cancelled must not take it along.
            await asyncio.shield(self._running)

    def mended(self) -> None:
        """All that was written is safe by other means."""
        self._failure = None
        self._safe = self._written

    def close(self, *, once_more: bool) -> None:
        """Wait for a running sync, and make the rest safe: then those who still wait have what they wait for."""
        self._thread.shutdown(wait=True)
        if once_more and self._failure is None and self._safe < self._written:
            self._sync()
            self._safe = self._written

    def _begin(self) -> asyncio.Future[None]:
        upto = self._written
        loop = asyncio.get_running_loop()
        running = loop.create_future()

        def ended(job: Future[None]) -> None:
            # In one step: who came between would wait for what has ended, without ever letting the loop go on.
            self._running = None
            self._failure = self._failure or job.exception()
            if self._failure is None:
                self._safe = max(self._safe, upto)
            running.set_result(None)

        self._thread.submit(self._sync).add_done_callback(lambda job: loop.call_soon_threadsafe(ended, job))
        return running
