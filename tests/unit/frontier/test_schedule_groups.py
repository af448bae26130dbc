"""Groups in the schedule."""

import sys
from types import FrameType

import msgspec

from crawler.testing.frontier.queues.pace import ONE
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.lease_end import LeaseEnd
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.schedule import Schedule


def test_a_rest_that_ends_before_any_queue_woke_hides_none_that_began_before() -> None:
    limits = {"domain": GroupLimit(shares_cooldown=True)}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain a",)))
    queue = Queue(QueueRecord(key="a", size=2))
    schedule.activate(queue, now=0.0)
    assert schedule.lease() is queue
    assert schedule.lease() is queue
    schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=False, cooldown_s=1.0), now=0.0))
    schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=False, cooldown_s=0.0), now=5.0))
    schedule.wake(5.0)
    assert schedule.lease() is queue


def test_a_queue_that_has_become_worse_while_it_waited_for_a_group_goes_behind_better_ones() -> None:
    limits = {"domain": GroupLimit(at_once=1), "ip": GroupLimit()}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain a",)))
    worse = Queue(QueueRecord(key="worse", precedence=0, size=3, address=ONE))
    better = Queue(QueueRecord(key="better", precedence=0, size=1))
    schedule.activate(worse, now=0.0)
    assert schedule.lease() is worse
    schedule.activate(better, now=0.0)
    assert schedule.lease() is None
    plan = schedule.plan_end(worse, LeaseEnd(removes_url=True, cooldown_s=0.0), now=0.0)
    record = msgspec.structs.replace(plan.record, precedence=1)
    schedule.settle(worse, msgspec.structs.replace(plan, record=record))
    assert schedule.lease() is better


def test_a_queue_with_a_lease_left_is_held_back_as_soon_as_its_group_rests() -> None:
    limits = {"ip": GroupLimit(rest_s=1.0)}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits))
    queue = Queue(QueueRecord(key="a", size=2, address=ONE))
    schedule.activate(queue, now=0.0)
    assert schedule.lease() is queue
    schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=False, cooldown_s=0.0), now=0.0))
    assert (schedule.ready_count, schedule.held_back_count, schedule.leasable_count) == (0, 1, 0)
    schedule.wake(1.0)
    assert (schedule.ready_count, schedule.held_back_count, schedule.leasable_count) == (1, 0, 1)


def calls_of_leases(hosts: int) -> int:
    """Python calls for a hundred leases, of so many hosts on one address and in one of ten domains."""
    limits = {"ip": GroupLimit(at_once=1, rest_s=1.0), "domain": GroupLimit(at_once=1, rest_s=3.0)}
    schedule = Schedule(grouping=Grouping(limits=limits, groups_of_key=lambda key: (f"domain {key[-1]}",)))
    for number in range(hosts):
        queue = Queue(QueueRecord(key=f"{number}", size=100, address=ONE))
        schedule.activate(queue, now=0.0)
    calls = 0

    def count(_frame: FrameType, event: str, _about: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        for second in range(100):
            schedule.wake(float(second))
            leased = schedule.lease()
            assert leased is not None
            assert schedule.lease() is None
            schedule.settle(
                leased, schedule.plan_end(leased, LeaseEnd(removes_url=True, cooldown_s=0.0), now=float(second))
            )
    finally:
        sys.setprofile(None)
    return calls


def test_an_address_of_ten_thousand_hosts_costs_no_more_than_one_of_fifty() -> None:
    assert calls_of_leases(10_000) <= 1.2 * calls_of_leases(50)
