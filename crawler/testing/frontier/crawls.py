"""Crawls for the suite: frontiers over one state, one after the other, by the clock of the event loop."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec
import pytest

from crawler.testing.visited.making import make_own
from frontier import CrawlUrl, Frontier, Lease, LedgerEntry, Outcome, UrlState
from frontier.queues.settings import QueueSettings
from frontier.state import FrontierState
from visited import VisitedSet, VisitedStats

START: Final = 1_700_000_000.0
"""When the event loop's clock says 0."""
DONE: Final = Outcome(state=UrlState.DONE, status=200)
HOUR_S: Final = 3600.0


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a frontier is opened with."""

    directory: Path
    """For the state of this crawl alone. It may not exist yet."""
    visited: VisitedSet
    """Empty."""
    settings: QueueSettings
    clock: Callable[[], float]
    """Seconds since 1970."""
    rest_after_crash_s: float = 0.0


class Opener(Protocol):
    """What a crawl needs of the suite."""

    @property
    def ignored_settings(self) -> Collection[str]: ...

    @property
    def is_persistent(self) -> bool: ...

    @property
    def can_reopen(self) -> bool: ...

    async def open(self, opening: Opening) -> Frontier: ...

    def open_state(self, opening: Opening) -> FrontierState: ...

    def make_visited(self) -> VisitedSet: ...

    async def check(self, directory: Path) -> None: ...


class Crawl:
    """The state of one crawl, and its frontiers, one after the other."""

    def __init__(self, opener: Opener, directory: Path) -> None:
        self.directory = directory
        self._opener = opener
        self.visited = opener.make_visited()
        """That of the last frontier."""
        self.settings: QueueSettings | None = None
        """Settings that override `per_queue`."""
        self._was_open = False

    async def open(
        self,
        *,
        per_queue: int = 1,
        visited: VisitedSet | None = None,
        behind_s: float = 0.0,
        rest_after_crash_s: float = 0.0,
    ) -> Frontier:
        """Open the next frontier, with a new visited set if none is given, and a clock that is `behind_s` behind.

        Skips the rest of the test if this is the second one, and the state ends with the process; or if the frontier
        ignores one of the settings.
        """
        self._check_reopening()
        self._check_settings()
        self.visited = self._opener.make_visited() if visited is None else visited
        return await self._opener.open(
            Opening(
                directory=self.directory,
                visited=self.visited,
                settings=self.settings or QueueSettings(per_queue=per_queue),
                clock=lambda: now() - behind_s,
                rest_after_crash_s=rest_after_crash_s,
            )
        )

    @contextmanager
    def state(self) -> Iterator[FrontierState]:
        """The state without a frontier; it is closed at the end of the block. Skips like `open`."""
        self._check_reopening()
        state = self._opener.open_state(
            Opening(
                directory=self.directory, visited=self.visited, settings=self.settings or QueueSettings(), clock=now
            )
        )
        try:
            yield state
        finally:
            state.close()

    def _check_reopening(self) -> None:
        if self._was_open and not self._opener.can_reopen:
            pytest.skip("its state ends with the frontier, so there is nothing to open again")
        self._was_open = True

    @asynccontextmanager
    async def opened(
        self,
        *,
        per_queue: int = 1,
        visited: VisitedSet | None = None,
        behind_s: float = 0.0,
        rest_after_crash_s: float = 0.0,
    ) -> AsyncIterator[Frontier]:
        """The next frontier, which is closed at the end of the block."""
        frontier = await self.open(
            per_queue=per_queue, visited=visited, behind_s=behind_s, rest_after_crash_s=rest_after_crash_s
        )
        try:
            yield frontier
        finally:
            await frontier.aclose()

    def _check_settings(self) -> None:
        for name in self._opener.ignored_settings:
            if self.settings is not None and getattr(self.settings, name) != getattr(QueueSettings(), name):
                pytest.skip(f"it ignores the setting {name}")

    def need_persistence(self) -> None:
        """Skip the rest of the test if the state ends with the process."""
        if not self._opener.is_persistent:
            pytest.skip("its state ends with the process, so a crash leaves nothing")

    def successor(self) -> "Crawl":
        """The crawl as the next process finds it."""
        return self._found_in(self.directory)

    async def check(self) -> None:
        """Check the closed state, as far as the frontier can."""
        await self._opener.check(self.directory)

    def crashed(self, directory: Path) -> "Crawl":
        """The crawl as it would be found if the process died now. Skips the rest of the test if that is nothing."""
        self.need_persistence()
        copy_of_one_moment(self.directory, directory)
        return self._found_in(directory)

    def _found_in(self, directory: Path) -> "Crawl":
        crawl = Crawl(self._opener, directory)
        crawl.settings = self.settings
        return crawl


def copy_of_one_moment(directory: Path, to: Path) -> None:
    """Copy files that other threads may change, as when LevelDB compacts."""
    while not _copy(directory, to):
        shutil.rmtree(to, ignore_errors=True)


def _copy(directory: Path, to: Path) -> bool:
    """Whether nothing changed meanwhile."""
    before = _files(directory)
    try:
        shutil.copytree(directory, to)
    except shutil.Error:
        return False
    return before == _files(directory)


def _files(directory: Path) -> dict[str, tuple[int, int]]:
    files = {}
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            stat = path.stat()
            files[str(path)] = (stat.st_size, stat.st_mtime_ns)
    return files


class SlowSet:
    """A visited set as if on another machine. It remembers what it is asked at once, and answers when `answer` is set.
    With a `failure`, it raises that instead."""

    def __init__(self) -> None:
        self._set = make_own("exact")
        self.answer = asyncio.Event()
        self.answer.set()
        self.failure: Exception | None = None

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts = await self._set.add_many(urls)
        await self._wait()
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        count = await self._set.forget_many(urls)
        await self._wait()
        return count

    async def _wait(self) -> None:
        await self.answer.wait()
        if self.failure is not None:
            raise self.failure

    def describe(self) -> VisitedStats:
        return self._set.describe()

    def dump(self, file: BinaryIO, /) -> None:
        self._set.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._set.load(file)

    def __len__(self) -> int:
        return len(self._set)

    async def aclose(self) -> None:
        await self._set.aclose()


def now() -> float:
    """Seconds since 1970, by the clock of the event loop."""
    return START + asyncio.get_running_loop().time()


def page(host: str, path: str = "", *, precedence: int = 128, via: str | None = None) -> CrawlUrl:
    """A URL of a host, which is its queue."""
    url = f"http://{host}.test/{path}"
    return CrawlUrl(url=url, canonical=url, queue_key=f"test,{host}", precedence=precedence, via=via)


def pages(hosts: int, each: int) -> list[CrawlUrl]:
    """So many URLs of each of so many hosts: first one of each host, then the next."""
    return [page(f"h{host}", f"p{number}") for number in range(each) for host in range(hosts)]


def urls_of(found: Iterable[CrawlUrl]) -> list[str]:
    return [url.url for url in found]


def hosts_of(urls: Iterable[str]) -> list[str]:
    return [url.split("/")[2].removesuffix(".test") for url in urls]


async def next_lease(frontier: Frontier) -> Lease:
    """The next lease, which must come within a virtual hour."""
    async with asyncio.timeout(HOUR_S):
        return await anext(frontier)


async def no_lease_for(frontier: Frontier, seconds: float) -> bool:
    """Whether no lease comes for so long."""
    try:
        async with asyncio.timeout(seconds):
            await anext(frontier)
    except TimeoutError:
        return True
    return False


async def settle(frontier: Frontier, lease: Lease, cooldown_s: float = 0.0) -> None:
    await frontier.done(lease, cooldown_s=cooldown_s, outcome=DONE)


async def entry_of(frontier: Frontier, canonical: str) -> LedgerEntry:
    """What the ledger says of a URL, which it must know."""
    entry = await frontier.status_of(canonical)
    assert entry is not None
    return entry


async def drain(frontier: Frontier) -> list[str]:
    """Fetch all there is, and return the URLs in order."""
    fetched = []
    async for lease in frontier:
        fetched.append(lease.url.url)
        await settle(frontier, lease)
    return fetched


async def turns(count: int = 10) -> None:
    """Let the other tasks go as far as they can."""
    for _ in range(count):
        await asyncio.sleep(0)
