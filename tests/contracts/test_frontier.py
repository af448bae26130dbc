"""What every frontier promises, whatever it keeps its URLs in."""

import asyncio
import math
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from frontier import CrawlUrl, FrontierStats, Outcome, StoreFailed, UrlState
from frontier.shell import QueueFrontier
from tests.unit.frontier.crawls import (
    DONE,
    START,
    Crawl,
    RemoteSet,
    drain,
    lease,
    none_for,
    now,
    page,
    pages,
    turns,
    urls,
)
from tests.unit.frontier.virtual_time import in_virtual_time
from visited import CannotForget
from visited.filters.bloom import BloomSet


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, kind=request.param)


# admission


@in_virtual_time
async def test_adding_again_changes_nothing(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        assert await frontier.add(pages(2, 3)) == 6
        before = frontier.describe()
        assert await frontier.add(pages(2, 3)) == 0
        assert frontier.describe() == before
        assert await frontier.add([]) == 0
        assert sorted(await drain(frontier)) == sorted(urls(pages(2, 3)))
        assert await frontier.add(pages(2, 3)) == 0


@in_virtual_time
async def test_a_url_twice_in_a_batch_is_new_once(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        assert await frontier.add([page("a", "1"), page("a", "2"), page("a", "1")]) == 2
        assert await frontier.add([page("a", "3"), page("a", "3")], force=True) == 1
        assert await drain(frontier) == urls([page("a", "1"), page("a", "2"), page("a", "3")])


@in_virtual_time
async def test_urls_leave_a_queue_by_precedence_and_then_in_the_order_they_came(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        found = [page("a", f"{number}", precedence=precedence) for number, precedence in enumerate([9, 255, 0, 9, 0])]
        await frontier.add(found)
        first = await lease(frontier)
        await frontier.add([page("a", "late", precedence=5)])
        await frontier.done(first, cooldown_s=0, outcome=DONE)
        assert [first.url.url, *await drain(frontier)] == [
            f"http://a.test/{path}" for path in ("2", "4", "late", "0", "3", "1")
        ]


@in_virtual_time
async def test_what_travels_with_a_url_comes_back_with_its_lease(crawl: Crawl) -> None:
    url = CrawlUrl(
        url="http://a.test/x?y=ö",
        canonical="http://a.test/x",
        queue_key="test,a",
        depth=3,
        via="http://b.test/",
        kind="embed",
        anchor="Größe",
        weight=0.25,
        precedence=7,
        redirects=2,
    )
    async with crawl.opened() as frontier:
        await frontier.add([url, url, url])
        out = await lease(frontier)
        assert out.url == url
        assert (out.number, out.error_streak, out.hit_count) == (1, 0, 3)


@in_virtual_time
async def test_links_to_a_url_are_counted_also_after_its_fetch_and_over_a_restart(crawl: Crawl) -> None:
    url, other = page("a", via="http://seed.test/"), page("b")

    async def told(frontier: QueueFrontier) -> int:
        entry = await frontier.status_of(url.canonical)
        assert entry is not None
        return entry.hit_count

    async with crawl.opened() as frontier:
        await frontier.add([msgspec.structs.replace(url, link_count=2), other])
        await frontier.add([msgspec.structs.replace(url, link_count=3)])
        await frontier.add([msgspec.structs.replace(url, link_count=0)])
        out = await lease(frontier)
        assert (out.url.canonical, out.hit_count, await told(frontier)) == (url.canonical, 5, 5)
        await frontier.add([url])
        await frontier.done(out, cooldown_s=0, outcome=msgspec.structs.replace(DONE, self_links=4))
        await frontier.add([url, other])
        assert await told(frontier) == 11
    async with crawl.opened(visited=crawl.visited) as frontier:
        assert await told(frontier) == 11
        await frontier.add([url, other])
        assert await told(frontier) == 12
        out = await lease(frontier)
        assert (out.url.canonical, out.hit_count) == (other.canonical, 3)
    async with crawl.opened(visited=crawl.visited) as frontier:
        assert await told(frontier) == 12
        await frontier.add([url], force=True)
        await frontier.done(await lease(frontier), cooldown_s=0, outcome=DONE)
        entry = await frontier.status_of(other.canonical)
        assert entry is not None
        assert (entry.hit_count, await told(frontier)) == (3, 12)


@in_virtual_time
async def test_a_crawl_url_that_cannot_be_stored_is_refused_before_anything_is_changed(crawl: Crawl) -> None:
    good = page("a", "good")
    bad = [
        page("a", "low", precedence=-1),
        page("a", "high", precedence=256),
        CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="a\0b"),
        CrawlUrl(url="http://a.test/", canonical="http://a.test/\ud800", queue_key="a"),
    ]
    async with crawl.opened() as frontier:
        for url in bad:
            with pytest.raises(ValueError, match=r"precedence must be|must not contain NUL|can't be encoded"):
                await frontier.add([good, url])
        assert await frontier.add([good]) == 1
        assert len(crawl.visited) == 1


@in_virtual_time
async def test_text_from_the_web_that_is_not_unicode_stops_nothing(crawl: Crawl) -> None:
    odd = CrawlUrl(
        url="http://a.test/", canonical="http://a.test/", queue_key="a", anchor="a\ud800b", via="http://b.test/\udcff"
    )
    async with crawl.opened() as frontier:
        await frontier.add([odd])
        outcome = Outcome(state=UrlState.DONE, status=200, etag='"\udcff"', last_modified="\udc80", reason="\ud800")
        await frontier.done(await lease(frontier), cooldown_s=0, outcome=outcome)
        entry = await frontier.status_of("http://a.test/")
        assert entry is not None
        assert entry.status == 200


# leases


@pytest.mark.parametrize("per_queue", [1, 3])
@in_virtual_time
async def test_a_queue_gives_no_more_leases_than_it_may(crawl: Crawl, per_queue: int) -> None:
    async with crawl.opened(per_queue=per_queue) as frontier:
        await frontier.add(pages(1, 9))
        out = [await lease(frontier) for _ in range(per_queue)]
        assert await none_for(frontier, 1000)
        await frontier.done(out[0], cooldown_s=0, outcome=DONE)
        await lease(frontier)
        assert await none_for(frontier, 1000)


@pytest.mark.parametrize("per_queue", [1, 2])
@in_virtual_time
async def test_a_queue_rests_after_a_fetch_whatever_else_of_it_is_leased(crawl: Crawl, per_queue: int) -> None:
    async with crawl.opened(per_queue=per_queue) as frontier:
        await frontier.add(pages(1, 9))
        out = [await lease(frontier) for _ in range(per_queue)]
        for each in out:
            await asyncio.sleep(1)
            await frontier.done(each, cooldown_s=10, outcome=DONE)
        ended_at = now()
        await lease(frontier)
        assert now() - ended_at == pytest.approx(10, abs=0.01)


@in_virtual_time
async def test_a_ready_queue_rests_when_another_lease_of_it_ends_with_a_cooldown(crawl: Crawl) -> None:
    async with crawl.opened(per_queue=3) as frontier:
        await frontier.add(pages(1, 9))
        first = await lease(frontier)
        assert frontier.describe().ready_queues == 1
        await frontier.done(first, cooldown_s=10, outcome=DONE)
        assert frontier.describe().ready_queues == 0
        await lease(frontier)
        assert now() == START + 10


@in_virtual_time
async def test_a_longer_rest_is_not_shortened_by_a_later_shorter_one(crawl: Crawl) -> None:
    async with crawl.opened(per_queue=2) as frontier:
        await frontier.add(pages(1, 4))
        first, second = await lease(frontier), await lease(frontier)
        await frontier.done(first, cooldown_s=100, outcome=DONE)
        await frontier.done(second, cooldown_s=1, outcome=DONE)
        await lease(frontier)
        assert now() == START + 100


@in_virtual_time
async def test_workers_share_the_queues_and_no_host_is_fetched_twice_at_once(crawl: Crawl) -> None:
    fetched: Counter[str] = Counter()
    busy: set[str] = set()
    rests_until: dict[str, float] = {}

    async def work(frontier: QueueFrontier) -> None:
        async for out in frontier:
            key = out.url.queue_key
            assert key not in busy
            assert now() >= rests_until.get(key, 0.0)
            busy.add(key)
            await asyncio.sleep(0.3 + out.number % 7 / 10)
            busy.remove(key)
            if out.url.attempt < out.number % 3:
                await frontier.retry(out, after_s=out.number % 5, cooldown_s=0.2)
            else:
                fetched[out.url.url] += 1
                await frontier.add([page(key[5:], f"p{number}") for number in range(out.number % 11)])
                await frontier.done(out, cooldown_s=1.0, outcome=DONE)
                rests_until[key] = now() + 1.0

    async with crawl.opened() as frontier:
        await frontier.add(pages(10, 4))
        async with asyncio.TaskGroup() as group:
            for _ in range(6):
                group.create_task(work(frontier))
        assert set(urls(pages(10, 4))) <= fetched.keys()
        assert set(fetched.values()) == {1}
        stats = frontier.describe()
        assert stats.done == stats.admitted == len(fetched)
        assert stats.pending == stats.in_process == stats.retrying == 0
        assert stats.ready_queues == stats.in_process_queues == stats.snoozed_queues == 0


@in_virtual_time
async def test_queues_take_turns(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("giant", f"{number}") for number in range(50)])
        await frontier.add(pages(3, 2))
        assert {url.split("/")[2] for url in (await drain(frontier))[:8]} == {
            "giant.test",
            "h0.test",
            "h1.test",
            "h2.test",
        }


# waiting


@in_virtual_time
async def test_a_wait_ends_at_once_when_a_url_is_added(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await lease(frontier)
        waits = asyncio.ensure_future(anext(frontier))
        await asyncio.sleep(50)
        await frontier.add([page("b")])
        assert (await waits).url == page("b")
        assert now() == START + 50


@in_virtual_time
async def test_a_wait_ends_at_once_when_a_queue_gets_free(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 3))
        first = await lease(frontier)
        waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
        await asyncio.sleep(50)
        frontier.release(first)
        second = await waits[0]
        assert second.number == first.number
        await frontier.done(second, cooldown_s=0, outcome=DONE)
        assert (await waits[1]).url.url == "http://h0.test/p1"
        assert now() == START + 50


@in_virtual_time
async def test_a_wait_ends_when_the_first_of_many_rests_is_over(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(20, 2))
        for _ in range(20):
            out = await lease(frontier)
            await frontier.done(out, cooldown_s=30.0 + out.number, outcome=DONE)
        waits = [asyncio.ensure_future(anext(frontier)) for _ in range(20)]
        for number, wait in enumerate(waits, 1):
            await wait
            assert now() - START == pytest.approx(30 + number, abs=0.01)


@in_virtual_time
async def test_a_retry_comes_when_it_is_due_though_the_worker_that_woke_is_busy_with_another_url(crawl: Crawl) -> None:
    """Of two that wait, the one that is woken takes the queue's next URL; the other must hear of the retry in time."""
    async with crawl.opened(per_queue=2) as frontier:
        await frontier.add([page("a", "1"), page("a", "2"), page("a", "3")])
        first, _ = await lease(frontier), await lease(frontier)
        waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
        await turns()
        await frontier.retry(first, after_s=5, cooldown_s=0)
        third = await waits[0]
        assert third.url.url == "http://a.test/3"
        await frontier.done(third, cooldown_s=0, outcome=DONE)
        assert (await waits[1]).url.url == "http://a.test/1"
        assert now() - START == pytest.approx(5, abs=0.01)


@in_virtual_time
async def test_a_deadline_that_comes_before_the_one_waited_for_ends_the_wait(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(2, 2))
        first, second = await lease(frontier), await lease(frontier)
        await frontier.done(first, cooldown_s=100, outcome=DONE)
        waits = [asyncio.ensure_future(anext(frontier)) for _ in range(2)]
        await asyncio.sleep(1)
        await frontier.done(second, cooldown_s=10, outcome=DONE)
        await waits[0]
        assert now() - START == pytest.approx(11, abs=0.01)
        await waits[1]
        assert now() - START == pytest.approx(100, abs=0.01)


@in_virtual_time
async def test_a_queue_that_rests_wakes_its_waiter_though_it_was_filled_meanwhile(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("b", "1")])
        first = await lease(frontier)
        await lease(frontier)
        await frontier.done(first, cooldown_s=20, outcome=DONE)  # queue a is exhausted, and rests
        waits = [asyncio.ensure_future(anext(frontier)) for _ in range(3)]
        await turns()
        await frontier.add([page("a", "2")])
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        assert now() == START + 20
        assert [wait.result().url.url for wait in waits if wait.done()] == ["http://a.test/2"]
        frontier.stop()
        await asyncio.gather(*waits, return_exceptions=True)


