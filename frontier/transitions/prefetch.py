"""The first URLs of each queue, in memory, so that most leases cost no seek.

For each queue it remembers up to which order the store's URLs have been loaded. A seek starts there, and so never walks
over what was fetched before it (a LevelDB would, over its tombstones).
"""

from bisect import insort
from collections.abc import Callable, Container, Iterable, Sequence

from frontier.store import Waiting

AHEAD = 4


class _Head:
    __slots__ = ("complete", "loaded", "position")

    def __init__(self, position: int, *, complete: bool) -> None:
        self.loaded: list[Waiting] = []
        """Loaded and not leased, in order."""
        self.position = position
        """All up to this order has been loaded."""
        self.complete = complete
        """Whether the store has nothing above `position`."""


def _order(waiting: Waiting) -> int:
    return waiting.order


class Prefetch:
    """Takes the next URL of a queue from memory, or loads a handful from the store.

    `load(key, after, limit)` answers the store's first URLs above an order, `load_each([(key, after), …], limit)`
    those of several queues. Of one queue, about `per_queue` URLs are kept, of all queues `total`; then a lease costs a
    seek.
    """

    def __init__(
        self,
        load: Callable[[str, int, int], list[Waiting]],
        load_each: Callable[[list[tuple[str, int]], int], list[list[Waiting]]],
        *,
        per_queue: int = 32,
        total: int = 50_000,
    ) -> None:
        self._load = load
        self._load_each = load_each
        self._per_queue = per_queue
        self._total = total
        self._held = 0
        self._heads: dict[str, _Head] = {}

    def take(self, key: str, leased: Container[int], /) -> Waiting | None:
        """The next URL of the queue that is not leased (by number); None if the store has no more."""
        head = self._heads[key]
        while not head.loaded:
            if head.complete:
                return None
            limit = max(1, min(self._per_queue, self._total - self._held))
            self._take_in(head, self._load(key, head.position, limit), limit, leased)
        self._held -= 1
        return head.loaded.pop(0)

    def put(self, key: str, come: Iterable[Waiting], /) -> None:
        """URLs have been stored in a queue that is served."""
        head = self._heads[key]
        for waiting in come:
            if waiting.order <= head.position:
                self._insert(head, waiting, room=self._has_room(head))
            elif head.complete and self._has_room(head):
                head.loaded.append(waiting)
                head.position = waiting.order
                self._held += 1
            else:
                head.complete = False

    def put_back(self, waiting: Waiting, /) -> None:
        """A URL that was taken is first in its queue again."""
        head = self._heads[waiting.url.queue_key]
        if waiting.order <= head.position:
            self._insert(head, waiting, room=self._held < self._total)
        else:
            head.complete = False  # it will be loaded in its place

    def begin(self, key: str, position: int, /, *, complete: bool = False) -> None:
        """The queue is to be served; it has no URL of an order up to `position`, or none at all if `complete`."""
        self._heads[key] = _Head(position, complete=complete)

    def look_ahead(self, keys: Sequence[str], /) -> None:
        """Load the first URLs of queues that have just begun, and of which none is leased. Most queues have few; those
        of many queues together are found in half the time."""
        limit = min(AHEAD, self._per_queue)
        if self._held + limit * len(keys) > self._total:
            return
        heads = [self._heads[key] for key in keys]
        places = [(key, head.position) for key, head in zip(keys, heads, strict=True)]
        for head, found in zip(heads, self._load_each(places, limit), strict=True):
            self._take_in(head, found, limit, ())

    def floor(self, key: str, /) -> int | None:
        """No URL of the queue that is not leased has an order up to this; None if that is not known."""
        head = self._heads.get(key)
        if head is None:
            return None
        return head.loaded[0].order - 1 if head.loaded else head.position

    def drop(self, key: str, /) -> None:
        """The queue is not served any more."""
        head = self._heads.pop(key, None)
        if head is not None:
            self._held -= len(head.loaded)

    def _take_in(self, head: _Head, found: list[Waiting], limit: int, leased: Container[int]) -> None:
        head.complete = len(found) < limit
        if found:
            head.position = found[-1].order
        head.loaded = [waiting for waiting in found if waiting.number not in leased]
        self._held += len(head.loaded)

    def _has_room(self, head: _Head) -> bool:
        return len(head.loaded) < self._per_queue and self._held < self._total

    def _insert(self, head: _Head, waiting: Waiting, *, room: bool) -> None:
        if room:
            insort(head.loaded, waiting, key=_order)
            self._held += 1
            return
        # Loading begins anew, below all that is not leased.
        first = min([waiting.order, *(other.order for other in head.loaded[:1])])
        self._held -= len(head.loaded)
        head.loaded.clear()
        head.position = first - 1
        head.complete = False
