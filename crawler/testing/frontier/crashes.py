"""What a process that is killed leaves behind."""

from pathlib import Path
from typing import Final

from crawler.testing.frontier.crawls import HOUR_S, Crawl, drain, next_lease, page, pages, settle, urls_of
from crawler.testing.frontier.suite import FrontierSuite
from crawler.testing.loops import in_virtual_time
from crawler.testing.processes import Report, kill_after
from frontier import Frontier, UrlState

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
