"""The queues that are being served: all that have URLs and are not retired."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from frontier import FrontierStats
from frontier.descriptor import Parameters
from frontier.queues.budgets import is_retired
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.schedule import Schedule
from sqlite_frontier.database import Database, load


class Served:
    """The schedule of all queues, and what is known of those that are not in it."""

    def __init__(self, database: Database, parameters: Parameters) -> None:
        self._database = database
        self._rest_after_crash_s = parameters.rest_after_crash_s
        self.clock = parameters.clock
        # If the clock has been set back since the last run, ours goes on from there.
        self._ahead_s: float = max(0.0, database.meta("clock", 0.0) - parameters.clock())
        self.settings = parameters.settings
        self.schedule = Schedule(
            per_queue=self.settings.per_queue_of or self.settings.per_queue,
            budgets=self.settings.budgets,
            snoozed_in_memory=sys.maxsize,
            ready_in_memory=sys.maxsize,
            grouping=self.settings.grouping,
            group_wake_at=self._group_wake_at,
            host_wake_at=self._host_wake_at,
        )
        self._crashed_at: float | None = database.meta("crashed_at")
        self._retired: dict[str, int] = {}
        """The sizes of queues that have URLs and are not served."""
        self._troubled: set[str] = set()

    def now(self) -> float:
        return self.clock() + self._ahead_s

    def load(self) -> None:
        for key, text in self._database.rows("SELECT key, record FROM queues"):
            record = load(text, QueueRecord)
            if record.size:
                self._serve(Queue(self._rested(key, record)), self.now())

    def queue(self, key: str) -> Queue:
        """The queue of that key: served, stored or new."""
        active = self.schedule.get(key)
        return Queue(self._rested(key, self._database.record(key))) if active is None else active

    def apply_sizes(self, queues: Iterable[Queue], added: Counter[str], removed: Counter[str]) -> None:
        """URLs have been written into queues, and leased ones removed from them."""
        now = self.now()
        for queue in queues:
            more = added[queue.key]
            if self.schedule.get(queue.key) is queue:
                if more:
                    self.schedule.fill(queue, more, now=now)
                for _ in range(removed[queue.key]):
                    self.schedule.remove(queue, now=now)
                self.note(queue)
            elif more:
                queue.record = msgspec.structs.replace(queue.record, size=queue.record.size + more)
                self._serve(queue, now)

    def _serve(self, queue: Queue, now: float) -> None:
        if not is_retired(queue.record, self.settings.budgets):
            self.schedule.activate(queue, now=now)
        self.note(queue)

    def note(self, queue: Queue) -> None:
        """Count a queue whose record has changed."""
        key, size = queue.key, queue.record.size
        served = self.schedule.get(key) is queue
        self._retired.pop(key, None)
        self._troubled.discard(key)
        if size and not served:
            self._retired[key] = size
        elif size and queue.record.health.error_streak:
            self._troubled.add(key)

    def deadline(self) -> float | None:
        """When the next queue or group wakes."""
        queue, group = self.schedule.next_wake(), self.schedule.groups.next_wake()
        times = [] if queue is None else [queue.record.wake_at]
        return min(times if group is None else [*times, group[0]], default=None)

    def stats(self, counts: Mapping[str, int], next_due: float | None, *, paused: str | None) -> FrontierStats:
        """Where the URLs are; `counts` are those of the ledger, and `next_due` is when the next retry is due."""
        schedule, retired = self.schedule, sum(self._retired.values())
        queue = schedule.next_wake()
        # A group that holds no queue back keeps nothing waiting.
        group = schedule.groups.next_wake() if schedule.held_back_count else None
        rests = (None if queue is None else queue.record.wake_at, None if group is None else group[0], next_due)
        wake_at = min((at for at in rests if at is not None), default=None) if paused is None else None
        waking = queue if queue is not None and queue.record.wake_at == wake_at else None
        health = None if waking is None else waking.record.health
        ready, held_back, snoozed = schedule.ready_count, schedule.held_back_count, schedule.snoozed_count
        return FrontierStats(
            admitted=sum(counts[name] for name in ("pending", "retrying", "done", "failed", "excluded")),
            pending=counts["pending"] - retired,
            in_process=schedule.lease_count,
            retrying=counts["retrying"],
            done=counts["done"],
            failed=counts["failed"],
            excluded=counts["excluded"],
            ready_queues=ready,
            in_process_queues=len(schedule) - ready - held_back - snoozed,
            snoozed_queues=snoozed,
            held_back_queues=held_back,
            troubled_queues=len(self._troubled),
            quarantined=counts["quarantined"],
            lost=counts["lost"],
            retired=retired,
            retired_queues=len(self._retired),
            next_wake_s=None if wake_at is None else max(0.0, wake_at - self.now()),
            next_wake_key=None if waking is None else waking.key,
            next_wake_streak=0 if health is None else health.error_streak,
            next_wake_trouble=None if health is None else health.trouble,
            next_wake_why=None if waking is None else waking.rest_reason,
            next_group=group[1] if group is not None and waking is None and group[0] == wake_at else None,
            paused=paused,
        )

    # after a crash nobody knows which servers had just been asked

    def _rested(self, key: str, record: QueueRecord) -> QueueRecord:
        if self._crashed_at is None or not record.size:
            return record
        rest_s = max(record.pace_s, self._rest_after_crash_s)
        return msgspec.structs.replace(record, wake_at=max(record.wake_at, self._crashed_at + rest_s))

    def _group_wake_at(self, group: str) -> float:
        found = self._database.rows("SELECT wake_at FROM groups WHERE name = ?", group)
        until: float = found[0][0] if found else 0.0
        if self._crashed_at is None:
            return until
        limit = self.settings.grouping.limit_of(group)
        return max(until, self._crashed_at + limit.rest_after_s(self._rest_after_crash_s))

    def _host_wake_at(self, host: str) -> float:
        record = self.queue(host).record
        until = 0.0 if record.health.error_streak else record.wake_at
        return until if self._crashed_at is None else max(until, self._crashed_at + record.pace_s)
