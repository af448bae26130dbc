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