@pytest.mark.parametrize("cancelled_after", range(6))
@in_virtual_time
async def test_a_cancelled_wait_takes_no_lease_and_loses_no_wake_up(crawl: Crawl, cancelled_after: int) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await lease(frontier)
        one = asyncio.ensure_future(anext(frontier))
        await turns()
        other = asyncio.ensure_future(anext(frontier))
        await turns()
        adding = asyncio.ensure_future(frontier.add([page("b")]))
        await turns(cancelled_after)
        one.cancel()
        await asyncio.wait([one, adding])
        if one.cancelled():
            assert (await other).url == page("b")
        else:
            other.cancel()
            assert one.result().url == page("b")
        await asyncio.wait([other])
        assert now() == START
        assert frontier.describe().in_process == 2


@in_virtual_time
async def test_waits_that_are_given_up_again_and_again_leave_nothing(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        out = await lease(frontier)
        for _ in range(50):
            assert await none_for(frontier, 1)
        assert not frontier._active.waiters._waiting
        await frontier.done(out, cooldown_s=0, outcome=DONE)
        assert [each async for each in frontier] == []


@in_virtual_time
async def test_iteration_ends_for_all_workers_when_the_last_url_is_settled(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        assert [each async for each in frontier] == []
        await frontier.add([page("a")])
        out = await lease(frontier)
        waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(5)]
        await asyncio.sleep(10)
        assert not any(wait.done() for wait in waits)
        await frontier.done(out, cooldown_s=60, outcome=DONE)
        assert await asyncio.gather(*waits) == [None] * 5
        assert now() == START + 10  # nobody waits for a rest that concerns no URL
        await frontier.add([page("b")])
        assert await drain(frontier) == ["http://b.test/"]


@in_virtual_time
async def test_iteration_does_not_end_while_a_retry_is_due_later(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await frontier.retry(await lease(frontier), after_s=500, cooldown_s=0)
        assert frontier.describe().next_wake_s == 500
        assert await drain(frontier) == ["http://a.test/"]
        assert now() == START + 500


@in_virtual_time
async def test_stop_ends_iteration_for_all_and_lets_leases_be_settled(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 4))
        out = await lease(frontier)
        waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(3)]
        await turns()
        frontier.stop()
        assert await asyncio.gather(*waits) == [None] * 3
        assert await frontier.add([page("b")]) == 1
        await frontier.done(out, cooldown_s=0, outcome=DONE)
        assert [each async for each in frontier] == []
    async with crawl.opened() as frontier:
        assert len(await drain(frontier)) == 4


