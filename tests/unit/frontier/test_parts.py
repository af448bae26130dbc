"""A frontier that is one part of a crawl: its links to other parts, and those that come from there."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import plyvel
import pytest

from crawler.testing.frontier.crawls import DONE, drain, entry_of, next_lease, no_lease_for, now, page
from crawler.testing.loops import in_event_loop, in_virtual_time
from frontier import (
    MAX_LINEAGE,
    Allowance,
    CrawlUrl,
    Misrouted,
    Outcome,
    Part,
    Place,
    StoreFailed,
    StoreRefused,
    UrlState,
)
from frontier.leveldb.database import SystemCalls
from frontier.leveldb.format.keys import inbox_key, parcel_key, trimmed_key
from frontier.leveldb.store import LevelDBStore
from frontier.memory.store import MemoryStore
from frontier.part_links import StoredPartLinks
from frontier.parts.parcels import EMPTY_PARCEL, decode_parcel, encode_parcels
from frontier.parts.protocol import NUMBER_BITS
from frontier.shell import QueueFrontier
from frontier.store import Store
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.part_checks import check_parts, take_positions
from frontier.upkeep.repair import repair
from tests.unit.frontier.crawls import IDENTITY, snapshots
from tests.unit.frontier.disk import Disk
from visited.digests.exact import ExactSet

OWNERS = {"test,a": 0, "test,b": 1, "test,c": 2}


def owner(queue_key: str) -> int:
    return OWNERS[queue_key]


def part(number: int = 0, *, parts: int = 3, lineage: int | None = None) -> Part:
    return Part(number=number, parts=parts, lineage=number + 1 if lineage is None else lineage)


def leveldb(directory: Path, own: Part | None, *, calls: SystemCalls | None = None) -> LevelDBStore:
    directory.mkdir(parents=True, exist_ok=True)
    return LevelDBStore(directory / "frontier", Terms(identity=IDENTITY, part=own), calls=calls)


class Opened:
    def __init__(self, frontier: QueueFrontier, store: Store) -> None:
        self.frontier = frontier
        self.store = store
        assert frontier.part_links is not None
        self.links: StoredPartLinks = frontier.part_links

    def is_idle(self) -> bool:
        return self.links.is_idle

    def has_counts(self) -> bool:
        return self.links.has_counts

    def sent(self, receiver: int) -> list[list[str]]:
        """The URLs in the outbox, parcel by parcel."""
        waiting = self.links.waiting(receiver)
        parcels = self.links.parcels(receiver, 1, waiting) if waiting else []
        return [[url.url for url in decode_parcel(parcel)] for parcel in parcels]


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[Opened]:
    frontier = await QueueFrontier.open(store, ExactSet(), now=now, owner=owner)
    try:
        yield Opened(frontier, store)
    finally:
        await frontier.aclose()


@pytest.fixture(params=["memory", "leveldb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore(part=part()) if request.param == "memory" else leveldb(tmp_path, part())


@in_virtual_time
async def test_links_of_other_parts_go_to_the_outbox_and_own_ones_are_admitted(store: Store) -> None:
    told: list[tuple[int, int]] = []
    async with opened(store) as own:
        own.links.watch(lambda receiver, parcels: told.append((receiver, parcels)), lambda: None)
        links = [page("a", "1"), page("b", "1"), page("c", "1"), page("b", "2"), page("a", "2")]
        assert await own.frontier.add(links) == 2
        assert own.frontier.describe().admitted == 2
        assert own.sent(1) == [["http://b.test/1", "http://b.test/2"]]
        assert own.sent(2) == [["http://c.test/1"]]
        assert sorted(told) == [(1, 1), (2, 1)]
        assert await own.frontier.add([page("b", "3")]) == 0
        assert own.sent(1)[1] == ["http://b.test/3"]
        assert [own.links.owns(key) for key in OWNERS] == [True, False, False]


@in_virtual_time
async def test_a_parcel_carries_all_of_a_url_but_what_the_receiver_knows_itself(store: Store) -> None:
    url = CrawlUrl(
        url="http://b.test/x?a=\ud800",
        canonical="http://b.test/x",
        queue_key="test,b",
        depth=4,
        via="http://a.test/",
        kind="sitemap",
        anchor="a \udcff",
        weight=0.25,
        precedence=7,
        redirects=3,
        cost=9,
        link_count=5,
        last_modified="yesterday",
        change_frequency="daily",
    )
    found = decode_parcel(
        encode_parcels([msgspec.structs.replace(url, had_etag="e", had_last_modified="m", attempt=2)])[0]
    )
    assert found == [msgspec.structs.replace(url, url="http://b.test/x?a=?", anchor="a ?")]
    many = [page("b", f"{number}") for number in range(1100)]
    parcels = encode_parcels(many)
    assert [len(decode_parcel(parcel)) for parcel in parcels] == [512, 512, 76]
    for damaged in (b"", b"\xc1", parcels[2][:-1], b"\x92\x02\x90"):
        with pytest.raises(ValueError, match="a parcel of links can't be read"):
            decode_parcel(damaged)


@in_virtual_time
async def test_what_was_sent_is_counted_and_the_counts_travel_later(store: Store) -> None:
    async with opened(store) as own:
        link = page("b", "1")
        await own.frontier.add([link, page("a", "1")])
        for _ in range(3):
            await own.frontier.add([link])
        await own.frontier.add([msgspec.structs.replace(link, link_count=4)])
        assert own.sent(1) == [["http://b.test/1"]]
        await drain_without_end(own.frontier)
        assert own.is_idle()
        assert own.has_counts()
        await own.links.send_counts()
        assert not own.has_counts()
        [again] = decode_parcel(own.links.parcels(1, 2, 2)[0])
        assert again.link_count == 7
        own.links.forget_sent(1)
        await own.frontier.add([link])
        assert len(own.sent(1)) == 3


async def drain_without_end(frontier: QueueFrontier) -> None:
    """Fetch all that waits now. A part does not end by itself."""
    while frontier.describe().pending:
        await frontier.done(await next_lease(frontier), cooldown_s=0.0, outcome=DONE)


@in_virtual_time
async def test_parcels_are_admitted_with_their_position_and_twice_changes_nothing(store: Store) -> None:
    async with opened(store) as own:
        parcels = encode_parcels([page("a", "1"), page("a", "2")])
        assert await own.links.admit(1, Place(9, 1), parcels) == 2
        transitions = own.links.transitions
        assert await own.links.admit(1, Place(9, 2), parcels) == 0
        assert own.links.transitions == transitions + 1
        assert own.links.positions() == {(1, 9): 2}
        assert own.frontier.describe().admitted == 2
        entry = await entry_of(own.frontier, "http://a.test/1")
        assert entry.hit_count == 2


@in_virtual_time
async def test_the_journal_of_a_part_stays_short_although_all_its_new_urls_come_from_others(tmp_path: Path) -> None:
    store = leveldb(tmp_path, part())
    frontier = await QueueFrontier.open(
        store, ExactSet(), snapshots=snapshots(tmp_path, every=10), now=now, owner=owner
    )
    links = Opened(frontier, store).links
    for number in range(1, 30):
        await links.admit(1, Place(9, number), encode_parcels([page("a", f"{number}")]))
        await frontier.add([page("a", "1"), page("b", f"{number}")])
        assert store.counters.journal_end - (store.journal.snapshot_at or 0) <= 10
    await frontier.aclose()


@in_virtual_time
async def test_what_belongs_to_another_part_is_refused_whole(store: Store) -> None:
    async with opened(store) as own:
        parcels = encode_parcels([page("a", "1"), page("b", "1")])
        with pytest.raises(Misrouted, match=r"part 0 was sent .* by part 2, which belongs to part 1"):
            await own.links.admit(2, Place(9, 1), parcels)
        with pytest.raises(ValueError, match="can't be read"):
            await own.links.admit(2, Place(9, 1), [b"\xc1"])
        with pytest.raises(ValueError, match="belongs to part 1 of the crawl: add it there"):
            await own.frontier.add([page("a"), page("b")], force=True)
        assert (own.frontier.describe().admitted, own.links.positions()) == (0, {})
        assert own.sent(1) == []


@in_virtual_time
async def test_a_part_waits_for_links_until_it_is_stopped(store: Store) -> None:
    async with opened(store) as own:
        assert own.is_idle()
        assert await no_lease_for(own.frontier, 100.0)
        await own.links.admit(1, Place(9, 1), encode_parcels([page("a", "1")]))
        assert not own.is_idle()
        out = await next_lease(own.frontier)
        assert not own.is_idle()
        await own.frontier.done(out, cooldown_s=5.0, outcome=DONE)
        assert own.is_idle()
        own.frontier.pauses.pause("for now", by="test")
        assert not own.is_idle()
        own.frontier.pauses.resume(by="test")
        own.frontier.stop()
        assert await drain(own.frontier) == []


@in_virtual_time
async def test_workers_sleep_while_their_part_has_no_url_and_wake_for_links(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(store) as own:
        workers = [asyncio.create_task(anext(own.frontier)) for _ in range(10)]
        await asyncio.sleep(1.0)
        active, looks = own.frontier._active, 0
        refill = active.refill

        def counted(now: float) -> None:
            nonlocal looks
            looks += 1
            refill(now)

        monkeypatch.setattr(active, "refill", counted)
        for number in range(1, 5):
            await own.links.admit(1, Place(9, number), encode_parcels([page("a", f"{number}")]))
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == 1
            await own.frontier.done(done.pop().result(), cooldown_s=0.0, outcome=DONE)
            workers = [each for each in workers if not each.done()]
            own.frontier.pauses.resume(by="outbox")  # as whenever links leave the outbox, paused or not
            await asyncio.sleep(1.0)
            assert looks == number, "a worker looks once for each URL"
        own.frontier.stop()
        with pytest.raises(StopAsyncIteration):
            await workers[0]
        await asyncio.gather(*workers, return_exceptions=True)


@in_virtual_time
async def test_what_is_safe_elsewhere_is_deleted_and_the_rest_is_sent_by_the_next_incarnation(tmp_path: Path) -> None:
    async with opened(leveldb(tmp_path, part())) as own:
        first = own.links.incarnation
        for number in range(4):
            await own.frontier.add([page("b", f"{number}")])
        await own.links.trim(1, Place(first, 1))
        assert (own.links.waiting(1), own.links.trimmed(1)) == (3, Place(first, 1))
        assert decode_parcel(own.links.parcels(1, 2, 2)[0])[0].url == "http://b.test/1"
        with pytest.raises(StoreFailed, match="parcel 1 for part 1 is missing"):
            own.links.parcels(1, 1, 2)
        with pytest.raises(ValueError, match="part 1 can't have"):
            await own.links.trim(1, Place(first, 5))
        with pytest.raises(ValueError, match="part 1 can't have"):
            await own.links.trim(1, Place(first + 1, 2))
    async with opened(leveldb(tmp_path, part())) as own:
        assert own.links.incarnation != first
        assert (own.links.waiting(1), own.links.trimmed(1)) == (3, Place(first, 1))
        assert [urls[0] for urls in own.sent(1)] == [f"http://b.test/{number}" for number in (1, 2, 3)]
        await own.links.trim(1, Place(own.links.incarnation, 3))
        await own.links.trim(1, Place(own.links.incarnation, 2))  # came late
        assert own.links.waiting(1) == 0
        await own.frontier.add([page("b", "9")])
        assert decode_parcel(own.links.parcels(1, 4, 4)[0])[0].url == "http://b.test/9"


@in_virtual_time
async def test_forgetting_raises_the_generation_and_gaps_leave_the_crawl_incomplete(store: Store) -> None:
    async with opened(store) as own:
        await own.frontier.add([page("a", "1")])
        await own.frontier.done(await next_lease(own.frontier), cooldown_s=0.0, outcome=DONE)
        before, told = own.links.generation, []
        own.links.watch(lambda *_: None, lambda: told.append(own.links.generation))
        assert await own.frontier.forget(["http://a.test/unknown"]) == 0
        await own.frontier.forget(["http://a.test/1"])
        assert told == [before + 1]
        await own.links.skip(1, Place(9, 4))
        assert own.links.positions() == {(1, 9): 4}
        assert own.frontier.describe().gaps == 1


@in_virtual_time
async def test_numbers_are_unique_over_parts_and_lineages(tmp_path: Path) -> None:
    numbers: list[int] = []
    for number, key in enumerate("abc"):
        async with opened(leveldb(tmp_path / key, part(number))) as own:
            await own.frontier.add([page(key, f"{path}") for path in range(3)])
            for _ in range(3):
                out = await next_lease(own.frontier)
                numbers.append(out.number)
                await own.frontier.done(out, cooldown_s=0.0, outcome=DONE)
            assert not await own.frontier.skip_numbers(5)  # of another lineage
            assert await own.frontier.skip_numbers((number + 1 << NUMBER_BITS) + 9)
    assert sorted(numbers) == [lineage << NUMBER_BITS | count for lineage in (1, 2, 3) for count in (1, 2, 3)]


@in_virtual_time
async def test_a_store_opens_only_as_the_part_it_is(tmp_path: Path) -> None:
    whole, of_a_part = tmp_path / "whole", tmp_path / "part"
    async with opened(leveldb(of_a_part, part(1))):
        pass
    frontier = await QueueFrontier.open(leveldb(whole, None), ExactSet(), now=now)
    assert frontier.part_links is None
    await frontier.aclose()
    assert format_of(whole) == b"3"
    assert format_of(of_a_part) == b"4"
    for directory, other, message in (
        (of_a_part, None, "belongs to part 1 of 3 .lineage 2., and is opened as a crawl that is not in parts"),
        (of_a_part, part(2), "and is opened as part 2 of 3"),
        (of_a_part, part(1, parts=4), "and is opened as part 1 of 4"),
        (
            of_a_part,
            part(1, lineage=9),
            "lineage 2 of part 1, which has lineage 9 now, .* cluster adopt.* Move .* away",
        ),
        (whole, part(0), "belongs to a crawl that is not in parts, and is opened as part 0 of 3"),
    ):
        with pytest.raises(StoreRefused, match=message):
            leveldb(directory, other)
    store = leveldb(of_a_part, part(1))
    with pytest.raises(ValueError, match="was opened as another"):
        await QueueFrontier.open(store, ExactSet())
    store.close()
    for number, parts, lineage in ((3, 3, 1), (-1, 3, 1), (0, 2000, 1), (0, 3, MAX_LINEAGE + 1)):
        with pytest.raises(ValueError, match="a part has a number below"):
            Part(number=number, parts=parts, lineage=lineage)


def format_of(directory: Path) -> bytes | None:
    with plyvel.DB(str(directory / "frontier")) as database:
        value: bytes | None = database.get(b"Mformat")
        return value


@in_virtual_time
async def test_links_wait_for_space_on_a_full_disk_and_none_is_lost_or_sent_twice(tmp_path: Path) -> None:
    disk = Disk()
    async with opened(leveldb(tmp_path, part(), calls=SystemCalls(open_database=disk.open))) as own:
        disk.is_full = True
        adding = own.frontier.add([page("a", "1"), page("b", "1")])
        task = asyncio.create_task(adding)
        await asyncio.sleep(10)
        assert not task.done()
        disk.is_full = False
        assert await task == 1
        assert own.sent(1) == [["http://b.test/1"]]
        await own.frontier.add([page("b", "2")])
        assert own.sent(1) == [["http://b.test/1"], ["http://b.test/2"]]


@in_event_loop
async def test_a_part_can_be_made_safe_whatever_its_durability(tmp_path: Path) -> None:
    synced: list[int] = []
    async with opened(leveldb(tmp_path, part(), calls=SystemCalls(sync_file=synced.append))) as own:
        await own.frontier.add([page("a", "1")])
        assert synced == []
        await own.links.make_safe()
        assert synced
        before = len(synced)
        await own.links.make_safe()
        assert len(synced) == before  # nothing was written since


State = tuple[int, int, Mapping[tuple[int, int], int], tuple[int, ...], int]
"""URLs admitted and done, positions, the outbox, gaps."""


def state(own: Opened) -> State:
    stats = own.frontier.describe()
    ends = tuple(own.store.outbox.end(receiver) for receiver in (1, 2))
    trims = tuple(own.store.outbox.trimmed(receiver).index for receiver in (1, 2))
    return stats.admitted, stats.done, own.links.positions(), ends + trims, stats.gaps


@in_virtual_time
async def test_a_torn_log_has_a_pages_links_in_all_places_or_in_none(tmp_path: Path) -> None:
    states: list[State] = []
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    async with opened(leveldb(whole, part())) as own:

        def note() -> None:
            states.append(state(own))

        note()
        for number in range(12):
            await own.frontier.add([page(host, f"{number}") for host in "aabbc"])
            note()
            await own.links.admit(1, Place(7, number + 1), encode_parcels([page("a", f"from-{number}")]))
            note()
            await own.frontier.done(await next_lease(own.frontier), cooldown_s=0.0, outcome=DONE)
            note()
            if number % 3 == 2:
                await own.links.trim(1, Place(own.links.incarnation, number))
                note()
        await own.links.skip(2, Place(8, 3))
        note()
        shutil.copytree(whole, torn)
    log = max((torn / "frontier").glob("*.log"))
    content, found = log.read_bytes(), set()
    for length in sorted(random.Random(3).sample(range(len(content)), 60)):
        shutil.rmtree(torn)
        shutil.copytree(whole, torn)
        for path in (torn / "frontier").glob("*.log"):
            path.unlink()
        log.write_bytes(content[:length])
        store = leveldb(torn, part())
        assert [problem for problem in fsck(store, owner=owner).problems if problem.kind != "gap"] == []
        async with opened(store) as again:
            found.add(states.index(state(again)))
    assert len(found) > 10


@in_virtual_time
async def test_fsck_finds_links_that_are_not_where_they_belong(tmp_path: Path) -> None:
    async with opened(leveldb(tmp_path, part())) as own:
        await own.frontier.add([page("a", "1"), page("b", "1"), page("c", "1")])
        await own.frontier.add([page("b", "2")])
        await own.frontier.add([page("b", "3")])
    assert problems(tmp_path) == []
    put(tmp_path, parcel_key(1, 2), encode_parcels([page("c", "9"), page("a", "9")])[0])
    put(tmp_path, parcel_key(0, 1), encode_parcels([page("a", "8")])[0])
    put(tmp_path, parcel_key(1, 3), b"\xc1")
    put(tmp_path, parcel_key(2, 3), EMPTY_PARCEL)
    put(tmp_path, inbox_key(0, 5), (1).to_bytes(8, "big"))
    assert problems(tmp_path) == [
        "it is in the outbox of part 0 of 3 (lineage 1)",
        "http://c.test/9 belongs to part 2",
        "http://a.test/9 belongs to part 0",
        "a parcel of links can't be read: MessagePack data is malformed: invalid opcode '\\xc1' (byte 0)",
        "expected parcel 2 before it",
        "it has a position of part 0, which is none of the others",
    ]
    store = leveldb(tmp_path, part())
    moved = {"test,a": 1}
    found = [each.message for each in fsck(store, owner=lambda key: {**OWNERS, **moved}[key]).problems]
    assert "the queue has URLs, but belongs to part 1" in found
    store.close()


def problems(directory: Path) -> list[str]:
    store = leveldb(directory, part())
    try:
        return [problem.message for problem in fsck(store, owner=owner).problems]
    finally:
        store.close()


def put(directory: Path, key: bytes, value: bytes) -> None:
    with plyvel.DB(str(directory / "frontier")) as database:
        database.put(key, value)


@in_virtual_time
async def test_a_repair_sets_damaged_parcels_aside_and_counts_the_gap(tmp_path: Path) -> None:
    async with opened(leveldb(tmp_path, part())) as own:
        for number in range(4):
            await own.frontier.add([page("a", f"{number}"), page("b", f"{number}")])
    put(tmp_path, parcel_key(1, 2), b"\xc1")
    with plyvel.DB(str(tmp_path / "frontier")) as database:
        database.delete(parcel_key(1, 3))
    store = LevelDBStore(tmp_path / "frontier", Terms(identity=IDENTITY, part=part(), to_repair=True))
    assert repair(store).parcels == 2
    store.close()
    async with opened(leveldb(tmp_path, part())) as own:
        assert own.sent(1) == [["http://b.test/0"], [], [], ["http://b.test/3"]]
        assert own.frontier.describe().gaps == 2
        await own.frontier.add([page("a", "9")])
        number = (await next_lease(own.frontier)).number
        assert number >> NUMBER_BITS == 1
    assert problems(tmp_path) == ["this often links from other parts were lost on their way"]


async def two_parts(tmp_path: Path) -> list[LevelDBStore]:
    """Two parts of three, of which the first has sent two parcels to the second, which has admitted one."""
    async with opened(leveldb(tmp_path / "0", part(0))) as first, opened(leveldb(tmp_path / "1", part(1))) as second:
        await first.frontier.add([page("b", "1")])
        await first.frontier.add([page("b", "2")])
        incarnation = first.links.incarnation
        await second.links.admit(0, Place(incarnation, 1), first.links.parcels(1, 1, 1))
        await first.links.trim(1, Place(incarnation, 1))
    async with opened(leveldb(tmp_path / "2", part(2))):
        pass
    return [leveldb(tmp_path / f"{number}", part(number)) for number in range(3)]


@in_virtual_time
async def test_a_repair_finds_out_where_an_outbox_begins(tmp_path: Path) -> None:
    async with opened(leveldb(tmp_path, part())) as own:
        for number in range(3):
            await own.frontier.add([page("b", f"{number}")])
        await own.links.trim(1, Place(own.links.incarnation, 1))
        left = own.links.parcels(1, 2, 3)
    put(tmp_path, trimmed_key(1), b"\xc1")
    put(tmp_path, trimmed_key(2), b"\xc1")
    put(tmp_path, b"Mincarnation", b"\xc1")
    assert len(problems(tmp_path)) == 3
    damaged = leveldb(tmp_path, part())
    repair(damaged)
    assert damaged.counters.quarantined == 3
    damaged.close()
    assert problems(tmp_path) == []
    async with opened(leveldb(tmp_path, part())) as own:
        assert (own.links.waiting(1), own.links.waiting(2)) == (2, 0)
        assert own.links.parcels(1, 1, 2) == left


@in_virtual_time
async def test_the_stores_of_all_parts_must_agree(tmp_path: Path) -> None:
    stores = await two_parts(tmp_path)
    assert list(check_parts(stores)) == []
    incarnation = stores[0].outbox.incarnation
    assert incarnation is not None
    for store in stores:
        store.close()
    put(tmp_path / "1", inbox_key(0, incarnation.number), (3).to_bytes(8, "big"))
    assert across(tmp_path, 3) == ["3 parcels admitted, but only 2 sent"]
    put(tmp_path / "1", inbox_key(0, incarnation.number), (0).to_bytes(8, "big"))
    assert across(tmp_path, 3) == ["parcels up to 1 were deleted, but not all of them were admitted"]
    [message] = across(tmp_path, 2)
    assert message.startswith("expected all 2 parts of a crawl of 2, found part 0 of 3 (lineage 1), part 1 of 3")


async def allow(directory: Path, number: int, allowance: Allowance) -> None:
    async with opened(leveldb(directory / f"{number}", part(number))) as own:
        await own.links.pages.set_allowance(allowance)


@in_virtual_time
async def test_the_allowances_of_all_parts_must_add_up(tmp_path: Path) -> None:
    for number, allowed in enumerate([3, 4, 5]):
        await allow(tmp_path, number, Allowance(epoch=2, number=number, allowed=allowed, total=12 if number else 0))
    assert across(tmp_path, 3) == []
    await allow(tmp_path, 1, Allowance(epoch=2, number=7, allowed=5, total=12))
    assert across(tmp_path, 3) == ["all parts together were allowed 13 pages, but the limit is 12"]
    # Part 2 has not heard of the supervisor that has allowed the others so much, or the run has no limit.
    await allow(tmp_path, 2, Allowance(epoch=1, number=7, allowed=5, total=12))
    assert across(tmp_path, 3) == []
    await allow(tmp_path, 2, Allowance(epoch=2, number=8, allowed=None))
    assert across(tmp_path, 3) == []


@in_virtual_time
async def test_a_part_has_no_more_pages_than_it_was_allowed(tmp_path: Path) -> None:
    async with opened(leveldb(tmp_path, part())) as own:
        await own.frontier.add([page("a", "1"), page("a", "2")])
        await own.links.pages.set_allowance(Allowance(epoch=1, number=1, allowed=1, total=1))
        for is_page in (False, True):
            outcome = Outcome(state=UrlState.DONE, status=200, is_page=is_page)
            await own.frontier.done(await next_lease(own.frontier), cooldown_s=0.0, outcome=outcome)
        assert own.links.pages.settled == 1
    assert problems(tmp_path) == []
    async with opened(leveldb(tmp_path, part())) as own:
        await own.links.pages.set_allowance(Allowance(epoch=1, number=2, allowed=0, total=1))
    assert problems(tmp_path) == ["it has settled 1 page, but was allowed 0"]


@in_virtual_time
async def test_a_part_that_was_rebuilt_from_all_output_has_what_the_others_have_deleted(tmp_path: Path) -> None:
    for store in await two_parts(tmp_path):
        store.close()
    shutil.rmtree(tmp_path / "1")
    assert across(tmp_path, 3) == ["parcels up to 1 were deleted, but not all of them were admitted"]
    stores = [leveldb(tmp_path / f"{number}", part(number)) for number in range(3)]
    take_positions(stores, 1)
    for store in stores:
        store.close()
    assert across(tmp_path, 3) == []


def across(directory: Path, parts: int) -> list[str]:
    stores = [leveldb(directory / f"{number}", part(number)) for number in range(parts)]
    try:
        return [problem.message for problem in check_parts(stores)]
    finally:
        for store in stores:
            store.close()


@in_virtual_time
async def test_the_end_of_a_lease_does_not_end_the_iteration_of_others(store: Store) -> None:
    async with opened(store) as own:
        await own.frontier.add([page("a", "1")])
        out = await next_lease(own.frontier)
        failed = Outcome(state=UrlState.FAILED, reason="gone")
        await own.frontier.done(out, cooldown_s=0.0, outcome=failed)
        assert await no_lease_for(own.frontier, 10.0)
        await own.frontier.add([page("a", "2")])
        assert (await next_lease(own.frontier)).url.url == "http://a.test/2"


@in_virtual_time
async def test_a_part_is_not_idle_while_it_fetches_for_a_retired_queue(store: Store) -> None:
    async with opened(store) as own:
        await own.frontier.add([page("a", "1")])
        out = await next_lease(own.frontier)
        await own.frontier.retire("test,a")
        assert not own.is_idle()  # it may bring links
        await own.frontier.done(out, cooldown_s=0.0, outcome=DONE)
        assert own.is_idle()
