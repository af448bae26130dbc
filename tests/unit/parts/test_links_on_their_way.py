"""Random histories of a crawl in parts: kills, power failures, lost, repeated and reordered messages at every step."""

from collections.abc import Callable
from copy import deepcopy
from itertools import count
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crawler.parts.ending import EndWatch, Step
from tests.unit.parts.model import Part, Sending, World

NUMBERS = st.integers(0, 50)
FATES = st.sampled_from(["arrives", "arrives", "arrives", "is lost", "repeats"])
TRAFFIC = ["send", "send", "to receiver", "to receiver", "to sender", "to sender", "confirm"]


class Links(RuleBasedStateMachine):
    """Parts that fetch, send, receive, die and come back; and a supervisor that asks whether they are done."""

    @initialize(seed=st.integers(0, 1 << 16), parts=st.integers(2, 3), pages=st.integers(4, 12))
    def begin(self, seed: int, parts: int, pages: int) -> None:
        self.world = World(seed, pages=pages, parts=parts)
        incarnations = count(1)
        self.parts = [self.make_part(number, lambda: next(incarnations)) for number in range(parts)]
        self.connections: dict[tuple[int, int], list[Sending]] = {}
        self.added: set[int] = set()
        """Pages that an operator has added."""
        self.watch = EndWatch(parts)
        self.wave = self.watch.begin_wave()
        self.asked: set[int] = set()
        self.has_ended = False
        self.has_restored = False

    def make_part(self, number: int, draw: Callable[[], int]) -> Part:
        return Part(number, self.world, [0, 1], draw)

    def living(self, choice: int) -> Part | None:
        living = [part for part in self.parts if part.is_alive]
        return living[choice % len(living)] if living and not self.has_ended else None

    # a part works

    @rule(part=NUMBERS, page=NUMBERS, goes=st.sampled_from(["all the way", "all the way", "to its links", "no way"]))
    def fetch(self, part: int, page: int, goes: str) -> None:
        own = self.living(part)
        if own is not None and own.stored.pending:
            own.lease(page)
            if goes != "no way":
                own.add_links()
            if goes == "all the way":
                own.settle()

    @rule(part=NUMBERS)
    def flush(self, part: int) -> None:
        if (own := self.living(part)) is not None:
            own.flush()

    @rule(page=NUMBERS)
    def add(self, page: int) -> None:
        """An operator adds a page."""
        page %= self.world.pages
        own = self.parts[self.world.owner(page)]
        if own.is_alive and not own.gate.is_closed:
            own.admit([page])
            self.added.add(page)

    # parts talk

    @rule(part=NUMBERS, other=NUMBERS)
    def connect(self, part: int, other: int) -> None:
        if (own := self.living(part)) is not None:
            receiver = list(own.senders)[other % len(own.senders)]
            is_connected = own.senders[receiver].welcomed_by is not None
            if self.parts[receiver].is_alive and (not is_connected or other % 8 == 0):
                self.connections.setdefault((own.number, receiver), []).append(own.connect(receiver))

    def pick(self, choice: int, is_useful: Callable[[Sending], bool]) -> Sending | None:
        known = [each for connections in self.connections.values() for each in connections if is_useful(each)]
        return known[choice % len(known)] if known else None

    def is_current(self, connection: Sending) -> bool:
        """Whether the sender still uses the connection."""
        return (
            self.connections[connection.sender, connection.receiver][-1] is connection and not connection.ends_at_sender
        )

    @rule(steps=st.lists(st.tuples(st.sampled_from(TRAFFIC), NUMBERS, NUMBERS, FATES), min_size=1, max_size=12))
    def traffic(self, steps: list[tuple[str, int, int, str]]) -> None:
        for kind, choice, message, fate in steps:
            if (connection := self.pick(choice, self.uses[kind])) is None or self.has_ended:
                continue
            sender, receiver = self.parts[connection.sender], self.parts[connection.receiver]
            match kind:
                case "send":
                    sender.send(connection, most=1 + message % 3)
                case "confirm":
                    receiver.confirm(connection)
                case "to receiver":
                    self.arrive_at_receiver(connection, message, fate)
                case "to sender":
                    self.arrive_at_sender(connection, message, fate)

    @property
    def uses(self) -> dict[str, Callable[[Sending], bool]]:
        """Which connections each kind of traffic is possible on."""
        return {
            "send": self.is_current,
            "confirm": lambda each: each.is_accepted and not each.ends_at_receiver,
            "to receiver": lambda each: bool(each.to_receiver) and not each.ends_at_receiver,
            "to sender": lambda each: bool(each.to_sender) and self.is_current(each),
        }

    def arrive_at_receiver(self, connection: Sending, message: int, fate: str) -> None:
        if connection.ends_at_receiver or not connection.to_receiver:
            return
        at = message % len(connection.to_receiver) if connection.is_accepted else 0
        found = connection.to_receiver[at] if fate == "repeats" else connection.to_receiver.pop(at)
        if fate == "is lost":
            connection.ends_at_receiver = not connection.is_accepted
            return
        if not connection.is_accepted:
            self.accept(connection)
        self.parts[connection.receiver].take_at_receiver(connection, found)

    def accept(self, connection: Sending) -> None:
        """The receiver takes up a connection, and leaves the older ones of this sender."""
        connection.is_accepted = True
        for older in self.connections[connection.sender, connection.receiver]:
            if older is connection:
                break
            older.ends_at_receiver = True

    def arrive_at_sender(self, connection: Sending, message: int, fate: str) -> None:
        if not connection.to_sender or not self.is_current(connection):
            return
        at = message % len(connection.to_sender)
        found = connection.to_sender[at] if fate == "repeats" else connection.to_sender.pop(at)
        if fate != "is lost":
            self.parts[connection.sender].take_at_sender(connection, found)

    @rule(choice=NUMBERS, messages=st.integers(1, 9))
    def talk(self, choice: int, messages: int) -> None:
        """A connection works as it should for a while."""
        connection = self.pick(choice, lambda each: self.is_current(each) and not each.ends_at_receiver)
        for _ in range(messages if connection is not None and not self.has_ended else 0):
            assert connection is not None
            self.parts[connection.sender].send(connection)
            self.arrive_at_receiver(connection, 0, "arrives")
            self.arrive_at_sender(connection, 0, "arrives")

    @rule(syncs=st.booleans(), rounds=st.integers(1, 4))
    def work_for_a_while(self, syncs: bool, rounds: int) -> None:
        """Nothing goes wrong for a while."""
        if not self.has_ended and all(part.is_alive for part in self.parts):
            for _ in range(rounds):
                self.work_calmly(syncs=syncs, most=1)

    # disks and processes

    @rule(part=NUMBERS, ends=st.booleans())
    def sync(self, part: int, ends: bool) -> None:
        if (own := self.living(part)) is not None:
            own.begin_sync()
            if ends:
                own.end_sync()

    @rule(part=NUMBERS)
    def end_sync(self, part: int) -> None:
        if (own := self.living(part)) is not None and own.syncing is not None:
            own.end_sync()

    @rule(part=NUMBERS, loses_power=st.booleans(), opens=st.booleans())
    def die(self, part: int, loses_power: bool, opens: bool) -> None:
        if (own := self.living(part)) is not None:
            own.end(loses_power=loses_power)
            self.leave(own)
            # What an operator added since the last sync is lost with it; the rest is found again.
            self.added = {page for page in self.added if self.world.owner(page) != own.number or own.stored.knows(page)}
            if opens:
                own.open()

    def leave(self, own: Part) -> None:
        """What a dead process has sent is still on its way; what is on its way to it is lost."""
        for connections in self.connections.values():
            for each in connections:
                each.ends_at_sender |= each.sender == own.number
                each.ends_at_receiver |= each.receiver == own.number
                if each.receiver == own.number:
                    each.to_receiver.clear()
                if each.receiver == own.number and self.parts[each.sender].is_alive and connections[-1] is each:
                    self.parts[each.sender].senders[each.receiver].disconnect()

    @rule(part=NUMBERS)
    def open(self, part: int) -> None:
        dead = [each for each in self.parts if not each.is_alive]
        if dead and not self.has_ended:
            dead[part % len(dead)].open()

    # the supervisor asks

    @rule(parts=st.lists(NUMBERS, min_size=1, max_size=6))
    def ask_some(self, parts: list[int]) -> None:
        for part in parts:
            self.ask(part)

    def ask(self, part: int) -> None:
        waiting = [each for each in self.parts if each.number not in self.asked]
        if self.has_ended or not waiting:
            return
        own = waiting[part % len(waiting)]
        self.asked.add(own.number)
        self.go_on(self.watch.take(self.wave, own.number, own.answer()))

    def go_on(self, step: Step) -> None:
        if step is Step.WAIT:
            return
        for part in self.parts:
            if part.is_alive:
                if step is Step.CLOSE_GATES:
                    part.gate.close()
                elif step is Step.END:
                    part.gate.end()
                else:
                    part.gate.open()
        self.has_ended = step is Step.END
        if self.has_ended:
            self.check_complete()
            self.let_everything_arrive()
            self.check_complete()
        else:
            self.asked.clear()
            self.wave = self.watch.begin_wave()

    # what must hold

    @invariant()
    @precondition(lambda self: hasattr(self, "parts"))
    def each_part_has_its_own_pages_and_no_other(self) -> None:
        for part in self.parts:
            pages = [*part.stored.pending, *part.stored.done]
            assert len(pages) == len(set(pages))
            assert all(self.world.owner(page) == part.number for page in pages)
            for receiver, parcels in part.stored.outbox.items():
                assert not parcels or receiver != part.number

    @invariant()
    @precondition(lambda self: hasattr(self, "parts"))
    def no_receiver_is_ahead_of_its_sender(self) -> None:
        for part in self.parts:
            for (sender, incarnation), position in part.stored.positions.items():
                own = self.parts[sender]
                if own.is_alive and own.incarnation == incarnation:
                    assert position <= own.senders[part.number].end

    def check_complete(self) -> None:
        fetched = set()
        for part in self.parts:
            assert part.is_alive
            assert not part.stored.pending
            assert not any(part.stored.outbox.values())
            fetched |= part.stored.done
        missing = self.world.reachable({0, 1} | self.added) - fetched
        if missing:
            assert self.has_restored
            assert any(part.stored.gaps for part in self.parts)

    def let_everything_arrive(self) -> None:
        for connections in self.connections.values():
            for connection in connections:
                for _ in range(len(connection.to_receiver)):
                    self.arrive_at_receiver(connection, 0, "arrives")

    def teardown(self) -> None:
        """Whatever has happened: once nothing goes wrong any more, the crawl comes to its end."""
        if not hasattr(self, "parts"):
            return
        for part in self.parts:
            if not part.is_alive and not self.has_ended:
                part.open()
        for _ in range(200):
            if self.has_ended:
                return
            self.work_calmly()
            for number in range(len(self.parts)):
                self.ask(number)
        raise AssertionError("the crawl has not ended")

    def work_calmly(self, *, syncs: bool = True, most: int = 1000) -> None:
        for part in self.parts:
            for _ in range(most):
                if part.stored.pending:
                    part.lease(0)
                    part.add_links()
                    part.settle()
            part.flush()
            for receiver, sender in part.senders.items():
                connections = self.connections.setdefault((part.number, receiver), [])
                if sender.welcomed_by != self.parts[receiver].incarnation or sender.sent > sender.committed:
                    connections.append(part.connect(receiver))
                if connections:
                    part.send(connections[-1])
                    self.exchange(connections[-1])
            if syncs:
                part.begin_sync()
                part.end_sync()

    def exchange(self, connection: Sending) -> None:
        self.parts[connection.receiver].confirm(connection)
        while connection.to_receiver or connection.to_sender:
            self.arrive_at_receiver(connection, 0, "arrives")
            self.arrive_at_sender(connection, 0, "arrives")


