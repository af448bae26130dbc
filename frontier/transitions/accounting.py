"""Computes what a change does to queue records and counters. Pure."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

import msgspec

from frontier.queues.budgets import is_retired
from frontier.queues.lifecycle import INACTIVE, SNOOZED, QueueState
from frontier.queues.queue import NEUTRAL_PRECEDENCE, Position, Queue, QueueRecord
from frontier.queues.settings import QueueSettings
from frontier.records import Counters, PendingUrl, QueueUpdate, order_of, precedence_of
from frontier.values import Budgets, CrawlUrl, UrlState

_order = attrgetter("order")

# Globals, for the reason that `queues.lifecycle` gives.
_DONE, _FAILED, _EXCLUDED = UrlState.DONE, UrlState.FAILED, UrlState.EXCLUDED


class QueueFill(msgspec.Struct, frozen=True, gc=False):
    """URLs that enter a queue. There may be none, if URLs only leave it."""

    queue: Queue | None
    """None if the store had no record of it."""
    urls: list[PendingUrl]
    update: QueueUpdate


def number_urls(
    urls: Sequence[CrawlUrl], counters: Counters, found_at: Mapping[str, int], /, *, now: int
) -> list[PendingUrl]:
    """Give URLs their numbers and their orders. `found_at`: when those were found that were known before."""
    number, ordinal = counters.next_number, counters.next_ordinal
    counters.next_number += len(urls)
    counters.next_ordinal += len(urls)
    numbered: list[PendingUrl] = []
    for index, url in enumerate(urls):
        order, when = order_of(url.precedence, ordinal + index), found_at.get(url.canonical, now)
        numbered.append(PendingUrl(url=url, number=number + index, order=order, found_at=when))
    return numbered


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
    position = before.position
    if after.size == 0 or is_retired(after, budgets):
        position = None
    elif send_to is SNOOZED:
        position = _next_position(counters, SNOOZED, int(after.wake_at * 1000) + 1)
    elif send_to is INACTIVE or position is None or after.precedence != before.precedence:
        position = _next_position(counters, INACTIVE, after.precedence)
    else:  # it keeps its position, as after most fetches
        counters.pending += after.size - before.size
        if after.health is not before.health:
            counters.troubled_queues += (after.health.error_streak > 0) - (before.health.error_streak > 0)
        return QueueUpdate(after, position, group_rests)
    count_queue(counters, before, sign=-1)
    after = msgspec.structs.replace(after, position=position)
    count_queue(counters, after)
    return QueueUpdate(after, before.position, group_rests)


def plan_fill(
    pending: Sequence[PendingUrl],
    queues: Mapping[str, Queue | None],
    counters: Counters,
    settings: QueueSettings,
    *,
    removed: Mapping[str, int] = MappingProxyType({}),
) -> list[QueueFill]:
    """Distribute URLs to their queues; None stands for a queue of which nothing is stored. `removed` says how many URLs
    leave which queue at the same time."""
    by_queue: dict[str, list[PendingUrl]] = {key: [] for key in queues}
    for each in pending:
        by_queue[each.url.queue_key].append(each)
    fills = []
    serves_new, by_best_url = settings.budgets.serves_new_queues, settings.by_best_url
    for key, urls in by_queue.items():
        queue = queues[key]
        if queue is None and serves_new and urls:
            fills.append(QueueFill(None, urls, _plan_new(key, urls, counters, by_best_url=by_best_url)))
            continue
        before = QueueRecord(key=key) if queue is None else queue.record
        drained_to, precedence = before.drained_to, before.precedence
        if urls:
            first = min(urls, key=_order).order if len(urls) > 1 else urls[0].order
            if first <= drained_to or before.size == 0:
                # An empty queue is read from its first URL on: what lies before has left it.
                drained_to = first - 1
            if by_best_url:
                # An order begins with the precedence.
                best = precedence_of(first)
                precedence = best if before.size == 0 else min(best, precedence)
        size = before.size + len(urls) - removed.get(key, 0)
        after = msgspec.structs.replace(before, size=size, drained_to=drained_to, precedence=precedence)
        fills.append(QueueFill(queue, urls, plan_update(before, after, counters, settings.budgets)))
    return fills


def _plan_new(key: str, urls: Sequence[PendingUrl], counters: Counters, *, by_best_url: bool) -> QueueUpdate:
    """The update of a queue of which nothing is stored yet, for a third of the cost of `plan_update`."""
    size = len(urls)
    first = urls[0].order if size == 1 else min(urls, key=_order).order
    precedence = precedence_of(first) if by_best_url else NEUTRAL_PRECEDENCE
    turn = counters.next_turn
    counters.next_turn = turn + 1
    counters.pending += size
    counters.queues += 1
    return QueueUpdate(
        QueueRecord(
            key=key,
            size=size,
            drained_to=first - 1,
            precedence=precedence,
            position=Position(INACTIVE, precedence, turn),
        ),
        None,
        is_new=True,
    )


def count_queue(counters: Counters, record: QueueRecord, *, sign: int = 1) -> None:
    """Add a queue to the counters, or with -1 subtract it. A queue without URLs counts nowhere; one that has some, but
    no position, is retired."""
    if record.size == 0:
        return
    if record.position is not None:
        counters.pending += sign * record.size
        counters.queues += sign
        if record.health.error_streak:
            counters.troubled_queues += sign
    else:
        counters.retired_urls += sign * record.size
        counters.retired_queues += sign


def _next_position(counters: Counters, state: QueueState, rank: int) -> Position:
    position = Position(state, rank, counters.next_turn)
    counters.next_turn += 1
    return position


def count_state(counters: Counters, state: UrlState, *, sign: int = 1) -> None:
    """Add a URL to the counters of settled ones, or with -1 subtract it. One that waits counts nowhere."""
    if state is _DONE:
        counters.done += sign
    elif state is _FAILED:
        counters.failed += sign
    elif state is _EXCLUDED:
        counters.excluded += sign
