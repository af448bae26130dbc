"""Links that travel between real frontiers, over the sockets of one machine."""

import asyncio
import logging
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest

from crawler.parts.exchange import carrier
from crawler.parts.exchange.protocol import Connection
from crawler.parts.exchange.sending import PartsDisagree
from crawler.parts.messages import Confirm, Hello, Parcels, Welcome
from crawler.testing.loops import in_event_loop
from frontier import Place
from frontier.leveldb.database import SystemCalls
from frontier.parts.parcels import encode_parcel
from frontier.upkeep.part_checks import check_parts
from tests.unit.frontier.disk import Disk
from tests.unit.parts.carrying import Crawl, RunningPart, until, wait_for_end
from tests.unit.parts.model import World
from tests.unit.parts.stored import look, page_of


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    """In two parts."""
    return Crawl(tmp_path, World(3, pages=50, parts=2))


def foreign_page(world: World, receiver: int, after: int = -1) -> int:
    """A page that belongs to a part."""
    return next(page for page in range(after + 1, 10_000) if world.owner(page) == receiver)


async def check_complete(crawl: Crawl, parts: dict[int, RunningPart]) -> None:
    fetched: set[int] = set()
    for number, part in parts.items():
        found = look(part.store, crawl.world)
        assert not found.pending
        assert not found.outbox
        assert all(crawl.world.owner(page) == number for page in found.done)
        fetched |= found.done
    assert fetched == crawl.world.reachable({0, 1})
    assert list(check_parts([part.store for part in parts.values()])) == []


@pytest.mark.parametrize("count", [1, 2, 4])
@in_event_loop
async def test_a_crawl_in_parts_fetches_each_page_once_and_ends(tmp_path: Path, count: int) -> None:
    crawl = Crawl(tmp_path, World(7, pages=300, parts=count))
    async with AsyncExitStack() as stack:
        parts = {number: await stack.enter_async_context(crawl.running(number)) for number in range(count)}
        await wait_for_end(parts)
        await check_complete(crawl, parts)


@in_event_loop
async def test_parts_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    await crawl_with_kills(tmp_path, seed=5, kills=10)


@pytest.mark.long
@in_event_loop
async def test_parts_that_are_killed_many_times_lose_and_repeat_nothing(tmp_path: Path) -> None:
    for seed in range(100, 120):
        await crawl_with_kills(tmp_path / f"{seed}", seed=seed, kills=50)


async def crawl_with_kills(directory: Path, *, seed: int, kills: int) -> None:
    crawl, dice = Crawl(directory, World(seed, pages=40 * kills, parts=3)), Random(seed)
    async with AsyncExitStack() as end:
        lives = {number: await end.enter_async_context(AsyncExitStack()) for number in range(3)}
        parts = {number: await lives[number].enter_async_context(crawl.running(number)) for number in range(3)}
        for life in range(1, 1 + kills):
            number = dice.randrange(3)
            done = parts[number].frontier.describe().done
            await asyncio.sleep(0.02)
            crawl.kill(number, life)
            await lives[number].aclose()
            parts[number] = await lives[number].enter_async_context(crawl.running(number))
            assert parts[number].frontier.describe().done >= done
        await wait_for_end(parts)
        await check_complete(crawl, parts)


@in_event_loop
async def test_links_wait_on_the_disk_for_a_part_that_comes_late(crawl: Crawl) -> None:
    page = foreign_page(crawl.world, 1)
    async with crawl.running(0, crawls=False) as first:
        await first.frontier.add([page_of(page)])
    async with crawl.running(0, crawls=False) as first:
        assert first.links.waiting(1) == 1
        async with crawl.running(1, crawls=False) as second:
            await until(lambda: second.frontier.describe().admitted == 1)
            await until(lambda: first.links.waiting(1) == 0)
            entry = await second.frontier.status_of(page_of(page).canonical)
            assert entry is not None


