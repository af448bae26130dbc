"""Gives back the disk of what was fetched, queue by queue, in a thread of its own.

LevelDB drops deleted entries when it rewrites the files that hold them, which for one giant queue may be late. No read
waits for that, as heads start where they have got to; only the disk does.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

DRAINED_WORTH = 100_000
"""Entries: some 10 MB."""
QUEUES_WATCHED = 10_000


class Compaction:
    """Counts what leaves the queues, and has the drained range of a queue compacted when that is worth it.

    `compact(key, order)` rewrites the range of a queue up to that order; it runs in a thread, one call at a time. The
    database must not be closed meanwhile: LevelDB crashes, or waits for ever.
    """

    def __init__(self, compact: Callable[[str, int], None], *, worth: int = DRAINED_WORTH) -> None:
        self._compact = compact
        self._worth = worth
        self._drained: dict[str, int] = {}
        self._jobs: list[Future[None]] = []
        """Those that may not have ended."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontier-compaction")

    def left(self, key: str, order: int) -> None:
        """An entry has left a queue."""
        drained = self._drained.get(key, 0) + 1
        if drained >= self._worth:
            del self._drained[key]
            self._jobs = [job for job in self._jobs if not job.done()]
            self._jobs.append(self._thread.submit(self._compact, key, order))
        else:
            if drained == 1 and len(self._drained) >= QUEUES_WATCHED:
                self._drained.clear()  # of so many queues, none is a giant
            self._drained[key] = drained

    def drop(self) -> bool:
        """Drop the compactions that wait. Returns whether none runs; then none begins before `left` is called."""
        self._jobs = [job for job in self._jobs if not (job.cancel() or job.done())]
        return not self._jobs

    def close(self) -> None:
        """Wait for the one that runs; those that wait are dropped."""
        self._thread.shutdown(wait=True, cancel_futures=True)
