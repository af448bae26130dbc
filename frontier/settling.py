"""Leases come back: settled for good, to be tried again, or untouched."""

import msgspec

from frontier.books import counted, record_of
from frontier.changes import Changes
from frontier.hits import Hits
from frontier.leases import Leases, Out
from frontier.lifecycle import INACTIVE, READY, SNOOZED, Health, Queue
from frontier.schedule import Ending
from frontier.serving import PUT_AWAY_S, Serving
from frontier.store import Counters, Postponed, QueueRecord, Store, precedence_of
from frontier.values import CrawlUrl, Lease, LedgerEntry, Outcome, StoreFull, UrlState

_DONE = UrlState.DONE


class Settling:
    """Ends leases: plain transitions, each written as one whole."""

    def __init__(self, store: Store, serving: Serving, leases: Leases, hits: Hits, changes: Changes) -> None:
        self._store = store
        self._serving = serving
        self._leases = leases
        self._hits = hits
        self._changes = changes

    def done(self, lease: Lease, cooldown_s: float, outcome: Outcome) -> None:
        out = self._leases.get(lease)
        waiting, url = out.waiting, out.waiting.url
        cost = self._cost(url, server_ok=outcome.server_ok)
        # Of a URL for which no server was asked, there is nothing to be learned.
        pace_s = cooldown_s if outcome.server_ok and outcome.asked and cooldown_s > 0 else None
        health = self._health(out.queue, outcome) if outcome.asked else None
        counters, end, record = self._after(
            out, cooldown_s, cost=cost, health=health, pace_s=pace_s, asked=outcome.asked
        )
        if out.superseded:
            self._store.rest([record], counters)
        else:
            state = outcome.state
            if state is _DONE:
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
        self._take_back(out, end, record)

    def retry(
        self, lease: Lease, after_s: float | None, cooldown_s: float, reason: str | None, *, pressure: int
    ) -> None:
        out = self._leases.get(lease)
        waiting = out.waiting
        stays = after_s is None
        url = msgspec.structs.replace(waiting.url, attempt=waiting.url.attempt + 1)
        again = msgspec.structs.replace(waiting, url=url)
        cost = self._cost(url, server_ok=False)
        health = self._health(
            out.queue, Outcome(state=UrlState.PENDING, reason=reason, server_ok=False, pressure=pressure)
        )
        counters, end, record = self._after(out, cooldown_s, cost=cost, health=health, gone=not stays)
        if out.superseded:
            self._store.rest([record], counters)
        elif after_s is None:
            self._store.keep(again, record, counters)
            self._serving.heads.put_back(again)
        else:
            due_ms = int((self._serving.now() + after_s) * 1000)
            counters.retrying += 1
            self._store.postpone(waiting, Postponed(waiting=again, due_ms=due_ms, reason=reason), record, counters)
            if self._serving.next_due_ms is None or due_ms < self._serving.next_due_ms:
                self._serving.next_due_ms = due_ms
        self._take_back(out, end, record)

    def release(self, lease: Lease, cooldown_s: float, *, asked: bool, why: str | None = None) -> None:
        out = self._leases.get(lease)
        queue = out.queue
        can_write = self._changes.failure is None and not self._changes.closed
        pace_s = cooldown_s if asked and cooldown_s > 0 else None
        counters, end, record = self._after(out, cooldown_s, cost=0, gone=False, pace_s=pace_s, asked=asked)
        if can_write and (cooldown_s > 0 or record.moved or record.group_rests):
            with self._changes.failing:
                try:
                    self._store.rest([record], counters)
                except StoreFull as error:
                    # What is lost is a rest that only a crash would make matter. The queue stays where it is.
                    self._changes.find_room(error)
                    record = msgspec.structs.replace(record, stands=queue.stands, moved=False, left=None)
                    alone = self._serving.schedule.ending(
                        queue, gone=False, cooldown_s=cooldown_s, now=end.now, asked=asked
                    )
                    end = msgspec.structs.replace(alone, put_away=False)
        queue.why_rests = why
        if not out.superseded:
            self._serving.heads.put_back(out.waiting)
        self._take_back(out, end, record)

    def begins(self, lease: Lease, address: str | None) -> bool:
        out = self._leases.get(lease)
        if address is None:
            return True
        serving = self._serving
        if serving.schedule.move(out.queue, address, now=serving.now()):
            serving.waiters.wake(min(serving.schedule.turns, 2))
            return True
        self.release(lease, PUT_AWAY_S if serving.schedule.has_no_room_for(out.queue) else 0.0, asked=False)
        return False

    def _health(self, queue: Queue, outcome: Outcome) -> Health:
        if outcome.server_ok:
            return Health(pressure=outcome.pressure)
        return Health(
            error_streak=queue.health.error_streak + 1,
            trouble=outcome.reason,
            pressure=outcome.pressure,
            probe_at=self._serving.now() + outcome.dead_for_s if outcome.dead_for_s else 0.0,
        )

    def _cost(self, url: CrawlUrl, *, server_ok: bool) -> int:
        return url.cost if server_ok else url.cost + self._serving.rules.budgets.error_penalty

    def _after(
        self,
        out: Out,
        cooldown_s: float,
        *,
        cost: int,
        health: Health | None = None,
        gone: bool = True,
        pace_s: float | None = None,
        asked: bool = True,
    ) -> tuple[Counters, Ending, QueueRecord]:
        """Counters to be changed, and what the end of the lease makes of the queue."""
        serving, queue = self._serving, out.queue
        now = serving.now()
        gone = gone and not out.superseded
        counters = serving.counting(now)
        end = serving.schedule.ending(
            queue,
            gone=gone,
            cooldown_s=cooldown_s,
            now=now,
            cost=cost,
            asked=asked,
            others_wait=serving.standby.best is not None,
        )
        head = serving.heads.floor(queue.key) if gone and queue.leased == 1 else None
        precedence = queue.precedence
        if head is not None and serving.rules.by_best_url:
            precedence = max(precedence, precedence_of(head + 1))  # of what is left, the best
        if precedence >= serving.rules.precedence_floor and end.state in (READY, SNOOZED) and queue.leased == 1:
            end = msgspec.structs.replace(end, state=INACTIVE, put_away=False)
        to = end.state if end.put_away or end.state is INACTIVE else None
        changed = msgspec.structs.replace(
            record_of(queue),
            size=queue.size - gone,
            wake_at=max(queue.wake_at, now + cooldown_s),
            health=queue.health if health is None else health,
            pace_s=queue.pace_s if pace_s is None else pace_s,
            precedence=precedence,
            head=queue.head if head is None else head,
            spent=queue.spent + cost,
            group_rests=serving.schedule.group_rests(queue, cooldown_s, now=now) if asked else (),
        )
        return counters, end, counted(queue, changed, counters, serving.rules.budgets, to=to)

    def _take_back(self, out: Out, end: Ending, record: QueueRecord) -> None:
        self._leases.take_back(out)
        self._serving.end(out.queue, record, end)
