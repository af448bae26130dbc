"""A configuration that changes while parts run, die and start again: all parts adopt it, or none does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest

from crawler.parts.agreement import Agreement, Difference
from crawler.parts.ending import Gate
from crawler.parts.line.services import SupervisorServices
from crawler.parts.sharing.configuration_giver import ANSWER_S, ConfigurationGiver
from crawler.parts.sharing.configuration_taker import Adopt, Adopted, ConfigurationTaker, Judge, Judged
from crawler.supervise.coordination.given import Openings
from crawler.testing.loops import in_virtual_time, run_in_virtual_time
from tests.unit.parts.sharing import Wire


class Life:
    """A process of a part: a `Configured` that takes its time."""

    def __init__(self, crawl: "Crawl", number: int) -> None:
        self._crawl = crawl
        self.holds = crawl.given
        self.agreement = Agreement({"the configuration": self.holds})
        self.gate = Gate()
        self.refuses: str | None = None
        self._judged: str | None = None
        taker = ConfigurationTaker(self, self.gate)
        self._obeying = asyncio.create_task(taker.run())
        self._wire = Wire(number, [taker], crawl.services)

    async def judge(self, configuration: str, /) -> str | None:
        await self._crawl.take_time()
        if self.refuses is not None:
            return self.refuses
        self._judged = configuration
        self.agreement.propose({"the configuration": configuration})
        return None

    async def adopt(self) -> int:
        assert self._judged is not None
        self.holds, self._judged = self._judged, None
        self.agreement.adopt()
        await self._crawl.take_time()
        return 1

    def drop(self) -> None:
        self._judged = None
        self.agreement.drop()

    async def die(self) -> None:
        self._wire.close()
        self._obeying.cancel()
        await asyncio.wait({self._obeying})


class Crawl:
    def __init__(self, parts: int, dice: Random) -> None:
        self._dice = dice
        self.given = "0"
        self.giver = ConfigurationGiver()
        self.openings = Openings()
        self.services = SupervisorServices([self.giver])
        self.lives: list[Life | None] = [None] * parts

    async def take_time(self) -> None:
        await asyncio.sleep(self._dice.random())

    async def start(self, number: int) -> None:
        """As the supervisor does: the process gets its configuration at the beginning, and is open later."""
        await self.openings.begin(number)
        given = self.given
        await self.take_time()
        self.lives[number] = life = Life(self, number)
        assert life.holds == given
        self.openings.end(number)

    async def kill(self, number: int) -> None:
        life, self.lives[number] = self.lives[number], None
        if life is not None:
            await life.die()

    async def change(self, configuration: str) -> bool:
        """Whether it has changed."""
        async with self.openings.held():
            try:
                answers = await self.giver.judge(configuration)
                if answers.silent or any(each.refusal is not None for each in answers.given.values()):
                    return False
                self.given = configuration
                await self.giver.adopt()
                return True
            finally:
                self.giver.drop()

    def check(self) -> None:
        """Any two parts can connect at any moment."""
        alive = [life for life in self.lives if life is not None]
        for one in alive:
            for other in alive:
                assert one.agreement.difference(other.agreement.values) is None


@asynccontextmanager
async def crawl_in(parts: int, seed: int = 0) -> AsyncIterator[Crawl]:
    crawl = Crawl(parts, Random(seed))
    for number in range(parts):
        await crawl.start(number)
    yield crawl
    for number in range(parts):
        await crawl.kill(number)


async def history(seed: int) -> None:
    dice = Random(seed)
    async with crawl_in(dice.randint(1, 4), seed) as crawl:

        async def die_and_start() -> None:
            while True:
                await asyncio.sleep(dice.random() * 3)
                number = dice.randrange(len(crawl.lives))
                await crawl.kill(number)
                await asyncio.sleep(dice.random())
                if crawl.lives[number] is None:
                    await crawl.start(number)

        async def look() -> None:
            while True:
                crawl.check()
                await asyncio.sleep(0.01)

        beside = [asyncio.create_task(die_and_start()), asyncio.create_task(look())]
        for change in range(1, 12):
            for life in crawl.lives:
                if life is not None:
                    life.refuses = "no" if dice.random() < 0.1 else None
            before = crawl.given
            changing = asyncio.create_task(crawl.change(str(change)))
            if dice.random() < 0.3:  # whoever asked for it goes away
                await asyncio.wait({changing}, timeout=dice.random() * 2)
                changing.cancel()
            await asyncio.wait({changing})
            if not changing.cancelled() and not changing.result():
                assert crawl.given == before
            await asyncio.sleep(5)
            alive = [life for life in crawl.lives if life is not None]
            assert {life.holds for life in alive} <= {crawl.given}
            assert not any(life.gate.adding for life in alive)
        for each in beside:
            assert not each.done()
            each.cancel()
        await asyncio.wait(beside)


def test_all_parts_hold_one_configuration_whichever_die_and_whoever_goes_away() -> None:
    for seed in range(40):
        run_in_virtual_time(history(seed))


@pytest.mark.long
def test_all_parts_hold_one_configuration_in_thousands_of_histories() -> None:
    for seed in range(1000, 6000):
        run_in_virtual_time(history(seed))


@in_virtual_time
async def test_none_changes_if_one_refuses_and_its_reason_is_told() -> None:
    async with crawl_in(3) as crawl:
        assert crawl.lives[1] is not None
        crawl.lives[1].refuses = "no place"
        async with crawl.openings.held():
            answers = await crawl.giver.judge("1")
            assert {part: each.refusal for part, each in answers.given.items()} == {0: None, 1: "no place", 2: None}
            assert [life.gate.adding for life in crawl.lives if life is not None] == [1, 1, 1]
            crawl.giver.drop()
        await asyncio.sleep(1)
        assert [(life.holds, life.gate.adding) for life in crawl.lives if life is not None] == [("0", 0)] * 3


@in_virtual_time
async def test_a_part_that_is_silent_is_named_and_adopts_later_what_was_decided_without_it() -> None:
    async with crawl_in(2) as crawl:
        assert crawl.lives[1] is not None
        assert crawl.lives[0] is not None

        async def hang() -> None:
            await asyncio.sleep(2 * ANSWER_S)

        crawl.take_time, quick = hang, crawl.take_time  # type: ignore[method-assign]
        answers = await crawl.giver.judge("1")
        assert (answers.given, answers.silent) == ({}, [0, 1])
        crawl.giver.drop()
        await asyncio.sleep(3 * ANSWER_S)
        crawl.take_time = quick  # type: ignore[method-assign]
        assert (await crawl.giver.judge("2")).silent == []
        crawl.take_time = hang  # type: ignore[method-assign]
        assert (await crawl.giver.adopt()).silent == [0, 1]
        await asyncio.sleep(3 * ANSWER_S)
        assert [(life.holds, life.gate.adding) for life in crawl.lives if life is not None] == [("2", 0)] * 2


@in_virtual_time
async def test_each_part_is_told_as_soon_as_it_has_adopted_also_after_one_was_silent() -> None:
    async with crawl_in(2) as crawl:
        slow = crawl.lives[1]
        assert slow is not None
        assert (await crawl.giver.judge("1")).silent == []
        quick = slow.adopt

        async def hang() -> int:
            await asyncio.sleep(2 * ANSWER_S)
            return await quick()

        slow.adopt = hang  # type: ignore[method-assign]
        told: list[int] = []
        adopting = asyncio.create_task(crawl.giver.adopt(told.append))
        await asyncio.sleep(ANSWER_S / 2)
        assert told == [0]
        assert (await adopting).silent == [1]
        await asyncio.sleep(2 * ANSWER_S)
        assert told == [0, 1]


@in_virtual_time
async def test_a_process_that_was_not_asked_to_judge_is_not_asked_to_adopt() -> None:
    """On many machines, one may begin while others judge."""
    async with crawl_in(2) as crawl:
        assert (await crawl.giver.judge("1")).silent == []
        await crawl.kill(1)
        await crawl.start(1)
        told: list[int] = []
        answers = await crawl.giver.adopt(told.append)
        assert (list(answers.given), answers.silent, told) == ([0], [], [0])
        assert [life.holds for life in crawl.lives if life is not None] == ["1", "0"]


@in_virtual_time
async def test_a_question_of_a_coordinator_that_is_gone_is_not_answered_to_the_next_nor_keeps_the_part_busy() -> None:
    async with crawl_in(1) as crawl:
        life = crawl.lives[0]
        assert life is not None
        gate, answers = Gate(), list[msgspec.Struct]()
        taker = ConfigurationTaker(life, gate)
        taker.connect(answers.append)
        obeying = asyncio.create_task(taker.run())
        # One question waits to be read when the line ends, and another one is being judged.
        for is_judged in (False, True):
            taker.receive(Judge(1, "of the first"))
            if is_judged:
                await asyncio.sleep(0)
            taker.disconnect()
            taker.connect(answers.append)
            await asyncio.sleep(1)
            assert (answers, gate.adding) == ([], 0)
        taker.receive(Judge(1, "of the next"))
        taker.receive(Adopt(2))
        await asyncio.sleep(2)
        assert (answers, gate.adding, life.holds) == ([Judged(1, None), Adopted(2, 1)], 0, "of the next")
        obeying.cancel()
        await asyncio.wait({obeying})


@in_virtual_time
async def test_a_crawl_that_ends_takes_no_configuration_and_one_that_takes_some_does_not_end() -> None:
    async with crawl_in(1) as crawl:
        assert crawl.lives[0] is not None
        crawl.lives[0].gate.close()
        answers = await crawl.giver.judge("1")
        assert "the crawl is complete, and ends now" in (answers.given[0].refusal or "")
        crawl.giver.drop()
        await asyncio.sleep(1)
        assert crawl.lives[0].gate.adding == 0


@in_virtual_time
async def test_no_part_begins_while_the_configuration_changes() -> None:
    openings = Openings()
    await openings.begin(0)
    order = []

    async def change() -> None:
        async with openings.held():
            order.append("change")
            await asyncio.sleep(1)

    async def begin() -> None:
        await openings.begin(1)
        order.append("begin")

    changing, beginning = asyncio.create_task(change()), asyncio.create_task(asyncio.sleep(0.1))
    await beginning
    begun = asyncio.create_task(begin())
    await asyncio.sleep(1)
    assert order == []  # a part is being opened
    openings.end(0)
    await asyncio.wait({changing, begun})
    assert order == ["change", "begin"]


def test_parts_agree_while_a_change_is_under_way_and_not_otherwise() -> None:
    old, new = {"configuration": "1", "rules": "a"}, {"configuration": "2", "rules": "a"}
    one, other = Agreement(old), Agreement(old)
    assert one.difference(new) == Difference("configuration", "1", "2")
    assert one.difference({"rules": "a"}) == Difference("configuration", "1", None)
    one.propose(new)
    other.propose(new)
    one.adopt()
    assert one.values == new
    assert one.difference(other.values) is None
    assert other.difference(one.values) is None
    other.drop()
    assert other.difference(one.values) == Difference("configuration", "1", "2")
