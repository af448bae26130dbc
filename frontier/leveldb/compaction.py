"""Frees the disk space of fetched URLs, queue by queue, in a thread.

LevelDB drops deleted entries when it rewrites the files that hold them. For one giant queue that may happen late. No
read suffers from that, because reads start behind the deleted entries; only disk space does.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

COMPACT_AFTER = 100_000
"""Entries: some 10 MB."""
MAX_QUEUES = 10_000


class Compaction:
    """Counts the URLs that leave each queue, and compacts the drained range of a queue when that is worth it.

    `compact(key, order)` rewrites the range of a queue up to that order. It runs in a thread, one call at a time. The
    database must not be closed meanwhile: LevelDB would crash or hang. The outbox for another part is such a queue,
    too: its key is the number of that part.
    """

    def __init__(self, compact: Callable[[str | int, int], None], *, compact_after: int = COMPACT_AFTER) -> None:
        self._compact = compact
        self._compact_after = compact_after
        self._drained: dict[str | int, int] = {}
        self._jobs: list[Future[None]] = []
        """Jobs that may still be waiting or running."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontier-compaction")

    def count_drained(self, key: str | int, order: int, *, entries: int = 1) -> None:
        """Entries have left a queue; the last one had this order."""
        before = self._drained.get(key, 0)
        drained = before + entries
        if drained >= self._compact_after:
            del self._drained[key]
            self._jobs = [job for job in self._jobs if not job.done()]
            self._jobs.append(self._thread.submit(self._compact, key, order))
        else:
            if not before and len(self._drained) >= MAX_QUEUES:
                self._drained.clear()  # with so many queues, none is a giant
            self._drained[key] = drained

    def drop_waiting(self) -> bool:
        """Drop the compactions that wait. Returns whether none is running; then none begins before the next
        `count_drained`."""
        self._jobs = [job for job in self._jobs if not (job.cancel() or job.done())]
        return not self._jobs

    def close(self) -> None:
        """Drop the compactions that wait, and wait for the one that runs."""
        self._thread.shutdown(wait=True, cancel_futures=True)
