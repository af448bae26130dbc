"""Leases come back: settled for good, to be tried again, or untouched."""

import logging

import msgspec

from frontier.queues.lifecycle import (
    INACTIVE,
    READY,
    SNOOZED,
    Errand,
    Health,
    Queue,
)
from frontier.queues.schedule import Ending
from frontier.store import Counters, Postponed, QueueRecord, Store, precedence_of
from frontier.transitions.accounting import counted, record_of
from frontier.transitions.active_queues import PUT_AWAY_S, ActiveQueues
from frontier.transitions.commit import Commit
from frontier.transitions.leases import Leases, Out
from frontier.transitions.link_counts import LinkCounts
from frontier.values import CrawlUrl, Lease, LedgerEntry, Outcome, StoreFull, UrlState

log = logging.getLogger(__name__)

_DONE = UrlState.DONE


class Settling:
    """Ends leases: plain transitions, each written as one whole."""

    def __init__(self, store: Store, serving: ActiveQueues, leases: Leases, hits: LinkCounts, changes: Commit) -> None:
        self._store = store
        self._serving = serving
        self._leases = leases
        self._hits = hits
        self._changes = changes

    def done(self, lease: Lease, cooldown_s: float, outcome: Outcome, *, group_cooldown_s: float | None) -> None:
        out = self._leases.get(lease)
        waiting, url = out.waiting, out.waiting.url
        cost = self._cost(url, server_ok=outcome.server_ok)
        # Of a URL for which no server was asked, there is nothing to be learned.
        pace_s = cooldown_s if outcome.server_ok and outcome.asked and cooldown_s > 0 else None
        health = self._health(out.queue, outcome) if outcome.asked else None
        counters, end, record = self._after(
            out,
            cooldown_s,
            group_cooldown_s=group_cooldown_s,
            cost=cost,
            health=health,
            pace_s=pace_s,
            asked=outcome.asked,
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
                hit_count=url.hits + outcome.hits + self._hits.of(url.canonical),
            )
            self._store.settle(waiting, entry, record, counters)
            self._hits.take(url.canonical)
        self._take_back(out, end, record)

    def retry(
        self,
        lease: Lease,
        after_s: float | None,
        cooldown_s: float,
        reason: str | None,
        *,
        group_cooldown_s: float | None,
        pressure: int,
        answered: bool,
    ) -> None:
        out = self._leases.get(lease)
        waiting = out.waiting
        stays = after_s is None
        url = msgspec.structs.replace(waiting.url, attempt=waiting.url.attempt + 1)
        again = msgspec.structs.replace(waiting, url=url)
        cost = self._cost(url, server_ok=False)
        health = self._health(
            out.queue,
            Outcome(state=UrlState.PENDING, reason=reason, server_ok=False, answered=answered, pressure=pressure),
        )
        counters, end, record = self._after(
            out, cooldown_s, group_cooldown_s=group_cooldown_s, cost=cost, health=health, gone=not stays
        )
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

    def release(
        self,
        lease: Lease,
        cooldown_s: float,
        *,
        group_cooldown_s: float | None = None,
        asked: bool,
        why: str | None = None,
    ) -> None:
        out = self._leases.get(lease)
        queue = out.queue
        can_write = self._changes.failure is None and not self._changes.closed
        pace_s = cooldown_s if asked and cooldown_s > 0 else None
        counters, end, record = self._after(
            out, cooldown_s, group_cooldown_s=group_cooldown_s, cost=0, gone=False, pace_s=pace_s, asked=asked
        )
        if can_write and (cooldown_s > 0 or record.moved or record.group_rests):
            with self._changes.failing:
                try:
                    self._store.rest([record], counters)
                except StoreFull as error:
                    # What is lost is a rest that only a crash would make matter. The queue stays where it is.
                    self._changes.find_room(error)
                    record = msgspec.structs.replace(record, stands=queue.stands, moved=False, left=None)
                    alone = self._serving.schedule.ending(
                        queue,
                        gone=False,
                        cooldown_s=cooldown_s,
                        now=end.now,
                        group_cooldown_s=group_cooldown_s,
                        asked=asked,
                        ends_errand=end.ends_errand,
                    )
                    end = msgspec.structs.replace(alone, put_away=False)
        queue.why_rests = why
        if not out.superseded:
            self._serving.heads.put_back(out.waiting)
        self._take_back(out, end, record)

    def begins(self, lease: Lease, address: str | None, errand: str | None) -> bool:
        out = self._leases.get(lease)
        out.on_errand = errand is not None
        queue, serving = out.queue, self._serving
        if address is None and errand is None and queue.errand is None:
            return True
        now = serving.now()
        if errand is None:
            is_open = serving.schedule.move(queue, address, now=now)
        else:
            is_open = serving.schedule.move(queue, None, errand=Errand(errand, address), now=now)
        if not is_open:
            self.release(lease, PUT_AWAY_S if serving.schedule.has_no_room_for(queue) else 0.0, asked=False)
            return False
        if errand is not None and (rest_s := serving.queue(errand).wake_at - now) > 0:
            # Longer than its host's pace asks for: it does not answer, or may be asked at other hours.
            self.release(lease, rest_s, asked=False, why="another host")
            return False
        serving.waiters.wake(min(serving.schedule.turns, 2))
        return True

    def relocate(self, lease: Lease, address: str, errand: str | None) -> None:
        queue, serving = self._leases.get(lease).queue, self._serving
        if errand is None:
            serving.schedule.move(queue, address, errand=queue.errand, now=serving.now())
        else:
            serving.schedule.move(queue, None, errand=Errand(errand, address), now=serving.now())
        serving.waiters.wake(min(serving.schedule.turns, 2))

    def _health(self, queue: Queue, outcome: Outcome) -> Health:
        if outcome.server_ok:
            return Health(pressure=outcome.pressure)
        before = queue.health
        return Health(
            error_streak=before.error_streak + 1 if before.answered == outcome.answered else 1,
            answered=outcome.answered,
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
        group_cooldown_s: float | None,
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
            group_cooldown_s=group_cooldown_s,
            asked=asked,
            ends_errand=asked and out.on_errand,
            others_wait=serving.standby.best is not None,
        )
        head = serving.heads.floor(queue.key) if gone and queue.leased == 1 else None
        precedence = queue.precedence
        if head is not None and serving.rules.by_best_url:
            precedence = max(precedence, precedence_of(head + 1))  # of what is left, the best
        if precedence >= serving.rules.precedence_floor and end.state in (READY, SNOOZED) and queue.leased == 1:
            end = msgspec.structs.replace(end, state=INACTIVE, put_away=False)
        to = end.state if end.put_away or end.state is INACTIVE else None
        health = queue.health if health is None else health
        rests: tuple[tuple[str, float], ...] = ()
        if asked:
            rests = serving.schedule.group_rests(
                queue, end.group_cooldown_s, now=now, in_trouble=health.error_streak > 0
            )
        changed = msgspec.structs.replace(
            record_of(queue),
            size=queue.size - gone,
            wake_at=max(queue.wake_at, now + cooldown_s),
            health=health,
            pace_s=queue.pace_s if pace_s is None else pace_s,
            precedence=precedence,
            head=queue.head if head is None else head,
            spent=queue.spent + cost,
            group_rests=rests,
        )
        return counters, end, counted(queue, changed, counters, serving.rules.budgets, to=to)

    def _take_back(self, out: Out, end: Ending, record: QueueRecord) -> None:
        before, after = out.queue.health, record.health
        self._leases.take_back(out)
        self._serving.end(out.queue, record, end)
        if after.probe_at and not before.probe_at:
            log.info("%s is given up for now: %s, %d times in a row", record.key, after.trouble, after.error_streak)
        elif before.probe_at and not after.error_streak:
            log.info("%s answers again", record.key)
