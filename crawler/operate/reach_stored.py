"""Asks a crawl that does not run, or one in parts that nobody watches over, which it opens from its directory. For
commands, which block."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.control import address
from crawler.control.asking import open_channel
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest, Request, reply_type
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.layout import Layout, read_layout
from crawler.disk.unlocking import wait_until_unlocked
from crawler.operate.answers import answer
from crawler.operate.opening import lock_directory, stored_configuration
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import BrokenPart, CrawlInParts, Member, Parts, RunningPart, StoredPart
from crawler.operate.refused import check_request, reply_or_raise
from crawler.operate.stored import open_stored_crawl
from crawler.wiring.parts import use_suffixes_of
from frontier import StoreFailed, StoreRefused

_Reply = TypeVar("_Reply", bound=msgspec.Struct)
_Opened = TypeVar("_Opened")


class StoredReached:
    """A crawl that does not run, or one in parts that nobody watches over. Some of these may still run."""

    def __init__(
        self,
        runner: asyncio.Runner,
        answer: Callable[[AnyRequest], Coroutine[None, None, msgspec.Struct | Refusal]],
        parts: Parts | None = None,
    ) -> None:
        self._runner = runner
        self._answer = answer
        self._parts = parts

    @property
    def is_running(self) -> bool:
        return self._parts is not None and self._parts.is_running

    def ask(self, request: Request[_Reply]) -> _Reply:
        check_request(request)
        expected = reply_type(request)
        assert isinstance(request, AnyRequest)
        reply = reply_or_raise(self._runner.run(self._answer(request)))
        assert isinstance(reply, expected)
        return reply

    def wait_for_end(self) -> None:
        for part in () if self._parts is None else self._parts.running:
            wait_until_unlocked(part)


def open_reached(path: Path, stack: ExitStack, *, to_change: bool) -> StoredReached:
    """The crawl that does not run, or of which only parts run. Raises `DirectoryInUse`."""
    layout = read_layout(path)
    if layout is None:
        runner, crawl = _enter(open_stored_crawl(path, to_change=to_change), stack)
        return StoredReached(runner, partial(answer, crawl))
    runner, parts = _enter(open_parts(path, layout, to_change=to_change), stack)
    return StoredReached(runner, partial(answer_by_parts, parts), parts.parts)


def _enter(opening: AbstractAsyncContextManager[_Opened], stack: ExitStack) -> tuple[asyncio.Runner, _Opened]:
    """Open something in an event loop of its own."""
    with ExitStack() as entered:
        runner = entered.enter_context(asyncio.Runner())
        inside = AsyncExitStack()
        opened = runner.run(inside.enter_async_context(opening))
        entered.push(lambda *error: runner.run(inside.__aexit__(*error)))
        stack.enter_context(entered.pop_all())
    return runner, opened


@asynccontextmanager
async def open_parts(path: Path, layout: Layout, *, to_change: bool) -> AsyncIterator[CrawlInParts]:
    """The crawl in `path`, which no other process takes over while this context lasts.

    Its parts that run are asked. The others are opened, and locked in this context; one that can't be opened answers
    why. Raises `DirectoryInUse` if somebody watches over the crawl or is about to run a part, `SocketRefused` and
    `ConfigError`.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_directory(path, to_change=to_change))
        use_suffixes_of(CrawlDirectory(path))
        parts: dict[int, Member] = {}
        for number, directory in layout.directories_here(path).items():
            parts[number] = await _open_part(directory, stack, to_change=to_change)
        yield CrawlInParts(path, stored_configuration(path), Parts(parts), division=len(layout.parts))


async def _open_part(directory: Path, stack: AsyncExitStack, *, to_change: bool) -> Member:
    try:
        CrawlDirectory(directory).check_place()
    except DirectoryRefused as error:
        return BrokenPart(directory, str(error), REFUSED)
    if address.check(directory):
        async with open_channel(directory) as channel:
            if channel is not None:
                return RunningPart(directory)
    try:
        return StoredPart(await stack.enter_async_context(open_stored_crawl(directory, to_change=to_change)))
    except DirectoryInUse:
        raise
    except (DirectoryRefused, StoreFailed, StoreRefused) as error:
        return BrokenPart(directory, str(error), FAILED if isinstance(error, StoreFailed) else REFUSED)