@in_event_loop
async def test_a_full_outbox_pauses_the_part_until_the_other_has_taken_half_of_it(crawl: Crawl) -> None:
    crawl.max_waiting = 4
    async with crawl.running(0, crawls=False) as first:
        page = -1
        for _ in range(4):
            assert not first.frontier.pauses
            page = foreign_page(crawl.world, 1, page)
            await first.frontier.add([page_of(page)])
        assert first.frontier.pauses.reason == "part 1 has not taken 4 parcels of links yet"
        assert not (await first.carrier.report()).is_idle
    async with crawl.running(0, crawls=False) as first:
        assert first.frontier.pauses  # also after a restart
        async with crawl.running(1, crawls=False):
            await until(lambda: not first.frontier.pauses)
        assert first.links.waiting(1) <= 2


@in_event_loop
async def test_one_parcel_that_was_not_taken_is_told_as_one(crawl: Crawl) -> None:
    crawl.max_waiting = 1
    async with crawl.running(0, crawls=False) as first:
        await first.frontier.add([page_of(foreign_page(crawl.world, 1, -1))])
        assert first.frontier.pauses.reason == "part 1 has not taken 1 parcel of links yet"


@in_event_loop
async def test_a_part_goes_on_once_half_of_its_outbox_is_safe_and_not_before(crawl: Crawl) -> None:
    crawl.max_waiting = 4
    receiving = await crawl.exchange(1)
    async with crawl.running(0, crawls=False) as first:
        page = -1
        for _ in range(4):
            page = foreign_page(crawl.world, 1, page)
            await first.frontier.add([page_of(page)])
        connection = await receiving.accept()
        assert connection is not None
        hello = await connection.receive()
        assert isinstance(hello, Hello)
        await connection.send(Welcome(receiver=1, incarnation=7, position=0))

        async def confirm(safe: int) -> None:
            await connection.send(Confirm(incarnation=7, sender_incarnation=hello.incarnation, committed=4, safe=safe))

        await confirm(1)
        await until(lambda: first.links.waiting(1) == 3)
        await asyncio.sleep(0.02)
        assert first.frontier.pauses
        await confirm(2)
        await until(lambda: not first.frontier.pauses)
    await receiving.aclose()


@in_event_loop
async def test_a_part_to_which_an_operator_adds_urls_is_not_idle(crawl: Crawl) -> None:
    async with crawl.running(0, crawls=False) as part:
        assert (await part.carrier.report()).is_idle
        assert part.carrier.gate.enter()
        assert not (await part.carrier.report()).is_idle
        part.carrier.gate.leave()
        assert (await part.carrier.report()).is_idle


@in_event_loop
async def test_a_part_whose_disk_is_full_confirms_nothing(crawl: Crawl) -> None:
    disk = Disk()
    calls = SystemCalls(open_database=disk.open)
    async with (
        crawl.running(0, crawls=False) as first,
        crawl.running(1, crawls=False, calls=calls) as second,
    ):
        disk.is_full = True
        await first.frontier.add([page_of(foreign_page(crawl.world, 1))])
        await until(lambda: bool(second.frontier.pauses))
        assert first.links.waiting(1) == 1
        assert (await first.carrier.report()).unconfirmed == {1: 1}
        disk.is_full = False
        await until(lambda: first.links.waiting(1) == 0)
        assert second.frontier.describe().admitted == 1


@in_event_loop
async def test_what_a_part_has_forgotten_is_sent_again_when_it_is_linked_again(crawl: Crawl) -> None:
    other = foreign_page(crawl.world, 1)
    link = page_of(foreign_page(crawl.world, 1, other))
    async with crawl.running(0, crawls=False) as first, crawl.running(1) as second:
        await first.frontier.add([page_of(other)])
        await until(lambda: first.links.waiting(1) == 0)  # a new connection makes it forget, too
        await first.frontier.add([link])
        await until(lambda: first.links.waiting(1) == 0 and second.links.is_idle)
        await first.frontier.add([link])
        assert first.links.waiting(1) == 0  # it was sent already
        before = second.frontier.describe().admitted
        assert await second.frontier.forget([link.canonical]) == 1
        assert second.frontier.describe().admitted == before - 1

        while second.frontier.describe().admitted < before:
            await first.frontier.add([link])
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("other", [{"urls.rules": "2"}, {}, {"urls.rules": "1", "suffixes": "x"}])
@in_event_loop
async def test_parts_that_do_not_agree_refuse_each_other_with_both_values(crawl: Crawl, other: dict[str, str]) -> None:
    with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012
        async with crawl.running(0, crawls=False) as first:
            crawl.agreement = other
            async with crawl.running(1, crawls=False) as second:
                await until(lambda: first.carrying.done() or second.carrying.done())
    assert raised.group_contains(PartsDisagree, match="all parts of a crawl must agree on (urls.rules|suffixes): part")


