"""Computes what a change does to queue records and counters. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from frontier.queues.budgets import is_retired
from frontier.queues.lifecycle import INACTIVE, SNOOZED, QueueState
from frontier.queues.queue import Position, Queue, QueueRecord
from frontier.queues.settings import QueueSettings
from frontier.records import Counters, PendingUrl, QueueUpdate
from frontier.values import Budgets, Health, LedgerEntry, UrlState


class QueueFill(msgspec.Struct, frozen=True, gc=False):
    """URLs that enter a queue. There may be none, if URLs only leave it."""

    queue: Queue
    urls: list[PendingUrl]
    update: QueueUpdate


def plan_update(
    before: QueueRecord,
    after: QueueRecord,
    counters: Counters,
    budgets: Budgets,
    *,
    send_to: QueueState | None = None,
    group_rests: tuple[tuple[str, float], ...] = (),
) -> QueueUpdate:
    """The update from one record of a queue to another, with its new position. Counts the change in `counters`.

    `send_to` says that the queue leaves the active ones: INACTIVE sends it behind the queues that wait, SNOOZED among
    those that were spilled.
    """
    is_served = not is_retired(after, budgets)
    count_queue(counters, before.size, before.health, is_served=before.position is not None, sign=-1)
    count_queue(counters, after.size, after.health, is_served=is_served)
    position = before.position
    if after.size == 0 or not is_served:
        position = None
    elif send_to is SNOOZED:
        position = _next_position(counters, SNOOZED, int(after.wake_at * 1000) + 1)
    elif send_to is INACTIVE or position is None or after.precedence != before.precedence:
        position = _next_position(counters, INACTIVE, after.precedence)
    if position is not before.position:
        after = msgspec.structs.replace(after, position=position)
    return QueueUpdate(after, before.position, group_rests)


def plan_fill(
    pending: Sequence[PendingUrl],
    queues: Mapping[str, Queue],
    counters: Counters,
    settings: QueueSettings,
    *,
    removed: Mapping[str, int] = MappingProxyType({}),
) -> list[QueueFill]:
    """Distribute URLs to their queues. `removed` says how many URLs leave which queue at the same time."""
    by_queue: dict[str, list[PendingUrl]] = {key: [] for key in queues}
    for each in pending:
        by_queue[each.url.queue_key].append(each)
    fills = []
    for key, urls in by_queue.items():
        before = queues[key].record
        drained_to, precedence = before.drained_to, before.precedence
        for each in urls:
            if each.order <= drained_to:
                drained_to = each.order - 1
        if settings.by_best_url and urls:
            best = min(each.url.precedence for each in urls)
            precedence = best if before.size == 0 else min(best, precedence)
        size = before.size + len(urls) - removed.get(key, 0)
        after = msgspec.structs.replace(before, size=size, drained_to=drained_to, precedence=precedence)
        fills.append(QueueFill(queues[key], urls, plan_update(before, after, counters, settings.budgets)))
    return fills


def count_queue(counters: Counters, size: int, health: Health, *, is_served: bool, sign: int = 1) -> None:
    """Add a queue to the counters, or with -1 subtract it. A queue without URLs counts nowhere."""
    if size == 0:
        return
    if is_served:
        counters.pending += sign * size
        counters.queues += sign
        if health.error_streak:
            counters.troubled_queues += sign
    else:
        counters.retired_urls += sign * size
        counters.retired_queues += sign


def _next_position(counters: Counters, state: QueueState, rank: int) -> Position:
    position = Position(state, rank, counters.next_turn)
    counters.next_turn += 1
    return position


def subtract(counters: Counters, entry: LedgerEntry) -> None:
    """Count a settled URL no more."""
    counters.done -= entry.state is UrlState.DONE
    counters.failed -= entry.state is UrlState.FAILED
    counters.excluded -= entry.state is UrlState.EXCLUDED
