"""Queues that rest, by wake time. Pure."""

import heapq
from collections.abc import Mapping
from itertools import count

from frontier.queues.lifecycle import SNOOZED, Queue


class Snoozed:
    """A heap of those of the `active` queues, by key, that are SNOOZED.

    One that rests no more, or longer, or is put away, is only counted out: its entry is skipped when it comes up, which
    is cheaper than finding it.
    """

    def __init__(self, active: Mapping[str, Queue]) -> None:
        self._active = active
        self._heap: list[tuple[float, int, Queue]] = []
        self._tie = count()
        self.count = 0
        """Queues that rest."""

    def came(self, queue: Queue) -> None:
        self.count += 1
        heapq.heappush(self._heap, (queue.wake_at, next(self._tie), queue))

    def left(self) -> None:
        """A queue does not rest any more, although it was not taken out."""
        self.count -= 1

    def first(self) -> Queue | None:
        """Who wakes first."""
        while self._heap:
            wake_at, _, queue = self._heap[0]
            # One that was put away may be back as another object.
            if queue.state is SNOOZED and queue.wake_at == wake_at and self._active.get(queue.key) is queue:
                return queue
            heapq.heappop(self._heap)
        return None

    def woken(self, now: float) -> Queue | None:
        """Take out one whose time has come."""
        if not self._heap or self._heap[0][0] > now:
            return None
        queue = self.first()
        if queue is None or queue.wake_at > now:
            return None
        heapq.heappop(self._heap)
        self.count -= 1
        return queue
