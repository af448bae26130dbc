"""What is damaged is mended, and no URL of the ledger is lost."""

from pathlib import Path

import plyvel
import pytest

from crawler.testing.frontier.crawls import DONE, START, drain, next_lease, page, pages
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, Recrawling, StoreFailed, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.terms import Terms
from frontier.upkeep.repair import repair
from frontier.upkeep.repair_batch import Repaired
from tests.unit.frontier.crawls import IDENTITY, Crawl, check, leveldb


def damage(directory: Path, prefix: bytes, value: bytes | None = b"\xc1?") -> int:
    """Change all records of a prefix, or delete them; their number."""
    with plyvel.DB(str(directory / "frontier")) as db:
        keys = [key for key, _ in db.iterator(prefix=prefix)]
        for key in keys:
            if value is None:
                db.delete(key)
            else:
                db.put(key, value)
    return len(keys)


async def half_done(directory: Path) -> None:
    """Twelve URLs: three fetched, one to be tried again, eight pending, of which three are retired."""
    async with Crawl(directory).opened() as frontier:
        await frontier.add(pages(4, 3))
        for _ in range(3):
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
        await frontier.retry(await next_lease(frontier), after_s=60, cooldown_s=0)
        await frontier.retire("test,h2")


def mended(directory: Path) -> Repaired:
    store = LevelDBStore(directory / "frontier", Terms(identity=IDENTITY, to_repair=True))
    try:
        return repair(store)
    finally:
        store.close()


async def rest_of(directory: Path) -> set[str]:
    async with Crawl(directory).opened() as frontier:
        if frontier.describe().retired_queues:
            await frontier.unretire("test,h2")
        return set(await drain(frontier))


REST = {f"http://h{host}.test/p{number}" for number in range(3) for host in range(4) if number or host == 3}


@in_virtual_time
async def test_what_is_sound_is_left_alone(tmp_path: Path) -> None:
    await half_done(tmp_path)
    assert mended(tmp_path) == Repaired()
    report = await check(tmp_path)
    assert (report.urls, report.pending, report.retrying) == (12, 8, 1)
    assert await rest_of(tmp_path) == REST


@pytest.mark.parametrize(
    ("prefix", "value"),
    [
        (b"P", b"\xc1?"),
        (b"P", None),
        (b"Ptest,h1", None),
        (b"R", b""),
        (b"R", None),
        (b"I", None),
        (b"Mcounters", b"?"),
        (b"Mcounters", None),
        (b"Lhttp://h1.test/p2", b"?"),
        (b"Lhttp://h1.test/p2", None),
        (b"Qtest,h3", None),
        (b"Qtest,h3", b"?"),
    ],
)
@in_virtual_time
async def test_whatever_is_damaged_no_url_of_the_ledger_or_the_queues_is_lost(
    tmp_path: Path, prefix: bytes, value: bytes | None
) -> None:
    await half_done(tmp_path)
    assert damage(tmp_path, prefix, value)
    mended(tmp_path)
    assert mended(tmp_path) == Repaired(), "what was mended is sound"
    report = await check(tmp_path, rebuilt=True)
    assert (report.urls, report.pending, report.retrying) == (12, 8, 1)
    assert await rest_of(tmp_path) == REST
    await check(tmp_path)


@pytest.mark.parametrize("value", [b"?", None])
@in_virtual_time
async def test_a_gap_in_the_journal_has_the_visited_set_rebuilt(tmp_path: Path, value: bytes | None) -> None:
    crawl = Crawl(tmp_path / "crawl")
    frontier = await crawl.open()
    for number in range(5):
        await frontier.add([page("a", f"{number}")])
    left = crawl.crashed(tmp_path / "left")
    await frontier.aclose()
    assert damage(left.directory, b"J\0\0\0\0\0\0\0\3", value) == 1
    assert mended(left.directory).visited_is_rebuilt
    assert mended(left.directory) == Repaired()
    assert left.fsck().problems == []
    async with left.opened() as again:
        assert await again.add([page("a", f"{number}") for number in range(6)]) == 1
    await check(left.directory)


@in_virtual_time
async def test_damaged_counters_are_refused_but_for_repair(tmp_path: Path) -> None:
    await half_done(tmp_path)
    damage(tmp_path, b"Mcounters")
    with pytest.raises(StoreFailed, match="fsck --repair"):
        leveldb(tmp_path)
    mended(tmp_path)
    async with Crawl(tmp_path).opened() as frontier:
        stats = frontier.describe()
        assert (stats.admitted, stats.done, stats.retrying, stats.pending, stats.retired) == (12, 3, 1, 6, 2)
        assert await frontier.add([page("h0", "p0"), page("new")]) == 1
        assert (await drain(frontier))[-1] != ""
    await check(tmp_path)


@pytest.mark.parametrize("waits", [False, True])
@in_virtual_time
async def test_the_latest_fetch_is_known_again_after_counters_were_damaged(tmp_path: Path, waits: bool) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add([page("a", "1")])
        outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=START + 500)
        await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
        if waits:
            assert isinstance(frontier, Recrawling)
            assert await frontier.readmit([page("a", "1")]) == 1
    damage(tmp_path, b"Mcounters")
    mended(tmp_path)
    async with Crawl(tmp_path).opened() as frontier:
        assert frontier._store.counters.fetched_at == START + 500


@in_virtual_time
async def test_a_url_set_aside_while_the_crawl_ran_is_put_back(tmp_path: Path) -> None:
    await half_done(tmp_path)
    damage(tmp_path, b"Ptest,h1", b"")
    async with Crawl(tmp_path).opened() as frontier:
        await drain(frontier)
    done = mended(tmp_path)
    assert done.put_back == 2
    assert await rest_of(tmp_path) >= {"http://h1.test/p1", "http://h1.test/p2"}
    await check(tmp_path)
