"""Describes where the URLs of a frontier are now, from the counters and the active queues."""

from frontier.records import Counters
from frontier.transitions.active_queues import ActiveQueues
from frontier.values import FrontierStats


def describe(counters: Counters, active: ActiveQueues) -> FrontierStats:
    """Needs no scan."""
    schedule = active.schedule
    deadline = active.deadline()
    queue = schedule.next_wake()
    waking = queue if queue is not None and queue.record.wake_at == deadline else None
    group_wake = schedule.groups.next_wake()
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
        held_back_queues=schedule.held_back_count,
        troubled_queues=counters.troubled_queues,
        quarantined=counters.quarantined,
        lost=counters.lost,
        inactive_queues=max(0, counters.queues - len(schedule)),
        retired=counters.retired_urls,
        retired_queues=counters.retired_queues,
        paused=active.pauses.reason,
    )