class LinksWithOldCopies(Links):
    """The same, and a volume may be lost, so that its part goes on with an old copy."""

    @rule(part=NUMBERS, copy=NUMBERS)
    def restore(self, part: int, copy: int) -> None:
        if (own := self.living(part)) is not None:
            own.end(loses_power=False)
            own.stored = deepcopy(own.history[copy % len(own.history)])
            own.synced = deepcopy(own.stored)
            self.leave(own)
            self.added = {page for page in self.added if self.world.owner(page) != own.number or own.stored.knows(page)}
            self.has_restored = True


def run(machine: type[Links], *, histories: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def storm(links: Links, seed: int, *, steps: int) -> None:
    """A long history. Hypothesis looks for short ones."""
    dice = Random(seed)
    pages = dice.choice([4, 6, 60])
    is_near_end = pages < 60

    def number() -> int:
        return dice.randrange(1000)

    def traffic(length: int) -> list[tuple[str, int, int, str]]:
        fates = ["arrives", "arrives", "arrives", "is lost", "repeats"]
        return [(dice.choice(TRAFFIC), number(), number(), dice.choice(fates)) for _ in range(length)]

    actions: list[tuple[int, Callable[[], None]]] = [
        (9, lambda: links.fetch(number(), number(), dice.choice(["all the way", "to its links", "no way"]))),
        (1, lambda: links.flush(number())),
        (2, lambda: links.add(number())),
        (3, lambda: links.connect(number(), number())),
        (12, lambda: links.traffic(traffic(8))),
        (4, lambda: links.talk(number(), dice.randrange(9))),
        (6 if is_near_end else 1, lambda: links.work_for_a_while(dice.random() < 0.7, dice.randrange(4))),
        (3, lambda: links.sync(number(), dice.random() < 0.7)),
        (2, lambda: links.end_sync(number())),
        (1, lambda: links.die(number(), dice.random() < 0.5, dice.random() < 0.5)),
        (6, lambda: links.open(number())),
        (20 if is_near_end else 8, lambda: links.ask_some([number() for _ in range(dice.randint(1, 3))])),
    ]
    if isinstance(links, LinksWithOldCopies):
        actions.append((1, lambda: links.restore(number(), number())))
    links.begin(seed, dice.randint(2, 4), pages)
    weights = [weight for weight, _ in actions]
    for _ in range(steps):
        dice.choices(actions, weights)[0][1]()
        links.each_part_has_its_own_pages_and_no_other()
        links.no_receiver_is_ahead_of_its_sender()
        if links.has_ended:
            break
    links.teardown()


MACHINES = [Links, LinksWithOldCopies]


@pytest.mark.parametrize("machine", MACHINES)
def test_no_link_is_lost_and_the_end_is_told_when_it_is_true(machine: type[Links]) -> None:
    run(machine, histories=50, steps=50)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_link_is_lost_in_long_histories(machine: type[Links]) -> None:
    for seed in range(200):
        storm(machine(), seed, steps=120)


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
def test_no_link_is_lost_in_thousands_of_histories(machine: type[Links]) -> None:
    run(machine, histories=4_000, steps=100)
    for seed in range(20_000):
        storm(machine(), seed, steps=300)
