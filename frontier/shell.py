"""The frontier: the schedule decides, the store keeps, and this leases.

All state changes in plain methods, with no await between reading and writing. The one await inside a transition is the
visited set's, which may be remote: the lock around it keeps transitions apart, and what has begun is carried to its end
even if the caller is cancelled.

A change is first written, then made in memory. A store that has no room takes nothing of it: the change waits, is
worked out anew when there is room, and nothing else is leased meanwhile.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import TypeVar

import msgspec

from frontier.admission import Hits, check_urls
from frontier.books import is_served, mark, queue_of, recorded
from frontier.clock import steady_clock
from frontier.heads import Heads
from frontier.leases import Leases, Out
from frontier.lifecycle import IllegalTransition, Queue, QueueState
from frontier.rules import Rules
from frontier.schedule import Outlook, Schedule
from frontier.snapshots import Snapshots, restore
from frontier.standby import Standby
from frontier.store import Counters, Postponed, QueueRecord, Store, Waiting, order_of
from frontier.values import CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome, StoreFailed, StoreFull, UrlState
from frontier.waiters import Waiters
from frontier.whole import Failing, whole
from visited import VisitedSet

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_WHOLE = frozenset({200, 304})
"""Statuses after which the crawl has a copy of which a server may say that it is still current."""
REQUEUE_BATCH = 256
LONGEST_S = 1e9
"""Thirty years. A longer rest is a mistake, and would not fit into the store."""
ACTIVATE_AT_ONCE = 64
ACTIVATE_BEYOND = 8
"""Where enough are active, and none is ready."""
LOOK_FOR_ROOM_S = 2.0
"""Between two looks at a disk that was full. Nothing tells when there is room again."""


class QueueFrontier:
    """A `Frontier` over any `Store`. Made by `open`."""

    def __init__(
        self,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None,
        rules: Rules,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._visited = visited
        self._snapshots = snapshots
        self._rules = rules
        self._clock = now
        # What is stored is by the clock of that time. Where the clock has been set back since, ours goes on from there:
        # no wake time moves away, and none comes early.
        self._ahead_s = max(0.0, store.counters.clock - now())
        self._schedule = Schedule(
            per_queue=rules.per_queue, budgets=rules.budgets, snoozed_in_memory=rules.snoozed_in_memory
        )
        self._standby = Standby(store, floor=rules.precedence_floor)
        self._hits = Hits()
        self._leases = Leases(self._hits.of)
        self._heads = Heads(lambda key, after, limit: store.waiting(key, after=after, limit=limit))
        self._admission = asyncio.Lock()
        self._saving = asyncio.Lock()
        self._waiters = Waiters(now=self._now, deadline=self._deadline, due=self._wake_due)
        self._next_due_ms = store.next_due_ms()
        self._holds: dict[str, str] = {}
        self._room: asyncio.Event | None = None
        self._crashed_at: float | None = None
        """When the crawl was taken up, if that was after a crash."""
        self._rest_after_crash_s = 0.0
        self._stopped = False
        self._closed = False
        self._failure: BaseException | None = None
        self._failing = Failing(self._fail)

    @classmethod
    async def open(
        cls,
        store: Store,
        visited: VisitedSet,
        *,
        snapshots: Snapshots | None = None,
        per_queue: int = 1,
        rules: Rules | None = None,
        now: Callable[[], float] | None = None,
        rest_after_crash_s: float = 0.0,
        rebuilding: Callable[[int], None] | None = None,
    ) -> "QueueFrontier":
        """Take up the crawl that the store holds, or begin one.

        If it was not closed in order, nobody knows which servers were being asked. So each queue rests first, as it
        does after an answer, and for `rest_after_crash_s` at least.

        The visited set, given empty, is filled from its snapshot and the journal, or from the ledger where these don't
        serve; `rebuilding` is then called with the number of URLs so far. `rules` say more than `per_queue`.
        """
        rules = rules or Rules(per_queue=per_queue)
        frontier = cls(store, visited, snapshots=snapshots, rules=rules, now=now or steady_clock())
        await restore(store, visited, snapshots, rebuilding=rebuilding)
        if store.counters.retired_queues:
            await frontier.reconsider()
        if store.in_use:
            frontier._crashed_at, frontier._rest_after_crash_s = frontier._now(), rest_after_crash_s
        frontier._refill(frontier._now())
        store.set_in_use(True)
        return frontier

    def _now(self) -> float:
        return self._clock() + self._ahead_s

    # links come in

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        batch = list(urls)
        if not batch:
            return 0
        check_urls(batch)
        admitted = await whole(self._add(batch, force=force), cancelled=self._give_up_room)
        await self._synced()
        if self._snapshots is not None and self._snapshots.is_due(self._store):
            await whole(self._save_snapshot(self._snapshots), cancelled=self._give_up_room)
        return admitted

    async def _add(self, batch: list[CrawlUrl], *, force: bool) -> int:
        async with self._admission:
            self._check()
            # If this is torn, the visited set may hold URLs that the ledger lacks. It must not be asked again: the
            # next opening rebuilds it from what is durable.
            with self._failing:
                canonicals = [url.canonical for url in batch]
                verdicts = await self._visited.add_many(canonicals)
                fresh = [url for url, new in zip(batch, verdicts, strict=True) if new]
            if not force:
                self._hits.count(canonicals, verdicts)
                if not fresh:
                    return 0
            return await self._made(partial(self._admit, batch, fresh, force=force), must=True)

    def _readmissible(
        self, urls: Iterable[CrawlUrl], fresh: set[str]
    ) -> dict[str, tuple[CrawlUrl, LedgerEntry | None]]:
        """Of URLs that the visited set knows, those that are settled, leased, or swallowed by a filter's error; with
        what the ledger has of them."""
        leased = {out.waiting.url.canonical for out in self._leases if not out.superseded}
        chosen: dict[str, tuple[CrawlUrl, LedgerEntry | None]] = {}
        for url in urls:
            if url.canonical not in fresh and url.canonical not in chosen:
                entry = self._store.entry(url.canonical)
                if entry is None or entry.state is not UrlState.PENDING or url.canonical in leased:
                    chosen[url.canonical] = (_coming_back(url, entry), entry)
        return chosen

    def _admit(self, batch: list[CrawlUrl], fresh: list[CrawlUrl], *, force: bool) -> int:
        again = self._readmissible(batch, {url.canonical for url in fresh}) if force else {}
        if not fresh and not again:
            return 0
        superseded = [out for out in self._leases if out.waiting.url.canonical in again and not out.superseded]
        come = [*fresh, *(url for url, _ in again.values())] if again else fresh
        # Looked up before the counters are copied, as a damaged record is counted.
        queues = self._queues([url.queue_key for url in come])
        now = self._now()
        counters = self._counting(now)
        counters.admitted += len(fresh)
        for _, entry in again.values():
            if entry is None:
                counters.admitted += 1
            else:
                _uncount(counters, entry)
        lost: dict[str, int] = {}
        for out in superseded:
            queues[out.queue.key] = out.queue
            lost[out.queue.key] = lost.get(out.queue.key, 0) + 1
        admitted = self._numbered(come, counters)
        filled, records = self._filling(admitted, queues, counters, lost)
        self._store.admit(admitted, [out.waiting for out in superseded], records, counters)
        self._filled(filled, records, now)
        for out in superseded:
            out.superseded = True
            self._schedule.remove(out.queue, now=now)
        self._waiters.wake(len(records))
        return len(admitted)

    def _numbered(self, urls: Sequence[CrawlUrl], counters: Counters) -> list[Waiting]:
        number, ordinal, found_at = counters.next_number, counters.next_ordinal, int(self._clock())
        counters.next_number += len(urls)
        counters.next_ordinal += len(urls)
        return [
            Waiting(url=url, number=number + place, order=order_of(url.precedence, ordinal + place), found_at=found_at)
            for place, url in enumerate(urls)
        ]

    def _filling(
        self, waiting: Sequence[Waiting], queues: dict[str, Queue], counters: Counters, lost: dict[str, int]
    ) -> tuple[list[tuple[Queue, list[Waiting]]], list[QueueRecord]]:
        """The queues into which URLs come, and what their records will be; `lost` is what leaves queues meanwhile."""
        by_queue: dict[str, list[Waiting]] = {key: [] for key in queues}
        for each in waiting:
            by_queue[each.url.queue_key].append(each)
        filled = [(queues[key], come) for key, come in by_queue.items()]
        budgets = self._rules.budgets
        records = []
        for queue, come in filled:
            head, precedence = queue.head, None
            for each in come:
                if each.order <= head:
                    head = each.order - 1
            if self._rules.by_best_url and come:
                best = min(each.url.precedence for each in come)
                precedence = best if queue.size == 0 else min(best, queue.precedence)
            size = queue.size + len(come) - lost.get(queue.key, 0)
            records.append(recorded(queue, counters, budgets, size=size, head=head, precedence=precedence))
        return filled, records

    def _filled(
        self, filled: Sequence[tuple[Queue, list[Waiting]]], records: Sequence[QueueRecord], now: float
    ) -> None:
        schedule, heads = self._schedule, self._heads
        for (queue, come), record in zip(filled, records, strict=True):
            was_empty = queue.size == 0
            moved = record.stands if record.moved else None
            mark(queue, record)
            if schedule.get(queue.key) is queue:
                for waiting in come:
                    heads.put(waiting)
                if come:
                    schedule.fill(queue, len(come), now=now)
                continue
            queue.size = record.size
            if moved is None:
                continue
            if was_empty and self._has_room_for(queue):
                heads.begin(queue.key, queue.head, complete=True)
                for waiting in come:
                    heads.put(waiting)
                schedule.activate(queue, now=now)
                self._standby.passed(moved)
            else:
                self._standby.came(moved)

    def _has_room_for(self, queue: Queue) -> bool:
        """Whether a queue can be activated at once, as no other waits."""
        rules = self._rules
        return (
            self._standby.best is None
            and len(self._schedule) < rules.active_least
            and queue.precedence < rules.precedence_floor
        )

    def _queues(self, keys: Iterable[str]) -> dict[str, Queue]:
        return {key: self._queue(key) for key in dict.fromkeys(keys)}

    def _queue(self, key: str) -> Queue:
        known = self._schedule.get(key)
        if known is not None:
            return known
        record = self._store.queue(key)
        return Queue(key) if record is None else queue_of(record)

    # queues get their place

    def _refill(self, now: float) -> None:
        """Activate queues until enough are active, some are ready and none waits that would go before those."""
        schedule, standby = self._schedule, self._standby
        while keys := standby.woken(int(now * 1000), ACTIVATE_AT_ONCE):
            self._activate(keys, now)
        for _ in range(1 + self._rules.active_least // ACTIVATE_AT_ONCE):
            if standby.best is None:
                return
            ready = schedule.best_ready()
            missing = self._rules.active_least - len(schedule)
            # A few at a time cost a seek each; so while there is work, many are let come together.
            enough = missing < min(ACTIVATE_AT_ONCE, self._rules.active_least)
            if ready is not None and enough and standby.best >= ready:
                return
            at_once = min(missing, ACTIVATE_AT_ONCE) if missing > 0 else ACTIVATE_BEYOND
            self._activate(standby.waiting(at_once), now)

    def _activate(self, keys: Sequence[str], now: float) -> None:
        """Those that are not to be served, or rest while many do, are sent where they belong."""
        found = [self._store.queue(key) for key in keys if self._schedule.get(key) is None]
        budgets, counters = self._rules.budgets, self._counting(now)
        sent: list[QueueRecord] = []
        for record in found:
            if record is None or not record.size:
                continue
            queue = queue_of(record)
            if self._crashed_at is not None:
                rest_s = max(queue.pace_s, self._rest_after_crash_s)
                queue.wake_at = max(queue.wake_at, self._crashed_at + rest_s)
            if not is_served(queue, budgets):
                sent.append(recorded(queue, counters, budgets))
            elif queue.wake_at > now and self._schedule.is_full_of_snoozed():
                sent.append(recorded(queue, counters, budgets, to=QueueState.SNOOZED))
            else:
                self._heads.begin(queue.key, queue.head)
                self._schedule.activate(queue, now=now)
        if sent:
            try:
                self._store.rest(sent, counters)
            except StoreFull:
                self._standby.read_again()
                raise
            for each in sent:
                if each.stands is not None:
                    self._standby.came(each.stands)

    # leases go out

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        while True:
            self._check_failure()
            if self._stopped:
                raise StopAsyncIteration
            if self._holds:
                await self._waiters.wait()
                continue
            try:
                with self._failing:
                    lease = self._next_lease()
            except StoreFull as error:
                await self._wait_for_room(error)
                continue
            if lease is not None:
                if self._waiters:
                    self._waiters.wake(self._schedule.ready_count)  # queues woken on the way are others' turns
                return lease
            if self._is_complete():
                self._waiters.wake_all()
                raise StopAsyncIteration
            if self._standby.best is not None:
                await asyncio.sleep(0)  # of those looked at so far, all rest
            else:
                await self._waiters.wait()

    def _next_lease(self) -> Lease | None:
        now = self._now()
        if self._next_due_ms is not None and self._next_due_ms <= now * 1000:
            self._requeue_due(now)
        self._schedule.wake(now)
        self._refill(now)
        while (queue := self._schedule.lease()) is not None:
            try:
                waiting = self._heads.take(queue.key, self._leases)
                if waiting is not None:
                    return self._leases.give(waiting, queue)
                log.warning("queue %s holds one URL less than was counted: a damaged record was set aside", queue.key)
                counters = self._counting(now)
                record = recorded(queue, counters, self._rules.budgets, size=queue.size - 1)
                self._store.rest([record], counters)
            except StoreFull:
                self._schedule.settle(queue, gone=False, cooldown_s=0.0, now=now)
                raise
            self._end(queue, record, gone=True, cooldown_s=0.0)
        return None

    def _requeue_due(self, now: float) -> None:
        due = self._store.due(int(now * 1000), limit=REQUEUE_BATCH)
        queues = self._queues([postponed.waiting.url.queue_key for postponed in due])
        counters = self._counting(now)
        counters.retrying -= len(due)
        moved = []
        for postponed in due:
            order = order_of(postponed.waiting.url.precedence, counters.next_ordinal)
            counters.next_ordinal += 1
            waiting = msgspec.structs.replace(postponed.waiting, order=order)
            moved.append(Postponed(waiting=waiting, due_ms=postponed.due_ms))
        filled, records = self._filling([postponed.waiting for postponed in moved], queues, counters, {})
        self._store.requeue(moved, records, counters)
        self._filled(filled, records, now)
        self._next_due_ms = self._store.next_due_ms()

    def _is_complete(self) -> bool:
        return (
            len(self._schedule) == 0
            and self._next_due_ms is None
            and self._standby.best is None
            and self._standby.next_wake_ms is None
        )

    # leases come back

    async def done(self, lease: Lease, /, *, cooldown_s: float, outcome: Outcome) -> None:
        self._check()
        self._leases.get(lease)
        _check_seconds(cooldown_s=cooldown_s)
        if outcome.state is UrlState.PENDING:
            raise ValueError(f"{lease.url.url} can't be settled as pending; `retry` or `release` it")
        await self._made(partial(self._done, lease, cooldown_s, outcome))
        await self._synced()

    def _done(self, lease: Lease, cooldown_s: float, outcome: Outcome) -> None:
        out = self._leases.get(lease)
        waiting, url = out.waiting, out.waiting.url
        streak = 0 if outcome.server_ok else out.queue.error_streak + 1
        cost = self._cost(url, server_ok=outcome.server_ok)
        # Of a URL for which no server was asked, there is nothing to be learned.
        pace_s = cooldown_s if outcome.server_ok and cooldown_s > 0 else None
        counters, outlook, record = self._after(out, cooldown_s, streak, cost, pace_s=pace_s)
        if out.superseded:
            self._store.rest([record], counters)
        else:
            state = outcome.state
            if state is UrlState.DONE:
                counters.done += 1
            elif state is UrlState.FAILED:
                counters.failed += 1
            else:
                counters.excluded += 1
            entry = LedgerEntry(
                canonical=url.canonical,
                state=state,
                number=waiting.number,
                found_at=waiting.found_at,
                via=url.via,
                status=outcome.status,
                reason=outcome.reason,
                fetched_at=outcome.fetched_at,
                digest=outcome.digest,
                etag=outcome.etag,
                last_modified=outcome.last_modified,
            )
            self._store.settle(waiting, entry, record, counters)
        self._hits.drop(url.canonical)
        self._take_back(out, outlook, record, cooldown_s=cooldown_s, cost=cost)

    async def retry(self, lease: Lease, /, *, after_s: float, cooldown_s: float, reason: str | None = None) -> None:
        self._check()
        self._leases.get(lease)
        _check_seconds(after_s=after_s, cooldown_s=cooldown_s)
        await self._made(partial(self._retry, lease, after_s, cooldown_s, reason))
        await self._synced()

    def _retry(self, lease: Lease, after_s: float, cooldown_s: float, reason: str | None) -> None:
        out = self._leases.get(lease)
        waiting = out.waiting
        due_ms = int((self._now() + after_s) * 1000)
        url = msgspec.structs.replace(waiting.url, attempt=waiting.url.attempt + 1)
        again = msgspec.structs.replace(waiting, url=url)
        cost = self._cost(url, server_ok=False)
        counters, outlook, record = self._after(out, cooldown_s, out.queue.error_streak + 1, cost)
        if out.superseded:
            self._store.rest([record], counters)
        else:
            counters.retrying += 1
            self._store.postpone(waiting, Postponed(waiting=again, due_ms=due_ms, reason=reason), record, counters)
            if self._next_due_ms is None or due_ms < self._next_due_ms:
                self._next_due_ms = due_ms
        self._take_back(out, outlook, record, cooldown_s=cooldown_s, cost=cost)

    def release(self, lease: Lease, /, *, cooldown_s: float = 0.0) -> None:
        out = self._leases.get(lease)
        _check_seconds(cooldown_s=cooldown_s)
        queue = out.queue
        can_write = self._failure is None and not self._closed
        pace_s = cooldown_s if cooldown_s > 0 else None
        counters, outlook, record = self._after(out, cooldown_s, queue.error_streak, 0, gone=False, pace_s=pace_s)
        if can_write and (cooldown_s > 0 or record.moved):
            with self._failing:
                try:
                    self._store.rest([record], counters)
                except StoreFull as error:
                    # What is lost is a rest that only a crash would make matter. The queue stays where it is.
                    self._find_room(error)
                    record = msgspec.structs.replace(record, stands=queue.stands, moved=False, left=None)
                    outlook = Outlook(self._schedule.outlook_alone(queue, cooldown_s, self._now()), put_away=False)
        if not out.superseded:
            self._heads.put_back(out.waiting)
        self._take_back(out, outlook, record, cooldown_s=cooldown_s, cost=0, gone=False)

    def _cost(self, url: CrawlUrl, *, server_ok: bool) -> int:
        return url.cost if server_ok else url.cost + self._rules.budgets.error_penalty

    def _after(
        self, out: Out, cooldown_s: float, streak: int, cost: int, *, gone: bool = True, pace_s: float | None = None
    ) -> tuple[Counters, Outlook, QueueRecord]:
        """Counters to be changed, and what the end of the lease makes of the queue."""
        now = self._now()
        queue = out.queue
        gone = gone and not out.superseded
        counters = self._counting(now)
        outlook = self._schedule.outlook(
            queue,
            gone=gone,
            cooldown_s=cooldown_s,
            cost=cost,
            others_wait=self._standby.best is not None,
            now=now,
        )
        to = outlook.state if outlook.put_away or outlook.state is QueueState.INACTIVE else None
        head = self._heads.floor(queue.key) if gone and queue.leased == 1 else None
        record = recorded(
            queue,
            counters,
            self._rules.budgets,
            size=queue.size - gone,
            wake_at=max(queue.wake_at, now + cooldown_s),
            error_streak=streak,
            pace_s=pace_s,
            head=head,
            more_spent=cost,
            to=to,
        )
        return counters, outlook, record

    def _take_back(
        self, out: Out, outlook: Outlook, record: QueueRecord, *, cooldown_s: float, cost: int, gone: bool = True
    ) -> None:
        self._leases.take_back(out)
        self._end(
            out.queue,
            record,
            gone=gone and not out.superseded,
            cooldown_s=cooldown_s,
            cost=cost,
            state=outlook.state,
            put_away=outlook.put_away,
        )

    def _end(
        self,
        queue: Queue,
        record: QueueRecord,
        *,
        gone: bool,
        cooldown_s: float,
        cost: int = 0,
        state: QueueState | None = None,
        put_away: bool = False,
    ) -> None:
        self._schedule.settle(
            queue,
            gone=gone,
            cooldown_s=cooldown_s,
            now=self._now(),
            cost=cost,
            state=state,
            put_away=put_away,
        )
        mark(queue, record)
        if record.moved and record.stands is not None:
            self._standby.came(record.stands)
        if self._schedule.get(queue.key) is not queue:
            self._heads.drop(queue.key)
        if not self._waiters:
            return
        if self._is_complete():
            self._waiters.wake_all()
        else:
            self._waiters.wake(1 if queue.state is QueueState.READY or self._standby.best is not None else 0)

    def _counting(self, now: float) -> Counters:
        counters = copy(self._store.counters)
        counters.clock = max(counters.clock, now)
        return counters

    # what an operator does

    def hold(self, reason: str, /, *, by: str = "operator") -> None:
        """Lease nothing until whoever holds lets go; what is leased can be settled."""
        self._holds[by] = reason

    def let_go(self, *, by: str = "operator") -> None:
        """End a hold; the others' remain."""
        self._holds.pop(by, None)
        if not self._holds:
            self._waiters.wake_all()

    async def retire(self, key: str, /) -> None:
        """Serve a queue no more. What is leased of it can be settled, and what comes for it is kept.

        Raises `IllegalTransition` if it is retired by an operator already.
        """
        await self._made(partial(self._set, key, retired=True))
        await self._synced()

    async def unretire(self, key: str, /) -> None:
        """Serve a retired queue again. Raises `IllegalTransition` if no operator has retired it."""
        await self._made(partial(self._set, key, retired=False))
        await self._synced()

    async def set_budget(self, key: str, budget: int, /) -> None:
        """Give a queue a total budget of its own. One that is retired for its budget is served again if that is more
        than it has spent; one that has spent as much is retired."""
        if budget < 0:
            raise ValueError(f"a budget is at least 0, got {budget}")
        await self._made(partial(self._set, key, budget=budget))
        await self._synced()

    def _set(self, key: str, *, retired: bool | None = None, budget: int | None = None) -> None:
        queue = self._queue(key)
        if retired is not None and queue.retired == retired:
            raise IllegalTransition(f"queue {key} is {'' if retired else 'not '}retired by an operator")
        now = self._now()
        counters = self._counting(now)
        record = recorded(queue, counters, self._rules.budgets, retired=retired, budget=budget)
        self._store.rest([record], counters)
        mark(queue, record)
        queue.retired = record.retired
        if self._schedule.get(key) is queue:
            self._schedule.reconsider(queue, now=now)
            if self._schedule.get(key) is not queue:
                self._heads.drop(key)
        if record.moved and record.stands is not None and self._schedule.get(key) is not queue:
            self._standby.came(record.stands)
        self._waiters.wake_all()

    async def reconsider(self) -> int:
        """Serve again the queues that no operator has retired and whose budget allows it, and return how many. Looks at
        every queue."""
        again = 0
        for key in [record.key for record in self._store.queues() if record.size and record.stands is None]:
            again += await self._made(partial(self._reconsider, key))
        await self._synced()
        self._waiters.wake_all()
        return again

    def _reconsider(self, key: str) -> bool:
        queue = self._queue(key)
        if queue.stands is not None or not is_served(queue, self._rules.budgets):
            return False
        counters = self._counting(self._now())
        record = recorded(queue, counters, self._rules.budgets)
        self._store.rest([record], counters)
        mark(queue, record)
        if record.stands is not None:
            self._standby.came(record.stands)
        return True

    # deadlines

    def _deadline(self) -> float | None:
        if self._holds:
            return None
        queue = self._schedule.next_wake()
        times_ms = (self._next_due_ms, self._standby.next_wake_ms)
        times = [at_ms / 1000 for at_ms in times_ms if at_ms is not None]
        if queue is not None:
            times.append(queue.wake_at)
        return min(times, default=None)

    def _wake_due(self) -> int:
        now = self._now()
        self._schedule.wake(now)
        due = 0
        for at_ms in (self._next_due_ms, self._standby.next_wake_ms):
            due += at_ms is not None and at_ms <= now * 1000
        return self._schedule.ready_count + due

    # the ledger

    async def forget(self, canonicals: Iterable[str], /) -> int:
        forgotten = await whole(self._forget(dict.fromkeys(canonicals)), cancelled=self._give_up_room)
        await self._synced()
        return forgotten

    async def _forget(self, canonicals: Iterable[str]) -> int:
        async with self._admission:
            self._check()
            with self._failing:
                entries = [self._store.entry(canonical) for canonical in canonicals]
                settled = [entry for entry in entries if entry is not None and entry.state is not UrlState.PENDING]
                names = [entry.canonical for entry in settled]
                if not names:
                    return 0
                await self._visited.forget_many(names)
            await self._made(partial(self._strike, settled, names), must=True)
            return len(names)

    def _strike(self, settled: Sequence[LedgerEntry], names: Sequence[str]) -> None:
        counters = self._counting(self._now())
        for entry in settled:
            _uncount(counters, entry)
        counters.admitted -= len(settled)
        self._store.forget(names, counters)

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        """Take into the ledger what became of URLs elsewhere, so that they are not fetched here; return how many were
        new. URLs that wait raise ValueError."""
        batch = {entry.canonical: entry for entry in entries}
        for entry in batch.values():
            if entry.state is UrlState.PENDING:
                raise ValueError(f"{entry.canonical} waits; `add` it")
        recorded = await whole(self._record(batch), cancelled=self._give_up_room)
        await self._synced()
        return recorded

    async def _record(self, batch: dict[str, LedgerEntry]) -> int:
        async with self._admission:
            self._check()
            with self._failing:
                verdicts = await self._visited.add_many(list(batch))
            fresh = [entry for entry, new in zip(batch.values(), verdicts, strict=True) if new]
            if fresh:
                await self._made(partial(self._enter, fresh), must=True)
            return len(fresh)

    def _enter(self, entries: Sequence[LedgerEntry]) -> None:
        counters = self._counting(self._now())
        numbered = []
        for entry in entries:
            numbered.append(msgspec.structs.replace(entry, number=counters.next_number))
            counters.next_number += 1
            counters.admitted += 1
            counters.done += entry.state is UrlState.DONE
            counters.failed += entry.state is UrlState.FAILED
            counters.excluded += entry.state is UrlState.EXCLUDED
        self._store.record(numbered, counters)

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        return self._store.entry(canonical)

    def describe(self) -> FrontierStats:
        counters = self._store.counters
        schedule = self._schedule
        queue = schedule.next_wake()
        wake_at = self._deadline()
        return FrontierStats(
            admitted=counters.admitted,
            pending=counters.pending,
            in_process=schedule.leased,
            retrying=counters.retrying,
            done=counters.done,
            failed=counters.failed,
            excluded=counters.excluded,
            ready_queues=schedule.ready_count,
            in_process_queues=len(schedule) - schedule.ready_count - schedule.snoozed_count,
            snoozed_queues=schedule.snoozed_count,
            next_wake_s=None if wake_at is None else max(0.0, wake_at - self._now()),
            next_wake_key=None if queue is None or queue.wake_at != wake_at else queue.key,
            quarantined=counters.quarantined,
            inactive_queues=max(0, counters.queues - len(schedule)),
            retired=counters.retired_urls,
            retired_queues=counters.retired_queues,
            held="; ".join(self._holds.values()) or None,
        )

    # a store without room

    async def _made(self, change: Callable[[], _Result], *, must: bool = False) -> _Result:
        """Make a change, as soon as the store has room for it. One that `must` be made ends the crawl if it is not."""
        while True:
            self._check_failure()
            try:
                with self._failing:
                    return change()
            except StoreFull as error:
                try:
                    await self._wait_for_room(error)
                except StoreFull as given_up:
                    if must:
                        self._fail(given_up)
                    raise

    async def _wait_for_room(self, error: StoreFull) -> None:
        """Raises the error if the crawl is stopped meanwhile."""
        room = self._find_room(error)
        if not self._stopped:
            await room.wait()
        if self._stopped:
            raise error

    def _find_room(self, error: StoreFull) -> asyncio.Event:
        if self._room is None:
            log.error("%s; the crawl waits for room", error)
            self._room = asyncio.Event()
            self.hold(f"no room on the disk: {error}", by="disk")
            asyncio.get_running_loop().call_later(LOOK_FOR_ROOM_S, self._look_for_room)
        return self._room

    def _give_up_room(self) -> None:
        """Somebody does not wait any longer for what must be made whole: if it waits for room, the crawl ends."""
        if self._room is not None:
            self._fail(StoreFull("a change was given up while it waited for room on the disk"))

    def _look_for_room(self) -> None:
        if self._room is None or self._closed:
            return
        try:
            with self._failing:
                self._store.mend()
        except StoreFull:
            asyncio.get_running_loop().call_later(LOOK_FOR_ROOM_S, self._look_for_room)
            return
        except StoreFailed:
            pass  # has ended the crawl
        else:
            log.warning("there is room on the disk again; the crawl goes on")
        self._room.set()
        self._room = None
        self.let_go(by="disk")

    # the end

    def stop(self) -> None:
        self._stopped = True
        if self._room is not None:
            self._room.set()
        self._waiters.wake_all()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.stop()
        self._waiters.close()
        try:
            await whole(self._finish(), cancelled=self._give_up_room)
        finally:
            self._store.close()

    async def _finish(self) -> None:
        async with self._admission:
            pass  # what was being admitted is in the ledger now
        if self._snapshots is not None and self._store.snapshot_at != self._store.counters.journal_end:
            await self._save_snapshot(self._snapshots)
        if self._failure is None and not self._leases:
            with suppress(StoreFull):
                self._store.set_in_use(False)

    async def _save_snapshot(self, snapshots: Snapshots) -> None:
        async with self._saving:
            async with self._admission:
                if self._failure is not None or self._store.snapshot_at == self._store.counters.journal_end:
                    return
                copied = snapshots.copy(self._store, self._visited)
            try:
                with self._failing:
                    await snapshots.save(copied, self._store)
            except StoreFull as error:
                log.warning("no snapshot of the visited set was saved: %s; the next start takes longer", error)

    async def _synced(self) -> None:
        try:
            await self._store.synced()
        except StoreFailed as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self.stop()

    def _check(self) -> None:
        self._check_failure()
        if self._closed:
            raise StoreFailed("the frontier is closed")

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise StoreFailed(
                "the frontier stopped because an earlier change failed; nothing that was settled is lost: "
                f"mend the cause and start the crawl again. The cause: {self._failure}"
            ) from self._failure


def _check_seconds(**spans_s: float) -> None:
    for name, span_s in spans_s.items():
        if not 0 <= span_s <= LONGEST_S:
            raise ValueError(f"{name} must be 0 to {LONGEST_S:.0f}, got {span_s}")


def _uncount(counters: Counters, entry: LedgerEntry) -> None:
    counters.done -= entry.state is UrlState.DONE
    counters.failed -= entry.state is UrlState.FAILED
    counters.excluded -= entry.state is UrlState.EXCLUDED


def _coming_back(url: CrawlUrl, entry: LedgerEntry | None) -> CrawlUrl:
    """The URL with what its server said of the copy that the crawl has."""
    if entry is None or entry.state is not UrlState.DONE or entry.status not in _WHOLE:
        return url
    return msgspec.structs.replace(url, had_etag=entry.etag, had_last_modified=entry.last_modified)
