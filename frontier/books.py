"""What a change makes of a queue's record and of the counters; pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from frontier.lifecycle import INACTIVE, RETIRED, SNOOZED, Budgets, Health, Queue, QueueState, Standing, is_retired
from frontier.rules import Rules
from frontier.store import Counters, QueueRecord, Waiting


def recorded(
    queue: Queue,
    counters: Counters,
    budgets: Budgets,
    *,
    size: int | None = None,
    wake_at: float | None = None,
    health: Health | None = None,
    pace_s: float | None = None,
    precedence: int | None = None,
    head: int | None = None,
    more_spent: int = 0,
    retired: bool | None = None,
    budget: int | None = None,
    to: QueueState | None = None,
    group_rests: tuple[tuple[str, float], ...] = (),
) -> QueueRecord:
    """The record of the queue after a change, which is counted in `counters`. What is None stays as it is.

    `to` sends the queue away: as INACTIVE behind those that wait, as SNOOZED to those put away while they rest.
    """
    size = queue.size if size is None else size
    wake_at = queue.wake_at if wake_at is None else wake_at
    precedence = queue.precedence if precedence is None else precedence
    retired = queue.retired if retired is None else retired
    budget = queue.budget if budget is None else budget
    health = queue.health if health is None else health
    spent = queue.spent + more_spent
    limit = budgets.limit(queue.key, budget)
    served = not retired and (limit is None or spent < limit)
    count(counters, queue.size, queue.health, served=queue.stands is not None, sign=-1)
    count(counters, size, health, served=served)
    stands = queue.stands
    if size == 0 or not served:
        stands = None
    elif to is SNOOZED:
        stands = _turn(counters, SNOOZED, int(wake_at * 1000) + 1)
    elif to is INACTIVE or stands is None or precedence != queue.precedence:
        stands = _turn(counters, INACTIVE, precedence)
    moved = stands is not queue.stands
    return QueueRecord(
        key=queue.key,
        size=size,
        wake_at=wake_at,
        health=health,
        pace_s=queue.pace_s if pace_s is None else pace_s,
        precedence=precedence,
        spent=spent,
        budget=budget,
        retired=retired,
        head=queue.head if head is None else head,
        stands=stands,
        moved=moved,
        left=queue.stands if moved else None,
        address=queue.address,
        group_rests=group_rests,
    )


def filling(
    waiting: Sequence[Waiting],
    queues: Mapping[str, Queue],
    counters: Counters,
    rules: Rules,
    *,
    lost: Mapping[str, int] = MappingProxyType({}),
) -> tuple[list[tuple[Queue, list[Waiting]]], list[QueueRecord]]:
    """The queues into which URLs come, and what their records will be; `lost` tells how many leave which queue
    meanwhile."""
    by_queue: dict[str, list[Waiting]] = {key: [] for key in queues}
    for each in waiting:
        by_queue[each.url.queue_key].append(each)
    filled = [(queues[key], come) for key, come in by_queue.items()]
    budgets = rules.budgets
    records = []
    for queue, come in filled:
        head, precedence = queue.head, None
        for each in come:
            if each.order <= head:
                head = each.order - 1
        if rules.by_best_url and come:
            best = min(each.url.precedence for each in come)
            precedence = best if queue.size == 0 else min(best, queue.precedence)
        size = queue.size + len(come) - lost.get(queue.key, 0)
        records.append(recorded(queue, counters, budgets, size=size, head=head, precedence=precedence))
    return filled, records


def count(counters: Counters, size: int, health: Health, *, served: bool, sign: int = 1) -> None:
    """Count a queue in, or with -1 out. Without URLs it is counted nowhere."""
    if size == 0:
        return
    if served:
        counters.pending += sign * size
        counters.queues += sign
        if health.error_streak:
            counters.troubled_queues += sign
    else:
        counters.retired_urls += sign * size
        counters.retired_queues += sign


def queue_of(record: QueueRecord) -> Queue:
    """The queue as it was recorded, not active."""
    queue = Queue(record.key, wake_at=record.wake_at, precedence=record.precedence)
    queue.health = record.health
    queue.address = record.address
    queue.size = record.size
    queue.pace_s = record.pace_s
    queue.spent = record.spent
    queue.budget = record.budget
    queue.retired = record.retired
    queue.head = record.head
    queue.stands = record.stands
    if record.size:
        queue.state = RETIRED if record.stands is None else record.stands.state
    return queue


def mark(queue: Queue, record: QueueRecord) -> None:
    """A record has been written: take from it what the schedule does not keep itself."""
    queue.health = record.health
    queue.pace_s = record.pace_s
    queue.precedence = record.precedence
    queue.budget = record.budget
    queue.head = record.head
    queue.stands = record.stands


def is_served(queue: Queue, budgets: Budgets) -> bool:
    return queue.size > 0 and not is_retired(queue, budgets)


def _turn(counters: Counters, state: QueueState, at: int) -> Standing:
    stands = Standing(state, at, counters.next_turn)
    counters.next_turn += 1
    return stands
