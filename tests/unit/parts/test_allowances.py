"""A limit of pages, shared by parts that die, lose what they wrote, and hear instructions late, twice or never."""

from collections.abc import Callable
from random import Random

import msgspec
import pytest

from crawler.parts.allowances import Bank, Instruction, Order, Purse, Statement


class Stored(msgspec.Struct, frozen=True):
    order: Order = Order()
    allowed: int = 0
    settled: frozenset[int] = frozenset()


class Part:
    """A part with numbered URLs, some of which are no pages."""

    def __init__(self, number: int, urls: int) -> None:
        self.number = number
        self.urls = [number * 1000 + each for each in range(urls)]
        self.stored = self.synced = Stored()
        self.done: set[int] = set()
        """URLs that are settled as no pages."""
        self.output: set[int] = set()
        """Numbers of pages in the output. It may keep what the store has lost."""
        self.begun: dict[int, bool] = {}
        """What was leased, and whether it was written."""
        self.purse = self.open()

    def open(self) -> Purse:
        self.begun = {}
        self.purse = Purse(order=self.stored.order, allowed=self.stored.allowed, settled=len(self.stored.settled))
        self.purse.owe(self.output - self.stored.settled)
        return self.purse

    def waiting(self) -> list[int]:
        return [url for url in self.urls if url not in self.stored.settled and url not in self.done | set(self.begun)]

    def lease(self, choice: int) -> None:
        waiting = self.waiting()
        if waiting and self.purse.begin(url := waiting[choice % len(waiting)]):
            self.begun[url] = False

    def go_on(self, choice: int, *, gives_up: bool) -> None:
        if not self.begun:
            return
        url = list(self.begun)[choice % len(self.begun)]
        is_page = url % 4 != 0
        if gives_up and not self.begun[url]:
            self.purse.release(url)
            del self.begun[url]
        elif is_page and not self.begun[url]:
            self.output.add(url)
            self.begun[url] = True
        else:
            del self.begun[url]
            if is_page:
                self.stored = msgspec.structs.replace(self.stored, settled=self.stored.settled | {url})
            else:
                self.done.add(url)
            self.purse.settle(url, is_page=is_page)

    def hear(self, instruction: Instruction) -> Statement:
        if self.purse.obey(instruction):
            self.stored = msgspec.structs.replace(self.stored, order=self.purse.order, allowed=self.purse.allowed)
            self.synced = self.stored
        return self.state()

    def state(self) -> Statement:
        return self.purse.state(is_idle=not self.waiting() and not self.begun)

    def die(self, *, loses_power: bool) -> None:
        if loses_power:
            self.stored = self.synced
        self.open()


