"""What a damaged log loses from a store is told, mended, and fetched again."""

import errno
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import plyvel
import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.testing.frontier.crawls import DONE, drain, next_lease, pages
from crawler.testing.loops import in_virtual_time
from frontier import StoreFailed, UrlState
from frontier.descriptor import Report
from frontier.leveldb.store import LevelDBStore
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.repair_batch import Repaired
from frontier.upkeep.salvage import repair_directory
from frontier.values import Damaged
from tests.unit.frontier.crawls import IDENTITY, Crawl, check, contents, leveldb


def put(directory: Path, records: dict[bytes, bytes | None]) -> None:
    with plyvel.DB(str(directory / "frontier")) as db:
        for key, value in records.items():
            if value is None:
                db.delete(key)
            else:
                db.put(key, value)


def report_of(directory: Path) -> Report:
    store = LevelDBStore(directory / "frontier", Terms(identity=IDENTITY, to_repair=True))
    try:
        return fsck(store)
    finally:
        store.close()


def mended(directory: Path) -> Repaired:
    place = directory / "frontier"
    terms = Terms(identity=IDENTITY, to_repair=True)
    store, done = repair_directory(place, lambda: LevelDBStore(place, terms), copy=CrawlDirectory(directory).new_copy())
    store.close()
    return done


def told(report: Report, kind: str) -> Sequence[str]:
    return [problem.message for problem in report.problems if problem.kind == kind]


def flip_a_bit(path: Path, random: Random, *, start: float, stop: float) -> None:
    """Change one bit between two places of a file, given as shares of its length."""
    content = bytearray(path.read_bytes())
    at = random.randrange(int(start * len(content)), int(stop * len(content)))
    content[at] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def log_of(directory: Path) -> Path:
    return max((directory / "frontier").glob("*.log"), key=lambda path: path.stat().st_size)


async def settled_behind(directory: Path) -> dict[bytes, bytes]:
    """A crawl that has settled four of twelve URLs, and what its store held before."""
    crawl = Crawl(directory / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
    before = contents(crawl.directory)
    async with crawl.opened() as frontier:
        for _ in range(4):
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
    return before


@in_virtual_time
async def test_a_url_that_stands_before_the_head_of_its_queue_is_told_and_fetched(tmp_path: Path) -> None:
    before = await settled_behind(tmp_path)
    directory = tmp_path / "crawl"
    lost = {key: value for key, value in before.items() if key[:1] in b"PL" and contents(directory).get(key) != value}
    assert lost
    put(directory, dict(lost))  # as if the batches that settled them were lost, and those behind were not
    assert any("says it is drained to" in message for message in told(report_of(directory), "queue"))
    mended(directory)
    assert mended(directory) == Repaired()
    await check(directory)
    async with Crawl(directory).opened() as frontier:
        assert set(await drain(frontier)) == {url.url for url in pages(2, 6)}


@in_virtual_time
async def test_a_url_that_waits_twice_is_mended_once_and_for_all(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
        await frontier.retry(await next_lease(frontier), after_s=5, cooldown_s=0)
    before = contents(crawl.directory)
    async with crawl.opened() as frontier:
        again = await next_lease(frontier)
        while not again.url.attempt:
            await frontier.done(again, cooldown_s=0, outcome=DONE)
            again = await next_lease(frontier)
        frontier.release(again)
    stale = {key: value for key, value in before.items() if key[:1] == b"R"}
    assert len(stale) == 1
    put(crawl.directory, dict(stale))
    assert told(report_of(crawl.directory), "ledger")
    assert mended(crawl.directory).duplicates == 1
    assert mended(crawl.directory) == Repaired()
    await check(crawl.directory)


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("next_number", 3, "the next number is 3"),
        ("next_ordinal", 3, "the next ordinal is 3"),
        ("next_turn", 1, "the next turn is 1"),
        ("troubled_queues", 3, "the counter says 3, but there are 0"),
    ],
)
@in_virtual_time
async def test_counters_that_do_not_fit_are_told_and_mended(tmp_path: Path, name: str, wrong: int, words: str) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
    store = LevelDBStore(crawl.directory / "frontier", Terms(identity=IDENTITY))
    store.writer.write_records({}, set(), msgspec.structs.replace(store.counters, **{name: wrong}))
    store.close()
    assert any(words in message for message in told(report_of(crawl.directory), "counter"))
    mended(crawl.directory)
    await check(crawl.directory)


async def killed(directory: Path) -> Crawl:
    """A crawl of 480 URLs that is killed when 450 leases have come back."""
    crawl = Crawl(directory / "crawl")
    frontier = await crawl.open()
    await frontier.add(pages(12, 40))
    for number in range(450):
        out = await next_lease(frontier)
        if number % 7 == 3:
            await frontier.retry(out, after_s=1, cooldown_s=0)
        else:
            await frontier.done(out, cooldown_s=0, outcome=DONE)
    left = crawl.crashed(directory / "left")
    await frontier.aclose()
    return left


@pytest.mark.parametrize("seed", range(8))
@in_virtual_time
async def test_damage_to_the_log_is_refused_and_when_mended_all_that_the_ledger_has_is_fetched(
    tmp_path: Path, seed: int
) -> None:
    left = await killed(tmp_path)
    flip_a_bit(log_of(left.directory), Random(seed), start=0.5, stop=0.95)
    with pytest.raises(StoreFailed, match=r"is damaged: .*fsck --repair"):
        leveldb(left.directory)
    assert mended(left.directory).salvaged
    assert mended(left.directory) == Repaired()
    await check(left.directory, rebuilt=True)
    async with left.opened() as again:
        await drain(again)
    assert (await check(left.directory, rebuilt=True)).urls == states(left.directory)[UrlState.DONE] == 480


