"""Where the URLs of a frontier are now, told from counters and from the queues that are served."""

from frontier.store import Counters
from frontier.transitions.active_queues import ActiveQueues
from frontier.values import FrontierStats


def described(counters: Counters, serving: ActiveQueues) -> FrontierStats:
    """Needs no scan."""
    schedule = serving.schedule
    queue = schedule.next_wake()
    wake_at = serving.deadline()
    wakes = queue is not None and queue.wake_at == wake_at
    opening = schedule.next_opening()
    return FrontierStats(
        admitted=counters.admitted,
        pending=counters.pending,
        in_process=schedule.leased,
        retrying=counters.retrying,
        done=counters.done,
        failed=counters.failed,
        excluded=counters.excluded,
        ready_queues=schedule.ready_count,
        in_process_queues=(len(schedule) - schedule.ready_count - schedule.held_back_count - schedule.snoozed_count),
        snoozed_queues=schedule.snoozed_count,
        next_wake_s=None if wake_at is None else max(0.0, wake_at - serving.now()),
        next_wake_key=queue.key if queue is not None and wakes else None,
        next_wake_streak=queue.health.error_streak if queue is not None and wakes else 0,
        next_wake_trouble=queue.health.trouble if queue is not None and wakes else None,
        next_wake_why=queue.why_rests if queue is not None and wakes else None,
        next_group=opening[1] if opening is not None and opening[0] == wake_at and not wakes else None,
        held_back_queues=schedule.held_back_count,
        troubled_queues=counters.troubled_queues,
        quarantined=counters.quarantined,
        lost=counters.lost,
        inactive_queues=max(0, counters.queues - len(schedule)),
        retired=counters.retired_urls,
        retired_queues=counters.retired_queues,
        held=serving.held,
    )
