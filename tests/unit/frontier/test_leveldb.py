"""What can be wrong with a store on disk, and what becomes of the crawl then."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import msgspec
import plyvel
import pytest

from crawler.testing.disks import mounted
from crawler.testing.frontier.crawls import DONE, SlowSet, drain, entry_of, next_lease, now, page, pages, turns
from crawler.testing.loops import in_virtual_time
from crawler.testing.timeouts import MAX_WAIT_S
from frontier import FrontierStats, Lease, StoreFailed, StoreRefused, UrlState
from frontier.leveldb import reads
from frontier.leveldb.database import SystemCalls
from frontier.leveldb.group_sync import GroupSync
from frontier.leveldb.journal import LevelDBJournal
from frontier.leveldb.store import LevelDBStore
from frontier.queues.grouping import Grouping
from frontier.queues.settings import QueueSettings
from frontier.records import JournalDamaged
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots, allocate_buffer
from frontier.terms import Terms
from frontier.transitions import operating
from frontier.upkeep.fsck import fsck
from frontier.upkeep.repair import repair
from frontier.upkeep.salvage import repair_directory
from frontier.values import Budgets, StoreFull
from tests.unit.frontier.crawls import IDENTITY, Crawl, check, contents, leveldb
from tests.unit.frontier.disk import Disk
from visited.digests.exact import ExactSet
from visited.filters.bloom import BloomSet

Change = Callable[[bytes], bytes | None]
"""What becomes of a value: another, or None for none."""


def damage(directory: Path, prefix: bytes, change: Change = lambda value: b"\xc1" + value, *, which: int = 0) -> bytes:
    """Change the value of one record of a closed store, and return its key."""
    with plyvel.DB(str(directory / "frontier")) as db:
        key, value = sorted((key, value) for key, value in db if key.startswith(prefix))[which]
        changed = change(value)
        if changed is None:
            db.delete(key)
        else:
            db.put(key, changed)
    return key


def quarantined(directory: Path) -> dict[bytes, bytes]:
    return {key[1:]: value for key, value in contents(directory).items() if key.startswith(b"X")}


# refusals


def test_a_store_that_another_process_has_open_is_refused(tmp_path: Path) -> None:
    holder = "import sys, plyvel; db = plyvel.DB(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    leveldb(tmp_path).close()
    command = [sys.executable, "-c", holder, str(tmp_path / "frontier")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreRefused, match="in use by another process"):
            leveldb(tmp_path)
        process.communicate(b"")
    leveldb(tmp_path).close()


def test_a_store_that_this_process_has_open_is_refused(tmp_path: Path) -> None:
    store = leveldb(tmp_path)
    with pytest.raises(StoreRefused, match="in use"):
        leveldb(tmp_path)
    store.close()


@pytest.mark.parametrize("number", [2, 9])
@in_virtual_time
async def test_another_format_is_refused_and_nothing_is_changed(tmp_path: Path, number: int) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 2))
    damage(tmp_path, b"Mformat", lambda _: b"%d" % number)
    before = contents(tmp_path)
    with pytest.raises(StoreRefused, match=f"has frontier format {number}, this version reads formats 3 and 4"):
        leveldb(tmp_path)
    assert contents(tmp_path) == before


def _without_last_values(count: int) -> Change:
    """As earlier versions wrote records."""
    return lambda value: msgspec.msgpack.encode(msgspec.msgpack.decode(value)[:-count])


def _with_shorter_url(value: bytes) -> bytes:
    return msgspec.msgpack.encode(
        [each[:-1] if isinstance(each, list) else each for each in msgspec.msgpack.decode(value)]
    )


@pytest.mark.parametrize(
    ("prefix", "change", "told"),
    [
        (b"Lhttp://h0.test/p0", _without_last_values(9), "expected 22 values in one, found 13"),
        (b"P", _without_last_values(2), "expected 19 values in one, found 17"),
        (b"R", _with_shorter_url, "expected 19 values in one, found 18"),
    ],
    ids=["settled", "waiting", "postponed"],
)
@in_virtual_time
async def test_shorter_records_of_an_earlier_version_are_refused_and_nothing_is_changed(
    tmp_path: Path, prefix: bytes, change: Change, told: str
) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 3))
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
        await frontier.retry(await next_lease(frontier), after_s=60, cooldown_s=0)
    damage(tmp_path, prefix, change)
    before = contents(tmp_path)
    refused = f"{told}; use the version that wrote it.*--from-records"
    with pytest.raises(StoreRefused, match=refused):
        leveldb(tmp_path)
    place, terms = tmp_path / "frontier", Terms(identity=IDENTITY, to_repair=True)
    with pytest.raises(StoreRefused, match=refused):
        repair_directory(place, lambda: LevelDBStore(place, terms), copy=tmp_path / "copy")
    assert contents(tmp_path) == before
    assert not (tmp_path / "copy").exists()


@in_virtual_time
async def test_another_identity_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 2))
    before = contents(tmp_path)
    with pytest.raises(
        StoreRefused, match=r"canonicalization = 'tests'; the configuration, .* now says 'other'.*--fresh"
    ):
        LevelDBStore(tmp_path / "frontier", Terms(identity={"canonicalization": "other"}))
    with pytest.raises(StoreRefused, match="was crawled with queue_by = None"):
        LevelDBStore(tmp_path / "frontier", Terms(identity={**IDENTITY, "queue_by": "host"}))
    assert contents(tmp_path) == before


def test_a_database_of_another_program_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    with plyvel.DB(str(tmp_path / "frontier"), create_if_missing=True) as db:
        db.put(b"theirs", b"1")
    with pytest.raises(StoreRefused, match="not a frontier's"):
        leveldb(tmp_path)
    assert contents(tmp_path) == {b"theirs": b"1"}


def test_a_path_that_is_no_directory_fails_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "frontier").write_text("a file")
    with pytest.raises(StoreFailed, match="can't be opened"):
        leveldb(tmp_path)


def test_a_damaged_database_fails_with_what_to_do(tmp_path: Path) -> None:
    leveldb(tmp_path).close()
    (tmp_path / "frontier" / "CURRENT").write_text("nonsense\n")
    with pytest.raises(StoreFailed, match=r"fsck --repair"):
        leveldb(tmp_path)


def test_a_database_on_a_full_disk_is_not_called_damaged(tmp_path: Path) -> None:
    with mounted("-o", "size=128k", at=tmp_path / "small") as disk:
        store = leveldb(disk)
        store.close()
        with pytest.raises(OSError, match="No space left"):
            (disk / "rest").write_bytes(bytes(1_000_000))
        with pytest.raises(StoreFull, match=r"can't be opened: .*No space left on device$"):
            leveldb(disk)
        (disk / "rest").unlink()
        leveldb(disk).close()


# damaged records


@in_virtual_time
async def test_a_damaged_pending_url_is_set_aside_and_the_rest_is_served(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 3))
    key = damage(tmp_path, b"Ptest,h0", which=1)
    assert [problem.kind for problem in Crawl(tmp_path).fsck().problems] == ["damaged", "queue"]
    async with Crawl(tmp_path).opened() as frontier:
        assert len(await drain(frontier)) == 5
        stats = frontier.describe()
        assert (stats.quarantined, stats.done, stats.pending, stats.snoozed_queues) == (1, 5, 0, 0)
    assert quarantined(tmp_path).keys() == {key}
    assert (await check(tmp_path)).quarantined == 1


@in_virtual_time
async def test_a_store_is_clean_while_a_url_set_aside_is_still_counted(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 4))
    damage(tmp_path, b"Ptest,h0", which=1)
    async with Crawl(tmp_path).opened() as frontier:
        await next_lease(frontier)
    report = await check(tmp_path)
    assert (report.pending, report.quarantined) == (3, 1)


@in_virtual_time
async def test_a_queue_of_nothing_but_damaged_urls_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 3))
    for which in range(3):
        damage(tmp_path, b"P", lambda _: b"", which=which)
    async with Crawl(tmp_path).opened() as frontier:
        waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(3)]
        assert await asyncio.gather(*waits) == [None] * 3
        assert frontier.describe().quarantined == 3
    await check(tmp_path)
    assert "can't be decoded and is set aside" in caplog.text


@in_virtual_time
async def test_a_damaged_postponed_url_is_set_aside_and_the_crawl_ends(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 3))
        for _ in range(2):
            await frontier.retry(await next_lease(frontier), after_s=60, cooldown_s=0)
    damage(tmp_path, b"R")
    async with Crawl(tmp_path).opened() as frontier:
        assert len(await drain(frontier)) == 2
        stats = frontier.describe()
        assert (stats.retrying, stats.quarantined, stats.done) == (0, 1, 2)
    await check(tmp_path)


@pytest.mark.parametrize("garbage", [b"", b"\xc1", b"\x9b\x04\x63", b"\x04"])
@in_virtual_time
async def test_a_damaged_ledger_entry_is_set_aside_and_its_url_stays_known(tmp_path: Path, garbage: bytes) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 3))
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    damage(tmp_path, b"Lhttp://h0.test/p0", lambda _: garbage)
    damage(tmp_path, b"Lhttp://h0.test/p1", lambda _: garbage)
    async with Crawl(tmp_path).opened() as frontier:
        for path in ("p0", "p1"):
            entry = await entry_of(frontier, f"http://h0.test/{path}")
            assert (entry.state, entry.reason) == (UrlState.FAILED, "its record in the ledger was damaged")
        assert await frontier.add(pages(1, 3)) == 0
    assert (await check(tmp_path)).urls == 3
    async with Crawl(tmp_path).opened() as frontier:
        assert await drain(frontier) == ["http://h0.test/p1", "http://h0.test/p2"]
        assert frontier.describe().quarantined == 2
        entry = await entry_of(frontier, "http://h0.test/p1")
        assert entry.state is UrlState.DONE
        assert await frontier.add([page("h0", "p0")], force=True) == 1
        assert await frontier.forget(["http://h0.test/p1"]) == 1
    await check(tmp_path)


@in_virtual_time
async def test_a_damaged_queue_record_is_counted_anew_and_its_urls_are_served(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 3))
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    damage(tmp_path, b"Qtest,h0")
    damage(tmp_path, b"Qtest,h1", lambda value: value[:-1])
    async with Crawl(tmp_path).opened() as frontier:
        assert frontier.describe().pending == 5
        assert len(await drain(frontier)) == 5
        assert frontier.describe().quarantined == 2
    await check(tmp_path)


@in_virtual_time
async def test_a_damaged_record_that_is_found_while_queues_become_active_stays_counted(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    async with crawl.opened() as frontier:
        await frontier.add([page("h0", "first")])
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
        await frontier.add([page("h0:8080", "a"), page("h1", "a"), page("h1", "b")])
    damage(tmp_path, b"Qtest,h0")
    budgets = Budgets(total_of=lambda key: 0 if key == "test,h1" else None)
    crawl.settings = QueueSettings(budgets=budgets, grouping=Grouping(host_of_key=lambda key: key.partition(":")[0]))
    async with crawl.opened() as frontier:
        assert await drain(frontier) == ["http://h0:8080.test/a"]
        assert frontier.describe().quarantined == 1


@in_virtual_time
async def test_a_damaged_record_that_others_replace_while_queues_are_reconsidered_is_set_aside_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "READ_AT_ONCE", 2)
    monkeypatch.setattr(reads, "QUEUES_AT_ONCE", 2)
    crawl = Crawl(tmp_path)
    crawl.settings = QueueSettings(budgets=Budgets(total=0))
    async with crawl.opened() as frontier:
        await frontier.add(pages(5, 1))
        store = frontier._store
        assert isinstance(store, LevelDBStore)
        store.database._db.put(b"Qtest,h4", b"\xc1")
        reconsidering = asyncio.ensure_future(frontier.set_budgets(Budgets(total=5)))
        await asyncio.sleep(0)
        store.reads.queue("test,h4")
        await reconsidering
        assert frontier.describe().quarantined == 1
    await check(tmp_path)


@in_virtual_time
async def test_the_time_of_a_crash_and_the_words_of_a_hold_may_be_damaged(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 2))
        await frontier.pause("the site moves")
    store = leveldb(tmp_path)
    store.marks.set_in_use(False, crashed_at=5.0)
    store.close()
    for change in (lambda _: b"", lambda value: value[:-1], lambda value: b"\xff" + value):
        for key in (b"Mcrashed", b"Mheld"):
            damage(tmp_path, key, change)
        async with Crawl(tmp_path).opened() as frontier:
            assert frontier.paused is not None
            assert frontier.describe().pending == 2
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.resume()
        assert len(await drain(frontier)) == 2


@pytest.mark.parametrize("line", [b"", b"test,h", b"test,elsewhere"])
@in_virtual_time
async def test_a_crawl_that_lost_a_queue_out_of_its_line_is_not_complete(tmp_path: Path, line: bytes) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(4, 5))
    damage(tmp_path, b"I", lambda _: line)
    with pytest.raises(StoreFailed, match=r"5 waiting URLs in no queue that is served; repair it with .* --repair"):
        async with Crawl(tmp_path).opened() as frontier:
            await drain(frontier)
    store = LevelDBStore(tmp_path / "frontier", Terms(identity=IDENTITY, to_repair=True))
    repair(store)
    store.close()
    async with Crawl(tmp_path).opened() as frontier:
        assert len(await drain(frontier)) == 5
    await check(tmp_path)


@in_virtual_time
async def test_the_record_of_an_exhausted_queue_may_be_damaged_while_urls_come(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add([page("a", "1"), page("b", "1")])
        await drain(frontier)
    for queue in (b"Qtest,a", b"Qtest,b"):
        damage(tmp_path, queue)
    store = leveldb(tmp_path)
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    assert await frontier.add([page("a", "2"), page("b", "2")]) == 2
    assert frontier.describe().quarantined == 2
    assert len(await drain(frontier)) == 2
    await frontier.aclose()
    await check(tmp_path)


@in_virtual_time
async def test_damaged_counters_fail_with_a_reason(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(1, 3))
    damage(tmp_path, b"Mcounters")
    with pytest.raises(StoreFailed, match=r"is damaged: its counters: .*fsck --repair"):
        leveldb(tmp_path)


@in_virtual_time
async def test_fsck_tells_what_does_not_agree(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(2, 3))
        await frontier.retry(await next_lease(frontier), after_s=60, cooldown_s=0)
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    assert Crawl(tmp_path).fsck().problems == []
    damage(tmp_path, b"Ptest,h0", lambda _: None)
    damage(tmp_path, b"Lhttp://h1.test/p0", lambda _: None)
    damage(tmp_path, b"R", lambda _: None)
    assert {problem.kind for problem in Crawl(tmp_path).fsck().problems} == {"lost", "queue", "counter"}


# the visited set's snapshot


async def three_lives(directory: Path, *, every: int) -> None:
    async with Crawl(directory).opened(every=every) as frontier:
        await frontier.add(pages(2, 5))
        await frontier.add([page("late", f"{number}") for number in range(7)])
        await drain(frontier)
        await frontier.forget(["http://late.test/0"])


@pytest.mark.parametrize("every", [5, 500_000])
@pytest.mark.parametrize("fate", ["kept", "missing", "garbage", "torn", "empty", "foreign", "wrong note"])
@in_virtual_time
async def test_a_snapshot_that_does_not_serve_is_replaced_from_the_ledger(
    tmp_path: Path, fate: str, every: int, caplog: pytest.LogCaptureFixture
) -> None:
    await three_lives(tmp_path, every=every)
    (saved,) = (tmp_path / "visited").iterdir()
    content = saved.read_bytes()
    match fate:
        case "missing":
            saved.unlink()
        case "garbage":
            saved.write_bytes(content[:-3] + b"???")
        case "torn":
            saved.write_bytes(content[: len(content) // 2])
        case "empty":
            saved.write_bytes(b"")
        case "foreign":
            with saved.open("wb") as file:
                BloomSet(capacity=1000, error_rate=0.01).dump(file)
        case "wrong note":
            damage(tmp_path, b"Msnapshot", lambda _: b"odd")
    told: list[int] = []
    store, visited = leveldb(tmp_path), ExactSet()
    frontier = await QueueFrontier.open(
        store, visited, snapshots=Snapshots(tmp_path / "visited"), now=now, rebuilding=told.append
    )
    assert told == ([] if fate == "kept" else [16])
    warned = [each for each in caplog.records if each.levelname == "WARNING"]
    assert any("rebuilt from the ledger" in each.message for each in warned) == (
        fate not in ("kept", "missing", "wrong note")
    )
    assert len(visited) == 16
    assert await frontier.add([*pages(2, 5), page("late", "0")]) == 1
    await frontier.aclose()
    await check(tmp_path)


@in_virtual_time
async def test_another_backend_is_filled_from_the_ledger(tmp_path: Path) -> None:
    await three_lives(tmp_path, every=5)
    async with Crawl(tmp_path).opened(visited=BloomSet(capacity=1000, error_rate=1e-9)) as frontier:
        assert await frontier.add([*pages(2, 5), page("late", "0"), page("late", "1")]) == 1
    async with Crawl(tmp_path).opened() as frontier:
        assert await frontier.add([*pages(2, 5), page("late", "0"), page("late", "1")]) == 0


@in_virtual_time
async def test_a_set_that_cannot_forget_takes_up_a_journal_in_which_something_was_forgotten(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open()
    await frontier.add([page("a", "1"), page("a", "2")])
    await drain(frontier)
    await frontier.forget(["http://a.test/1"])
    crashed = crawl.crashed(tmp_path / "crashed")  # no snapshot yet
    await frontier.aclose()
    async with crashed.opened(visited=BloomSet(capacity=1000, error_rate=1e-9)) as frontier:
        assert await frontier.add([page("a", "1"), page("a", "2")]) == 1


@pytest.mark.parametrize("change", [lambda value: None, lambda value: b"\xc1", lambda value: value[:-1] + b"\xff"])
@in_virtual_time
async def test_a_damaged_journal_is_refused_and_when_mended_no_loss(tmp_path: Path, change: Change) -> None:
    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open()
    for number in range(5):
        await frontier.add([page("a", f"{number}")])
    for which in (4, 2):
        crashed = crawl.crashed(tmp_path / f"crashed{which}")
        damage(crashed.directory, b"J", change, which=which)
        store = leveldb(crashed.directory)
        with pytest.raises(JournalDamaged):
            list(store.journal.entries(0))
        assert "journal" in {problem.kind for problem in fsck(store).problems} | {
            "journal" for problem in fsck(store).problems if problem.where.startswith("b'J")
        }
        store.close()
        store = leveldb(crashed.directory)
        with pytest.raises(StoreFailed, match=r"journal .*fsck --repair"):
            await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(crashed.directory / "visited"), now=now)
        assert repair(store).visited_is_rebuilt
        store.close()
        async with crashed.opened() as again:
            assert await again.add([page("a", f"{number}") for number in range(5)]) == 0
            assert len(crashed.visited) == 5
        await check(crashed.directory)
    await frontier.aclose()


@in_virtual_time
async def test_a_crash_between_the_snapshot_and_its_note_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1")])
    frontier = await crawl.open(every=2)
    left: list[Crawl] = []

    def die(_self: LevelDBJournal, _journal_end: int) -> None:
        left.append(crawl.crashed(tmp_path / "left"))
        raise StoreFailed("died here")

    monkeypatch.setattr(LevelDBJournal, "note_snapshot", die)
    with pytest.raises(StoreFailed, match="died here"):
        await frontier.add([page("a", f"{number}") for number in range(2, 6)])
    await frontier.aclose()
    monkeypatch.undo()
    assert len(list((left[0].directory / "visited").iterdir())) == 2
    async with left[0].opened(every=2) as frontier:
        assert len(left[0].visited) == 5
        await frontier.add([page("b", "1"), page("b", "2"), page("b", "3")])
        await frontier.forget(["http://a.test/1"])
    assert len(list((left[0].directory / "visited").iterdir())) == 1
    await check(left[0].directory)


@in_virtual_time
async def test_a_disk_that_takes_no_snapshot_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "visited").write_text("a file where the directory should be")
    async with Crawl(tmp_path).opened(every=2) as frontier:
        await frontier.add(pages(1, 3))
        assert "no snapshot of the visited set was saved" in caplog.text
        assert len(await drain(frontier)) == 3


@in_virtual_time
async def test_a_snapshot_is_not_taken_in_the_middle_of_an_admission(tmp_path: Path) -> None:
    """A set on another machine has taken the links of one page, which the ledger has not, while another page's call
    brings a snapshot about."""
    crawl, remote = Crawl(tmp_path / "crawl"), SlowSet()
    frontier = await crawl.open(visited=remote, every=3)
    first = asyncio.ensure_future(frontier.add(pages(1, 3)))
    await turns()
    remote.answer.clear()
    second = asyncio.ensure_future(frontier.add([page("b", "1")]))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await asyncio.shield(asyncio.gather(second))
    left = crawl.crashed(tmp_path / "left")
    remote.answer.set()
    await asyncio.gather(first, second)
    await frontier.aclose()
    async with left.opened() as frontier:
        assert len(left.visited) == frontier.describe().admitted


@pytest.mark.parametrize("with_snapshots", [False, True])
@in_virtual_time
async def test_closing_waits_for_an_admission_that_is_under_way(tmp_path: Path, with_snapshots: bool) -> None:
    crawl, remote = Crawl(tmp_path), SlowSet()
    saved = Snapshots(tmp_path / "visited", every=1) if with_snapshots else None
    frontier = await QueueFrontier.open(leveldb(tmp_path), remote, snapshots=saved, now=now)
    remote.answer.clear()
    adding = asyncio.ensure_future(frontier.add(pages(1, 3)))
    await turns()
    closing = asyncio.ensure_future(frontier.aclose())
    await turns()
    assert not closing.done()
    remote.answer.set()
    await asyncio.gather(adding, closing)
    assert adding.result() == 3
    async with crawl.opened() as frontier:
        assert len(crawl.visited) == frontier.describe().admitted == 3


# a disk that is full


async def make(change: str, frontier: QueueFrontier, out: Lease) -> None:
    match change:
        case "add":
            await frontier.add([page("new")])
        case "force":
            await frontier.add([out.url, page("h1", "p0")], force=True)
        case "done":
            await frontier.done(out, cooldown_s=0, outcome=DONE)
        case "retry":
            await frontier.retry(out, after_s=5, cooldown_s=0)
        case "release":
            frontier.release(out, cooldown_s=5)
        case "forget":
            await frontier.forget(["http://h1.test/p0"])
        case "requeue":
            await asyncio.sleep(10)
            await anext(frontier)


CHANGES = pytest.mark.parametrize("change", ["add", "force", "done", "retry", "release", "forget", "requeue"])


async def on_a_disk(directory: Path) -> tuple[Disk, LevelDBStore, QueueFrontier, Lease]:
    """A frontier with one URL that is leased, one that is settled and one to be tried again."""
    async with Crawl(directory).opened() as frontier:
        await frontier.add(pages(4, 3))
        await frontier.retry(await next_lease(frontier), after_s=5, cooldown_s=0)
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    disk = Disk()
    store = LevelDBStore(directory / "frontier", Terms(identity=IDENTITY), calls=SystemCalls(open_database=disk.open))
    frontier = await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(directory / "visited"), now=now)
    return disk, store, frontier, await next_lease(frontier)


async def assert_unchanged_after(
    directory: Path, disk: Disk, store: LevelDBStore, frontier: QueueFrontier, before: FrontierStats
) -> None:
    """Closing writes nothing more, and a frontier that is opened afterwards has what there was before."""
    snapshot, written = store.journal.snapshot_at, disk.written
    await frontier.aclose()
    assert (store.journal.snapshot_at, disk.written) == (snapshot, written)
    await check(directory)
    async with Crawl(directory).opened() as again:
        after = again.describe()
        for name in ("admitted", "retrying", "done", "failed"):
            assert getattr(after, name) == getattr(before, name)
        assert await again.add([page("new")]) == 1
        assert len(await drain(again)) == 12


@CHANGES
@in_virtual_time
async def test_a_change_for_which_there_is_no_room_waits_for_it(tmp_path: Path, change: str) -> None:
    disk, store, frontier, out = await on_a_disk(tmp_path)
    before = frontier.describe()
    store.notes.put("damaged", b"x")
    disk.is_full = True
    made = asyncio.ensure_future(make(change, frontier, out))
    adding, waiting = asyncio.ensure_future(frontier.add([page("other", "1")])), asyncio.ensure_future(anext(frontier))
    await asyncio.sleep(60)
    store.notes.put("robots", b"a note is no reason to wait")
    store.notes.set_aside("damaged", ValueError("nor is one that can't be read"))
    assert made.done() == (change == "release")
    assert not adding.done()
    stats = frontier.describe()
    assert stats.paused is not None
    assert "No space left" in stats.paused
    assert (stats.admitted, stats.retrying, stats.done) == (before.admitted, before.retrying, before.done)
    assert disk.opened > 10
    disk.is_full = False
    await made
    assert await adding == 1
    assert frontier.describe().paused is None
    await waiting
    for each in list(frontier._leases):
        await frontier.done(each.lease, cooldown_s=0, outcome=DONE)
    await drain(frontier)
    assert frontier.describe().pending == frontier.describe().in_process == 0
    assert store.notes.get("robots") == b"a note is no reason to wait"
    await frontier.aclose()
    await check(tmp_path)


@CHANGES
@in_virtual_time
async def test_a_crawl_that_is_stopped_while_it_waits_for_room_loses_nothing(tmp_path: Path, change: str) -> None:
    disk, store, frontier, out = await on_a_disk(tmp_path)
    before = frontier.describe()
    disk.is_full = True
    made = asyncio.ensure_future(make(change, frontier, out))
    await asyncio.sleep(10)
    frontier.stop()
    if change == "release":
        await made
    elif change == "requeue":
        with pytest.raises(StopAsyncIteration):
            await made
    else:
        with pytest.raises(StoreFailed, match="No space left"):
            await made
    await assert_unchanged_after(tmp_path, disk, store, frontier, before)


@CHANGES
@in_virtual_time
async def test_a_change_that_cannot_be_written_ends_the_crawl_and_leaves_all_in_agreement(
    tmp_path: Path, change: str
) -> None:
    disk, store, frontier, out = await on_a_disk(tmp_path)
    before = frontier.describe()
    disk.failure = "Input/output error"
    with pytest.raises(StoreFailed, match="Input/output error"):
        await make(change, frontier, out)
    disk.failure = None  # it is mended, but what is half done must not be built upon
    with pytest.raises(StoreFailed, match="remove the cause"):
        await frontier.add([page("another")])
    with pytest.raises(StoreFailed, match="remove the cause"):
        await anext(frontier)
    with pytest.raises(StoreFailed, match="remove the cause"):
        await frontier.done(out, cooldown_s=0, outcome=DONE)
    with pytest.raises(StoreFailed, match="earlier write"):
        store.notes.put("note", b"1")
    await assert_unchanged_after(tmp_path, disk, store, frontier, before)


def test_the_drained_range_of_a_giant_queue_is_compacted(tmp_path: Path) -> None:
    async def crawl() -> None:
        store = LevelDBStore(tmp_path / "frontier", Terms(identity=IDENTITY), compact_after=2000)
        compacted: list[tuple[str | int, int]] = []
        compact = store._compaction._compact

        def noted(key: str | int, order: int) -> None:
            compact(key, order)
            compacted.append((key, order))

        store._compaction._compact = noted
        frontier = await QueueFrontier.open(store, ExactSet())
        await frontier.add([page("giant", f"{number}") for number in range(5000)])
        await frontier.add(pages(10, 3))
        await drain(frontier)
        store._compaction._thread.submit(int).result()  # what waits at the end is dropped
        await frontier.aclose()
        assert [key for key, _ in compacted] == ["test,giant"] * 2
        assert compacted[0][1] < compacted[1][1]

    asyncio.run(crawl())
    report = Crawl(tmp_path).fsck()
    assert (report.problems, report.pending) == ([], 0)


@in_virtual_time
async def test_with_power_a_call_returns_when_the_disk_has_it_and_those_that_wait_share_a_sync(tmp_path: Path) -> None:
    syncs: list[str] = []

    def sync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        syncs.append(name)
        os.fsync(descriptor)

    store = LevelDBStore(
        tmp_path / "frontier", Terms(identity=IDENTITY), durability="power", calls=SystemCalls(sync_file=sync)
    )
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    await asyncio.gather(*(frontier.add([page("a", f"{number}")]) for number in range(50)))
    assert "frontier" in syncs  # the directory has the name of the log
    assert 2 <= len(syncs) < 50
    before = len(syncs)
    await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    assert len(syncs) == before + 1
    assert syncs[-1].endswith(".log")
    await frontier.aclose()


async def test_the_copy_for_a_snapshot_takes_no_memory_that_was_not_there_before(tmp_path: Path) -> None:
    """Finding it would hold the event loop for longer than the copying."""
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(100, 100))
        visited, store = frontier._snapshotting._visited, frontier._store
        buffer = await allocate_buffer(visited)
        before = sys.getsizeof(buffer)
        copied = Snapshots(tmp_path / "visited").copy(store, visited, into=buffer)
        assert copied.content is buffer
        assert sys.getsizeof(buffer) <= before
        expected = BytesIO()
        visited.dump(expected)
        assert buffer.getvalue() == expected.getvalue()


def journal_entries(directory: Path) -> int:
    store = leveldb(directory)
    try:
        return sum(1 for _ in store.full_scan.journal())
    finally:
        store.close()


@in_virtual_time
async def test_journal_entries_that_a_crash_kept_from_being_dropped_do_no_harm_and_are_dropped_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.snapshots.saving.TRIMMED_ENTRIES", 2)
    trim = LevelDBJournal.trim
    trims = 0

    def trim_a_little(journal: LevelDBJournal, limit: int) -> bool:
        nonlocal trims
        trims += 1
        return trims <= 2 and trim(journal, limit)

    with monkeypatch.context() as patch:
        patch.setattr(LevelDBJournal, "trim", trim_a_little)
        async with Crawl(tmp_path).opened(every=500_000) as frontier:
            for number in range(9):
                await frontier.add([page("a", f"{number}")])
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
            await frontier.forget(["http://a.test/0"])
    assert journal_entries(tmp_path) == 10 - 4
    await check(tmp_path)
    store = leveldb(tmp_path)
    assert not repair(store).visited_is_rebuilt
    store.close()
    async with Crawl(tmp_path).opened() as frontier:
        assert await frontier.add([page("a", "0"), page("a", "1")]) == 1
    assert journal_entries(tmp_path) == 0
    await check(tmp_path)


async def test_who_comes_at_the_moment_at_which_a_sync_ends_gets_another() -> None:
    group = GroupSync(lambda: None)
    group.count_write()
    first = asyncio.ensure_future(group.wait())
    await asyncio.sleep(0)
    group._thread.submit(int).result()  # it has ended, and the loop does not know yet
    group.count_write()
    await asyncio.gather(first, group.wait())
    group.close(sync_rest=False)


async def test_while_a_sync_takes_its_time_all_else_goes_on_and_nobody_is_told_too_early(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()
    syncs = 0

    def slow(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        begun.set()
        assert may_end.wait(MAX_WAIT_S)
        os.fsync(descriptor)

    store = LevelDBStore(
        tmp_path / "frontier", Terms(identity=IDENTITY), durability="power", calls=SystemCalls(sync_file=slow)
    )
    frontier = await QueueFrontier.open(store, ExactSet())
    first = asyncio.ensure_future(frontier.add([page("a")]))
    await asyncio.to_thread(begun.wait, 60)
    others = [asyncio.ensure_future(frontier.add([page("b", f"{number}")])) for number in range(5)]
    await turns(30)
    out = await anext(frontier)
    settled = asyncio.ensure_future(frontier.done(out, cooldown_s=0, outcome=DONE))
    await turns(30)
    assert (frontier.describe().admitted, frontier.describe().done) == (6, 1)
    assert not any(each.done() for each in (first, settled, *others))
    before = syncs
    may_end.set()
    await asyncio.gather(first, settled, *others)
    assert syncs <= before + 3  # the directory's, and one more of all others
    await frontier.aclose()


@in_virtual_time
async def test_a_sync_that_fails_ends_the_crawl(tmp_path: Path) -> None:
    can_sync = True

    def sync(descriptor: int) -> None:
        if not can_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fsync(descriptor)

    store = LevelDBStore(
        tmp_path / "frontier", Terms(identity=IDENTITY), durability="power", calls=SystemCalls(sync_file=sync)
    )
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    can_sync = False
    with pytest.raises(StoreFailed, match="can't sync"):
        await frontier.add([page("a")])
    can_sync = True
    with pytest.raises(StoreFailed, match="remove the cause"):
        await frontier.add([page("b")])
    await frontier.aclose()


async def paused(frontier: QueueFrontier) -> None:
    """Until it is: the thread that syncs is not of the virtual time."""
    while frontier.describe().paused is None:
        await asyncio.to_thread(time.sleep, 0.001)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@in_virtual_time
async def test_a_sync_for_which_there_is_no_room_waits_for_it(tmp_path: Path, number: int) -> None:
    is_full = False

    def sync(descriptor: int) -> None:
        if is_full:
            raise OSError(number, os.strerror(number))
        os.fsync(descriptor)

    store = LevelDBStore(
        tmp_path / "frontier", Terms(identity=IDENTITY), durability="power", calls=SystemCalls(sync_file=sync)
    )
    frontier = await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(tmp_path / "visited"), now=now)
    assert await frontier.add(pages(3, 2)) == 6
    out = await next_lease(frontier)
    is_full = True
    settled = asyncio.ensure_future(frontier.done(out, cooldown_s=0, outcome=DONE))
    adding = asyncio.ensure_future(frontier.add([page("new")]))
    await paused(frontier)
    await asyncio.sleep(60)
    assert not settled.done()
    assert not adding.done()
    assert os.strerror(number) in (frontier.describe().paused or "")
    is_full = False
    await settled
    assert await adding == 1
    assert frontier.describe().paused is None
    assert len(await drain(frontier)) == 6
    await frontier.aclose()
    await check(tmp_path)


@in_virtual_time
async def test_what_the_system_forgot_when_a_sync_failed_is_written_anew(tmp_path: Path) -> None:
    """The pages of the log that it could not store are lost."""
    is_full = False

    def sync(descriptor: int) -> None:
        if is_full:
            log = Path(f"/proc/self/fd/{descriptor}").readlink()
            os.truncate(log, 0)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)

    (tmp_path / "crawl").mkdir()
    store = LevelDBStore(
        tmp_path / "crawl" / "frontier", Terms(identity=IDENTITY), durability="power", calls=SystemCalls(sync_file=sync)
    )
    frontier = await QueueFrontier.open(store, ExactSet(), now=now)
    is_full = True
    adding = asyncio.ensure_future(frontier.add(pages(3, 2)))
    await paused(frontier)
    is_full = False
    assert await adding == 6
    left = Crawl(tmp_path / "crawl").crashed(tmp_path / "left")
    await frontier.aclose()
    async with left.opened() as again:
        assert again.describe().admitted == again.describe().pending == 6


@in_virtual_time
async def test_cancelling_one_that_waits_for_a_sync_does_not_take_it_from_the_others(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, durability="power")
    frontier = await crawl.open()
    adding = [asyncio.ensure_future(frontier.add([page("a", f"{number}")])) for number in range(10)]
    await turns(3)
    for each in adding[::2]:
        each.cancel()
    await asyncio.wait(adding)
    assert all(each.result() == 1 for each in adding[1::2])
    adding = [asyncio.ensure_future(frontier.add([page("b", f"{number}")])) for number in range(10)]
    await turns(3)
    await frontier.aclose()
    await asyncio.wait(adding)
    assert all(isinstance(each.exception(), StoreFailed | None) for each in adding)
    await check(tmp_path)


@in_virtual_time
async def test_one_that_is_cancelled_does_not_take_the_sync_from_the_others() -> None:
    may_sync = threading.Event()
    sync = GroupSync(lambda: asserted(may_sync.wait(MAX_WAIT_S)))
    sync.count_write()
    waits = [asyncio.ensure_future(sync.wait()) for _ in range(3)]
    await turns()
    waits[0].cancel()
    await turns()
    assert waits[0].cancelled()
    may_sync.set()
    await asyncio.gather(*waits[1:])
    sync.close(sync_rest=True)


@in_virtual_time
async def test_closing_makes_safe_what_was_written_and_not_synced() -> None:
    syncs: list[int] = []
    for once_more in (True, False):
        sync = GroupSync(lambda: syncs.append(1))
        sync.count_write()
        sync.close(sync_rest=once_more)
        if once_more:
            await sync.wait()
    assert syncs == [1]


def asserted(condition: bool) -> None:
    assert condition


# notes


def test_notes_outlive_the_process(tmp_path: Path) -> None:
    store = leveldb(tmp_path)
    assert store.notes.get("robots http://a.test") is None
    store.notes.put("robots http://a.test", b"\x00verdict")
    store.close()
    store = leveldb(tmp_path)
    assert store.notes.get("robots http://a.test") == b"\x00verdict"
    assert fsck(store).problems == []
    store.close()


@in_virtual_time
async def test_a_crawl_that_is_cancelled_while_it_waits_for_room_ends_at_once(tmp_path: Path) -> None:
    disk, _, frontier, _ = await on_a_disk(tmp_path)
    disk.is_full = True
    adding = asyncio.ensure_future(frontier.add([page("other", "1")]))
    await asyncio.sleep(10)
    adding.cancel()
    before = now()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert now() == before
    with pytest.raises(StoreFailed, match="was cancelled while it waited"):
        await anext(frontier)
    await frontier.aclose()
    await check(tmp_path)
    async with Crawl(tmp_path).opened() as frontier:
        assert await frontier.add([page("other", "1")]) == 1


# a disk that is full while queues come and go


@in_virtual_time
async def test_queues_that_rest_or_make_room_while_the_disk_is_full_are_served_afterwards(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add(pages(20, 2))
        for _ in range(10):
            await frontier.done(await next_lease(frontier), cooldown_s=50, outcome=DONE)
    rules = QueueSettings(min_active=1, snoozed_in_memory=0, budgets=Budgets(session=1))
    disk = Disk()
    store = LevelDBStore(tmp_path / "frontier", Terms(identity=IDENTITY), calls=SystemCalls(open_database=disk.open))
    frontier = await QueueFrontier.open(store, ExactSet(), settings=rules, now=now)
    out = await next_lease(frontier)
    disk.is_full = True
    frontier.release(out, cooldown_s=5)
    waiting = asyncio.ensure_future(anext(frontier))
    await asyncio.sleep(30)
    disk.is_full = False
    await frontier.done(await waiting, cooldown_s=0, outcome=DONE)
    assert len(await drain(frontier)) == 29
    await frontier.aclose()
    await check(tmp_path)
