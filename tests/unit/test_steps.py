"""No step of a crawl is long: none holds up the event loop for more than so many links or bytes."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from crawler import reading
from crawler.page import Extract, Link, LinkKind, Page, body_sha1
from crawler.reading import BYTES_AT_ONCE, run_steps
from crawler.steps import LINKS_AT_ONCE, run_all
from crawler.testing.loops import in_virtual_time
from crawler.url.urls import UrlReader
from frontier.memory.store import MemoryStore
from frontier.records import PendingUrl
from tests.unit.crawling import SEED, Reader, Rig, Site, page, star


class Turns:
    """Counts what is done in each turn of the event loop."""

    def __init__(self) -> None:
        self._turn = 0
        self._done: Counter[tuple[str, int]] = Counter()

    async def pass_by(self) -> None:
        while True:
            self._turn += 1
            await asyncio.sleep(0)

    def did(self, what: str, count: int) -> None:
        self._done[what, self._turn] += count

    def most(self, what: str) -> int:
        return max(count for (done, _), count in self._done.items() if done == what)

    def total(self, what: str) -> int:
        return sum(count for (done, _), count in self._done.items() if done == what)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Knows how many links are resolved and admitted."""
    turns = Turns()
    read_many, admit = UrlReader.read_many, MemoryStore.admit

    def resolved(self: UrlReader, hrefs: list[str], base_url: str) -> Any:
        turns.did("resolved", len(hrefs))
        return read_many(self, hrefs, base_url)

    def admitted(self: MemoryStore, admitted: Sequence[PendingUrl], *rest: Any, **named: Any) -> None:
        turns.did("admitted", len(admitted))
        admit(self, admitted, *rest, **named)

    monkeypatch.setattr(UrlReader, "read_many", resolved)
    monkeypatch.setattr(MemoryStore, "admit", admitted)
    return turns


def long_site(links: int, *, pages: int) -> Site:
    """Pages of many links, which lead nowhere, and a front page that names them."""
    urls = [f"http://a.test/long{number}" for number in range(pages)]
    site: Site = {SEED: page(SEED, urls)}
    return site | {url: page(url, [f"{url}/{number}" for number in range(links)]) for url in urls}


@in_virtual_time
async def test_links_of_long_pages_are_judged_and_admitted_in_steps(turns: Turns) -> None:
    rig = Rig(long_site(2 * LINKS_AT_ONCE + 500, pages=4))
    async with rig.engine(references=True) as engine:
        passing = asyncio.ensure_future(turns.pass_by())
        running = asyncio.ensure_future(engine.run())
        await until(lambda: turns.total("admitted") >= 4 * (2 * LINKS_AT_ONCE + 500))
        engine.stop()
        await running
        passing.cancel()
    assert turns.most("resolved") <= LINKS_AT_ONCE
    assert turns.most("admitted") <= LINKS_AT_ONCE


@in_virtual_time
async def test_sitemaps_that_robots_txt_names_are_judged_and_admitted_in_steps(turns: Turns) -> None:
    rig = Rig({SEED: page(SEED)})
    rig.rules.sitemaps[SEED] = [
        Link(f"/sitemap{number}.xml", LinkKind.SITEMAP) for number in range(2 * LINKS_AT_ONCE + 500)
    ]
    async with rig.engine(sitemaps=True) as engine:
        passing = asyncio.ensure_future(turns.pass_by())
        running = asyncio.ensure_future(engine.run())
        await until(lambda: turns.total("admitted") >= 2 * LINKS_AT_ONCE + 500)
        engine.stop()
        await running
        passing.cancel()
    assert turns.most("resolved") <= LINKS_AT_ONCE
    assert turns.most("admitted") <= LINKS_AT_ONCE


@in_virtual_time
async def test_a_crash_between_two_steps_of_an_admission_loses_no_link() -> None:
    rig = Rig(star(2 * LINKS_AT_ONCE + 500))
    async with rig.engine() as engine:
        running = asyncio.ensure_future(engine.run())
        await until(lambda: rig.store.counters.admitted >= LINKS_AT_ONCE)
        running.cancel()
        await asyncio.wait([running])
    assert LINKS_AT_ONCE < rig.store.counters.admitted < 2 * LINKS_AT_ONCE
    assert "done" not in rig.of(SEED)
    await rig.run(concurrency=64)
    assert rig.store.counters.done == rig.store.counters.admitted == 2 * LINKS_AT_ONCE + 500
    assert rig.web.asked[SEED] == 2


class Read:
    """Notes of each size whether it was read in the event loop's thread."""

    def __init__(self, events: Any) -> None:
        self._reader = Reader(events)
        self.in_loop: dict[int, bool] = {}

    def extract(self, page: Page, /) -> Extract:
        self.in_loop[len(page.body)] = threading.current_thread() is threading.main_thread()
        return self._reader.extract(page)


async def test_large_bodies_are_read_and_hashed_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: dict[int, bool] = {}
    sha1 = body_sha1

    def noted(body: bytes) -> bytes:
        hashed[len(body)] = threading.current_thread() is threading.main_thread()
        return sha1(body)

    monkeypatch.setattr(reading, "body_sha1", noted)
    read = Read([])
    async with Rig({}).engine() as engine:
        discovery = engine._components.discovery
    reads = reading.ContentReader(read, discovery)
    [parent] = discovery.seeds([SEED])
    for size in (BYTES_AT_ONCE, BYTES_AT_ONCE + 1):
        await reads.read(msgspec.structs.replace(page(SEED), body=b" " * size), parent=parent)
        await reads.sha1(b" " * (size + 2))
    assert read.in_loop == {BYTES_AT_ONCE: True, BYTES_AT_ONCE + 1: False}
    assert hashed == {BYTES_AT_ONCE: True, BYTES_AT_ONCE + 1: False, BYTES_AT_ONCE + 2: False, BYTES_AT_ONCE + 3: False}


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - each turn is to be looked at
        await asyncio.sleep(0)


async def test_work_in_steps_comes_to_the_same_at_once_and_in_turn() -> None:
    seen: list[str] = []

    def work() -> Any:
        seen.append("begun")
        yield
        seen.append("ended")
        return 7

    assert run_all(work()) == await run_steps(work()) == 7
    assert seen == ["begun", "ended"] * 2