@in_virtual_time
async def test_closing_ends_the_wait_of_all_workers_and_may_be_repeated(crawl: Crawl) -> None:
    frontier = await crawl.open()
    await frontier.add(pages(1, 4))
    out = await lease(frontier)
    waits = [asyncio.ensure_future(anext(frontier, None)) for _ in range(3)]
    await turns()
    await frontier.aclose()
    await frontier.aclose()
    assert await asyncio.gather(*waits) == [None] * 3
    with pytest.raises(StoreFailed, match="closed"):
        await frontier.add([page("b")])
    with pytest.raises(StoreFailed, match="closed"):
        await frontier.done(out, cooldown_s=0, outcome=DONE)


# settling


@in_virtual_time
async def test_a_lease_is_settled_once(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 2))
        out = await lease(frontier)
        await frontier.done(out, cooldown_s=0, outcome=DONE)
        before = frontier.describe()
        with pytest.raises(ValueError, match="not out"):
            await frontier.done(out, cooldown_s=0, outcome=DONE)
        with pytest.raises(ValueError, match="not out"):
            await frontier.retry(out, after_s=0, cooldown_s=0)
        with pytest.raises(ValueError, match="not out"):
            frontier.release(out)
        assert frontier.describe() == before


@in_virtual_time
async def test_a_lease_that_was_handed_back_cannot_settle_the_one_that_another_worker_holds(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        mine = await lease(frontier)
        frontier.release(mine)
        theirs = await lease(frontier)
        assert theirs.number == mine.number
        with pytest.raises(ValueError, match="not out"):
            await frontier.done(mine, cooldown_s=0, outcome=DONE)
        await frontier.done(theirs, cooldown_s=0, outcome=DONE)


@in_virtual_time
async def test_nonsense_is_refused_and_changes_nothing(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 2))
        out = await lease(frontier)
        before = frontier.describe()
        for wrong in (-1.0, math.nan, math.inf, 1e12):
            with pytest.raises(ValueError, match="cooldown_s must be"):
                await frontier.done(out, cooldown_s=wrong, outcome=DONE)
            with pytest.raises(ValueError, match="after_s must be"):
                await frontier.retry(out, after_s=wrong, cooldown_s=0)
            with pytest.raises(ValueError, match="cooldown_s must be"):
                frontier.release(out, cooldown_s=wrong)
        with pytest.raises(ValueError, match="pending"):
            await frontier.done(out, cooldown_s=0, outcome=Outcome(state=UrlState.PENDING))
        assert frontier.describe() == before
        await frontier.done(out, cooldown_s=0, outcome=DONE)


