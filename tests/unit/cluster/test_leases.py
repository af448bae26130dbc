"""Thousands of histories of one part: machines that crash, stop and have copies, a server that forgets."""

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from crawler.cluster.leases import Leases
from tests.unit.cluster.model_register import FORGOTTEN, ModelRegister

PART = 0
LEASE_S = 10.0
MACHINES = 3

Answer = Callable[[], None]


class Machine:
    """A machine whose clock may run a little slower or faster than others. Each of its commands is sent, carried out
    and answered at a moment of its own, or never."""

    def __init__(self, world: "World", name: str, pace: float) -> None:
        self.world = world
        self.name = name
        self.pace = pace
        self.stored = 0
        """The epoch in its directory; 0 if it has none."""
        self.was_opened = False
        """Whether its directory has anything of the part."""
        self.begin()

    def begin(self) -> None:
        """A new process."""
        self.leases = Leases(lease_s=LEASE_S)
        self.is_open = False
        self.at_server: Callable[[], Answer] | None = None
        self.answer: Answer | None = None

    @property
    def clock(self) -> float:
        return self.world.now * self.pace

    @property
    def may_store(self) -> bool:
        """What the guard in the part's process says."""
        until = self.leases.until(PART)
        return self.is_open and until is not None and self.clock < until

    def let_end(self) -> None:
        for part in self.leases.ended(self.clock):
            self.leases.drop(part)
            self.is_open = False

    def send(self) -> None:
        """The next command of its keeper."""
        self.let_end()
        if self.at_server is not None or self.answer is not None:
            return
        if PART not in self.leases:
            self._send_claim()
        elif self.leases.ripe(self.clock):
            self._send_confirm()
        else:
            self._send_renewal()

    def _send_claim(self) -> None:
        world, sent_at = self.world, self.clock
        opened = world.register.state.opened.get(PART, 0)
        is_the_part = self.was_opened or 0 < self.stored == opened
        claim, stored, makes = world.new_claim(), self.stored if is_the_part else 0, not is_the_part

        def serve() -> Answer:
            epoch = world.register.claim(PART, self.name, claim, stored=stored, makes=makes, lease_s=LEASE_S)
            if epoch == FORGOTTEN and self.was_opened:
                world.register.create(is_new=False)
                world.register.raise_to(PART, stored)

            def take() -> None:
                if isinstance(epoch, int):
                    self.leases.grant(PART, claim, epoch=epoch, lineage=1, sent_at=sent_at, now=self.clock)

            return take

        self.at_server = serve

    def _send_confirm(self) -> None:
        world, sent_at = self.world, self.clock
        claim = self.leases.claims[PART]
        found = self.leases.find(PART, claim)
        assert found is not None
        before, self.stored = self.stored, found.epoch

        def serve() -> Answer:
            stands = world.register.confirm(PART, claim, found.epoch, lease_s=LEASE_S)

            def take() -> None:
                if not stands:
                    self.lose()
                    return
                self.leases.confirm(PART, claim, sent_at=sent_at)
                if (until := self.leases.until(PART)) is not None and self.clock < until:
                    self.is_open = True
                    world.note_opening(self, found.epoch, makes=not self.was_opened, before=before)
                    self.was_opened = True

            return take

        self.at_server = serve

    def _send_renewal(self) -> None:
        world, sent_at = self.world, self.clock
        claim = self.leases.claims[PART]

        def serve() -> Answer:
            holds = world.register.renew(PART, claim, lease_s=LEASE_S)

            def take() -> None:
                if not holds and self.leases.find(PART, claim) is not None:
                    self.lose()
                elif holds:
                    self.leases.renew(PART, claim, sent_at=sent_at)
                    self.let_end()

            return take

        self.at_server = serve

    def lose(self) -> None:
        self.leases.drop(PART)
        self.is_open = False

    def be_served(self) -> None:
        if self.at_server is not None:
            serve, self.at_server = self.at_server, None
            self.answer = serve()

    def receive(self) -> None:
        if self.answer is not None:
            answer, self.answer = self.answer, None
            answer()

    def release(self) -> None:
        if (claim := self.leases.claims.get(PART)) is not None and self.answer is None and self.at_server is None:
            self.lose()
            self.world.register.release(PART, claim)


