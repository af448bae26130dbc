"""A store is brought under other rules: whole, whatever happens meanwhile."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frontier.upkeep.rebuild
from crawler.testing.frontier.crawls import DONE, drain, next_lease, now, page
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, LedgerEntry, Outcome, StoreRefused, UrlState
from frontier.descriptor import RenameResult
from frontier.leveldb.store import LevelDBStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.rebuild import rebuild
from tests.unit.frontier.crawls import IDENTITY, Crawl
from visited.digests.exact import ExactSet

NEW = {"canonicalization": "without what follows a question mark"}


class Shorter:
    """Drops what follows a question mark; and lets hosts with the same letter stand in one queue."""

    def name_settled(self, entry: LedgerEntry, /) -> LedgerEntry:
        url = entry.url or entry.canonical
        canonical = url.partition("?")[0]
        return msgspec.structs.replace(entry, canonical=canonical, url=None if url == canonical else url)

    def name_pending(self, url: CrawlUrl, /) -> CrawlUrl:
        key = url.queue_key.rstrip("0123456789")
        return msgspec.structs.replace(url, canonical=url.url.partition("?")[0], queue_key=key)


def opened(directory: Path) -> LevelDBStore:
    return LevelDBStore(directory / "frontier", Terms(identity=NEW, to_rename=True))


async def rebuilt(directory: Path) -> RenameResult:
    store = opened(directory)
    try:
        return await rebuild(store, Shorter(), settings=QueueSettings())
    finally:
        store.close()


def entries(directory: Path) -> dict[str, LedgerEntry]:
    store = opened(directory)
    try:
        found = ((name, store.reads.entry(name)) for name in store.reads.ledger())
        return {name: entry for name, entry in found if entry is not None}
    finally:
        store.close()


def assert_sound(directory: Path) -> None:
    store = opened(directory)
    try:
        assert fsck(store).problems == []
    finally:
        store.close()


RANK = {"done": 4, "failed": 3, "retry": 1, "wait": 0}
STATES = {"done": UrlState.DONE, "failed": UrlState.FAILED, "retry": UrlState.PENDING, "wait": UrlState.PENDING}
NAMES = [f"{host}/{path}{mark}" for host in ("a1", "a2", "b1") for path in "xy" for mark in ("", "?1", "?2")]


async def fill(directory: Path, fates: dict[str, str]) -> None:
    """A crawl of URLs, written as `host/path`, each with its fate."""
    async with Crawl(directory).opened() as frontier:
        await frontier.add([page(*name.split("/")) for name, fate in fates.items() if fate != "wait"])
        while frontier.describe().pending:
            out = await next_lease(frontier)
            fate = fates[out.url.url.removeprefix("http://").replace(".test", "")]
            if fate == "retry":
                await frontier.retry(out, after_s=1e6, cooldown_s=0, reason="timeout")
            else:
                outcome = Outcome(state=STATES[fate], fetched_at=now(), server_ok=fate == "done")
                await frontier.done(out, cooldown_s=0, outcome=outcome)
        await frontier.add([page(*name.split("/")) for name, fate in fates.items() if fate == "wait"])


@settings(deadline=None, max_examples=30)
@given(fates=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(RANK)), min_size=1))
def test_urls_that_become_the_same_are_merged_and_the_one_that_got_further_stays(fates: dict[str, str]) -> None:
    merged: dict[str, str] = {}
    for name, fate in fates.items():
        short = name.partition("?")[0]
        merged[short] = max(merged.get(short, "wait"), fate, key=lambda each: RANK[each])

    @in_virtual_time
    async def prove(directory: Path) -> None:
        await fill(directory, fates)
        found = await rebuilt(directory)
        assert (found.urls, found.merged) == (len(fates), len(fates) - len(merged))
        assert_sound(directory)
        by_name = entries(directory)
        assert {name: entry.state for name, entry in by_name.items()} == {
            f"http://{name.replace('/', '.test/')}": STATES[fate] for name, fate in merged.items()
        }
        assert {entry.reason for entry in by_name.values() if entry.reason} <= {"timeout"}
        visited = ExactSet()
        frontier = await QueueFrontier.open(
            opened(directory), visited, snapshots=Snapshots(directory / "visited"), now=now
        )
        assert len(visited) == len(merged)
        left = Counter(url.partition("?")[0] for url in await drain(frontier))
        assert left == Counter(name for name, entry in by_name.items() if entry.state is UrlState.PENDING)
        await frontier.aclose()
        assert_sound(directory)

    with TemporaryDirectory() as directory:
        prove(Path(directory))


SOME = {name: sorted(RANK)[number % len(RANK)] for number, name in enumerate(NAMES)}


@in_virtual_time
async def test_a_queue_that_is_new_spares_its_servers_what_the_old_ones_spared_them(tmp_path: Path) -> None:
    async with Crawl(tmp_path).opened() as frontier:
        await frontier.add([page("a1", "x"), page("a1", "y"), page("a2", "x"), page("a2", "y")])
        await frontier.done(await next_lease(frontier), cooldown_s=50, outcome=DONE)
        await frontier.done(await next_lease(frontier), cooldown_s=100, outcome=DONE)
    await rebuilt(tmp_path)
    frontier = await QueueFrontier.open(opened(tmp_path), ExactSet(), now=now)
    start = now()
    assert (await next_lease(frontier)).url.queue_key == "test,a"
    assert now() - start == pytest.approx(100, abs=0.1)
    await frontier.aclose()


@in_virtual_time
async def test_links_are_counted_under_the_new_names(tmp_path: Path) -> None:
    links = {"a1/x": 1, "a1/x?1": 3, "a1/x?2": 2, "b1/y?1": 4, "b1/x": 2}
    visited = ExactSet()
    async with Crawl(tmp_path).opened(visited=visited) as frontier:
        await frontier.add([page(*name.split("/")) for name in links])
        for _ in range(2):
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=DONE)
        for name, count in links.items():
            await frontier.add([page(*name.split("/"))] * (count - 1))
    await rebuilt(tmp_path)
    store = opened(tmp_path)
    counts = {
        name: entry.hit_count + store.reads.link_count(name)
        for name in store.reads.ledger()
        if (entry := store.reads.entry(name))
    }
    store.close()
    assert counts == {"http://a1.test/x": 6, "http://b1.test/y": 4, "http://b1.test/x": 2}


@in_virtual_time
async def test_a_settled_url_is_fetched_again_as_it_was_fetched_and_not_by_its_new_name(tmp_path: Path) -> None:
    await fill(tmp_path, {"a1/x?1": "done", "a1/y": "done"})
    await rebuilt(tmp_path)
    found = entries(tmp_path)
    assert {name: entry.url for name, entry in found.items()} == {
        "http://a1.test/x": "http://a1.test/x?1",
        "http://a1.test/y": None,
    }


@pytest.mark.parametrize("is_merged", [True, False])
@in_virtual_time
async def test_the_number_of_a_url_that_was_merged_into_another_counts_as_forgotten(
    tmp_path: Path, is_merged: bool
) -> None:
    await fill(tmp_path, {"a1/x": "done", "a1/x?1" if is_merged else "a1/y": "done"})
    await rebuilt(tmp_path)
    store = opened(tmp_path)
    assert (store.counters.generation > 0) == is_merged
    store.close()


@in_virtual_time
async def test_what_has_its_new_name_already_is_left_alone(tmp_path: Path) -> None:
    await fill(tmp_path, SOME)
    assert (await rebuilt(tmp_path)).merged > 0
    store = opened(tmp_path)
    assert not store.needs_rebuild
    assert (await rebuild(store, Shorter(), settings=QueueSettings())).renamed == 0
    store.close()
    LevelDBStore(tmp_path / "frontier", Terms(identity=NEW)).close()


class Died(Exception):
    pass


@pytest.mark.parametrize("batches", range(9))
@in_virtual_time
async def test_a_rebuild_that_was_broken_off_is_begun_again_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    monkeypatch.setattr(frontier.upkeep.rebuild, "RENAMED_TOGETHER", 2)
    crawl = tmp_path / "crawl"
    await fill(crawl, SOME)
    untouched = Crawl(crawl).crashed(tmp_path / "untouched").directory
    await rebuilt(untouched)
    told = 0

    def progress(_: int) -> None:
        nonlocal told
        told += 1
        if told > batches:
            raise Died

    store = opened(crawl)
    with pytest.raises(Died):
        await rebuild(store, Shorter(), settings=QueueSettings(), progress=progress)
    assert fsck(store).problems == []
    store.close()
    for identity in (IDENTITY, NEW):
        with pytest.raises(StoreRefused, match="was interrupted: run the same command with --rebuild again"):
            LevelDBStore(crawl / "frontier", Terms(identity=identity))
    await rebuilt(crawl)
    assert_sound(crawl)
    assert entries(crawl) == entries(untouched)


CHILD = """
import asyncio, sys
from pathlib import Path
import frontier.upkeep.rebuild
from tests.unit.frontier.test_rebuild import Shorter, opened
from frontier.queues.settings import QueueSettings

frontier.upkeep.rebuild.RENAMED_TOGETHER = 5
told = lambda urls: print(urls, flush=True)
store, settings = opened(Path(sys.argv[1])), QueueSettings()
asyncio.run(frontier.upkeep.rebuild.rebuild(store, Shorter(), settings=settings, progress=told))
"""


def test_a_rebuild_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    fates = {f"h{number % 7}/p{number // 3}?{number % 3}": sorted(RANK)[number % 4] for number in range(600)}
    in_virtual_time(fill)(crawl, fates)
    untouched = Crawl(crawl).crashed(tmp_path / "untouched").directory
    asyncio.run(rebuilt(untouched))
    for lines in (1, 20, 60, 100):
        command = [sys.executable, "-c", CHILD, str(crawl)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(lines):
                assert child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            assert child.wait() == -signal.SIGKILL
        assert_sound(crawl)
    asyncio.run(rebuilt(crawl))
    assert_sound(crawl)
    assert entries(crawl) == entries(untouched)
