"""The life of the queues, by random steps against a model that only counts."""

from collections import Counter, defaultdict
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from frontier.queues.grouping import Grouping, GroupLimit, group_of_host
from frontier.queues.lease_end import LeaseEnd
from frontier.queues.lifecycle import SUCCESSORS, IllegalTransition, QueueState
from frontier.queues.queue import Prerequisite, Queue, QueueRecord
from frontier.queues.schedule import Schedule
from frontier.values import Budgets, Health

KEYS = st.sampled_from(["a", "b", "c", "d", "a:1", "b:1"])
"""Two hosts have a second port."""
SESSION, TOTAL = 3, 9
LIMITS = st.builds(
    GroupLimit,
    at_once=st.sampled_from([None, 1, 2]),
    rest_s=st.sampled_from([0.0, 2.0]),
    shares_cooldown=st.booleans(),
)


def amend(queue: Queue, **changes: Any) -> None:
    queue.record = msgspec.structs.replace(queue.record, **changes)


class Model:
    """What is known of one queue."""

    def __init__(self) -> None:
        self.size = 0
        self.leased = 0
        self.wake_at = 0.0
        self.precedence = 128
        self.spent = 0
        self.session = 0
        self.retired = False
        self.active = False
        self.address: str | None = None
        self.prerequisite: Prerequisite | None = None
        self.closing = False
        """Whether its session is over, and it leaves when its leases are back."""

    @property
    def is_retired(self) -> bool:
        return self.retired or self.spent >= TOTAL


