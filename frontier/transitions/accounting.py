"""What a change makes of a queue's record and of the counters; pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from frontier.queues.lifecycle import (
    INACTIVE,
    RETIRED,
    SNOOZED,
    Budgets,
    Health,
    Queue,
    QueueState,
    Standing,
    is_retired,
)
from frontier.queues.rules import Rules
from frontier.store import Counters, QueueRecord, Waiting


def record_of(queue: Queue) -> QueueRecord:
    """The queue as it stands, to be changed and `counted`."""
    return QueueRecord(
        key=queue.key,
        size=queue.size,
        wake_at=queue.wake_at,
        health=queue.health,
        precedence=queue.precedence,
        spent=queue.spent,
        budget=queue.budget,
        retired=queue.retired,
        head=queue.head,
        stands=queue.stands,
        pace_s=queue.pace_s,
        address=queue.address,
    )


def counted(
    queue: Queue, record: QueueRecord, counters: Counters, budgets: Budgets, *, to: QueueState | None = None
) -> QueueRecord:
    """The record of the queue after a change, counted in `counters`, and with the place where the queue then stands.

    `to` sends the queue away: as INACTIVE behind those that wait, as SNOOZED to those put away while they rest.
    """
    limit = budgets.limit(record.key, record.budget)
    served = not record.retired and (limit is None or record.spent < limit)
    count(counters, queue.size, queue.health, served=queue.stands is not None, sign=-1)
    count(counters, record.size, record.health, served=served)
    stands = queue.stands
    if record.size == 0 or not served:
        stands = None
    elif to is SNOOZED:
        stands = _turn(counters, SNOOZED, int(record.wake_at * 1000) + 1)
    elif to is INACTIVE or stands is None or record.precedence != queue.precedence:
        stands = _turn(counters, INACTIVE, record.precedence)
    if stands is queue.stands:
        return record
    return msgspec.structs.replace(record, stands=stands, moved=True, left=queue.stands)


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
        head, precedence = queue.head, queue.precedence
        for each in come:
            if each.order <= head:
                head = each.order - 1
        if rules.by_best_url and come:
            best = min(each.url.precedence for each in come)
            precedence = best if queue.size == 0 else min(best, precedence)
        size = queue.size + len(come) - lost.get(queue.key, 0)
        changed = msgspec.structs.replace(record_of(queue), size=size, head=head, precedence=precedence)
        records.append(counted(queue, changed, counters, budgets))
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
