"""Workers that wait for a lease: no more are woken than there are leases, and no lease is left while all sleep."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.testing.frontier.crawls import DONE, now, page
from crawler.testing.loops import in_virtual_time, run_in_virtual_time
from frontier import Lease, Part
from frontier.memory.store import MemoryStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.transitions.active.waiters import Waiters
from frontier.values import Budgets
from visited.digests.exact import ExactSet

HOSTS, WORKERS = 3, 4
TIMER_S = 0.01
"""Timers are no more exact than some milliseconds."""
SECONDS = st.sampled_from([0.0, 0.0, 1.0, 30.0])
TURNS = st.integers(0, 8)
"""Turns of the event loop, in each of which every task that can run goes on to its next wait."""


class Settle(msgspec.Struct, frozen=True):
    """A lease ends."""

    lease: int
    how: str
    cooldown_s: float
    after_s: float


class Round(msgspec.Struct, frozen=True):
    """What happens at about the same time, and how long nothing happens then."""

    links: tuple[int, ...]
    """The hosts of new links. The frontier takes them in while the rest happens."""
    turns: int
    ends: tuple[Settle, ...]
    later_turns: int
    cancelled: tuple[int, ...]
    """Workers that are cancelled while they wait. The first is the one that has been woken, if one has."""
    is_paused: bool
    rest_s: float


ENDS = st.builds(
    Settle,
    lease=st.integers(0, 2),
    how=st.sampled_from(["done", "done", "retry", "release"]),
    cooldown_s=SECONDS,
    after_s=SECONDS,
)
ROUNDS = st.builds(
    Round,
    links=st.lists(st.integers(0, HOSTS - 1), max_size=4).map(tuple),
    turns=TURNS,
    ends=st.lists(ENDS, max_size=3).map(tuple),
    later_turns=st.integers(0, 2),
    cancelled=st.lists(st.integers(0, 1), max_size=2).map(tuple),
    is_paused=st.sampled_from([False, False, False, True]),
    rest_s=SECONDS,
)
# With two leases of a queue at once, no session: a queue whose session is over is leased no more until both have ended.
SETTINGS = st.builds(
    lambda per_queue_and_session, min_active, snoozed: QueueSettings(
        per_queue=per_queue_and_session[0],
        budgets=Budgets(session=per_queue_and_session[1]),
        min_active=min_active,
        snoozed_in_memory=snoozed,
    ),
    st.sampled_from([(1, None), (1, 1), (2, None)]),
    st.sampled_from([0, 1, 4096]),
    st.sampled_from([0, 1, 50_000]),
)


class Host(msgspec.Struct):
    """What the frontier should know of a queue."""

    due_at: list[float] = msgspec.field(default_factory=list)
    """When each of its URLs may be fetched, those included that are leased."""
    leased: int = 0
    wake_at: float = 0.0

    def may_be_leased(self, per_queue: int) -> bool:
        at = now() - TIMER_S
        due = sum(due_at <= at for due_at in self.due_at)
        return due > self.leased and self.leased < per_queue and self.wake_at <= at


class Workers:
    """Workers of a frontier. Each takes one lease; another one comes in its place."""

    def __init__(self, frontier: QueueFrontier, per_queue: int) -> None:
        self._frontier = frontier
        self._per_queue = per_queue
        self._hosts: defaultdict[str, Host] = defaultdict(Host)
        self._held: list[Lease] = []
        self._waiting: list[asyncio.Task[None]] = []
        self._numbers = count()

    async def live(self, round_: Round) -> None:
        """Go through a round, and check what is left when nothing happens any more."""
        self._waiting = [task for task in self._waiting if not task.done()]
        while len(self._waiting) < WORKERS:
            self._waiting.append(asyncio.create_task(self._take()))
        if round_.is_paused:
            self._frontier.pauses.pause("the test", by="test")
        else:
            self._frontier.pauses.resume(by="test")
        adding = asyncio.create_task(self._add(round_.links))
        await turn(round_.turns)
        for end in round_.ends:
            if self._held:
                await self._settle(end)
        await turn(round_.later_turns)
        for index in round_.cancelled:
            waiting = [task for task in self._waiting if not task.done()]
            if len(waiting) > index + 1:
                waiting[index].cancel()
        await adding
        await asyncio.sleep(round_.rest_s + 3 * TIMER_S)
        if not round_.is_paused and any(not task.done() for task in self._waiting):
            left = [name for name, host in self._hosts.items() if host.may_be_leased(self._per_queue)]
            assert not left, f"queues could be leased from while workers sleep: {left}"

    async def _add(self, hosts: tuple[int, ...]) -> None:
        urls = [page(f"h{host}", f"p{next(self._numbers)}") for host in hosts]
        for url in urls:
            self._hosts[url.queue_key].due_at.append(now())
        await self._frontier.add(urls)

    async def _take(self) -> None:
        lease = await anext(self._frontier)
        self._held.append(lease)
        self._hosts[lease.url.queue_key].leased += 1

    async def _settle(self, end: Settle) -> None:
        lease = self._held.pop(end.lease % len(self._held))
        host = self._hosts[lease.url.queue_key]
        host.leased -= 1
        host.wake_at = max(host.wake_at, now() + end.cooldown_s)
        if end.how == "release":
            self._frontier.release(lease, cooldown_s=end.cooldown_s)
            return
        host.due_at.remove(min(host.due_at))
        if end.how == "done":
            await self._frontier.done(lease, cooldown_s=end.cooldown_s, outcome=DONE)
        else:
            host.due_at.append(now() + end.after_s)
            await self._frontier.retry(lease, after_s=end.after_s, cooldown_s=end.cooldown_s)

    async def end(self) -> None:
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)


async def turn(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


@given(rounds=st.lists(ROUNDS, min_size=8, max_size=16), settings=SETTINGS, is_part=st.booleans())
def test_no_lease_is_left_while_workers_sleep(rounds: list[Round], settings: QueueSettings, *, is_part: bool) -> None:
    async def run() -> None:
        part = Part(number=0, parts=2, lineage=0) if is_part else None
        owner: Callable[[str], int] | None = (lambda _: 0) if is_part else None
        frontier = await QueueFrontier.open(MemoryStore(part=part), ExactSet(), settings=settings, now=now, owner=owner)
        # A lease that stays out: without it, workers would find that the crawl is complete, and end.
        await frontier.add([page("elsewhere", "p")])
        await anext(frontier)
        workers = Workers(frontier, settings.per_queue)
        for each in rounds:
            await workers.live(each)
        await workers.end()
        await frontier.aclose()

    run_in_virtual_time(run())


class Looks:
    """Tasks that wait, and how often one was woken. `leases` is what they look for."""

    def __init__(self, leases: int) -> None:
        self.waiters = Waiters(now=now, deadline=lambda: None, wake_due=lambda: 0)
        self.leases = leases
        self.count = 0
        self.taken = 0

    async def look(self) -> None:
        while True:
            await self.waiters.wait()
            self.count += 1
            if self.leases:
                self.leases -= 1
                self.taken += 1
                self.waiters.wake(self.leases)


@pytest.mark.parametrize("leases", [0, 1, 3, 20])
@in_virtual_time
async def test_events_that_follow_each_other_wake_no_worker_in_vain(leases: int) -> None:
    looks = Looks(leases)
    tasks = [asyncio.create_task(looks.look()) for _ in range(10)]
    await turn(2)
    for _ in range(5):
        looks.waiters.wake(leases)
    await turn(40)
    assert looks.count == looks.taken == leases
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not looks.waiters.waiting