class ScheduleMachine(RuleBasedStateMachine):
    """Activates, fills, leases, settles, retires, learns where servers are, and lets time pass."""

    @initialize(
        per_queue=st.integers(1, 3),
        limits=st.dictionaries(st.sampled_from(["ip", "domain"]), LIMITS, max_size=2),
        hosts=st.booleans(),
    )
    def begin(self, per_queue: int, limits: dict[str, GroupLimit], hosts: bool) -> None:
        self.per_queue = per_queue
        self.hosts = hosts
        self.grouping = Grouping(
            limits=limits,
            groups_of_key=lambda key: (f"domain {'ab' if key[0] in 'ab' else 'cd'}",),
            host_of_key=lambda key: key[0] if hosts else None,
            per_host=lambda _: per_queue,
        )
        self.group_wake_at: defaultdict[str, float] = defaultdict(float)
        self.schedule = Schedule(
            per_queue=per_queue,
            budgets=Budgets(session=SESSION, total=TOTAL),
            snoozed_in_memory=2,
            grouping=self.grouping,
            group_wake_at=lambda name: self.group_wake_at[name],
        )
        self.now = 100.0
        self.models: dict[str, Model] = {}
        self.out: list[Queue] = []

    @rule(key=KEYS, urls=st.integers(1, 3), precedence=st.integers(0, 2))
    def fill(self, key: str, urls: int, precedence: int) -> None:
        model = self.models.setdefault(key, Model())
        queue = self.schedule.get(key)
        model.size += urls
        if queue is not None:
            if queue.state is QueueState.IN_PROCESS:
                model.closing = False
            self.schedule.fill(queue, urls, now=self.now)
            if precedence < queue.record.precedence:
                model.precedence = precedence
                amend(queue, precedence=precedence)
                self.schedule.promote(queue)
            return
        if model.is_retired:
            return
        queue = Queue(
            QueueRecord(
                key=key,
                size=model.size,
                wake_at=model.wake_at,
                precedence=precedence,
                spent=model.spent,
                address=model.address,
            )
        )
        model.precedence, model.session, model.active = precedence, 0, True
        self.schedule.activate(queue, now=self.now)

    @rule(seconds=st.sampled_from([0.0, 1.0, 5.0, 30.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def lease(self) -> None:
        self.schedule.wake(self.now)
        best = self.schedule.best_precedence()
        queue = self.schedule.lease()
        free = [model.precedence for key, model in self.models.items() if self.may_lease(model) and self.is_open(key)]
        if queue is None:
            assert best is None
            assert not free
            assert self.schedule.leasable_count == 0
            return
        assert self.may_lease(self.models[queue.key])
        assert self.is_open(queue.key)
        assert best == queue.record.precedence == min(free)
        self.models[queue.key].leased += 1
        self.out.append(queue)

    def may_lease(self, model: Model) -> bool:
        return (
            model.active
            and not model.is_retired
            and model.leased < min(self.per_queue, model.size)
            and model.wake_at <= self.now
            and not model.closing
        )

    def groups(self, key: str) -> set[str]:
        model = self.models[key]
        names = {*self.grouping.groups_of(key, model.address)}
        names |= {group_of_host(key[0])} if self.hosts else set()
        if model.prerequisite is not None:
            names |= {*self.grouping.groups_of(model.prerequisite.key, model.prerequisite.address)}
            names |= {group_of_host(model.prerequisite.key[0])} if self.hosts else set()
        return names

    def leased_in(self, group: str) -> int:
        return sum(model.leased for key, model in self.models.items() if group in self.groups(key))

    def is_open(self, key: str, *, but: str | None = None) -> bool:
        for group in self.groups(key) - {but}:
            at_once = self.grouping.limit_of(group).at_once
            if self.group_wake_at[group] > self.now or (at_once is not None and self.leased_in(group) >= at_once):
                return False
        return True

    @precondition(lambda self: self.out)
    @rule(which=st.randoms(use_true_random=False), address=st.sampled_from(["192.0.2.1", "192.0.2.2"]))
    def move(self, which: Random, address: str) -> None:
        self.schedule.wake(self.now)
        queue = which.choice(self.out)
        model = self.models[queue.key]
        if model.address == address and model.prerequisite is None:
            assert self.schedule.move(queue, address, now=self.now)
            return
        model.address, model.prerequisite = address, None
        may_go_on = self.schedule.move(queue, address, now=self.now)
        assert may_go_on == self.is_open_but_for(queue.key)

    @precondition(lambda self: self.out)
    @rule(which=st.randoms(use_true_random=False), key=KEYS, address=st.sampled_from([None, "192.0.2.1", "192.0.2.2"]))
    def send_to_prerequisite(self, which: Random, key: str, address: str | None) -> None:
        self.schedule.wake(self.now)
        queue = which.choice(self.out)
        model = self.models[queue.key]
        prerequisite = Prerequisite(key, address)
        if model.prerequisite == prerequisite:
            assert self.schedule.move(queue, None, prerequisite=prerequisite, now=self.now)
            return
        model.prerequisite = prerequisite
        may_go_on = self.schedule.move(queue, None, prerequisite=prerequisite, now=self.now)
        assert may_go_on == self.is_open_but_for(queue.key)

    def is_open_but_for(self, key: str) -> bool:
        """Whether the queue's groups would be open without its own leases. One that is alone on its host is in no group
        of it, and has a lease already."""
        model = self.models[key]
        leased, model.leased = model.leased, 0
        try:
            return self.is_open(key, but=self.alone_on(key))
        finally:
            model.leased = leased

    def alone_on(self, key: str) -> str | None:
        queue = self.schedule.get(key)
        return None if queue is None else self.schedule.groups.lone_group(queue)

    @precondition(lambda self: self.out)
    @rule(
        which=st.randoms(use_true_random=False),
        removes_url=st.booleans(),
        cooldown_s=st.sampled_from([0.0, 1.0, 7.0]),
        cost=st.integers(0, 2),
        others_wait=st.booleans(),
        asked=st.booleans(),
        in_trouble=st.booleans(),
        precedence=st.integers(0, 2),
    )
    def settle(
        self,
        which: Random,
        removes_url: bool,
        cooldown_s: float,
        cost: int,
        others_wait: bool,
        asked: bool,
        in_trouble: bool,
        precedence: int,
    ) -> None:
        queue = self.out.pop(which.randrange(len(self.out)))
        model = self.models[queue.key]
        # The URL that was fetched may have been the best of its queue.
        model.precedence = max(queue.record.precedence, precedence)
        removes_url = removes_url and model.size > 0
        was_full = self.schedule.snoozed_count >= 2
        group_cooldown_s = cooldown_s
        if model.prerequisite is not None:
            group_cooldown_s = 3.0
        elif in_trouble:
            group_cooldown_s = min(cooldown_s, 1.0)
        rests = self.schedule.groups.plan_rests(queue, group_cooldown_s, now=self.now, in_trouble=in_trouble)
        alone = self.schedule.groups.lone_group(queue)
        ends_prerequisite = asked and model.prerequisite is not None
        ending = LeaseEnd(
            removes_url=removes_url,
            cooldown_s=cooldown_s,
            group_cooldown_s=group_cooldown_s,
            cost=cost,
            asked=asked,
            ends_prerequisite=ends_prerequisite,
        )
        end = self.schedule.plan_end(queue, ending, now=self.now, others_wait=others_wait)
        record = msgspec.structs.replace(end.record, precedence=model.precedence)
        end = msgspec.structs.replace(end, record=record)
        self.schedule.settle(queue, end)
        if asked:
            for group in self.groups(queue.key):
                if group == alone and ends_prerequisite:
                    continue  # its own host was not asked
                until = self.now + self.grouping.limit_of(group).rest_after_s(group_cooldown_s)
                if until > self.now:
                    self.group_wake_at[group] = max(self.group_wake_at[group], until)
                    if group != alone:
                        assert (group, self.group_wake_at[group]) in rests
                    elif in_trouble:
                        # How long the host rests, but for this trouble, is not told from how long the queue does.
                        self.group_wake_at[group] = max(self.group_wake_at[group], dict(rests)[group])
        amend(queue, health=Health(error_streak=int(in_trouble)))
        assert queue.state is end.state
        model.leased -= 1
        model.size -= removes_url
        model.spent += cost
        model.session += cost
        model.wake_at = max(model.wake_at, self.now + cooldown_s)
        model.closing = others_wait and model.session >= SESSION and model.leased > 0
        if model.leased == 0:
            over = others_wait and model.session >= SESSION
            assert (end.state is QueueState.EXHAUSTED) == (model.size == 0)
            if model.size:
                assert (end.state is QueueState.RETIRED) == model.is_retired
                assert (end.state is QueueState.INACTIVE) == (over and not model.is_retired)
            assert end.spills == (was_full and end.state is QueueState.SNOOZED)
        model.active = self.schedule.get(queue.key) is queue
        if ends_prerequisite or not model.active:
            model.prerequisite = None
        assert queue.prerequisite == model.prerequisite
        assert model.active or model.leased == 0

    @rule(key=KEYS)
    def retire(self, key: str) -> None:
        queue = self.schedule.get(key)
        if queue is None or queue.record.retired:
            return
        self.models[key].retired = True
        amend(queue, retired=True)
        self.schedule.reconsider(queue, now=self.now)
        self.models[key].active = self.models[key].leased > 0
        self.models[key].prerequisite = queue.prerequisite

    @precondition(lambda self: any(queue.record.size for queue in self.out))
    @rule()
    def remove(self) -> None:
        queue = next(queue for queue in self.out if queue.record.size)
        self.schedule.remove(queue, now=self.now)
        self.models[queue.key].size -= 1
        self.models[queue.key].closing = False

    @invariant()
    def each_queue_stands_where_its_state_says(self) -> None:
        if not hasattr(self, "schedule"):
            return
        schedule = self.schedule
        queues = {queue.key: queue for queue in schedule}
        assert queues.keys() == {key for key, model in self.models.items() if model.active}
        heap = Counter(id(queue) for at, _, queue in schedule._snoozed._heap if at == queue.record.wake_at)
        for key, queue in queues.items():
            model = self.models[key]
            assert (queue.record.size, queue.leased) == (model.size, model.leased)
            assert queue.leased <= self.per_queue
            match queue.state:
                case QueueState.READY:
                    assert queue.leased < min(self.per_queue, queue.record.size)
                    assert queue.record.wake_at <= self.now
                case QueueState.SNOOZED:
                    assert heap[id(queue)] >= 1
                    assert queue.leased < min(self.per_queue, queue.record.size)
                case QueueState.IN_PROCESS:
                    full = queue.leased >= min(self.per_queue, queue.record.size)
                    assert queue.leased
                    assert full or model.closing or model.is_retired
                case _:
                    pytest.fail(f"a queue that is {queue.state.name} is not active")
        states = Counter(queue.state for queue in queues.values())
        assert schedule.ready_count + schedule.held_back_count == states[QueueState.READY]
        assert schedule.ready_count >= schedule.leasable_count >= min(1, schedule.ready_count), (
            schedule.ready_count,
            schedule.leasable_count,
        )
        assert self.grouping.limits or self.hosts or not schedule.held_back_count
        assert schedule.snoozed_count == states[QueueState.SNOOZED]
        assert schedule.lease_count == len(self.out)

    @invariant()
    def the_next_to_wake_is_the_earliest(self) -> None:
        if not hasattr(self, "schedule"):
            return
        snoozed = [queue.record.wake_at for queue in self.schedule if queue.state is QueueState.SNOOZED]
        first = self.schedule.next_wake()
        assert (first.record.wake_at if first else None) == min(snoozed, default=None)


ScheduleMachine.TestCase.settings = settings(max_examples=75, stateful_step_count=40)
TestSchedule = ScheduleMachine.TestCase


def activate(schedule: Schedule, key: str, urls: int, *, precedence: int = 128) -> Queue:
    queue = Queue(QueueRecord(key=key, size=urls, precedence=precedence))
    schedule.activate(queue, now=0)
    return queue


def test_ready_queues_are_served_in_the_order_they_became_ready() -> None:
    schedule = Schedule()
    for key in "abc":
        activate(schedule, key, 5)
    served = []
    for _ in range(9):
        queue = schedule.lease()
        assert queue is not None
        served.append(queue.key)
        schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=True, cooldown_s=0), now=0))
    assert served == list("abcabcabc")


