"""Counts the client's connections, and knows which servers close the connections that we keep."""

from collections.abc import Callable
from weakref import WeakSet

from aiohttp.client_proto import ResponseHandler

_MAX_PEERS = 10_000
_MAX_REUSE_FAILURES = 2
"""After so many failures in a row, connections to this server are not kept any more."""

Peer = tuple[str, int]


class Connections:
    """The open connections, and the servers that close kept connections."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.before_request: Callable[[], object] | None = None
        """Called right before each request is written."""
        self._open: WeakSet[ResponseHandler] = WeakSet()
        self._reuse_failures: dict[Peer, int] = {}

    def add(self, connection: ResponseHandler) -> None:
        self._open.add(connection)

    def remove(self, connection: ResponseHandler) -> None:
        self._open.discard(connection)

    @property
    def is_crowded(self) -> bool:
        """Whether more connections are open than allowed."""
        return len(self._open) > self.limit

    def note_reuse(self, peer: Peer, *, answered: bool) -> None:
        """Remember whether the server answered another request over a kept connection."""
        if answered:
            self._reuse_failures.pop(peer, None)
            return
        if len(self._reuse_failures) >= _MAX_PEERS:
            self._reuse_failures.clear()
        self._reuse_failures[peer] = self._reuse_failures.get(peer, 0) + 1

    def may_keep(self, peer: Peer | None) -> bool:
        """Whether a connection may be kept for another request. A server that again and again closes a kept connection
        upon a request gets a new one each time; otherwise half of the requests would be lost."""
        return not self.is_crowded and (peer is None or self._reuse_failures.get(peer, 0) < _MAX_REUSE_FAILURES)
