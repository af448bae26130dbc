"""Addresses that several parts ask: parts and supervisor die, connections break, and no address is asked by two at once
or before its rest is over."""

from collections import Counter, defaultdict
from collections.abc import Callable
from random import Random

import pytest

from crawler.parts.authority import Authority
from crawler.parts.holder import Holder
from crawler.parts.reservations import (
    FromHolder,
    Granted,
    Held,
    Register,
    Release,
    Reserve,
    Share,
    Shared,
    Sole,
    ToHolder,
)

LONGEST_REST_S = 50.0


class Connection:
    """In order, until it breaks."""

    def __init__(self) -> None:
        self.held: list[Held] | None = None
        """What is told first."""
        self.to_authority: list[FromHolder] = []
        self.to_holder: list[ToHolder] = []


class Part:
    def __init__(self) -> None:
        self.holder = Holder()
        self.connection: Connection | None = None
        self.running: list[tuple[str, float]] = []
        """Addresses that it asks, and since when."""


class Crawl:
    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.now = 1000.0
        self.at_once = self.dice.choice([1, 1, 2])
        self.names = ["a", "b", "c"][: self.dice.randint(1, 3)]
        self.parts: list[Part | None] = [Part() for _ in range(self.dice.randint(2, 3))]
        self.rest_until: defaultdict[str, float] = defaultdict(float)
        self.begun: Counter[tuple[int, str]] = Counter()
        self.new_authority(is_first=True)

    def new_authority(self, *, is_first: bool) -> None:
        for part in self.parts:
            if part is not None:
                self.disconnect(part)
        self.ended: list[int] = [number for number, part in enumerate(self.parts) if part is None]
        """Parts that have ended, which the authority has not been told."""
        self.authority = Authority(
            parts=len(self.parts),
            longest_rest_s=LONGEST_REST_S,
            now=self.now - LONGEST_REST_S if is_first else self.now,
            at_once=self.at_once,
        )

    def disconnect(self, part: Part) -> None:
        if part.connection is not None:
            part.connection = None
            part.holder.disconnect()

    def connect(self, part: Part) -> None:
        self.disconnect(part)
        part.connection = Connection()
        part.connection.held = part.holder.connect(self.now)

    def pass_on(self, out: list[tuple[int, ToHolder]]) -> None:
        for number, message in out:
            part = self.parts[number]
            # Before it has told what it holds, the authority does not know of the connection.
            if part is not None and part.connection is not None and part.connection.held is None:
                part.connection.to_holder.append(message)

    def say(self, part: Part) -> None:
        if part.connection is not None:
            part.connection.to_authority += part.holder.messages()

    def hear_holder(self, number: int, part: Part) -> None:
        self.say(part)
        connection = part.connection
        if connection is None or number in self.ended:
            return
        if connection.held is not None:
            held, connection.held = connection.held, None
            self.pass_on(self.authority.join(number, held, self.now))
        elif connection.to_authority:
            self.pass_on(self.authority.take(number, connection.to_authority.pop(0), self.now))

    def hear_authority(self, part: Part) -> None:
        if part.connection is not None and part.connection.to_holder:
            part.holder.take(part.connection.to_holder.pop(0), self.now)

    def begin(self, number: int, part: Part, name: str) -> bool:
        # A part asks an address that it has alone by its own rules, which are the same.
        if sum(each == name for each, _ in part.running) >= self.at_once:
            return False
        wake_at = part.holder.wake_at(name)
        if wake_at is not None and self.now < wake_at:
            return False
        if not part.holder.begin(name, self.now):
            return False
        part.running.append((name, self.now))
        self.begun[number, name] += 1
        # With two at once, the second may have been granted before the first ended.
        assert self.at_once > 1 or self.now >= self.rest_until[name]
        running = sum(each == name for each_part in self.parts if each_part for each, _ in each_part.running)
        assert running <= self.at_once
        return True

    def end(self, part: Part, choice: int, rest_s: float) -> None:
        if part.running:
            name, _ = part.running.pop(choice % len(part.running))
            part.holder.end(name, rest_s, self.now)
            self.rest_until[name] = max(self.rest_until[name], self.now + rest_s)

    def die(self, number: int, part: Part) -> None:
        for name, since in part.running:
            self.rest_until[name] = max(self.rest_until[name], since + LONGEST_REST_S)
        self.parts[number] = None
        self.ended.append(number)

    def tell_ended(self) -> None:
        if self.ended:
            self.pass_on(self.authority.forget_process(self.ended.pop(0), self.now))

    def step(self) -> None:
        dice = self.dice
        number = dice.randrange(len(self.parts))
        part = self.parts[number]
        if part is None:
            # The supervisor, who starts a part again, knows that it has ended.
            if number not in self.ended and dice.random() < 0.5:
                self.parts[number] = Part()
            else:
                self.tell_ended()
            return
        name = dice.choice(self.names)
        actions: list[tuple[float, Callable[[], object]]] = [
            (8, lambda: self.begin(number, part, name)),
            (6, lambda: self.end(part, dice.randrange(9), dice.choice([0.0, 1.0, 20.0]))),
            (2, lambda: self.connect(part) if part.connection is None else None),
            (0.2, lambda: self.connect(part)),
            (0.2, lambda: self.disconnect(part)),
            (8, lambda: self.hear_holder(number, part)),
            (8, lambda: self.hear_authority(part)),
            (4, lambda: self.pass_on(self.authority.wake(self.now))),
            (1, lambda: part.holder.drop(name, self.now)),
            (0.5, lambda: part.holder.decline(name)),
            (0.3, lambda: self.die(number, part)),
            (1, self.tell_ended),
            (0.1, lambda: self.new_authority(is_first=False)),
            (4, lambda: self.pass_time(dice.choice([0.1, 1.0, 10.0]))),
        ]
        dice.choices([act for _, act in actions], [weight for weight, _ in actions])[0]()

    def pass_time(self, seconds: float) -> None:
        # No request takes longer than the longest rest allows for.
        for part in self.parts:
            if part is not None:
                for at, (_, since) in reversed(list(enumerate(part.running))):
                    if self.now + seconds > since + LONGEST_REST_S - 20.0:
                        self.end(part, at, 20.0)
        self.now += seconds

    def finish(self) -> None:
        """Nothing goes wrong any more: each part gets its turn at each address, again and again."""
        while self.ended:
            self.tell_ended()
        living: list[Part] = []
        for number in range(len(self.parts)):
            part = self.parts[number] = self.parts[number] or Part()
            living.append(part)
            if part.connection is None:
                self.connect(part)
        self.begun.clear()
        for _ in range(600):
            for number, part in enumerate(living):
                for name in self.names:
                    self.begin(number, part, name)
                for _ in range(5):
                    self.hear_holder(number, part)
                    self.hear_authority(part)
                while part.running:
                    self.end(part, 0, 1.0)
            self.pass_on(self.authority.wake(self.now))
            self.pass_time(1.0)
        for number in range(len(self.parts)):
            for name in self.names:
                assert self.begun[number, name] > 20, (number, name)