@pytest.mark.parametrize("port", ["", ":1"])
def test_a_queue_with_more_leases_to_give_goes_to_the_end_of_the_line_with_each_and_stays_there_when_one_ends(
    port: str,
) -> None:
    """A queue of a port is alone in the group of its host."""
    grouping = Grouping(host_of_key=lambda key: key[0], per_host=lambda _: 3)
    schedule = Schedule(per_queue=3, grouping=grouping)
    one, two = (activate(schedule, f"{host}{port}", 9) for host in "ab")
    assert [schedule.lease() for _ in range(3)] == [one, two, one]
    schedule.settle(two, schedule.plan_end(two, LeaseEnd(removes_url=True), now=0))
    assert [schedule.lease() for _ in range(4)] == [two, one, two, two]
    assert schedule.lease() is None


def test_what_makes_no_sense_is_refused_and_changes_nothing() -> None:
    schedule = Schedule()
    queue = activate(schedule, "a", 2)
    with pytest.raises(ValueError, match="at least one"):
        schedule.fill(queue, 0, now=0)
    with pytest.raises(IllegalTransition, match="not active"):
        schedule.fill(Queue(QueueRecord(key="a")), 1, now=0)
    with pytest.raises(IllegalTransition, match="not active"):
        schedule.reconsider(Queue(QueueRecord(key="b")), now=0)
    with pytest.raises(IllegalTransition, match="already active"):
        activate(schedule, "a", 1)
    with pytest.raises(IllegalTransition, match="has no URL"):
        activate(schedule, "b", 0)
    retired = Queue(QueueRecord(key="b", size=1, retired=True))
    with pytest.raises(IllegalTransition, match="is retired"):
        schedule.activate(retired, now=0)
    with pytest.raises(ValueError, match="can't settle one"):
        schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=True, cooldown_s=0), now=0))
    with pytest.raises(ValueError, match="can't remove a URL"):
        schedule.remove(queue, now=0)
    with pytest.raises(ValueError, match="at least 1"):
        Schedule(per_queue=0)
    assert (queue.record.size, schedule.lease_count, schedule.ready_count, len(schedule)) == (2, 0, 1, 1)


