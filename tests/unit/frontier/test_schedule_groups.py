"""Groups in the schedule."""

import sys
from collections.abc import Iterator
from random import Random
from types import FrameType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.testing.frontier.queues.pace import ONE
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.lease_end import LeaseEnd
from frontier.queues.lifecycle import READY
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


def serve(schedule: Schedule, *, turns: int) -> str:
    """The queues of so many leases, one each second. While it lasts, there is no other, and its queue does not rest."""
    served = ""
    for second in range(turns):
        schedule.wake(float(second))
        queue = schedule.lease()
        assert queue is not None
        assert schedule.lease() is None
        served += queue.key
        end = LeaseEnd(removes_url=True, cooldown_s=0.0)
        schedule.settle(queue, schedule.plan_end(queue, end, now=float(second)))
    return served


@pytest.mark.parametrize("rest_s", [0.0, 1.0])
@pytest.mark.parametrize("at_once", [None, 1])
def test_hosts_at_one_address_take_turns_whatever_domains_they_are_of(rest_s: float, at_once: int | None) -> None:
    limits = {
        "domain": GroupLimit(at_once=at_once, rest_s=rest_s),
        "ip": GroupLimit(at_once=1, rest_s=rest_s),
    }
    schedule = Schedule(grouping=Grouping(limits=limits, groups_of_key=lambda key: (f"domain {key}",)))
    for key in "abc":
        schedule.activate(Queue(QueueRecord(key=key, size=9, address=ONE)), now=0.0)
    assert serve(schedule, turns=9) == "abcabcabc"


def test_a_queue_that_returns_waits_behind_those_of_its_group_that_became_ready_before() -> None:
    limits = {"domain": GroupLimit(at_once=2)}
    schedule = Schedule(per_queue=2, grouping=Grouping(limits=limits, groups_of_key=lambda _: ("domain a",)))
    first = Queue(QueueRecord(key="first", size=3))
    schedule.activate(first, now=0.0)
    assert schedule.lease() is first
    # It waits for its second lease already, and now rests.
    schedule.settle(first, schedule.plan_end(first, LeaseEnd(removes_url=True, cooldown_s=1.0), now=0.0))
    second = Queue(QueueRecord(key="second", size=1))
    schedule.activate(second, now=0.5)
    schedule.wake(1.0)
    assert [schedule.lease(), schedule.lease()] == [second, first]


class Order:
    """When each queue became ready, or was last leased from while it stayed ready, by a count."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.since: dict[str, int] = {}
        self._count = 0

    def note(self) -> None:
        """What one step has made ready stands at the end."""
        ready = {queue.key for queue in self.schedule if queue.state is READY}
        self.since = {key: since for key, since in self.since.items() if key in ready}
        for key in sorted(ready - self.since.keys()):
            self._count += 1
            self.since[key] = self._count

    def lease(self) -> Queue | None:
        queue = self.schedule.lease()
        if queue is not None:
            del self.since[queue.key]
            self.note()
        return queue


def random_steps(random: Random, order: Order, *, address: str | None) -> Iterator[tuple[Queue, dict[str, int]]]:
    """Activates, fills, leases and settles queues, and lets time pass. Yields each queue that is leased from, and since
    when each had been ready, before the lease counts."""
    schedule, now, out = order.schedule, 0.0, list[Queue]()
    for number in range(60):
        step = random.random()
        if step < 0.25:
            key = random.choice("abcdef")
            queue = schedule.get(key)
            if queue is None:
                schedule.activate(Queue(QueueRecord(key=key, size=random.randint(1, 4), address=address)), now=now)
            else:
                schedule.fill(queue, random.randint(1, 3), now=now)
        elif step < 0.35:
            for _ in range(1000):
                now += 0.001
                schedule.wake(now)
                order.note()
        elif step < 0.7:
            since = dict(order.since)
            queue = order.lease()
            if queue is not None:
                yield queue, since
                out.append(queue)
        elif out:
            queue = out.pop(random.randrange(len(out)))
            # No two queues wake in the same millisecond.
            rest_s = random.choice([0.0, 0.0, 0.1 * random.randint(0, 5) + 0.001 * number + 0.0005])
            end = LeaseEnd(removes_url=random.random() < 0.5 and queue.record.size > 0, cooldown_s=rest_s)
            schedule.settle(queue, schedule.plan_end(queue, end, now=now))
        order.note()


@settings(max_examples=60)
@given(
    st.randoms(use_true_random=False),
    st.integers(1, 2),
    st.builds(GroupLimit, at_once=st.sampled_from([None, 1, 2]), rest_s=st.sampled_from([0.0, 1.0])),
)
def test_of_the_queues_of_a_group_the_one_that_has_been_ready_longest_is_the_next(
    random: Random, per_queue: int, limit: GroupLimit
) -> None:
    grouping = Grouping(limits={"domain": limit}, groups_of_key=lambda _: ("domain a",))
    order = Order(Schedule(per_queue=per_queue, grouping=grouping))
    for queue, since in random_steps(random, order, address=None):
        assert queue.key == min(since, key=since.__getitem__)


@settings(max_examples=60)
@given(
    st.randoms(use_true_random=False),
    st.integers(1, 2),
    st.builds(GroupLimit, at_once=st.sampled_from([1, 2])),
    st.builds(GroupLimit, at_once=st.sampled_from([1, 2]), rest_s=st.sampled_from([0.0, 1.0])),
)
def test_no_queue_goes_twice_before_another_of_its_address_that_could_go(
    random: Random, per_queue: int, of_domain: GroupLimit, of_address: GroupLimit
) -> None:
    grouping = Grouping(limits={"domain": of_domain, "ip": of_address}, groups_of_key=lambda key: (f"domain {key}",))
    order = Order(Schedule(per_queue=per_queue, grouping=grouping))
    overtook: set[tuple[str, str]] = set()
    peers_of = order.schedule.groups.peers_of
    for queue, since in random_steps(random, order, address=ONE):
        # The address had a lease to give, so another queue waited for its own domain at most.
        could_go = [
            key
            for key, at in since.items()
            if at < since[queue.key] and peers_of[key].groups[0].is_open_without(0) and key != queue.key
        ]
        for key in could_go:
            assert (queue.key, key) not in overtook
            overtook.add((queue.key, key))
        overtook = {(first, second) for first, second in overtook if second != queue.key}


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
