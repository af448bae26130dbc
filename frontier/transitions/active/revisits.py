"""When settled URLs are to be visited again, and whether the crawl goes on for that."""

import asyncio


class Revisits:
    """Knows the first visit that is due. Until `serve`, visits do not matter."""

    def __init__(self, next_ms: int | None, *, has_plan: bool) -> None:
        self._next_ms = next_ms
        self._has_plan = has_plan
        self._are_served = self._stays = False
        self.are_planned = True
        """Whether all visits are known, so that none that is due now can be missing."""
        self.changed = asyncio.Event()
        """Set when the first visit has become another one."""

    @property
    def next_ms(self) -> int | None:
        """When the first visit is due, in milliseconds since 1970."""
        return self._next_ms if self._are_served else None

    def serve(self, *, stay: bool) -> None:
        """From now on visits are served. The crawl does not end while one is due; with `stay`, not at all."""
        self._are_served, self._stays = True, stay

    def end(self) -> None:
        self._are_served = self._stays = False

    @property
    def loses_plan(self) -> bool:
        """Whether a URL that is settled without a next visit makes the stored plan incomplete."""
        return self._has_plan and not self._are_served

    def lose_plan(self) -> None:
        self._has_plan = False

    def set_next(self, next_ms: int | None) -> None:
        self._next_ms = next_ms
        self.changed.set()

    def note(self, due_ms: int | None) -> None:
        """A visit has been written, if one is due."""
        if due_ms is not None and (self._next_ms is None or due_ms < self._next_ms):
            self.set_next(due_ms)

    def hold_crawl(self, now: float) -> bool:
        """Whether the crawl goes on although no URL waits."""
        if not self._are_served:
            return False
        return self._stays or not self.are_planned or (self._next_ms is not None and self._next_ms <= now * 1000)
