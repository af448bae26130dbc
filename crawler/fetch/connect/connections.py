"""Counts the client's connections, and decides which ones are kept."""

import resource
import sys
from collections.abc import Callable
from typing import Final, Protocol
from weakref import ref

import msgspec

from crawler.fetch.connect.keeping import Idle, choose_to_close

MIN_CONNECTIONS: Final = 256
MAX_BYTES: Final = 64_000_000
"""Default limit of what open connections take."""
_OTHER_FILES: Final = 40
"""Open files of a crawl of a few hosts that are no connections: its state and output, pipes, lookups of names."""
_WEIGHT: Final = 0.05
"""The weight of the last interval in the typical one."""
_MAX_SERVERS = 10_000
_MAX_REUSE_FAILURES = 2
"""After so many failures in a row, connections to this server are not kept any more."""

Server = tuple[str, int]
"""Address and port; behind a proxy the host and the port."""


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of all open connections together."""

    count: int
    memory_bytes: int = MAX_BYTES
    """About; see `memory_of`."""


class Connection(Protocol):
    """What is known of an open connection."""

    memory_bytes: int
    """About what it takes."""
    interval_s: float | None
    """The time between its last two requests; None if there was only one."""

    def is_idle(self) -> bool:
        """Whether it waits for another request."""
        ...

    def idle_s(self, now: float) -> float:
        """The time since its last request was sent."""
        ...

    def close(self) -> None: ...


class _Open(msgspec.Struct):
    """An open connection, and the memory that is counted for it."""

    connection: "ref[Connection]"
    memory_bytes: int


class Connections:
    """The open connections, and the servers that close kept connections.

    While there are more than `limit`, or they take more than about `max_bytes`, idle ones are closed, the least useful
    first.
    """

    def __init__(self, limit: int, *, max_bytes: int = MAX_BYTES) -> None:
        self.limit = limit
        self.max_bytes = max_bytes
        self.before_requests: list[Callable[[], object]] = []
        """Called right before each request is written, in this order."""
        self.opened = 0
        """How many connections there have been."""
        self.reused = 0
        """How many requests went over kept ones."""
        self.memory_bytes = 0
        """About what the open ones take."""
        self._open: dict[int, _Open] = {}
        self._typical_s = 1.0
        self.reuse_failures: dict[Server, int] = {}
        """How often in a row each server has not answered another request over a kept connection."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_crowded(self) -> bool:
        """Whether more connections are open, or they take more memory, than allowed."""
        return len(self._open) > self.limit or self.memory_bytes > self.max_bytes

    def add(self, connection: Connection) -> None:
        self.opened += 1
        number = id(connection)
        # Nobody closes the connection under a tunnel, so we forget it when it is freed.
        self._open[number] = _Open(ref(connection, lambda _: self._forget(number)), connection.memory_bytes)
        self.memory_bytes += connection.memory_bytes

    def remove(self, connection: Connection) -> None:
        self._forget(id(connection))

    def _forget(self, number: int) -> None:
        if (removed := self._open.pop(number, None)) is not None:
            self.memory_bytes -= removed.memory_bytes

    def note_memory(self, connection: Connection, memory_bytes: int) -> None:
        """Note that a connection takes so much memory now."""
        connection.memory_bytes = memory_bytes
        if (opened := self._open.get(id(connection))) is not None:
            self.memory_bytes += memory_bytes - opened.memory_bytes
            opened.memory_bytes = memory_bytes

    def note_interval(self, interval_s: float) -> None:
        """Note the time between two requests over one connection, as the second is sent."""
        self.reused += 1
        self._typical_s += _WEIGHT * (interval_s - self._typical_s)

    def note_reuse(self, server: Server, *, answered: bool) -> None:
        """Remember whether the server answered another request over a kept connection."""
        if answered:
            self.reuse_failures.pop(server, None)
            return
        if len(self.reuse_failures) >= _MAX_SERVERS:
            self.reuse_failures.clear()
        self.reuse_failures[server] = self.reuse_failures.get(server, 0) + 1

    def make_room(self, connection: Connection, now: float, server: Server | None) -> bool:
        """Close connections that are less useful than this one, which is being answered, if there are too many. Returns
        whether this one may be kept for another request.

        A server that again and again closes a kept connection upon a request gets a new one each time; otherwise half
        of the requests would be lost.
        """
        failures = self.reuse_failures
        if failures and server is not None and failures.get(server, 0) >= _MAX_REUSE_FAILURES:
            return False
        if not self.is_crowded:
            return True
        found = [each for opened in self._open.values() if (each := opened.connection()) is not None]
        idle = {id(each): each for each in found if each is connection or each.is_idle()}
        closed = choose_to_close(
            [Idle(number, each.memory_bytes, each.idle_s(now), each.interval_s) for number, each in idle.items()],
            typical_s=self._typical_s,
            excess=len(self._open) - self.limit,
            limit=self.limit,
            excess_bytes=self.memory_bytes - self.max_bytes,
            limit_bytes=self.max_bytes,
        )
        for number in closed:
            if idle[number] is not connection:
                self._forget(number)
                idle[number].close()
        return id(connection) not in closed


def requests_for(concurrency: int, spare: int) -> tuple[int, int]:
    """How many requests may run at once, and how many more at most, if so many are wanted: as many as the process may
    have connections for, and as many idle ones."""
    most = max(_files_for_connections() // 2, 1)
    return min(concurrency, most), min(spare, max(most - concurrency, 0))


def connections_for(concurrency: int, spare: int) -> int:
    """How many connections may stay open, if that many requests usually run at once, and `spare` more at most.

    While so many are open, each of these requests may open one more, before idle ones are closed."""
    wanted = max(4 * concurrency, MIN_CONNECTIONS) + spare
    return min(wanted, max(_files_for_connections() - concurrency - spare, 1))


def _files_for_connections() -> int:
    """A quarter of the files that the process may open is left to others, and never less than these need."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return sys.maxsize
    return files - max(files // 4, _OTHER_FILES)
