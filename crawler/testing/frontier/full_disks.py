"""What a frontier does while its disk is full."""

import asyncio
from collections.abc import Awaitable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from crawler.testing.disks import file_limits, fill, mounted
from crawler.testing.frontier.crashes import is_done, is_known
from crawler.testing.frontier.crawls import HOUR_S, Crawl, drain, page, settle
from crawler.testing.frontier.suite import FrontierSuite
from crawler.testing.loops import in_virtual_time, run_in_virtual_time
from crawler.testing.processes import Report, run_apart
from frontier import CrawlUrl, Frontier, Lease, StoreFailed

_LIMITS: Final = 12
"""Sizes of the largest file, beyond which the disk is full."""
_BATCHES: Final = 20
_HOSTS: Final = 3
_LEASE_S: Final = 1.0
"""No queue rests, so a lease that does not come at once does not come while the disk is full."""


class FullDiskTests(FrontierSuite):
    """While the disk is full, a call fails or waits. No call is carried out in part, and nothing is lost."""

    def test_a_disk_that_is_full_at_any_write_loses_nothing(self, crawl: Crawl) -> None:
        crawl.need_persistence()
        assert any(run_apart(self._crawl_with_limited_files, crawl.directory)), "no call failed or waited"

    def _crawl_with_limited_files(self, report: Report, directory: Path) -> None:
        """No file can grow beyond a limit, which is another one for each crawl."""
        run_in_virtual_time(_crawl(Crawl(self, directory / "unlimited"), nullcontext()))
        for number, limit in enumerate(file_limits(directory, _LIMITS)):
            report(run_in_virtual_time(_crawl(Crawl(self, directory / f"{number}"), limit)))

    @in_virtual_time
    async def test_a_disk_that_is_really_full_loses_nothing(self, crawl: Crawl, tmp_path: Path) -> None:
        crawl.need_persistence()
        with mounted("-o", "size=24m", at=tmp_path / "mount") as mount:
            mounted_crawl, calls = Crawl(self, mount / "crawl"), _Calls()
            async with mounted_crawl.opened() as frontier:
                await calls.make(frontier)
                ballast = fill(mount)
                await calls.make(frontier)
                ballast.unlink()
                assert calls.failures, "no call failed or waited"
                await calls.make(frontier)
            await _check_nothing_is_lost(mounted_crawl, calls)


class _Calls:
    """Calls of a frontier, and which of them succeeded."""

    def __init__(self) -> None:
        self.offered: list[CrawlUrl] = []
        self.admitted: set[str] = set()
        self.settled: set[str] = set()
        self.failures = 0
        """Calls that failed, or waited for space."""

    async def make(self, frontier: Frontier) -> None:
        """Add and fetch some URLs, as far as that is possible."""
        for _ in range(_BATCHES):
            batch = [page(f"h{host}", f"{len(self.offered)}") for host in range(_HOSTS)]
            self.offered += batch
            if await self.succeeds(frontier.add(batch)):
                self.admitted |= {url.canonical for url in batch}
            lease = await self._lease(frontier)
            if lease is not None and await self.succeeds(settle(frontier, lease)):
                self.settled.add(lease.url.canonical)

    async def open(self, crawl: Crawl) -> Frontier | None:
        """The frontier, or None if the disk is too full to open it."""
        try:
            return await crawl.open()
        except (OSError, StoreFailed):
            self.failures += 1
            return None

    async def _lease(self, frontier: Frontier) -> Lease | None:
        try:
            async with asyncio.timeout(_LEASE_S):
                return await anext(frontier, None)
        except (StoreFailed, TimeoutError):
            return None

    async def succeeds(self, call: Awaitable[object]) -> bool:
        try:
            async with asyncio.timeout(HOUR_S):
                await call
        except (OSError, StoreFailed, TimeoutError):
            self.failures += 1
            return False
        return True


async def _crawl(crawl: Crawl, full_disk: AbstractContextManager[None]) -> int:
    """Crawl on a disk that is full from the beginning, and then is not. Returns how many calls failed or waited."""
    calls = _Calls()
    with full_disk:
        frontier = await calls.open(crawl)
        if frontier is not None:
            await calls.make(frontier)
    if frontier is not None:
        await calls.make(frontier)
        await frontier.aclose()
    await _check_nothing_is_lost(crawl, calls)
    return calls.failures


async def _check_nothing_is_lost(crawl: Crawl, calls: _Calls) -> None:
    await crawl.check()
    async with crawl.successor().opened() as frontier:
        for url in calls.admitted:
            assert await is_known(frontier, url), f"{url} was admitted, and is not known"
        for url in calls.settled:
            assert await is_done(frontier, url), f"{url} was settled, and still waits"
        await frontier.add(calls.offered)
        assert not calls.settled.intersection(await drain(frontier)), "a settled URL is fetched again"
        for page in calls.offered:
            assert await is_done(frontier, page.canonical), f"{page.url} is lost"
    await crawl.check()