class Crawl:
    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.parts = [Part(number, self.dice.randrange(25)) for number in range(self.dice.randint(1, 4))]
        self.limit = self.dice.randrange(40)
        self.bound = 0
        """How many pages there may be."""
        self.bank = self.new_bank()
        self.to_parts: list[tuple[int, Instruction]] = []
        self.to_bank: list[tuple[Bank, int, Statement]] = []

    def new_bank(self) -> Bank:
        """A run begins."""
        self.bank = Bank(limit=self.limit, parts=len(self.parts))
        self.before = sum(
            part.purse.pages for part in self.parts
        )  # what is written but not settled may be of either run
        self.has_begun = self.has_changed = False
        return self.bank

    def set_limit(self, limit: int) -> None:
        self.limit, self.has_begun, self.has_changed = limit, False, True
        self.bank.set_limit(limit)

    @property
    def pages(self) -> int:
        return sum(len(part.output) for part in self.parts)

    def check(self) -> None:
        total = self.bank.total
        if total is not None and not self.has_begun:
            self.has_begun = True
            # Pages that were written since the bank died, or had been begun, may be of either run.
            kept = sum(part.purse.allowed for part in self.parts)
            assert self.before + self.limit <= total <= max(self.pages + self.limit, kept)
            self.bound = total
        assert self.pages <= self.bound
        assert sum(part.purse.allowed for part in self.parts) <= self.bound
        for part in self.parts:
            assert part.purse.used <= part.purse.allowed

    def arrive(self, waiting: list[tuple[int, Instruction]]) -> tuple[int, Instruction] | None:
        if not waiting:
            return None
        at = self.dice.randrange(len(waiting))
        return waiting[at] if self.dice.random() < 0.2 else waiting.pop(at)

    def step(self) -> None:
        dice = self.dice
        part = dice.choice(self.parts)
        actions: list[tuple[int, Callable[[], None]]] = [
            (6, lambda: part.lease(dice.randrange(1000))),
            (8, lambda: part.go_on(dice.randrange(1000), gives_up=dice.random() < 0.1)),
            (1, lambda: part.die(loses_power=dice.random() < 0.5)),
            (2, lambda: setattr(part, "synced", part.stored)),
            (2, lambda: self.to_parts.extend(self.bank.instructions().items())),
            (4, self.tell_part),
            (2, lambda: self.to_bank.append((self.bank, part.number, part.state()))),
            (4, self.tell_bank),
            (1, self.lose),
            (1, lambda: self.bank.lose(part.number)),
            (2, lambda: self.to_parts.append((part.number, self.bank.greeting(part.number)))),
        ]
        if dice.random() < 0.01:
            self.new_bank()
        if dice.random() < 0.02:
            self.set_limit(dice.randrange(40))
        dice.choices([act for _, act in actions], [weight for weight, _ in actions])[0]()
        self.check()

    def tell_part(self) -> None:
        if (found := self.arrive(self.to_parts)) is not None:
            number, instruction = found
            self.to_bank.append((self.bank, number, self.parts[number].hear(instruction)))

    def tell_bank(self) -> None:
        if self.to_bank:
            bank, number, statement = self.to_bank.pop(0)
            if bank is self.bank and self.dice.random() < 0.9:
                bank.hear(number, statement)

    def lose(self) -> None:
        if self.to_parts:
            self.to_parts.pop(self.dice.randrange(len(self.to_parts)))

    def finish(self) -> None:
        """Nothing goes wrong any more."""
        for part in self.parts:
            part.hear(self.bank.greeting(part.number))
        for _ in range(400):
            for part in self.parts:
                for number, instruction in self.bank.instructions().items():
                    self.bank.hear(number, self.parts[number].hear(instruction))
                part.lease(0)
                for _ in range(3 * len(part.begun)):
                    part.go_on(0, gives_up=False)
                self.bank.hear(part.number, part.state())
                self.check()
        there_are = sum(url % 4 != 0 for part in self.parts for url in part.urls)
        assert self.pages == min(self.bound, there_are)
        assert self.bank.is_reached or there_are < self.bound
        if not self.has_changed:
            assert self.bank.is_reached == (there_are >= self.bound)
        assert self.bank.pages == self.pages


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_a_limit_is_met_exactly_and_never_exceeded(first: int) -> None:
    run(range(first, first + 50))


@pytest.mark.long
def test_a_limit_is_met_exactly_in_thousands_of_histories() -> None:
    run(range(1000, 20_000))


def run(seeds: range) -> None:
    for seed in seeds:
        crawl = Crawl(seed)
        for _ in range(crawl.dice.randrange(400)):
            crawl.step()
        crawl.finish()


def test_a_part_that_has_fetched_an_owed_page_last_wants_no_more() -> None:
    """A URL was refused before it, and is gone since then."""
    purse = Purse(order=Order(3, 7), allowed=1, settled=0)
    purse.owe([1])
    purse.obey(Instruction(order=Order(3, 8)))
    assert not purse.begin(2)
    assert purse.state(is_idle=False).wants
    assert purse.begin(1)
    purse.settle(1, is_page=True)
    assert not purse.state(is_idle=True).wants


@pytest.mark.parametrize("seed", [13492])
def test_a_limit_is_met_exactly_in_histories_that_once_failed(seed: int) -> None:
    run(range(seed, seed + 1))


def test_a_bank_gives_nothing_before_it_has_heard_all_parts() -> None:
    bank, first, second = Bank(limit=10, parts=2), Part(0, 9), Part(1, 9)
    first.lease(0)
    assert first.purse.wants
    for _ in range(2):  # each states what it has, then obeys this bank
        bank.hear(0, first.hear(bank.instructions()[0]))
        bank.hear(0, first.state())
        assert 0 not in bank.instructions()
        bank.hear(1, second.hear(bank.instructions()[1]))
    assert bank.instructions()[0].allowed