@in_virtual_time
async def test_a_retry_stands_behind_those_that_wait_and_counts_its_attempts(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 3))
        first = await lease(frontier)
        await frontier.retry(first, after_s=1, cooldown_s=2)
        stats = frontier.describe()
        assert (stats.pending, stats.retrying, stats.in_process) == (2, 1, 0)
        second = await lease(frontier)
        assert now() == START + 2
        assert (second.url.url, second.error_streak) == ("http://h0.test/p1", 1)
        await frontier.done(second, cooldown_s=0, outcome=DONE)
        third = await lease(frontier)
        assert (third.url.url, third.error_streak) == ("http://h0.test/p2", 0)
        await frontier.done(third, cooldown_s=0, outcome=DONE)
        again = await lease(frontier)
        assert (again.url.url, again.url.attempt, again.number) == ("http://h0.test/p0", 1, first.number)
        await frontier.retry(again, after_s=1, cooldown_s=0)
        last = await lease(frontier)
        assert (last.url.attempt, last.error_streak) == (2, 1)
        await frontier.done(last, cooldown_s=0, outcome=DONE)
        assert frontier.describe().retrying == 0


@in_virtual_time
async def test_server_failures_in_a_row_are_counted_by_queue(crawl: Crawl) -> None:
    failed = Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False)
    async with crawl.opened() as frontier:
        await frontier.add(pages(1, 4))
        streaks = []
        for outcome in (failed, failed, DONE, failed):
            out = await lease(frontier)
            streaks.append(out.error_streak)
            await frontier.done(out, cooldown_s=0, outcome=outcome)
        assert streaks == [0, 1, 2, 0]
        stats = frontier.describe()
        assert (stats.failed, stats.done) == (3, 1)


