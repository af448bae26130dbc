"""When settled URLs are to be visited again, and whether the crawl goes on for that."""

import asyncio

import msgspec

from frontier.protocol.serving import RevisitPlan
from frontier.values import LedgerEntry


class Revisits:
    """Knows the first visit that is due. Until `serve`, visits do not matter."""

    def __init__(self, next_ms: int | None, *, has_plan: bool) -> None:
        self._next_ms = next_ms
        self._has_plan = has_plan
        self._plan: RevisitPlan | None = None
        self._was_served = False
        self._stays = False
        self.are_planned = True
        """Whether all visits are known, so that none that is due now can be missing."""
        self.changed = asyncio.Event()
        """Set when the first visit has become another one."""

    @property
    def next_ms(self) -> int | None:
        """When the first visit is due, in milliseconds since 1970. After `end` it is still known."""
        return self._next_ms if self._was_served else None

    def serve(self, plan: RevisitPlan, *, stay: bool) -> None:
        """From now on visits are served. The crawl does not end while one is due; with `stay`, not at all."""
        self._plan, self._stays, self._was_served = plan, stay, True

    def end(self) -> None:
        self._plan, self._stays = None, False

    def plan_entry(self, entry: LedgerEntry, now: float) -> LedgerEntry:
        """The entry of a URL that was settled without a plan, with its next visit if visits are served."""
        interval_s = None if self._plan is None else self._plan.interval_s(entry)
        if interval_s is None:
            return entry
        due_at = max((entry.fetched_at or entry.found_at) + interval_s, now)
        return msgspec.structs.replace(entry, interval_s=round(interval_s), due_ms=int(due_at * 1000))

    @property
    def loses_plan(self) -> bool:
        """Whether a URL that is settled without a next visit makes the stored plan incomplete."""
        return self._has_plan and self._plan is None

    def lose_plan(self) -> None:
        self._has_plan = False

    def keep_plan(self) -> None:
        """All visits are planned, and that is stored."""
        self._has_plan = self.are_planned = True

    def set_next(self, next_ms: int | None) -> None:
        self._next_ms = next_ms
        self.changed.set()

    def note(self, due_ms: int | None) -> None:
        """A visit has been written, if one is due."""
        if due_ms is not None and (self._next_ms is None or due_ms < self._next_ms):
            self.set_next(due_ms)

    def keeps_crawl_going(self, now: float) -> bool:
        """Whether the crawl goes on although no URL waits."""
        if self._plan is None:
            return False
        return self._stays or not self.are_planned or (self._next_ms is not None and self._next_ms <= now * 1000)