class World:
    """Machines, a server, and what must be true of them."""

    def __init__(self, paces: list[float]) -> None:
        self.now = 0.0
        self.register = ModelRegister()
        self.register.create(is_new=True)
        self.machines = [Machine(self, f"machine {number}", pace) for number, pace in enumerate(paces)]
        self.memory = self.register.remember()
        self.has_forgotten = False
        self.opened = 0
        """The highest epoch in which any directory was opened."""
        self.openings = 0
        self._claims = 0

    def new_claim(self) -> str:
        self._claims += 1
        return f"claim {self._claims}"

    def note_opening(self, machine: Machine, epoch: int, *, makes: bool, before: int) -> None:
        self.openings += 1
        assert not (makes and self.opened), f"{machine.name} has made the part again"
        if not self.has_forgotten:
            assert epoch > self.opened, f"{machine.name} opened an older copy"
            assert makes or before >= self.opened, f"{machine.name} opened an older copy"
        self.opened = max(self.opened, epoch)

    def step(self, action: str, number: int, value: float) -> None:
        machine = self.machines[number % MACHINES]
        match action:
            case "live":
                self._live(number, value)
            case "work":
                machine.send()
                machine.be_served()
                machine.receive()
            case "send":
                machine.send()
            case "serve":
                machine.be_served()
            case "receive":
                machine.receive()
            case "wait":
                self.now += value
                self.register.now += value
            case "crash":
                machine.begin()
            case "release":
                machine.release()
            case "copy":
                other = self.machines[(number + 1) % MACHINES]
                if not other.was_opened and not other.is_open and other.at_server is None and other.answer is None:
                    other.stored, other.was_opened = machine.stored, machine.was_opened
            case "flush":
                self.register.flush()
                self.has_forgotten = True
            case "remember":
                self.memory = self.register.remember()
            case "restart":
                self.register.restart(self.memory)
                self.has_forgotten = True
            case "drop":
                self.register.drop_lease(PART)
            case "jump":
                self.register.now += 20 * value
            case "jump back":
                self.register.now -= 20 * value
        self.check()

    def _live(self, who: int, seconds: float) -> None:
        """Some machines work for some time, and the others stand still."""
        for _ in range(int(seconds / 2)):
            self.now += 2.0
            self.register.now += 2.0
            for number, machine in enumerate(self.machines):
                if who >> number & 1:
                    machine.receive()
                    machine.be_served()
                    machine.receive()
                    machine.send()
                    machine.be_served()
                    machine.receive()
            self.check()

    def check(self) -> None:
        storing = [machine.name for machine in self.machines if machine.may_store]
        assert len(storing) <= 1, f"{storing} may store the same part"


FAULTS = ["crash", "release", "copy", "flush", "remember", "restart", "drop", "jump", "jump back"]
ACTIONS = ["live"] * 20 + ["work"] * 2 + ["wait"] * 2 + ["send", "serve", "receive"] * 2 + FAULTS
step = st.tuples(
    st.sampled_from(ACTIONS),
    st.integers(0, 2**MACHINES - 1),
    st.one_of(st.sampled_from([1.0, 4.0, 9.9, 10.0, 11.0, 12.5]), st.floats(0.0, 30.0)),
)
history = st.lists(step, min_size=10, max_size=40)
# A margin of a tenth permits that one clock runs a twentieth slower, and the other a twentieth faster.
paces = st.lists(st.floats(0.96, 1.04), min_size=MACHINES, max_size=MACHINES)


def _live_through(paces: list[float], steps: list[tuple[str, int, float]]) -> World:
    world = World(paces)
    for action, number, value in steps:
        world.step(action, number, value)
    return world


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(paces, history)
def test_no_two_machines_may_store_a_part_and_no_older_copy_is_opened(
    paces: list[float], steps: list[tuple[str, int, float]]
) -> None:
    _live_through(paces, steps)


@pytest.mark.long
@settings(max_examples=30_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(paces, history)
def test_no_two_machines_may_store_a_part_in_many_histories(
    paces: list[float], steps: list[tuple[str, int, float]]
) -> None:
    _live_through(paces, steps)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(paces, history)
def test_once_faults_end_somebody_holds_a_part_that_was_opened(
    paces: list[float], steps: list[tuple[str, int, float]]
) -> None:
    world = _live_through(paces, steps)
    had = any(machine.was_opened for machine in world.machines)
    # The server's clock may have gone back by up to 70 times 600 s: leases expire once it is there again.
    world.register.state.leases.clear()
    for _ in range(60):
        for number in range(MACHINES):
            world.step("receive", number, 0.0)
            world.step("work", number, 0.0)
        world.step("wait", 0, 1.0)
    assert not had or any(machine.may_store for machine in world.machines)
