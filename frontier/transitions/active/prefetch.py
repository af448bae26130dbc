"""The first URLs of each queue, in memory, so that most leases need no seek.

For each queue, `loaded_to` is the order up to which the store's URLs have been loaded. A seek starts there, so it never
walks over the tombstones of fetched URLs.
"""

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Mapping
from operator import attrgetter

from frontier.records import PendingUrl
from frontier.store_reads import StoreReads

PRELOADED = 4
"""URLs of each queue that are loaded when several queues begin together."""

_order = attrgetter("order")


class _Loaded:
    """The loaded URLs of one queue."""

    __slots__ = ("complete", "loaded_to", "urls")

    def __init__(self, loaded_to: int, *, complete: bool) -> None:
        self.urls: list[PendingUrl] = []
        """Loaded and not leased, in order."""
        self.loaded_to = loaded_to
        self.complete = complete
        """Whether the store has no URL with an order above `loaded_to`."""


class Prefetch:
    """Takes the next URL of a queue from memory, or loads some from the store.

    Keeps about `per_queue` URLs of one queue, and `total` of all queues. Beyond that, each lease costs a seek.
    """

    def __init__(self, reads: StoreReads, *, per_queue: int = 32, total: int = 50_000) -> None:
        self._reads = reads
        self._per_queue = per_queue
        self._total = total
        self._count = 0
        self._queues: dict[str, _Loaded] = {}

    def take(self, key: str, leased: Container[int], /) -> PendingUrl | None:
        """Remove and return the next URL of the queue that is not leased (by number); None if the store has no more."""
        queue = self._queues[key]
        while not queue.urls:
            if queue.complete:
                return None
            limit = max(1, min(self._per_queue, self._total - self._count))
            self._store_loaded(queue, self._reads.pending_urls(key, after=queue.loaded_to, limit=limit), limit, leased)
        self._count -= 1
        return queue.urls.pop(0)

    def put(self, key: str, urls: Iterable[PendingUrl], /) -> None:
        """URLs have been written to an active queue."""
        queue = self._queues[key]
        for pending in urls:
            if pending.order <= queue.loaded_to:
                self._insert(queue, pending, has_room=self._has_room(queue))
            elif queue.complete and self._has_room(queue):
                queue.urls.append(pending)
                queue.loaded_to = pending.order
                self._count += 1
            else:
                queue.complete = False

    def put_back(self, pending: PendingUrl, /) -> None:
        """A URL that was taken is in its queue again, under the same order."""
        queue = self._queues[pending.url.queue_key]
        if pending.order <= queue.loaded_to:
            self._insert(queue, pending, has_room=self._count < self._total)
        else:
            queue.complete = False  # it will be loaded in order

    def replace(self, pending: PendingUrl, /) -> None:
        """A URL was written again under its order."""
        queue = self._queues.get(pending.url.queue_key)
        place = -1 if queue is None else bisect_left(queue.urls, pending.order, key=_order)
        if queue is not None and place < len(queue.urls) and queue.urls[place].order == pending.order:
            queue.urls[place] = pending

    def begin(self, key: str, drained_to: int, /, *, complete: bool = False) -> None:
        """A queue becomes active. It has no URL with an order up to `drained_to`; with `complete`, it has none."""
        self._queues[key] = _Loaded(drained_to, complete=complete)

    def preload(self, sizes: Mapping[str, int], /) -> None:
        """Load the first URLs of queues that have just become active and have no leases. Most queues have few URLs, and
        loading several queues together takes half the time. `sizes` gives the number of their URLs.

        A queue that was filled once begins right behind `drained_to`. If it has a single URL, a look-up finds that, for
        a third of the cost of a seek.
        """
        limit = min(PRELOADED, self._per_queue)
        if self._count + limit * len(sizes) > self._total:
            return
        lone = [(key, self._queues[key].loaded_to + 1) for key, size in sizes.items() if size == 1]
        rest = dict.fromkeys(sizes)
        for (key, order), found in zip(lone, self._reads.pending_at(lone), strict=True):
            if found is not None:
                queue = self._queues[key]
                queue.urls, queue.loaded_to, queue.complete = [found], order, True
                self._count += 1
                del rest[key]
        ranges = [(key, self._queues[key].loaded_to) for key in rest]
        for key, urls in zip(rest, self._reads.pending_urls_of_each(ranges, limit=limit), strict=True):
            self._store_loaded(self._queues[key], urls, limit, ())

    def drained_to(self, key: str, /) -> int | None:
        """An order up to which the queue has no URL that is not leased; None if that is unknown."""
        queue = self._queues.get(key)
        if queue is None:
            return None
        return queue.urls[0].order - 1 if queue.urls else queue.loaded_to

    def drop(self, key: str, /) -> None:
        """The queue is not active any more."""
        queue = self._queues.pop(key, None)
        if queue is not None:
            self._count -= len(queue.urls)

    def _store_loaded(self, queue: _Loaded, found: list[PendingUrl], limit: int, leased: Container[int]) -> None:
        queue.complete = len(found) < limit
        if found:
            queue.loaded_to = found[-1].order
        queue.urls = [pending for pending in found if pending.number not in leased]
        self._count += len(queue.urls)

    def _has_room(self, queue: _Loaded) -> bool:
        return len(queue.urls) < self._per_queue and self._count < self._total

    def _insert(self, queue: _Loaded, pending: PendingUrl, *, has_room: bool) -> None:
        if has_room:
            insort(queue.urls, pending, key=_order)
            self._count += 1
            return
        # Start loading again, below all URLs that are not leased.
        first = min([pending.order, *(other.order for other in queue.urls[:1])])
        self._count -= len(queue.urls)
        queue.urls.clear()
        queue.loaded_to = first - 1
        queue.complete = False