@pytest.mark.parametrize("per_queue", [1, 3])
@in_virtual_time
async def test_a_released_url_is_first_in_its_queue_again(crawl: Crawl, per_queue: int) -> None:
    async with crawl.opened(per_queue=per_queue) as frontier:
        await frontier.add(pages(1, 6))
        out = [await lease(frontier) for _ in range(per_queue)]
        for each in reversed(out):
            frontier.release(each, cooldown_s=5)
        again = [await lease(frontier) for _ in range(per_queue)]
        assert now() == START + 5
        assert [each.number for each in again] == [each.number for each in out]
        for each in again:
            await frontier.done(each, cooldown_s=0, outcome=DONE)
        assert await drain(frontier) == [f"http://h0.test/p{number}" for number in range(per_queue, 6)]


# force


@in_virtual_time
async def test_force_admits_a_settled_url_anew(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        await drain(frontier)
        assert frontier.describe().done == 1
        assert await frontier.add([page("a")], force=True) == 1
        stats = frontier.describe()
        assert (stats.admitted, stats.done, stats.pending) == (1, 0, 1)
        entry = await frontier.status_of("http://a.test/")
        assert entry is not None
        assert (entry.state, entry.number) == (UrlState.PENDING, 2)
        assert await drain(frontier) == ["http://a.test/"]
        assert frontier.describe().done == 1


@pytest.mark.parametrize(
    ("state", "status", "had"), [(UrlState.DONE, 200, '"1"'), (UrlState.DONE, 404, None), (UrlState.FAILED, None, None)]
)
@in_virtual_time
async def test_a_url_that_is_fetched_once_more_brings_what_its_server_said_of_the_copy(
    crawl: Crawl, state: UrlState, status: int | None, had: str | None
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a")])
        outcome = Outcome(state=state, status=status, etag='"1"', last_modified="yesterday")
        await frontier.done(await lease(frontier), cooldown_s=0, outcome=outcome)
        await frontier.add([page("a")], force=True)
        again = (await lease(frontier)).url
        assert (again.had_etag, again.had_last_modified) == (had, had and "yesterday")


@in_virtual_time
async def test_force_leaves_a_url_that_waits_where_it_is(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        await frontier.retry(await lease(frontier), after_s=5, cooldown_s=0)
        assert await frontier.add([page("a", "1"), page("a", "2")], force=True) == 0
        assert await drain(frontier) == ["http://a.test/2", "http://a.test/1"]


@pytest.mark.parametrize("per_queue", [1, 2])
@pytest.mark.parametrize("ending", ["done", "retry", "release"])
@in_virtual_time
async def test_force_admits_a_leased_url_once_more_as_a_redirect_to_itself_needs(
    crawl: Crawl, ending: str, per_queue: int
) -> None:
    async with crawl.opened(per_queue=per_queue) as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        out = await lease(frontier)
        again = CrawlUrl(url=f"{out.url.url}?", canonical=out.url.canonical, queue_key=out.url.queue_key, redirects=1)
        assert await frontier.add([again], force=True) == 1
        assert await frontier.add([again], force=True) == 0  # it waits already
        if ending == "done":
            await frontier.done(out, cooldown_s=3, outcome=DONE)
        elif ending == "retry":
            await frontier.retry(out, after_s=1, cooldown_s=3)
        else:
            frontier.release(out, cooldown_s=3)
        stats = frontier.describe()
        assert (stats.admitted, stats.pending, stats.done, stats.retrying) == (2, 2, 0, 0)
        entry = await frontier.status_of(out.url.canonical)
        assert entry is not None
        assert (entry.state, entry.number) == (UrlState.PENDING, 3)
    async with crawl.opened(per_queue=per_queue) as frontier:
        fetched = await drain(frontier)
        assert fetched == ["http://a.test/2", "http://a.test/1?"]
        assert now() == START + 3
        stats = frontier.describe()
        assert (stats.done, stats.pending, stats.in_process_queues) == (2, 0, 0)


@in_virtual_time
async def test_a_leased_url_may_be_admitted_anew_in_another_queue(crawl: Crawl) -> None:
    async with crawl.opened(per_queue=2) as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        first, second = await lease(frontier), await lease(frontier)
        moved = CrawlUrl(url="http://b.test/1", canonical=first.url.canonical, queue_key="test,b")
        assert await frontier.add([moved], force=True) == 1
        await frontier.done(second, cooldown_s=9, outcome=DONE)
        assert await frontier.add([page("a", "3")]) == 1  # its queue holds no URL, but has a lease out
        await frontier.done(first, cooldown_s=0, outcome=DONE)
        assert await drain(frontier) == ["http://b.test/1", "http://a.test/3"]
        assert now() == START + 9
        stats = frontier.describe()
        assert (stats.admitted, stats.done) == (3, 3)


# the ledger


@in_virtual_time
async def test_a_forgotten_url_is_new_again_and_one_that_waits_is_kept(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2"), page("a", "3")])
        first = await lease(frontier)
        await frontier.done(first, cooldown_s=0, outcome=DONE)
        second = await lease(frontier)
        names = [f"http://a.test/{number}" for number in (1, 1, 2, 3, 4)]
        assert await frontier.forget(names) == 1
        assert await frontier.forget(names) == 0
        assert await frontier.status_of("http://a.test/1") is None
        stats = frontier.describe()
        assert (stats.admitted, stats.done, stats.pending) == (2, 0, 2)
        assert await frontier.add([page("a", "1"), page("a", "2")]) == 1
        await frontier.done(second, cooldown_s=0, outcome=DONE)
        assert await drain(frontier) == ["http://a.test/3", "http://a.test/1"]


@in_virtual_time
async def test_a_set_that_cannot_forget_says_so_and_nothing_is_changed(crawl: Crawl) -> None:
    async with crawl.opened(visited=BloomSet(capacity=1000, error_rate=1e-6)) as frontier:
        await frontier.add(pages(1, 2))
        await drain(frontier)
        before = frontier.describe()
        with pytest.raises(CannotForget):
            await frontier.forget(urls(pages(1, 2)))
        assert frontier.describe() == before
        assert await frontier.add([page("b")]) == 1


@in_virtual_time
async def test_the_ledger_tells_what_became_of_each_url(crawl: Crawl) -> None:
    outcomes = {
        "1": Outcome(
            state=UrlState.DONE,
            status=200,
            fetched_at=START + 1.5,
            digest=b"\x00\xff",
            etag='"x"',
            last_modified="Mon, 01 Jan 2024 00:00:00 GMT",
        ),
        "2": Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False),
        "3": Outcome(state=UrlState.EXCLUDED, reason="robots"),
    }
    async with crawl.opened() as frontier:
        await frontier.add([page("a", path, via="http://seed.test/") for path in ("1", "2", "3", "4", "5", "6")])
        for path, outcome in outcomes.items():
            await frontier.done(await lease(frontier), cooldown_s=0, outcome=outcome)
            entry = await frontier.status_of(f"http://a.test/{path}")
            assert entry is not None
            for name in ("state", "status", "reason", "fetched_at", "digest", "etag", "last_modified"):
                assert getattr(entry, name) == getattr(outcome, name)
            assert (entry.via, entry.found_at, entry.number) == ("http://seed.test/", START, int(path))
        await frontier.retry(await lease(frontier), after_s=9, cooldown_s=0, reason="503")
        await lease(frontier)
        for path, reason in (("4", "503"), ("5", None), ("6", None)):
            entry = await frontier.status_of(f"http://a.test/{path}")
            assert entry is not None
            assert (entry.state, entry.via, entry.number, entry.reason) == (
                UrlState.PENDING,
                "http://seed.test/",
                int(path),
                reason,
            )
        assert await frontier.status_of("http://a.test/7") is None


@in_virtual_time
async def test_describe_tells_where_the_urls_are(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(pages(4, 2))
        first = await lease(frontier)
        second = await lease(frontier)
        await lease(frontier)
        await frontier.done(first, cooldown_s=30, outcome=DONE)
        await frontier.retry(second, after_s=60, cooldown_s=40)
        await asyncio.sleep(10)
        assert frontier.describe() == FrontierStats(
            admitted=8,
            pending=6,
            in_process=1,
            retrying=1,
            done=1,
            failed=0,
            excluded=0,
            ready_queues=1,
            in_process_queues=1,
            snoozed_queues=2,
            next_wake_s=20,
            next_wake_key="test,h0",
            troubled_queues=1,
        )


# another process


@in_virtual_time
async def test_a_crawl_is_taken_up_where_it_was_left(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([*pages(1, 3), page("b", "1"), page("c", "1"), page("d", "1")])
        first = await lease(frontier)  # of h0
        await frontier.done(first, cooldown_s=100, outcome=Outcome(state=UrlState.FAILED, server_ok=False))
        second = await lease(frontier)  # of b
        await frontier.retry(second, after_s=200, cooldown_s=300, reason="503")
        third = await lease(frontier)  # of c
        frontier.release(third, cooldown_s=50)
        await lease(frontier)  # of d, never settled
        before = frontier.describe()
    async with crawl.opened() as frontier:
        after = frontier.describe()
        for name in ("admitted", "pending", "retrying", "done", "failed", "snoozed_queues"):
            assert getattr(after, name) == getattr(before, name)
        assert await frontier.add([*pages(1, 3), page("b", "1")]) == 0
        found = []
        async for out in frontier:
            found.append((now() - START, out.url.url, out.number, out.url.attempt, out.error_streak))
            await frontier.done(out, cooldown_s=0, outcome=DONE)
        assert found == [
            (0.0, "http://d.test/1", 6, 0, 0),
            (50.0, "http://c.test/1", 5, 0, 0),
            (100.0, "http://h0.test/p1", 2, 0, 1),
            (100.0, "http://h0.test/p2", 3, 0, 0),
            (300.0, "http://b.test/1", 4, 1, 1),
        ]
        await frontier.add([page("e")])
        assert (await lease(frontier)).number == 7


@in_virtual_time
async def test_a_queue_that_was_exhausted_still_rests_after_a_restart(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1")])
        await frontier.done(await lease(frontier), cooldown_s=100, outcome=DONE)
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "2")])
        await lease(frontier)
        assert now() == START + 100


@in_virtual_time
async def test_a_clock_that_was_set_back_between_runs_makes_nothing_wait_longer_or_shorter(crawl: Crawl) -> None:
    year_s = 365 * 86400.0
    async with crawl.opened(behind_s=-year_s) as frontier:
        await frontier.add([page("a", "1"), page("a", "2"), page("b")])
        await frontier.done(await lease(frontier), cooldown_s=20, outcome=DONE)
        await frontier.retry(await lease(frontier), after_s=30, cooldown_s=0)
    async with crawl.opened() as frontier:
        assert (await lease(frontier)).url == page("a", "2")
        assert now() - START == pytest.approx(20, abs=0.01)
        assert (await lease(frontier)).url.url == "http://b.test/"
        assert now() - START == pytest.approx(30, abs=0.01)
        await frontier.add([page("c")])
        entry = await frontier.status_of("http://c.test/")
        assert entry is not None
        assert entry.found_at == int(now())


# failures


@pytest.mark.parametrize("cancelled_after", range(8))
@in_virtual_time
async def test_a_cancelled_add_is_carried_out_or_not_begun(crawl: Crawl, cancelled_after: int) -> None:
    remote = RemoteSet()
    async with crawl.opened(visited=remote) as frontier:
        remote.answer.clear()
        adding = [asyncio.ensure_future(frontier.add([page("a", f"{number}")])) for number in range(2)]
        await turns(cancelled_after)
        for each in adding:
            each.cancel()
        await turns()
        for each in adding:
            each.cancel()  # patience is asked of those who cancel twice too
        await turns()
        remote.answer.set()
        await asyncio.wait(adding)
        assert len(remote) == frontier.describe().admitted
        fetched = await drain(frontier)
        assert await frontier.add([page("a", "0"), page("a", "1")]) + len(fetched) == 2


@in_virtual_time
async def test_a_cancelled_forget_is_carried_out(crawl: Crawl) -> None:
    remote = RemoteSet()
    async with crawl.opened(visited=remote) as frontier:
        await frontier.add(pages(1, 2))
        await drain(frontier)
        remote.answer.clear()
        forgetting = asyncio.ensure_future(frontier.forget(urls(pages(1, 2))))
        await turns()
        forgetting.cancel()
        await turns()
        remote.answer.set()
        await asyncio.wait([forgetting])
        assert forgetting.cancelled()
        assert len(remote) == frontier.describe().admitted == 0
        assert await frontier.add(pages(1, 2)) == 2


@pytest.mark.parametrize("call", ["add", "forget"])
@in_virtual_time
async def test_a_visited_set_that_fails_ends_the_crawl_for_all_and_a_restart_mends_it(crawl: Crawl, call: str) -> None:
    remote = RemoteSet()
    async with crawl.opened(visited=remote) as frontier:
        await frontier.add(pages(1, 2))
        await frontier.done(await lease(frontier), cooldown_s=0, outcome=DONE)
        out = await lease(frontier)
        waits = asyncio.ensure_future(anext(frontier))
        await turns()
        remote.failure = RuntimeError("connection lost")
        with pytest.raises(RuntimeError, match="connection lost"):
            await (frontier.add([page("b")]) if call == "add" else frontier.forget(urls(pages(1, 2))))
        with pytest.raises(StoreFailed, match="connection lost"):
            await waits
        remote.failure = None
        with pytest.raises(StoreFailed, match="connection lost"):
            await frontier.add([page("b")])
        with pytest.raises(StoreFailed, match="connection lost"):
            await frontier.done(out, cooldown_s=0, outcome=DONE)
        frontier.release(out)
    async with crawl.opened() as frontier:
        assert len(crawl.visited) == frontier.describe().admitted == 2
        assert await frontier.add([*pages(1, 2), page("b")]) == 1
        assert await drain(frontier) == ["http://h0.test/p1", "http://b.test/"]
