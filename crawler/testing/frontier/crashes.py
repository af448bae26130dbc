"""What the next frontier over a state finds, after an orderly end and after a process was killed."""

from pathlib import Path
from typing import Final

import pytest

from crawler.testing.frontier.crawls import HOUR_S, START, Crawl, drain, next_lease, now, page, pages, settle, urls_of
from crawler.testing.frontier.suite import FrontierSuite
from crawler.testing.loops import in_virtual_time
from crawler.testing.processes import Report, kill_after
from frontier import Frontier, Outcome, UrlState

_KILLED_AFTER: Final = (1, 120)
"""Acknowledged calls, after which a process is killed."""
_HOSTS: Final = 5
_CALLS: Final = 1_000_000
"""More than a process can make before it is killed."""


class CrashTests(FrontierSuite):
    """A crash repeats what was leased, and loses nothing."""

    @in_virtual_time
    async def test_a_crash_repeats_what_was_leased_and_nothing_else(self, crawl: Crawl, tmp_path: Path) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(3, 2))
            await settle(frontier, await next_lease(frontier))
            await next_lease(frontier)
            crashed = crawl.crashed(tmp_path / "crashed")
        await crashed.check()
        async with crashed.opened() as frontier:
            assert sorted(await drain(frontier)) == sorted(set(urls_of(pages(3, 2))) - {"http://h0.test/p0"})
            assert await frontier.add(pages(3, 2)) == 0

    @in_virtual_time
    async def test_kill_9_loses_nothing_that_was_acknowledged(self, crawl: Crawl) -> None:
        crawl.need_persistence()
        admitted: set[str] = set()
        settled: set[str] = set()
        for life, calls in enumerate(_KILLED_AFTER):
            for call, url in kill_after(calls, self._crawl_until_killed, crawl.directory, life * _CALLS):
                if call == "add":
                    admitted |= {url, f"{url}-kept"}
                elif call == "done":
                    assert url not in settled, f"{url} was settled, and is fetched again"
                    settled.add(url)
            await crawl.check()
            async with crawl.successor().opened() as frontier:
                for url in admitted:
                    assert await is_known(frontier, url), f"{url} was admitted, and is not known"
                    assert url not in settled or await is_done(frontier, url), f"{url} was settled, and still waits"
                # The last call before each kill may have been carried out without having been acknowledged.
                assert 0 <= frontier.describe().done - len(settled) <= life + 1
        async with crawl.successor().opened() as frontier:
            assert not settled.intersection(await drain(frontier))
            assert [url for url in admitted if not await is_done(frontier, url)] == []

    def _crawl_until_killed(self, report: Report, directory: Path, first: int) -> None:
        @in_virtual_time
        async def work() -> None:
            frontier = await Crawl(self, directory).open()
            for number in range(first, first + _CALLS):
                host = f"h{number % _HOSTS}"
                await frontier.add([page(host, f"{number}"), page(host, f"{number}-kept")])
                report(("add", f"http://{host}.test/{number}"))
                lease = await anext(frontier)
                if number % 3 == 0:
                    await frontier.retry(lease, after_s=HOUR_S, cooldown_s=0)
                    report(("retry", lease.url.url))
                else:
                    await settle(frontier, lease)
                    report(("done", lease.url.url))

        work()


async def is_known(frontier: Frontier, canonical: str) -> bool:
    return await frontier.status_of(canonical) is not None


async def is_done(frontier: Frontier, canonical: str) -> bool:
    entry = await frontier.status_of(canonical)
    return entry is not None and entry.state is UrlState.DONE


class RestartTests:
    """What the next frontier over the same state knows."""

    @in_virtual_time
    async def test_a_crawl_goes_on_where_it_ended(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([*pages(1, 3), page("b", "1"), page("c", "1"), page("d", "1")])
            first = await next_lease(frontier)  # of h0
            await frontier.done(first, cooldown_s=100, outcome=Outcome(state=UrlState.FAILED, server_ok=False))
            second = await next_lease(frontier)  # of b
            await frontier.retry(second, after_s=200, cooldown_s=300, reason="503")
            third = await next_lease(frontier)  # of c
            frontier.release(third, cooldown_s=50)
            await next_lease(frontier)  # of d, never settled
            before = frontier.describe()
        async with crawl.opened() as frontier:
            after = frontier.describe()
            for name in ("admitted", "pending", "retrying", "done", "failed", "snoozed_queues"):
                assert getattr(after, name) == getattr(before, name)
            assert await frontier.add([*pages(1, 3), page("b", "1")]) == 0
            leases = []
            async for lease in frontier:
                leases.append((now() - START, lease.url.url, lease.number, lease.url.attempt, lease.error_streak))
                await settle(frontier, lease)
            assert leases == [
                (0.0, "http://d.test/1", 6, 0, 0),
                (50.0, "http://c.test/1", 5, 0, 0),
                (100.0, "http://h0.test/p1", 2, 0, 1),
                (100.0, "http://h0.test/p2", 3, 0, 0),
                (300.0, "http://b.test/1", 4, 1, 1),
            ]
            await frontier.add([page("e")])
            assert (await next_lease(frontier)).number == 7

    @in_virtual_time
    async def test_a_queue_that_was_exhausted_still_rests_after_a_restart(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1")])
            await settle(frontier, await next_lease(frontier), 100)
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "2")])
            await next_lease(frontier)
            assert now() == START + 100

    @in_virtual_time
    async def test_a_clock_that_was_set_back_between_runs_makes_nothing_wait_longer_or_shorter(
        self, crawl: Crawl
    ) -> None:
        year_s = 365 * 86400.0
        async with crawl.opened(behind_s=-year_s) as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("b")])
            await settle(frontier, await next_lease(frontier), 20)
            await frontier.retry(await next_lease(frontier), after_s=30, cooldown_s=0)
        async with crawl.opened() as frontier:
            assert (await next_lease(frontier)).url == page("a", "2")
            assert now() - START == pytest.approx(20, abs=0.01)
            assert (await next_lease(frontier)).url.url == "http://b.test/"
            assert now() - START == pytest.approx(30, abs=0.01)
            await frontier.add([page("c")])
            entry = await frontier.status_of("http://c.test/")
            assert entry is not None
            assert entry.found_at == int(now())
