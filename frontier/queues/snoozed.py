"""The queues that rest, by wake time. Pure."""

import heapq
from collections.abc import Mapping
from itertools import count

from frontier.queues.lifecycle import SNOOZED
from frontier.queues.queue import Queue


class SnoozedQueues:
    """A heap of the `active` queues, by key, that are SNOOZED.

    A queue that is woken early, rests longer or is spilled is only subtracted from the count. Its heap entry is skipped
    when it comes up, which is cheaper than searching for it.
    """

    def __init__(self, active: Mapping[str, Queue]) -> None:
        self._active = active
        self._heap: list[tuple[float, int, Queue]] = []
        self._tie = count()
        self.count = 0
        """Queues that rest."""

    def add(self, queue: Queue) -> None:
        self.count += 1
        heapq.heappush(self._heap, (queue.record.wake_at, next(self._tie), queue))

    def remove(self) -> None:
        """Subtract a queue that is no longer snoozed; its heap entry stays behind."""
        self.count -= 1

    def first(self) -> Queue | None:
        """The queue that wakes first."""
        while self._heap:
            wake_at, _, queue = self._heap[0]
            # A queue that was spilled may be active again as another object.
            if queue.state is SNOOZED and queue.record.wake_at == wake_at and self._active.get(queue.key) is queue:
                return queue
            heapq.heappop(self._heap)
        return None

    def first_keys(self, until: float, limit: int) -> list[str]:
        """Keys of the queues that wake until then, the first of them in order. It looks at `limit` entries of the heap,
        gaps among them."""
        keys = []
        ahead = [(self._heap[0], 0)] if self._heap else []
        for _ in range(limit):
            if not ahead or ahead[0][0][0] > until:
                break
            (wake_at, _, queue), at = heapq.heappop(ahead)
            if queue.state is SNOOZED and queue.record.wake_at == wake_at:
                keys.append(queue.key)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(self._heap):
                    heapq.heappush(ahead, (self._heap[child], child))
        return keys

    def pop_due(self, now: float) -> Queue | None:
        """Remove and return a queue whose wake time has come."""
        if not self._heap or self._heap[0][0] > now:
            return None
        queue = self.first()
        if queue is None or queue.record.wake_at > now:
            return None
        heapq.heappop(self._heap)
        self.count -= 1
        return queue