def run(seeds: range) -> None:
    for seed in seeds:
        crawl = Crawl(seed)
        for _ in range(crawl.dice.randrange(600)):
            crawl.step()
        crawl.finish()


def test_no_address_is_asked_by_two_at_once_or_before_its_rest_is_over() -> None:
    run(range(60))


@pytest.mark.long
def test_no_address_is_asked_by_two_at_once_in_thousands_of_histories() -> None:
    run(range(1000, 15_000))


def authority(*, is_first: bool = True) -> Authority:
    own = Authority(parts=2, longest_rest_s=50.0, now=-50.0 if is_first else 0.0)
    for part in range(2):
        assert own.join(part, [], 0.0) == []
    return own


def test_an_address_of_one_part_takes_one_message_and_no_grant() -> None:
    own = authority()
    assert own.take(0, Register("a"), 1.0) == [(0, Sole("a", 0.0))]


def test_the_second_part_may_begin_only_when_the_first_has_acknowledged() -> None:
    own = authority()
    own.take(0, Register("a"), 1.0)
    assert own.take(1, Register("a"), 2.0) == [(0, Share("a"))]
    told = own.take(0, Held(address="a", is_shared=True, in_flight=1, rest_s=3.0), 4.0)
    assert told == [(1, Shared("a"))]
    assert own.take(1, Reserve("a"), 5.0) == []  # the first still asks it
    assert own.take(0, Release("a", 2.0), 6.0) == []
    assert own.next_wake() == 8.0
    assert own.wake(7.9) == []
    assert own.wake(8.0) == [(1, Granted("a"))]


