"""Opens a crawl that does not run from its directory, for commands, which block."""

import asyncio
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from crawler.control.requests import AnyRequest
from crawler.disk.layout import read_layout
from crawler.disk.unlocking import wait_until_unlocked
from crawler.operate.answers import answer
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.parts.opening import open_parts
from crawler.operate.refused import check_request, reply_or_raise
from crawler.operate.stored import StoredCrawl, open_crawl

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class StoredReached:
    """A crawl that does not run."""

    is_running = False

    def __init__(self, crawl: StoredCrawl, runner: asyncio.Runner) -> None:
        self._crawl = crawl
        self._runner = runner

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        check_request(request)
        reply = reply_or_raise(self._runner.run(answer(self._crawl, request)))
        assert isinstance(reply, expected)
        return reply

    def wait_for_end(self) -> None:
        return


class PartsReached:
    """A crawl in parts that nobody watches over. Some of its parts may still run."""

    def __init__(self, crawl: CrawlInParts, runner: asyncio.Runner) -> None:
        self._crawl = crawl
        self._runner = runner

    @property
    def is_running(self) -> bool:
        return self._crawl.parts.is_running

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        check_request(request)
        reply = reply_or_raise(self._runner.run(answer_by_parts(self._crawl, request)))
        assert isinstance(reply, expected)
        return reply

    def wait_for_end(self) -> None:
        for part in self._crawl.parts.running:
            wait_until_unlocked(part)


def open_reached(path: Path, stack: ExitStack, *, to_change: bool) -> "StoredReached | PartsReached":
    """The crawl that does not run, or of which only parts run. Raises `DirectoryInUse`."""
    layout = read_layout(path)
    if layout is None:
        runner, crawl = _enter(open_crawl(path, to_change=to_change), stack)
        return StoredReached(crawl, runner)
    runner, parts = _enter(open_parts(path, layout, to_change=to_change), stack)
    return PartsReached(parts, runner)


_Opened = TypeVar("_Opened")


def _enter(opening: AbstractAsyncContextManager[_Opened], stack: ExitStack) -> tuple[asyncio.Runner, _Opened]:
    """Open something in an event loop of its own."""
    runner = asyncio.Runner()
    try:
        opened = runner.run(_entered(opening))
    except BaseException:
        runner.close()
        raise
    stack.callback(runner.close)
    stack.push(lambda kind, error, trace: runner.run(_exited(opening, kind, error, trace)))
    return runner, opened


async def _entered(opening: AbstractAsyncContextManager[_Opened]) -> _Opened:
    return await opening.__aenter__()


async def _exited(
    opening: AbstractAsyncContextManager[_Opened],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> bool | None:
    return await opening.__aexit__(kind, error, trace)
