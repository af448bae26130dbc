"""A history of visits is bounded, and holds no interval that makes no sense. The plan of visits and the ledger agree,
whatever happens to the URLs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawler.testing.frontier.crawls import DONE, START, drain, next_lease, now, page
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, LastVisit, LedgerEntry, Outcome, UrlState
from frontier.shell import QueueFrontier
from frontier.visits import MAX_HISTORY, add_visit
from tests.unit.frontier.crawls import Crawl, leveldb

TIMES = st.floats(-1e12, 1e12)


@given(st.none() | TIMES, TIMES, st.booleans(), st.lists(st.integers(-(2**31), 2**31), max_size=MAX_HISTORY))
def test_one_visit_more_is_the_newest_of_the_history(
    last: float | None, fetched_at: float, changed: bool, history: list[int]
) -> None:
    earlier = LastVisit(visits=1, fetched_at=last, history=tuple(history))
    found = add_visit(earlier, fetched_at=fetched_at, changed=changed)
    assert len(found) <= MAX_HISTORY
    if last is None or round(fetched_at - last) <= 0:
        assert found == earlier.history
    else:
        *before, newest = found
        assert tuple(before) == earlier.history[-(MAX_HISTORY - 1) :][-len(before) :] if before else not history
        assert (newest > 0) == changed
        assert abs(newest) == min(round(fetched_at - last), 1 << 31)


class EveryTenSeconds:
    """Visits all but the refused URLs every ten seconds."""

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def url(self, entry: LedgerEntry, /) -> CrawlUrl | None:
        path = entry.canonical.rpartition("/")[2]
        return None if path in self.refused else page("a", path)

    def interval_s(self, _entry: LedgerEntry, /) -> float | None:
        return 10.0


@asynccontextmanager
async def visiting(frontier: QueueFrontier, plan: EveryTenSeconds) -> AsyncIterator[None]:
    task = asyncio.create_task(frontier.revisit(plan, stay=True))
    await asyncio.sleep(0.1)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def visit(frontier: QueueFrontier, count: int) -> list[tuple[str, int]]:
    """The next URLs, settled, and when they were leased."""
    found = []
    for _ in range(count):
        taken = await next_lease(frontier)
        found.append((taken.url.url.rpartition("/")[2], round(now() - START)))
        outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=now(), revisit_after_s=10)
        await frontier.done(taken, cooldown_s=0, outcome=outcome)
    return found


def visits_in_store(crawl: Crawl) -> list[str]:
    with closing(leveldb(crawl.directory)) as store:
        return sorted(name.rpartition("/")[2] for _, name in store.reads.revisits_due(1 << 60, limit=99))


def imported(path: str) -> LedgerEntry:
    return LedgerEntry(canonical=f"http://a.test/{path}", state=UrlState.DONE, number=0, found_at=START, elsewhere=True)


@in_virtual_time
async def test_a_visit_that_the_rules_refuse_is_put_off_until_they_allow_it_again(tmp_path: Path) -> None:
    crawl, plan = Crawl(tmp_path), EveryTenSeconds()
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        async with visiting(frontier, plan):
            await visit(frontier, 2)
            plan.refused.add("2")
            assert await visit(frontier, 1) == [("1", 10)]
            await asyncio.sleep(1)
    assert crawl.fsck().problems == []
    assert visits_in_store(crawl) == ["1", "2"]
    async with crawl.opened() as frontier, visiting(frontier, plan):
        plan.refused.clear()
        assert sorted(await visit(frontier, 2)) == [("1", 20), ("2", 20)]


@in_virtual_time
async def test_imported_urls_are_visited_whether_visits_are_served_or_not(tmp_path: Path) -> None:
    crawl, plan = Crawl(tmp_path), EveryTenSeconds()
    async with crawl.opened() as frontier:
        async with visiting(frontier, plan):
            await asyncio.sleep(1)
            await frontier.record([imported("served")])
            assert await visit(frontier, 1) == [("served", 10)]
        await frontier.record([imported("later")])  # in the same process that has planned all visits
    assert crawl.fsck().problems == []
    async with crawl.opened() as frontier, visiting(frontier, plan):
        assert sorted(await visit(frontier, 2)) == [("later", 10), ("served", 20)]
    async with crawl.opened() as frontier:
        await frontier.record([imported("last")])
    assert crawl.fsck().problems == []
    async with crawl.opened() as frontier, visiting(frontier, plan):
        assert {path for path, _ in await visit(frontier, 3)} == {"later", "served", "last"}


@in_virtual_time
async def test_a_url_that_is_settled_after_the_visits_ended_is_planned_by_the_next_run(tmp_path: Path) -> None:
    crawl, plan = Crawl(tmp_path), EveryTenSeconds()
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1")])
        async with visiting(frontier, plan):
            await visit(frontier, 1)
        await frontier.add([page("a", "2")])
        assert await drain(frontier) == ["http://a.test/2"]
    async with crawl.opened() as frontier, visiting(frontier, plan):
        assert {path for path, _ in await visit(frontier, 2)} == {"1", "2"}


@in_virtual_time
async def test_a_look_for_the_next_retry_does_not_walk_over_those_that_were_dequeued(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        for after_s in (5, 9):
            await frontier.retry(await next_lease(frontier), after_s=after_s, cooldown_s=0)
        assert await drain(frontier) == ["http://a.test/1", "http://a.test/2"]
        assert frontier._store.reads.postponed.start > b"R" + int((START + 9) * 1000).to_bytes(8)  # type: ignore[attr-defined]


@in_virtual_time
async def test_forgotten_urls_leave_no_visit_behind(tmp_path: Path) -> None:
    crawl, plan = Crawl(tmp_path), EveryTenSeconds()
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        async with visiting(frontier, plan):
            await visit(frontier, 2)
            await frontier.forget(["http://a.test/1"])
    assert visits_in_store(crawl) == ["2"]


@in_virtual_time
async def test_a_crash_before_any_write_leaves_each_url_queued_or_planned(tmp_path: Path) -> None:
    crawl, plan = Crawl(tmp_path / "crawl"), EveryTenSeconds()
    copies: list[Crawl] = []
    async with crawl.opened() as frontier:
        store = frontier._store

        def crash_before(name: str) -> None:
            write = getattr(store, name)

            def crash(*arguments: object, **options: object) -> None:
                copies.append(crawl.crashed(tmp_path / f"copy{len(copies)}"))
                write(*arguments, **options)

            setattr(store, name, crash)

        await frontier.add([page("a", path) for path in "123"])
        assert len(await drain(frontier)) == 3
        for name in ("admit", "settle", "plan_revisits", "drop_revisits"):
            crash_before(name)
        async with visiting(frontier, plan):
            plan.refused.add("3")
            await visit(frontier, 4)
            await asyncio.sleep(1)
    assert len(copies) >= 10
    for copy in copies:
        assert copy.fsck().problems == []
        plan = EveryTenSeconds()
        async with copy.opened() as frontier, visiting(frontier, plan):
            assert {path for path, _ in await visit(frontier, 6)} == {"1", "2", "3"}
        assert copy.fsck().problems == []


@in_virtual_time
async def test_the_latest_fetch_stays_known_when_clocks_are_set_back_and_after_a_rebuild(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for name, fetched_at in (("1", START + 500), ("2", START + 20)):
        async with crawl.opened() as frontier:
            await frontier.add([page("a", name)])
            outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=fetched_at)
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            assert frontier._store.counters.fetched_at == START + 500
    async with crawl.opened() as frontier:
        entry = LedgerEntry(canonical="u", state=UrlState.FAILED, number=0, found_at=0)
        await frontier.record([entry, replace(entry, canonical="v", fetched_at=START + 600)])
        assert frontier._store.counters.fetched_at == START + 600


@in_virtual_time
async def test_a_visit_knows_the_number_of_the_one_before_also_in_another_process(tmp_path: Path) -> None:
    crawl, numbers = Crawl(tmp_path), list[tuple[int, int | None]]()
    for _ in range(3):
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1")])
            await frontier.readmit([page("a", "1")])
        async with crawl.opened() as frontier:
            taken = await next_lease(frontier)
            earlier = taken.url.last_visit
            numbers.append((taken.number, None if earlier is None else earlier.number))
            await frontier.done(taken, cooldown_s=0, outcome=DONE)
    assert numbers == [(1, None), (2, 1), (3, 2)]