def test_a_part_that_can_not_be_reached_keeps_its_allowance_and_blocks_no_other() -> None:
    bank, parts = Bank(limit=40, parts=3), [Part(0, 99), Part(1, 99), Part(2, 99)]

    def talk(*alive: int) -> None:
        for _ in range(20):
            for number in alive:
                for to, instruction in bank.instructions().items():
                    if to in alive:
                        bank.hear(to, parts[to].hear(instruction))
                parts[number].lease(0)
                bank.hear(number, parts[number].state())

    talk(0, 1, 2)
    parts[0].die(loses_power=False)
    bank.lose(0)
    kept = parts[0].purse.allowed
    assert kept
    for each in parts[1:]:
        each.lease(0)
    talk(1, 2)
    assert parts[0].purse.allowed == kept
    assert parts[1].purse.used + parts[2].purse.used == 40 - kept


def test_a_part_that_was_opened_again_begins_nothing_before_it_has_heard_the_bank() -> None:
    purse = Purse(order=Order(3, 7), allowed=5, settled=2)
    assert not purse.begin(1)
    assert not purse.obey(Instruction(order=Order()))
    assert not purse.begin(1)
    assert not purse.obey(Instruction(order=Order(3, 0)))
    assert purse.begin(1)


def test_an_instruction_of_an_earlier_bank_opens_no_purse() -> None:
    purse = Purse(order=Order(3, 7), allowed=5, settled=2)
    assert not purse.obey(Instruction(order=Order(2, 9), allowed=9))
    assert not purse.begin(1)


def test_pages_that_were_begun_before_a_bank_are_settled_beyond_its_limit() -> None:
    bank = Bank(limit=1, parts=1)
    bank.hear(0, Statement(order=Order(3, 7), allowed=4, used=3))
    assert bank.instructions()[0] == Instruction(order=Order(4, 0), allowed=0)
    bank.hear(0, Statement(order=Order(4, 0), allowed=3, used=3))
    assert bank.total == 3


def talk(bank: Bank, parts: list[Part], *, leases: int = 1) -> None:
    """Let parts and bank talk until nothing changes any more."""
    for _ in range(30):
        for number, part in enumerate(parts):
            if (instruction := bank.instructions().get(number)) is not None:
                bank.hear(number, part.hear(instruction))
            for _ in range(leases):
                part.lease(0)
            bank.hear(number, part.state())


def test_a_lower_limit_calls_back_what_is_not_begun_and_counts_from_the_beginning_of_the_run() -> None:
    bank, parts = Bank(limit=400, parts=2), [Part(0, 0), Part(1, 0)]
    for part in parts:
        part.urls = [each for each in range(part.number * 1000, part.number * 1000 + 400) if each % 4]
    talk(bank, parts)
    assert sum(part.purse.allowed for part in parts) > 100
    bank.set_limit(70)
    assert [each.allowed for each in bank.instructions().values()] == [0, 0]
    talk(bank, parts)
    assert bank.total == 70 == sum(part.purse.used for part in parts)
    assert not bank.is_reached
    bank.set_limit(90)
    talk(bank, parts)
    assert bank.total == 90 == sum(part.purse.used for part in parts)


def test_a_limit_that_is_reached_already_is_reached_while_pages_are_in_flight() -> None:
    bank, parts = Bank(limit=40, parts=2), [Part(0, 20), Part(1, 20)]
    talk(bank, parts)
    while bank.pages < 9:
        parts[0].go_on(0, gives_up=False)
        bank.hear(0, parts[0].state())
    bank.set_limit(8)
    talk(bank, parts, leases=0)
    assert bank.is_reached


def test_a_bank_that_goes_on_counts_from_the_beginning_of_the_run() -> None:
    """Another bank has shared 10 pages of a run that began after 5; the parts have 4 and 7 by now."""
    bank = Bank(limit=10, parts=2)
    bank.go_on(5)
    orders = {part: bank.greeting(part).order for part in (0, 1)}
    pages = {0: 4, 1: 7}
    for part, order in orders.items():
        bank.hear(part, Statement(order=Order(epoch=3), allowed=pages[part], used=pages[part], pages=pages[part]))
        assert order == Order()
    assert not bank.is_reached
    for part, instruction in bank.instructions().items():
        state = Statement(order=instruction.order, allowed=pages[part], used=pages[part], pages=pages[part])
        bank.hear(part, state)
    assert (bank.before, bank.total, bank.is_reached) == (5, 15, False)
    bank.go_on(1)  # an older word changes nothing
    assert bank.before == 5