def test_a_queue_whose_rest_grows_lets_another_wake_before_it() -> None:
    schedule = Schedule(per_queue=2)
    longer = activate(schedule, "longer", 5)
    assert [schedule.lease(), schedule.lease()] == [longer, longer]
    other = activate(schedule, "other", 1)
    schedule.settle(longer, schedule.plan_end(longer, LeaseEnd(removes_url=True, cooldown_s=1), now=0))
    assert schedule.lease() is other
    schedule.settle(other, schedule.plan_end(other, LeaseEnd(removes_url=False, cooldown_s=3), now=0))
    schedule.settle(longer, schedule.plan_end(longer, LeaseEnd(removes_url=True, cooldown_s=9), now=0))
    assert schedule.next_wake() is other
    assert schedule.wake(3) == 1
    assert schedule.lease() is other
    assert schedule.wake(8) == 0
    assert schedule.wake(9) == 1


def test_a_queue_that_was_put_away_and_is_back_wakes_once() -> None:
    schedule = Schedule(per_queue=2, snoozed_in_memory=1)
    gone = activate(schedule, "a", 3)
    assert [schedule.lease(), schedule.lease()] == [gone, gone]
    schedule.settle(gone, schedule.plan_end(gone, LeaseEnd(removes_url=True, cooldown_s=5), now=0))
    schedule.settle(gone, schedule.plan_end(gone, LeaseEnd(removes_url=True, cooldown_s=0), now=0))
    assert schedule.get("a") is None
    back = Queue(QueueRecord(key="a", size=1, wake_at=5.0))
    schedule.activate(back, now=0)
    assert schedule.wake(5) == 1
    assert [schedule.lease(), schedule.lease()] == [back, None]