@in_event_loop
async def test_parts_whose_difference_passes_say_so_and_try_again(
    crawl: Crawl, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrier, "_SHOWN_S", 0.0)
    caplog.set_level(logging.INFO)
    crawl.agreement, crawl.passing = {"the configuration": "old"}, ("the configuration",)
    async with crawl.running(1, crawls=False) as second:
        crawl.agreement = {"the configuration": "new"}
        async with crawl.running(0, crawls=False) as first:
            await first.frontier.add([page_of(foreign_page(crawl.world, 1))])
            await until(lambda: "another part was refused: all parts of a crawl must agree" in caplog.text)
            await until(lambda: "part 1 has other settings, for " in (first.carrier.trouble() or ""))
            second.carrier.agreement.propose(crawl.agreement)
            await until(lambda: first.links.waiting(1) == 0)
            assert first.carrier.trouble() is None


@in_event_loop
async def test_parts_that_divide_the_crawl_in_other_ways_refuse_each_others_links(crawl: Crawl) -> None:
    with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012
        async with crawl.running(1, crawls=False) as second:
            crawl.owner = lambda key: 1 - crawl.world.ownership.owner(key)
            async with crawl.running(0, crawls=False) as first:
                await first.frontier.add([page_of(foreign_page(crawl.world, 0))])
                await until(first.carrying.done)
                assert second.frontier.describe().admitted == 0
    assert raised.group_contains(PartsDisagree, match="was sent .* by part 0, which belongs to part 0")


@in_event_loop
async def test_parcels_that_come_again_while_they_wait_for_admission_are_admitted_once(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [foreign_page(crawl.world, 0)]
    pages += [foreign_page(crawl.world, 0, pages[0])]
    parcels = [encode_parcel([page_of(page)]) for page in pages]
    sending = await crawl.exchange(1)
    async with crawl.running(0, crawls=False) as receiver:
        admit, admitted = receiver.links.admit, list[Place]()
        waits, may_go_on = asyncio.Event(), asyncio.Event()

        async def wait_and_admit(sender: int, place: Place, content: Sequence[bytes], /) -> int:
            # As while the server of the visited set does not answer.
            waits.set()
            await may_go_on.wait()
            admitted.append(place)
            return await admit(sender, place, content)

        monkeypatch.setattr(receiver.links, "admit", wait_and_admit)

        async def begin(count: int) -> Connection:
            connection = await sending.connect(0)
            await connection.send(Hello(sender=1, receiver=0, incarnation=9, agreement=crawl.agreement))
            assert await connection.receive() == Welcome(receiver=0, incarnation=receiver.links.incarnation, position=0)
            await connection.send(Parcels(incarnation=9, first=1, parcels=parcels[:count]))
            return connection

        await begin(2)
        await waits.wait()
        connection = await begin(1)  # its parcels are gathered anew, so they are others at once
        await asyncio.sleep(0.05)  # nothing tells when the parcels have come that wait
        may_go_on.set()
        while (confirm := await connection.receive()) is not None:
            if isinstance(confirm, Confirm) and confirm.safe == 2:
                break
        assert admitted == [Place(9, 2)]
        assert receiver.links.positions() == {(1, 9): 2}
    await sending.aclose()


@in_event_loop
async def test_a_lost_disk_is_a_gap_that_is_told_once(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    page = foreign_page(crawl.world, 1)
    async with crawl.running(0, crawls=False) as first:
        async with crawl.running(1, crawls=False):
            await first.frontier.add([page_of(page)])
            await until(lambda: first.links.waiting(1) == 0)
        shutil.rmtree(crawl.directory(1))
        crawl.directory(1).mkdir()
        for _ in range(2):
            async with crawl.running(1, crawls=False) as second:
                await first.frontier.add([page_of(page)])
                await until(lambda: second.frontier.describe().gaps == 1 and first.links.waiting(1) == 0)
                page = foreign_page(crawl.world, 1, page)
    assert sum("were lost on their way" in record.message for record in caplog.records) == 1
