"""Describes where the URLs of a frontier are now, from the counters and the active queues."""

from collections.abc import Iterator
from typing import Final, Literal

from frontier.descriptions import ActiveQueue, told_health, told_time
from frontier.queues.lifecycle import IN_PROCESS, READY, QueueState
from frontier.queues.queue import Queue
from frontier.records import Counters
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.values import FrontierStats

_STATES: Final[dict[QueueState, Literal["in-process", "ready"]]] = {IN_PROCESS: "in-process", READY: "ready"}


def describe(counters: Counters, active: ActiveQueues) -> FrontierStats:
    """Needs no scan."""
    schedule = active.schedule
    deadline = active.deadline(idle_groups=False)
    queue = schedule.next_wake()
    waking = queue if queue is not None and queue.record.wake_at == deadline else None
    visit_ms = active.revisits.next_ms
    group_wake = schedule.groups.next_wake() if schedule.held_back_count else None
    return FrontierStats(
        admitted=counters.admitted,
        pending=counters.pending,
        in_process=schedule.lease_count,
        retrying=counters.retrying,
        done=counters.done,
        failed=counters.failed,
        excluded=counters.excluded,
        ready_queues=schedule.ready_count,
        in_process_queues=len(schedule) - schedule.ready_count - schedule.held_back_count - schedule.snoozed_count,
        snoozed_queues=schedule.snoozed_count,
        next_wake_s=None if deadline is None else max(0.0, deadline - active.now()),
        next_wake_key=None if waking is None else waking.key,
        next_wake_streak=0 if waking is None else waking.record.health.error_streak,
        next_wake_trouble=None if waking is None else waking.record.health.trouble,
        next_wake_why=None if waking is None else waking.rest_reason,
        next_group=group_wake[1] if group_wake is not None and group_wake[0] == deadline and waking is None else None,
        next_visit_s=None if visit_ms is None else max(0.0, visit_ms / 1000 - active.now()),
        held_back_queues=schedule.held_back_count,
        groups_elsewhere=schedule.groups.elsewhere,
        troubled_queues=counters.troubled_queues,
        quarantined=counters.quarantined,
        lost=counters.lost,
        gaps=counters.gaps,
        generation=counters.generation,
        inactive_queues=max(0, counters.queues - len(schedule)),
        retired=counters.retired_urls,
        retired_queues=counters.retired_queues,
        paused=active.pauses.reason,
    )


def active_queues(active: ActiveQueues) -> Iterator[ActiveQueue]:
    """The queues that are active now. The caller may go on with other work between two of them."""
    for key in [queue.key for queue in active.schedule]:
        queue = active.schedule.get(key)
        if queue is not None:
            yield _describe_queue(active, queue)


def _describe_queue(active: ActiveQueues, queue: Queue) -> ActiveQueue:
    record = queue.record
    peers = active.schedule.groups.peers_of.get(queue.key) if queue.state is READY else None
    group = None if peers is None else peers.closed_group
    return ActiveQueue(
        key=queue.key,
        state="held-back" if group is not None else _STATES.get(queue.state, "snoozed"),
        size=record.size,
        spent=record.spent,
        leased=queue.leased,
        wake_at=told_time(record.wake_at, ahead_s=active.ahead_s),
        rest_reason=queue.rest_reason,
        health=told_health(record.health, ahead_s=active.ahead_s),
        group=None if group is None else group.name,
        group_wake_at=(
            told_time(group.wake_at, ahead_s=active.ahead_s) if group is not None and group.resting else None
        ),
        group_is_elsewhere=group is not None and group.is_elsewhere,
    )


def upcoming(active: ActiveQueues, /, *, within_s: float, limit: int) -> list[str]:
    """See `Foreseeing.upcoming`."""
    return active.schedule.upcoming(until=active.now() + within_s, limit=limit)