def test_the_heap_of_wake_times_does_not_grow_with_what_is_no_longer_true() -> None:
    schedule = Schedule(per_queue=2)
    activate(schedule, "a", 1000)
    now = 0.0
    for _ in range(300):
        first, second = schedule.lease(), schedule.lease()
        assert first is not None
        assert second is not None
        schedule.settle(first, schedule.plan_end(first, LeaseEnd(removes_url=True, cooldown_s=1), now=now))
        schedule.settle(second, schedule.plan_end(second, LeaseEnd(removes_url=True, cooldown_s=2), now=now))
        now += 2
        schedule.wake(now)
        assert len(schedule._snoozed._heap) <= 2


def test_the_best_precedence_goes_first_and_equals_take_turns() -> None:
    schedule = Schedule()
    for key, precedence in (("late", 9), ("a", 3), ("b", 3)):
        activate(schedule, key, 2, precedence=precedence)
    served = []
    while (queue := schedule.lease()) is not None:
        served.append(queue.key)
        schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=True, cooldown_s=0), now=0))
    assert served == ["a", "b", "a", "b", "late", "late"]


def test_a_state_follows_only_those_that_the_table_names() -> None:
    schedule = Schedule()
    queue = activate(schedule, "a", 2)
    assert schedule.lease() is queue
    queue.state = QueueState.RETIRED  # as no transition leaves a leased queue
    with pytest.raises(IllegalTransition, match="is RETIRED and can't become READY"):
        schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=True, cooldown_s=0), now=0))
    assert (queue.record.size, queue.leased, schedule.lease_count) == (2, 1, 1)
    assert SUCCESSORS.keys() == set(QueueState)


def test_what_is_served_soon_is_foreseen_and_nothing_changes_by_that() -> None:
    schedule = Schedule()
    for key in "abcd":
        activate(schedule, key, 5, precedence=100 if key == "c" else 128)
    for cooldown_s in (7, 3):
        queue = schedule.lease()
        assert queue is not None
        schedule.settle(queue, schedule.plan_end(queue, LeaseEnd(removes_url=True, cooldown_s=cooldown_s), now=0))
    assert schedule.upcoming(until=5, limit=9) == ["b", "d", "a"]
    assert schedule.upcoming(until=9, limit=9) == ["b", "d", "a", "c"]
    assert schedule.upcoming(until=9, limit=1) == ["b"]
    assert (schedule.ready_count, schedule.snoozed_count) == (2, 2)
    schedule.wake(9)
    served = []
    while (queue := schedule.lease()) is not None:
        served.append(queue.key)
    assert served == ["c", "b", "d", "a"]
