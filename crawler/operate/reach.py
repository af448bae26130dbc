"""Finds out whether a crawl runs, and asks it: through its socket, or its directory. For commands, which block.

A crawl in parts has a socket of its own. If nobody listens there, each part is asked for itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from crawler.control import client
from crawler.control.address import SocketOfOther, SocketRefused
from crawler.control.client import Connection, ConnectionLost, NoAnswer
from crawler.control.process import LOOK_AGAIN_S, WAIT_S, why_stopped
from crawler.control.replies import CrawlStatus
from crawler.control.requests import GetStatus, Query, Request
from crawler.disk.directory import DirectoryInUse, DirectoryRefused
from crawler.operate.refused import check_request, reply_or_raise

_Reply = TypeVar("_Reply", bound=msgspec.Struct)
_WORKING_FOR_LONG: Final = 2
"""How often a crawl says that it works on a request until a person wonders why it takes so long. It does so every two
seconds."""


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
def reach(
    path: Path, *, to_change: bool = False, on_wait: Callable[[str], object] | None = None
) -> Iterator[ReachedCrawl]:
    """The crawl in a directory. With `to_change`, the directory of a crawl that does not run must be writable.
    `on_wait` gets a sentence when a crawl that runs can't make a change for now, as while its disk is full.

    Raises `SocketRefused`, `NoAnswer`, `DirectoryRefused`, and whatever keeps a state from being opened.
    """
    give_up_at = time.monotonic() + WAIT_S
    with ExitStack() as stack:
        while True:
            reached = _reach_running(path, stack, to_change=to_change, on_wait=on_wait)
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


def _reach_running(
    path: Path, stack: ExitStack, *, to_change: bool, on_wait: Callable[[str], object] | None
) -> ReachedCrawl | None:
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
    return None if connection is None else _Running(connection, path, on_wait)


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

    def __init__(self, connection: Connection, path: Path, on_wait: Callable[[str], object] | None) -> None:
        self._connection = connection
        self._path = path
        self._on_wait = on_wait

    def ask(self, request: Request[_Reply]) -> _Reply:
        check_request(request)
        try:
            return reply_or_raise(self._connection.ask(request, on_working=self._watch(request)))
        except ConnectionLost as error:
            raise CrawlEnded(
                "the crawl ended before it answered, or dropped the connection; look with `onceover status`, then try "
                "again"
            ) from error

    def wait_for_end(self) -> None:
        self._connection.wait_for_end()

    def _watch(self, request: Request[_Reply]) -> Callable[[], None]:
        """What to do each time that the crawl says that it still works on a request."""
        said = count(1)

        def tell_once() -> None:
            if self._on_wait is None or isinstance(request, Query) or next(said) != _WORKING_FOR_LONG:
                return
            if (why := _why_waiting(self._path)) is not None:
                then = "it carries out the change when it goes on, also if you end this command"
                self._on_wait(f"the crawl waits: {why}; {then}")

        return tell_once


def _why_waiting(path: Path) -> str | None:
    """Why a crawl that runs waits, as it says itself."""
    with suppress(NoAnswer, ConnectionLost, SocketRefused), client.connect(path) as connection:
        status = None if connection is None else connection.ask(GetStatus())
        return status.waits if isinstance(status, CrawlStatus) else None
    return None
