"""How URLs are admitted again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from crawler.testing.frontier.crawls import START, Crawl, drain, entry_of, next_lease, no_lease_for, now, page, settle
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Frontier, LastVisit, LedgerEntry, Outcome, Recrawling, Revisiting, UrlState


class ForcingTests:
    """`add` with force, `Recrawling` and `Revisiting`."""

    @in_virtual_time
    async def test_force_admits_a_settled_url_anew(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            await drain(frontier)
            assert frontier.describe().done == 1
            await asyncio.sleep(100)
            assert await frontier.add([page("a")], force=True) == 1
            stats = frontier.describe()
            assert (stats.admitted, stats.done, stats.pending) == (1, 0, 1)
            entry = await entry_of(frontier, "http://a.test/")
            assert (entry.state, entry.number, entry.found_at) == (UrlState.PENDING, 2, START)
            assert await drain(frontier) == ["http://a.test/"]
            assert frontier.describe().done == 1

    @pytest.mark.parametrize(
        ("state", "status", "had"),
        [(UrlState.DONE, 200, '"1"'), (UrlState.DONE, 404, None), (UrlState.FAILED, None, None)],
    )
    @in_virtual_time
    async def test_a_url_that_is_fetched_once_more_brings_the_validators_of_the_copy(
        self, crawl: Crawl, state: UrlState, status: int | None, had: str | None
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            outcome = Outcome(state=state, status=status, etag='"1"', last_modified="yesterday")
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            await frontier.add([page("a")], force=True)
            again = (await next_lease(frontier)).url
            assert (again.had_etag, again.had_last_modified) == (had, had and "yesterday")

    @in_virtual_time
    async def test_a_page_that_is_asked_for_by_another_url_is_fetched_as_a_whole(self, crawl: Crawl) -> None:
        outcome = Outcome(state=UrlState.DONE, status=200, etag='"1"', last_modified="yesterday")
        found: list[str | None] = []
        async with crawl.opened() as frontier:
            for session in ("1", "2", "2"):
                url = msgspec.structs.replace(page("a"), url=f"http://a.test/?sid={session}")
                await frontier.add([url], force=True)
                lease = await next_lease(frontier)
                found.append(lease.url.had_etag)
                await frontier.done(lease, cooldown_s=0, outcome=outcome)
        assert found == [None, None, '"1"']

    @in_virtual_time
    async def test_force_leaves_a_url_that_waits_where_it_is(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            await frontier.retry(await next_lease(frontier), after_s=5, cooldown_s=0)
            assert await frontier.add([page("a", "1"), page("a", "2")], force=True) == 0
            assert await drain(frontier) == ["http://a.test/2", "http://a.test/1"]

    @pytest.mark.parametrize("per_queue", [1, 2])
    @pytest.mark.parametrize("ending", ["done", "retry", "release"])
    @in_virtual_time
    async def test_force_admits_a_leased_url_once_more_as_a_redirect_to_itself_needs(
        self, crawl: Crawl, ending: str, per_queue: int
    ) -> None:
        async with crawl.opened(per_queue=per_queue) as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            lease = await next_lease(frontier)
            url = lease.url
            again = CrawlUrl(url=f"{url.url}?", canonical=url.canonical, queue_key=url.queue_key, redirects=1)
            assert await frontier.add([again], force=True) == 1
            assert await frontier.add([again], force=True) == 0  # it waits already
            if ending == "done":
                await settle(frontier, lease, 3)
            elif ending == "retry":
                await frontier.retry(lease, after_s=1, cooldown_s=3)
            else:
                frontier.release(lease, cooldown_s=3)
            stats = frontier.describe()
            assert (stats.admitted, stats.pending, stats.done, stats.retrying) == (2, 2, 0, 0)
            entry = await entry_of(frontier, lease.url.canonical)
            assert (entry.state, entry.number) == (UrlState.PENDING, 3)
        async with crawl.opened(per_queue=per_queue) as frontier:
            fetched = await drain(frontier)
            assert fetched == ["http://a.test/2", "http://a.test/1?"]
            assert now() == START + 3
            stats = frontier.describe()
            assert (stats.done, stats.pending, stats.in_process_queues) == (2, 0, 0)

    @in_virtual_time
    async def test_a_leased_url_may_be_admitted_anew_in_another_queue(self, crawl: Crawl) -> None:
        async with crawl.opened(per_queue=2) as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            first, second = await next_lease(frontier), await next_lease(frontier)
            moved = CrawlUrl(url="http://b.test/1", canonical=first.url.canonical, queue_key="test,b")
            assert await frontier.add([moved], force=True) == 1
            await settle(frontier, second, 9)
            assert await frontier.add([page("a", "3")]) == 1  # its queue holds no URL, but has a lease out
            await settle(frontier, first)
            assert await drain(frontier) == ["http://b.test/1", "http://a.test/3"]
            assert now() == START + 9
            stats = frontier.describe()
            assert (stats.admitted, stats.done) == (3, 3)

    @in_virtual_time
    async def test_a_recrawl_admits_the_settled_urls_alone_each_once_and_with_what_was_found(
        self, crawl: Crawl
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("a", "3")])
            outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=START, digest=b"1", etag='"1"')
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            lease = await next_lease(frontier)
            urls = [page("a", path) for path in ("1", "1", "2", "3", "unknown")]
            assert await _recrawling(frontier).readmit(urls) == 1
            assert await _recrawling(frontier).readmit(urls) == 0
            assert frontier.describe().admitted == 3
            assert await frontier.status_of("http://a.test/unknown") is None
            await settle(frontier, lease)
            await settle(frontier, await next_lease(frontier))
        async with crawl.opened() as frontier:  # all of it was stored
            again = await next_lease(frontier)
            assert (again.url.url, again.number, again.url.had_etag) == ("http://a.test/1", 4, '"1"')
            found = again.url.last_visit
            assert found is not None
            assert found.number in (None, 1)
            assert msgspec.structs.replace(found, number=None) == LastVisit(
                visits=1, status=200, fetched_at=START, digest=b"1"
            )
            assert await frontier.add([page("a", "unknown")]) == 1

    @in_virtual_time
    async def test_the_ledger_keeps_a_bounded_history_of_visits(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            url = msgspec.structs.replace(page("a"), depth=3, kind="embed")
            await frontier.add([url])
            for visit in range(20):
                lease = await next_lease(frontier)
                changed = None if lease.url.last_visit is None else visit % 3 == 0
                outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=START + visit * visit, changed=changed)
                await frontier.done(lease, cooldown_s=0, outcome=outcome)
                await _recrawling(frontier).readmit([url], whole=visit % 2 == 0)
            await settle(frontier, await next_lease(frontier))
            entry = await entry_of(frontier, "http://a.test/")
            assert (entry.visits, entry.depth, entry.kind) == (21, 3, "embed")
            intervals = [visit * visit - (visit - 1) ** 2 for visit in range(20)]
            assert entry.history == tuple(
                intervals[visit] if visit % 3 == 0 else -intervals[visit] for visit in range(8, 20)
            )

    @in_virtual_time
    async def test_a_visit_that_is_due_is_queued_again_and_the_crawl_ends_when_none_is_due(self, crawl: Crawl) -> None:
        plan = _Plan()
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            async with _visiting(frontier, plan):
                assert await _visit(frontier, 2) == [("/1", 0), ("/2", 0)]
                assert await anext(frontier, None) is None
            await asyncio.sleep(9)
            async with _visiting(frontier, plan):
                assert await anext(frontier, None) is None
        async with crawl.opened() as frontier:
            await asyncio.sleep(1)
            async with _visiting(frontier, plan):
                assert await _visit(frontier, 2) == [("/1", 10), ("/2", 10)]
                assert await anext(frontier, None) is None
            async with _visiting(frontier, plan, stay=True):
                # The second URL is forgotten meanwhile, so its visit counts no more.
                await frontier.forget(["http://a.test/2"])
                assert await _visit(frontier, 2) == [("/1", 20), ("/1", 30)]
                assert await no_lease_for(frontier, 5)

    @in_virtual_time
    async def test_urls_that_were_settled_without_a_plan_are_planned_later(self, crawl: Crawl) -> None:
        plan = _Plan()
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2")])
            await drain(frontier)
        async with crawl.opened() as frontier:
            await asyncio.sleep(5)
            async with _visiting(frontier, plan, stay=True):
                assert await _visit(frontier, 4) == [("/1", 10), ("/2", 10), ("/1", 20), ("/2", 20)]
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "3")])
            assert await drain(frontier) == ["http://a.test/3"]  # nobody visits
            await asyncio.sleep(30)
            async with _visiting(frontier, plan):
                assert sorted(url for url, _ in await _visit(frontier, 3)) == ["/1", "/2", "/3"]
                assert await anext(frontier, None) is None


class _Plan:
    """Visits every ten seconds."""

    def url(self, entry: LedgerEntry, /) -> CrawlUrl | None:
        return page("a", entry.canonical.rpartition("/")[2])

    def interval_s(self, _entry: LedgerEntry, /) -> float | None:
        return 10.0


@asynccontextmanager
async def _visiting(frontier: Frontier, plan: _Plan, *, stay: bool = False) -> AsyncIterator[None]:
    if not isinstance(frontier, Revisiting):
        pytest.skip("it can't visit settled URLs again by itself")
    visiting = asyncio.create_task(frontier.revisit(plan, stay=stay))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        visiting.cancel()
        await asyncio.wait([visiting])


async def _visit(frontier: Frontier, count: int) -> list[tuple[str, int]]:
    """The next URLs, settled, and when they were leased."""
    found = []
    for _ in range(count):
        lease = await next_lease(frontier)
        found.append((lease.url.url.removeprefix("http://a.test"), round(now() - START)))
        outcome = Outcome(state=UrlState.DONE, status=200, fetched_at=now(), revisit_after_s=10)
        await frontier.done(lease, cooldown_s=0, outcome=outcome)
    return found


def _recrawling(frontier: Frontier) -> Recrawling:
    if not isinstance(frontier, Recrawling):
        pytest.skip("it can't fetch settled URLs again")
    return frontier