def test_the_longest_rest_counts() -> None:
    own = authority()
    own.take(0, Register("a"), 0.0)
    own.take(1, Register("a"), 0.0)
    own.take(0, Held(address="a", is_shared=True, in_flight=0, rest_s=9.0), 0.0)
    own.take(1, Release("a", 2.0), 0.0)
    own.take(1, Reserve("a"), 0.0)
    assert own.wake(8.9) == []
    assert own.wake(9.0) == [(1, Granted("a"))]


def test_an_authority_answers_nobody_before_it_has_heard_all_parts() -> None:
    own = Authority(parts=3, longest_rest_s=50.0, now=-50.0)
    assert own.join(0, [], 0.0) == []
    assert own.take(0, Register("a"), 1.0) == []
    assert own.join(1, [Held(address="a", is_shared=False, in_flight=1, rest_s=0.0)], 2.0) == []
    assert own.forget_process(2, 3.0) == [(1, Share("a"))]


def test_after_another_authority_each_address_rests_once() -> None:
    own = authority(is_first=False)
    assert own.take(0, Register("a"), 10.0) == [(0, Sole("a", 40.0))]


def test_what_a_part_no_longer_tells_when_it_joins_again_rests_for_the_longest_time() -> None:
    own = authority()
    own.take(0, Register("a"), 0.0)
    assert own.join(0, [], 10.0) == []
    assert own.take(1, Register("a"), 11.0) == [(1, Sole("a", 49.0))]


def test_an_address_is_forgotten_when_nobody_asks_it_and_its_rest_is_over() -> None:
    own, holder = authority(), Holder()
    assert holder.connect(0.0) == []
    assert not holder.begin("a", 0.0)
    for message in holder.messages():
        for _, told in own.take(0, message, 0.0):
            assert holder.take(told, 0.0) == "a"
    assert holder.begin("a", 0.0)
    assert not holder.drop("a", 0.0)
    holder.end("a", 5.0, 1.0)
    assert holder.drop("a", 2.0)
    for message in holder.messages():
        assert own.take(0, message, 2.0) == []
    assert "a" not in holder
    assert own.next_wake() == 6.0
    assert own.wake(6.0) == []
    assert own.next_wake() is None
    assert own.take(1, Register("a"), 7.0) == [(1, Sole("a", 0.0))]


def test_without_the_authority_only_what_a_part_has_alone_may_be_asked() -> None:
    holder = Holder()
    holder.connect(0.0)
    for name in ("alone", "shared", "unknown"):
        holder.begin(name, 0.0)
    holder.take(Sole("alone", 0.0), 0.0)
    holder.take(Shared("shared"), 0.0)
    holder.begin("shared", 0.0)
    holder.take(Granted("shared"), 0.0)
    holder.disconnect()
    assert [holder.begin(name, 0.0) for name in ("alone", "shared", "unknown", "new")] == [True, False, False, False]
    held = holder.connect(1.0)
    assert {each.address: (each.is_shared, each.in_flight) for each in held} == {
        "alone": (False, 1),
        "shared": (True, 0),
    }
    assert set(holder.messages()) == {Reserve("shared"), Register("unknown"), Register("new")}
