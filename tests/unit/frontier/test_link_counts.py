"""Links to known URLs are added up, and none is ever dropped."""

import errno
import os
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import DONE, entry_of, page, pages
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, StoreFull
from frontier.leveldb.format.keys import links_key
from frontier.link_table.table import LinkCount, PythonLinkTable, make_link_table, url_digest
from frontier.memory.store import MemoryStore
from frontier.store import Store
from frontier.transitions.link_counts import WRITE_ALL_EVERY_S, LinkCounts
from tests.unit.frontier.crawls import Crawl, leveldb


class Watched(MemoryStore):
    """Tells what is written; its disk may be full."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[bytes]] = []
        self.is_full = False

    def add_links(self, links: Sequence[LinkCount], /) -> None:
        if self.is_full:
            raise StoreFull(os.strerror(errno.ENOSPC))
        self.batches.append([digest for digest, _ in links])
        super().add_links(links)


@pytest.fixture(params=[make_link_table, PythonLinkTable], ids=["best", "python"], autouse=True)
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the counts use this implementation."""
    monkeypatch.setattr("frontier.transitions.link_counts.make_link_table", request.param)


def known(counts: LinkCounts, urls: Sequence[CrawlUrl]) -> None:
    counts.add([url.canonical for url in urls], [url.link_count for url in urls], [False] * len(urls))


def test_links_are_added_up_and_written_in_order_some_at_a_time() -> None:
    counts, store, chance, expected = LinkCounts(max_counts=50, now=0), Watched(), random.Random(1), Counter[str]()
    urls = pages(4, 100)
    for _ in range(500):
        batch = chance.choices(urls, k=10)
        known(counts, batch)
        expected.update(url.canonical for url in batch)
        if counts.must_write(0):
            store.is_full = chance.random() < 0.2
            try:
                counts.write(store, at_once=20, now=0)
            except StoreFull:
                store.is_full = False
        url = chance.choice(urls).canonical
        assert counts.get(url) + store.reads.link_count(url) == expected[url]
    assert len(store.batches) > 100
    assert all(batch == sorted(set(batch)) and len(batch) <= 20 for batch in store.batches)
    for _ in counts.write_all(store, at_once=20):
        pass
    assert not counts.must_write(0)
    assert {url.canonical: store.reads.link_count(url.canonical) for url in urls} == {
        url.canonical: expected[url.canonical] for url in urls
    }


def test_what_somebody_else_keeps_is_not_written_too() -> None:
    counts, store = LinkCounts(max_counts=1, now=0), Watched()
    urls = pages(1, 3)
    known(counts, urls)
    counts.write(store, at_once=1, now=0)
    known(counts, urls)
    assert sorted(counts.pop(url.canonical) for url in urls) == [1, 2, 2]
    assert [counts.get(url.canonical) for url in urls] == [0, 0, 0]
    for _ in counts.write_all(store, at_once=1):
        pass
    assert sum(store.reads.link_count(url.canonical) for url in urls) == 1


def test_what_is_added_up_stays_bounded() -> None:
    counts, store = LinkCounts(max_counts=50, now=0), Watched()
    for url in pages(10, 200):
        known(counts, [url])
        if counts.must_write(0):
            counts.write(store, at_once=2, now=0)
    assert sum(map(len, store.batches)) >= 2000 - 60


def test_urls_with_many_links_are_written_seldom_and_stay_bounded() -> None:
    counts, store = LinkCounts(max_counts=500, now=0), Watched()
    menu = pages(1, 300)
    for number in range(4_000):
        known(counts, [*menu, page(f"once-{number}")])
        if counts.must_write(0):
            counts.write(store, at_once=100, now=0)
    writes = Counter(digest for batch in store.batches for digest in batch)
    of_menu = sum(writes[url_digest(url.canonical)] for url in menu)
    assert 0 < of_menu < 300 * 4_000 // 500
    assert sum(counts.get(page(f"once-{number}").canonical) for number in range(4_000)) <= 1_000
    for _ in counts.write_all(store, at_once=100):
        pass
    assert all(store.reads.link_count(url.canonical) == 4_000 for url in menu)


def test_urls_that_all_have_many_links_stay_bounded_too() -> None:
    counts, store = LinkCounts(max_counts=500, now=0), Watched()
    for number in range(5_000):
        known(counts, [page(f"{number}")] * 5)
        if counts.must_write(0):
            counts.write(store, at_once=10, now=0)
    assert sum(counts.get(page(f"{number}").canonical) > 0 for number in range(5_000)) <= 1_000


