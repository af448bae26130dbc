"""Finds out whether a crawl runs, and asks it: through its socket, or its directory. For commands, which block.

A crawl in parts has a socket of its own. If nobody listens there, each part is asked for itself.
"""

import asyncio
import fcntl
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, TypeVar

import msgspec

from crawler.control import client
from crawler.control.address import SocketOfOther
from crawler.control.client import Connection, ConnectionLost, NoAnswer
from crawler.control.process import is_stopped, why_silent
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.layout import part_directories, read_layout
from crawler.operate.answers import answer
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.parts.opening import open_parts
from crawler.operate.stored import StoredCrawl, open_crawl
from crawler.operate.target import Refused

WAIT_S: Final = 10.0
"""How long a crawl may take to listen after it has locked its directory, and to unlock it when it has ended."""
_LOOK_AGAIN_S: Final = 0.1

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class CrawlEnded(NoAnswer):
    """A running crawl ended before it answered."""


class ReachedCrawl(Protocol):
    """A crawl that answers."""

    @property
    def is_running(self) -> bool: ...

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        """Raises `Refused`, and `NoAnswer`."""
        ...

    def wait_for_end(self) -> None:
        """Wait until it does not run any more."""
        ...


@contextmanager
def reach(path: Path, *, to_change: bool = False, wait_s: float = WAIT_S) -> Iterator[ReachedCrawl]:
    """The crawl in a directory. With `to_change`, the directory of a crawl that does not run must be writable.

    Raises `SocketRefused`, `NoAnswer`, `DirectoryRefused`, and whatever keeps a state from being opened.
    """
    give_up_at = time.monotonic() + wait_s
    with ExitStack() as stack:
        while True:
            reached = _reach_running(path, stack, to_change=to_change)
            if reached is None:
                try:
                    reached = _open(path, stack, to_change=to_change)
                except DirectoryInUse as error:
                    if time.monotonic() >= give_up_at:
                        raise _unreachable(path, error) from error
            if reached is not None:
                break
            time.sleep(_LOOK_AGAIN_S)
        yield reached


def _reach_running(path: Path, stack: ExitStack, *, to_change: bool) -> "ReachedCrawl | None":
    """The crawl if it runs, or if only its owner can tell."""
    try:
        connection = stack.enter_context(client.connect(path))
    except SocketOfOther as foreign:
        if to_change:
            raise
        # The socket may be left of a process that was killed.
        try:
            return _open(path, stack, to_change=False)
        except DirectoryRefused:
            raise foreign from None
    return None if connection is None else _Running(connection)


def _open(path: Path, stack: ExitStack, *, to_change: bool) -> "ReachedCrawl":
    """The crawl that does not run, or of which only parts run. Raises `DirectoryInUse`."""
    layout = read_layout(path)
    if layout is None:
        runner, crawl = _enter(open_crawl(path, to_change=to_change), stack)
        return _Stored(crawl, runner)
    runner, parts = _enter(open_parts(path, layout, to_change=to_change), stack)
    return _Together(parts, runner)


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


def wait_until_unlocked(path: Path) -> None:
    """Wait until no process uses the directory of a crawl, or those of its parts."""
    for directory in dict.fromkeys((path, *part_directories(path))):
        try:
            lock = CrawlDirectory(directory).lock.open("rb")
        except FileNotFoundError:
            continue
        with lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


def _unreachable(path: Path, error: DirectoryInUse) -> NoAnswer:
    if error.pid is not None and is_stopped(error.pid):
        return NoAnswer(why_silent(error.pid, 0.0))
    pid = error.pid or "unknown"
    return NoAnswer(
        f"{path} is in use by process {pid}, but nothing listens in {path / 'control'}: a crawl that is opened or "
        f"closed, or another command that changes it. Try again; if that stays so, {path / 'logs' / 'crawl.log'} may "
        f"say why it does not listen, and `kill -INT {pid}` lets the process finish what is in flight"
    )


class _Running:
    """A crawl that another process runs."""

    is_running = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        try:
            return _checked(self._connection.ask(request, expected))
        except ValueError as error:
            raise Refused(f"this can't be sent to the crawl: {error}") from error
        except ConnectionLost as error:
            raise CrawlEnded(
                "the crawl ended before it answered, or dropped the connection; look with `onceover status`, then try "
                "again"
            ) from error

    def wait_for_end(self) -> None:
        self._connection.wait_for_end()


class _Stored:
    """A crawl that does not run."""

    is_running = False

    def __init__(self, crawl: StoredCrawl, runner: asyncio.Runner) -> None:
        self._crawl = crawl
        self._runner = runner

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        reply = _checked(self._runner.run(answer(self._crawl, request)))
        assert isinstance(reply, expected)
        return reply

    def wait_for_end(self) -> None:
        return


class _Together:
    """A crawl in parts that nobody watches over. Some of its parts may still run."""

    def __init__(self, crawl: CrawlInParts, runner: asyncio.Runner) -> None:
        self._crawl = crawl
        self._runner = runner

    @property
    def is_running(self) -> bool:
        return self._crawl.parts.is_running

    def ask(self, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        reply = _checked(self._runner.run(answer_by_parts(self._crawl, request)))
        assert isinstance(reply, expected)
        return reply

    def wait_for_end(self) -> None:
        for part in self._crawl.parts.running:
            wait_until_unlocked(part)


_Checked = TypeVar("_Checked")


def _checked(reply: _Checked | Refusal) -> _Checked:
    if isinstance(reply, Refusal):
        raise Refused(reply.message, reply.exit_code)
    return reply
