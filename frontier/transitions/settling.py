"""Leases come back: settled for good, to be tried again, or unchanged."""

import logging

from msgspec.structs import replace

from frontier.queues.health import next_health
from frontier.queues.lease_end import EndPlan, LeaseEnd
from frontier.queues.lifecycle import INACTIVE, READY, SNOOZED
from frontier.queues.queue import Prerequisite, Queue, QueueRecord
from frontier.records import Counters, PostponedUrl, QueueUpdate, precedence_of
from frontier.store import Store
from frontier.transitions.accounting import count_state, plan_update
from frontier.transitions.active.active_queues import SPILL_S, ActiveQueues
from frontier.transitions.checks import check_seconds
from frontier.transitions.commit import Commit
from frontier.transitions.leasing import Leases, OpenLease
from frontier.transitions.link_counts import LinkCounts
from frontier.transitions.reserving import Reserving
from frontier.values import Health, Lease, LedgerEntry, Outcome, StoreFull, number_of
from frontier.visits import add_visit

log = logging.getLogger(__name__)


class Settling:
    """Ends leases. Each method is one transition, without await."""

    def __init__(
        self, store: Store, active: ActiveQueues, leases: Leases, link_counts: LinkCounts, commit: Commit
    ) -> None:
        self._store = store
        self._active = active
        self._reserving = Reserving(active)
        self._leases = leases
        self._link_counts = link_counts
        self._commit = commit

    def done(self, lease: Lease, cooldown_s: float, outcome: Outcome, *, group_cooldown_s: float | None) -> None:
        held, now = self._leases.get(lease), self._active.now()
        url, asked = held.pending.url, outcome.asked
        # If no server was asked, nothing was learned about it.
        counters, plan, update = self._plan_end(
            held,
            LeaseEnd(
                removes_url=not held.superseded,
                cooldown_s=cooldown_s,
                group_cooldown_s=group_cooldown_s,
                cost=url.cost if outcome.server_ok else url.cost + self._active.settings.budgets.error_penalty,
                asked=asked,
                ends_prerequisite=asked and held.for_prerequisite,
            ),
            now=now,
            health=next_health(held.queue.record.health, outcome, now=now) if asked else None,
            pace_s=cooldown_s if outcome.server_ok and asked and cooldown_s > 0 else None,
        )
        counters.pages += outcome.is_page
        counters.note_fetch(outcome.fetched_at)
        if held.superseded:
            self._store.update_queues([update], counters)
        else:
            count_state(counters, outcome.state)
            entry = self._entry(held, outcome)
            if entry.due_ms is None and self._active.revisits.loses_plan:
                # Before the URL is settled: after a crash in between, the plan is made anew for nothing.
                self._store.marks.set_revisits_planned(False)
                self._active.revisits.lose_plan()
            self._store.settle(held.pending, entry, update, counters)
            self._active.revisits.note(entry.due_ms)
            self._link_counts.pop(url.canonical)
        self._end(held, plan, update)

    def _entry(self, held: OpenLease, outcome: Outcome) -> LedgerEntry:
        pending, url = held.pending, held.pending.url
        # In pieces: Python makes a dictionary for a call with more than 15 keywords, which is slow.
        entry = LedgerEntry(
            canonical=url.canonical,
            state=outcome.state,
            number=pending.number,
            found_at=pending.found_at,
            via=url.via,
            status=outcome.status,
            reason=outcome.reason,
            fetched_at=outcome.fetched_at,
            digest=outcome.digest,
            etag=outcome.etag,
            last_modified=outcome.last_modified,
            hit_count=url.link_count + outcome.self_links + self._link_counts.get(url.canonical),
            url=None if url.url == url.canonical else url.url,
            kind=url.kind,
            depth=url.depth,
        )
        if (last_visit := url.last_visit) is not None:
            history = last_visit.history
            if outcome.changed is not None and outcome.fetched_at is not None:
                history = add_visit(last_visit, fetched_at=outcome.fetched_at, changed=outcome.changed)
            entry = replace(entry, visits=last_visit.visits + 1, history=history)
        if (after_s := outcome.revisit_after_s) is not None:
            entry = replace(entry, interval_s=round(after_s), due_ms=int((self._active.now() + after_s) * 1000))
        if url.change_frequency is not None:
            entry = replace(entry, change_frequency=url.change_frequency)
        return entry

    def retry(
        self,
        lease: Lease,
        after_s: float | None,
        cooldown_s: float,
        outcome: Outcome,
        *,
        group_cooldown_s: float | None,
    ) -> None:
        held, now = self._leases.get(lease), self._active.now()
        url = held.pending.url
        again = replace(held.pending, url=replace(url, attempt=url.attempt + 1))
        counters, plan, update = self._plan_end(
            held,
            LeaseEnd(
                removes_url=after_s is not None and not held.superseded,
                cooldown_s=cooldown_s,
                group_cooldown_s=group_cooldown_s,
                cost=url.cost if outcome.server_ok else url.cost + self._active.settings.budgets.error_penalty,
                ends_prerequisite=held.for_prerequisite,
            ),
            now=now,
            health=next_health(held.queue.record.health, outcome, now=now),
            pace_s=cooldown_s if outcome.server_ok and cooldown_s > 0 else None,
        )
        if held.superseded:
            self._store.update_queues([update], counters)
        elif after_s is None:
            self._store.rewrite([again], [update], counters)
            self._active.prefetch.put_back(again)
        else:
            counters.retrying += 1
            later = PostponedUrl(pending=again, due_ms=int((now + after_s) * 1000), reason=outcome.reason)
            self._store.postpone(held.pending, later, update, counters)
            if self._active.next_due_ms is None or later.due_ms < self._active.next_due_ms:
                self._active.next_due_ms = later.due_ms
        self._end(held, plan, update)

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        reason: str | None = None,
    ) -> None:
        """See `Frontier.release`."""
        check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s)
        held = self._leases.get(lease)
        can_write = self._commit.failure is None and not self._commit.closed
        counters, plan, update = self._plan_end(
            held,
            LeaseEnd(
                removes_url=False,
                cooldown_s=cooldown_s,
                group_cooldown_s=group_cooldown_s,
                asked=asked,
                ends_prerequisite=asked and held.for_prerequisite,
            ),
            now=self._active.now(),
            pace_s=cooldown_s if asked and cooldown_s > 0 else None,
        )
        if can_write and (cooldown_s > 0 or update.new_position is not None or update.group_rests):
            with self._commit.fail_on_error:
                try:
                    self._store.update_queues([update], counters)
                except StoreFull as error:
                    # The store then lacks a rest, which matters only after a crash. The queue keeps its position.
                    self._commit.watch_space(error)
                    plan, update = self._keep_active(held, plan, update)
        held.queue.rest_reason = reason
        if not held.superseded:
            self._active.prefetch.put_back(held.pending)
        self._end(held, plan, update)

    def _keep_active(self, held: OpenLease, plan: EndPlan, update: QueueUpdate) -> tuple[EndPlan, QueueUpdate]:
        """The same end of a lease, but the queue stays in memory and keeps its position."""
        queue = held.queue
        staying = self._active.schedule.plan_end(queue, plan.end, now=plan.now)
        record = replace(update.record, position=queue.record.position)
        plan = replace(plan, record=record, state=staying.state, spills=False)
        return plan, QueueUpdate(record, queue.record.position, update.group_rests)

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        """See `Frontier.begin_fetch`."""
        held = self._leases.get(lease)
        held.for_prerequisite = prerequisite is not None
        queue, active = held.queue, self._active
        if address is None and prerequisite is None and queue.prerequisite is None and active.reservations is None:
            return True
        now = active.now()
        if prerequisite is None:
            is_open = active.schedule.move(queue, address, now=now)
        else:
            is_open = active.schedule.move(queue, None, prerequisite=Prerequisite(prerequisite, address), now=now)
        if not is_open:
            self._release_to_group(lease, queue)
            return False
        if prerequisite is not None and (rest_s := active.queue(prerequisite).record.wake_at - now) > 0:
            # It rests longer than its host's pace asks for: it does not answer, or has hours when it may be asked.
            self.release(lease, cooldown_s=rest_s, reason="another host")
            return False
        if not self._reserving.begin(held, now):
            self._release_to_group(lease, queue)
            return False
        active.wake_for_groups()
        return True

    def _release_to_group(self, lease: Lease, queue: Queue) -> None:
        """Hand a lease back whose queue now waits for a group. If very many others wait, too, it is spilled."""
        self.release(lease, cooldown_s=SPILL_S if self._active.schedule.must_spill(queue) else 0.0)

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        """See `Frontier.relocate`."""
        held, active = self._leases.get(lease), self._active
        queue = held.queue
        if prerequisite is None:
            active.schedule.move(queue, address, prerequisite=queue.prerequisite, now=active.now())
        else:
            active.schedule.move(queue, None, prerequisite=Prerequisite(prerequisite, address), now=active.now())
        self._reserving.relocate(held, for_prerequisite=prerequisite is not None)
        active.wake_for_groups()

    def _plan_end(
        self,
        held: OpenLease,
        end: LeaseEnd,
        *,
        now: float,
        health: Health | None = None,
        pace_s: float | None = None,
    ) -> tuple[Counters, EndPlan, QueueUpdate]:
        """What the end of the lease changes: counters that may be changed further, the schedule, and the queue. Without
        a new health or pace, the queue keeps its own."""
        active, queue, settings = self._active, held.queue, self._active.settings
        before, schedule, is_last = queue.record, active.schedule, queue.leased == 1
        counters = active.copy_counters(now)
        plan = schedule.plan_end(
            queue,
            end,
            now=now,
            others_wait=active.inactive.best_precedence is not None,
            health=health,
            pace_s=pace_s,
            drained=self._drain(before) if end.removes_url and is_last else None,
        )
        is_excluded = plan.record.precedence >= settings.precedence_floor
        if is_excluded and plan.state in (READY, SNOOZED) and is_last:
            plan = replace(plan, state=INACTIVE, spills=False)
        rests: tuple[tuple[str, float], ...] = ()
        if end.asked:
            in_trouble = plan.record.health.error_streak > 0
            rests = schedule.groups.plan_rests(queue, end.group_rest_s, now=now, in_trouble=in_trouble)
        send_to = plan.state if plan.spills or plan.state is INACTIVE else None
        update = plan_update(before, plan.record, counters, settings.budgets, send_to=send_to, group_rests=rests)
        if update.record is not plan.record:
            plan = replace(plan, record=update.record)
        return counters, plan, update

    def _drain(self, record: QueueRecord) -> tuple[int, int]:
        """How far a queue is drained when it has no lease, and the precedence of its next URL."""
        drained_to = self._active.prefetch.drained_to(record.key)
        if drained_to is None:
            return record.drained_to, record.precedence
        if not self._active.settings.by_best_url:
            return drained_to, record.precedence
        return drained_to, max(record.precedence, precedence_of(drained_to + 1))

    def _end(self, held: OpenLease, plan: EndPlan, update: QueueUpdate) -> None:
        """Apply the end of a lease that has been written."""
        before = held.queue.record
        self._leases.end(held)
        if held.reserved:
            self._reserving.end(held, update)
        self._active.apply_end(held.queue, plan, update)
        if update.record.health is not before.health:
            _log_health(before, update.record)


def _log_health(before: QueueRecord, after: QueueRecord) -> None:
    health = after.health
    if health.probe_at and not before.health.probe_at:
        fields = {"queue": after.key, "trouble": health.trouble, "streak": health.error_streak}
        text = "%s counts as dead for now: %s, %s in a row"
        log.info(text, after.key, health.trouble, number_of(health.error_streak, "time"), extra={"fields": fields})
    elif before.health.probe_at and not health.error_streak:
        log.info("%s answers again", after.key, extra={"fields": {"queue": after.key}})