def test_after_ten_minutes_all_is_written_that_was_counted_before() -> None:
    counts, store, menu = LinkCounts(max_counts=500, now=0), Watched(), pages(1, 300)
    for _ in range(10):
        known(counts, menu)
    assert not counts.must_write(WRITE_ALL_EVERY_S - 1)
    began = 0
    while counts.must_write(WRITE_ALL_EVERY_S):
        counts.write(store, at_once=40, now=WRITE_ALL_EVERY_S)
        known(counts, [page(f"new-{began}")])
        began += 1
    assert 8 <= began <= 10
    assert {store.reads.link_count(url.canonical) for url in menu} == {10}
    assert not counts.must_write(2 * WRITE_ALL_EVERY_S - 1)
    assert counts.must_write(2 * WRITE_ALL_EVERY_S)


def test_without_counts_nothing_is_written_after_ten_minutes() -> None:
    counts = LinkCounts(now=0)
    assert not counts.must_write(WRITE_ALL_EVERY_S)
    known(counts, [page("a")])
    assert counts.must_write(WRITE_ALL_EVERY_S)


def written(directory: Path) -> dict[str, int]:
    store = leveldb(directory)
    try:
        return {url.canonical: store.reads.link_count(url.canonical) for url in pages(2, 40)}
    finally:
        store.close()


@in_virtual_time
async def test_a_kill_loses_what_came_since_the_last_batch_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.shell.LinkCounts", partial(LinkCounts, max_counts=20))
    monkeypatch.setattr("frontier.transitions.admission._LINK_COUNTS_WRITTEN", 0)
    crawl = Crawl(tmp_path / "crawl")
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 40))
        for _ in range(3):
            for url in pages(2, 40):
                await frontier.add([url])
        counts = written(crawl.crashed(tmp_path / "killed").directory)
        assert 3 * 80 - 2 * 20 <= sum(counts.values()) < 3 * 80
    assert written(crawl.directory) == dict.fromkeys(counts, 3)
    assert crawl.fsck().problems == []


@in_virtual_time
async def test_counts_are_forgotten_with_their_urls(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    async with crawl.opened() as frontier:
        await frontier.add([page("a"), page("a"), page("b")])
        await frontier.done(await anext(frontier), cooldown_s=0, outcome=DONE)
        await frontier.add([page("a")])
    async with crawl.opened(visited=crawl.visited) as frontier:
        await frontier.add([page("a")])
        assert await frontier.forget([page("a").canonical]) == 1
        await frontier.add([page("a")])
        entry = await entry_of(frontier, page("a").canonical)
        assert entry.hit_count == 1


def test_a_count_that_cannot_be_read_is_set_aside_and_begins_anew(tmp_path: Path) -> None:
    store, key = leveldb(tmp_path), links_key(url_digest("http://a.test/"))
    store.add_links([(url_digest("http://a.test/"), 3)])
    store.writer.write_records({key: b"\xc1"}, set(), store.counters)
    assert store.reads.link_count("http://a.test/") == 0
    assert list(store.full_scan.quarantined_keys()) == [key]
    store.add_links([(url_digest("http://a.test/"), 3)])
    assert store.reads.link_count("http://a.test/") == 3
    store.close()


@pytest.mark.parametrize("kind", ["memory", "leveldb"])
def test_a_store_adds_up_what_it_is_told(tmp_path: Path, kind: str) -> None:
    store: Store = MemoryStore() if kind == "memory" else leveldb(tmp_path)
    assert store.reads.link_count("http://a.test/") == 0
    for more in (1, 1000):
        store.add_links([(url_digest(each), more) for each in ("http://a.test/", "http://b.test/\ud800")])
    assert (
        store.reads.link_count("http://a.test/"),
        store.reads.link_count("http://b.test/\ud800"),
        store.reads.link_count("http://"),
    ) == (1001, 1001, 0)
    store.close()


def test_urls_that_somebody_has_chosen_by_their_digests_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table, store = make_link_table(), Watched()
    table.put_back([(b"\xf0" + bytes(7) + number.to_bytes(8, "big"), 7) for number in range(9000)])
    monkeypatch.setattr("frontier.transitions.link_counts.make_link_table", lambda: table)
    counts = LinkCounts(now=0)
    assert counts.must_write(0) is not isinstance(table, PythonLinkTable)
    while counts.must_write(0):
        counts.write(store, at_once=6000, now=0)
    if store.batches:
        assert [len(batch) for batch in store.batches] == [6000]
