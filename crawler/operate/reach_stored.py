"""Asks a crawl that does not run, which it opens from its directory. For commands, which block."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest, Request, reply_type
from crawler.disk.layout import read_layout
from crawler.disk.unlocking import wait_until_unlocked
from crawler.operate.answers import answer
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.members import Parts
from crawler.operate.parts.opening import open_parts
from crawler.operate.refused import check_request, reply_or_raise
from crawler.operate.stored import open_stored_crawl

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
