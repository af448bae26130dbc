"""Finds out whether a crawl runs, and asks it: through its socket, or its directory. For commands, which block.

A crawl in parts has a socket of its own. If nobody listens there, each part is asked for itself.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from crawler.control import client
from crawler.control.address import SocketOfOther
from crawler.control.client import Connection, ConnectionLost, NoAnswer
from crawler.control.process import LOOK_AGAIN_S, WAIT_S, why_stopped
from crawler.control.requests import Request
from crawler.disk.directory import DirectoryInUse, DirectoryRefused
from crawler.operate.refused import check_request, reply_or_raise

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class CrawlEnded(NoAnswer):
    """A running crawl ended before it answered."""


class ReachedCrawl(Protocol):
    @property
    def is_running(self) -> bool: ...

    def ask(self, request: Request[_Reply]) -> _Reply:
        """Raises `Refused`, and `NoAnswer`."""
        ...

    def wait_for_end(self) -> None:
        """Wait until it does not run any more."""
        ...


@contextmanager
def reach(path: Path, *, to_change: bool = False) -> Iterator[ReachedCrawl]:
    """The crawl in a directory. With `to_change`, the directory of a crawl that does not run must be writable.

    Raises `SocketRefused`, `NoAnswer`, `DirectoryRefused`, and whatever keeps a state from being opened.
    """
    give_up_at = time.monotonic() + WAIT_S
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
            time.sleep(LOOK_AGAIN_S)
        yield reached


def _reach_running(path: Path, stack: ExitStack, *, to_change: bool) -> ReachedCrawl | None:
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


def _open(path: Path, stack: ExitStack, *, to_change: bool) -> ReachedCrawl:
    """The crawl that does not run, or of which only parts run. Raises `DirectoryInUse`."""
    # This loads all of a crawl, which takes much longer than asking one that runs.
    from crawler.operate.reach_stored import open_reached  # noqa: PLC0415 - see above

    return open_reached(path, stack, to_change=to_change)


def _unreachable(path: Path, error: DirectoryInUse) -> NoAnswer:
    stopped = why_stopped(error.pid)
    if stopped is not None:
        return NoAnswer(stopped)
    if error.is_command and error.pid is not None:
        return NoAnswer(str(error))
    pid = error.pid or "unknown"
    return NoAnswer(
        f"{path} is in use by process {pid}, but nothing listens in {path / 'control'}: a crawl that is opened or "
        f"closed, or a command that has just begun. Try again; if that stays so, {path / 'logs' / 'crawl.log'} may "
        f"say why it does not listen, and `kill -INT {pid}` lets the process finish what is in flight"
    )


class _Running:
    is_running = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, request: Request[_Reply]) -> _Reply:
        check_request(request)
        try:
            return reply_or_raise(self._connection.ask(request))
        except ConnectionLost as error:
            raise CrawlEnded(
                "the crawl ended before it answered, or dropped the connection; look with `onceover status`, then try "
                "again"
            ) from error

    def wait_for_end(self) -> None:
        self._connection.wait_for_end()