@in_virtual_time
async def test_zeroed_blocks_of_the_log_which_leveldb_passes_over_are_missed(tmp_path: Path) -> None:
    left = await killed(tmp_path)
    log = log_of(left.directory)
    content = bytearray(log.read_bytes())
    content[3 * 32768 : 4 * 32768] = bytes(32768)
    log.write_bytes(content)
    with plyvel.DB(str(left.directory / "frontier")) as db:  # as it is opened where checks are not paranoid
        assert next(db.iterator(), None) is not None
    with pytest.raises(StoreFailed, match=r"of its changes are missing, but later ones are there; .*fsck --repair"):
        leveldb(left.directory)
    assert "batches" in {problem.kind for problem in report_of(left.directory).problems}
    assert mended(left.directory).missing_batches
    async with left.opened() as again:
        await drain(again)
    assert states(left.directory)[UrlState.DONE] == 480


@in_virtual_time
async def test_a_log_that_lost_its_end_is_the_store_of_a_while_ago(tmp_path: Path) -> None:
    left = await killed(tmp_path)
    log = log_of(left.directory)
    log.write_bytes(log.read_bytes()[: int(0.8 * log.stat().st_size)])
    async with left.opened() as again:
        assert again.describe().done < 400
        await drain(again)
    assert states(left.directory)[UrlState.DONE] == 480


@in_virtual_time
async def test_urls_of_which_nothing_is_left_are_counted_by_the_store_for_good(tmp_path: Path) -> None:
    left = await killed(tmp_path)
    flip_a_bit(log_of(left.directory), Random(1), start=0.01, stop=0.05)  # within the one admission
    done = mended(left.directory)
    assert done.lost
    assert told(report_of(left.directory), "missing")
    assert mended(left.directory) == Repaired()
    async with left.opened() as again:
        await drain(again)
        assert again.describe().missing == done.lost
    assert states(left.directory)[UrlState.DONE] == 480 - done.lost


@pytest.mark.parametrize("lost", ["CURRENT", "MANIFEST", "table", "CURRENT and MANIFEST", "log"])
@in_virtual_time
async def test_a_leveldb_that_cannot_be_opened_is_brought_back(tmp_path: Path, lost: str) -> None:
    left = await killed(tmp_path)
    with plyvel.DB(str(left.directory / "frontier")) as db:
        db.compact_range()
    async with left.opened() as again:
        await again.done(await next_lease(again), cooldown_s=0, outcome=DONE)
    place = left.directory / "frontier"
    for name in ("CURRENT", "MANIFEST"):
        if name in lost:
            for path in place.glob(f"{name}*"):
                path.unlink()
    if lost == "table":
        next(place.glob("*.ldb")).unlink()
    if lost == "log":
        log = log_of(left.directory)
        log.unlink()
        log.symlink_to("a disk that is gone")
    with pytest.raises(StoreFailed, match="fsck --repair"):
        leveldb(left.directory)
    before = len(list(tmp_path.glob("left/frontier.before-*")))
    scratch = left.directory / "frontier.repairing"
    (scratch / "by a process that was killed").mkdir(parents=True)
    done = mended(left.directory)
    assert done.salvaged
    assert len(list(tmp_path.glob("left/frontier.before-*"))) == before + 1
    scratch.mkdir()
    assert mended(left.directory) == Repaired()
    assert not scratch.exists()
    async with left.opened() as again:
        await drain(again)
    assert states(left.directory)[UrlState.DONE] == 480 - done.lost
    assert (done.lost > 0) == (lost == "table")


@in_virtual_time
async def test_what_a_killed_repair_has_left_is_named_if_it_can_not_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
    (crawl.directory / "frontier.repairing" / "left").mkdir(parents=True)
    remove = os.rmdir

    def refuse(path: str, *, dir_fd: int | None = None) -> None:
        if path == "left":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        remove(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", refuse)
    with pytest.raises(PermissionError, match="left"):
        mended(crawl.directory)


@pytest.mark.parametrize("key", [b"Mformat", b"Midentity"])
@in_virtual_time
async def test_a_frontier_that_has_lost_its_identity_is_told_from_what_is_none(tmp_path: Path, key: bytes) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
    put(crawl.directory, {key: None})
    with pytest.raises(StoreFailed, match=r"is damaged: .*fsck --repair"):
        leveldb(crawl.directory)
    mended(crawl.directory)
    async with crawl.opened() as frontier:
        assert len(await drain(frontier)) == 12


@in_virtual_time
async def test_a_crawl_whose_counts_do_not_add_up_is_not_complete(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 6))
        store = frontier._store
        store.update_queues([], msgspec.structs.replace(store.counters, admitted=20))
        with pytest.raises(StoreFailed, match=r"of 20 URLs, 12 are settled and 0 wait; .*fsck --repair"):
            await drain(frontier)
    with pytest.raises(StoreFailed, match="of 20 URLs, 12 are settled"):
        leveldb(crawl.directory)


def states(directory: Path) -> Counter[UrlState]:
    store = LevelDBStore(directory / "frontier", Terms(identity=IDENTITY))
    try:
        return Counter(found[0].state for found in store.full_scan.entries() if not isinstance(found, Damaged))
    finally:
        store.close()
