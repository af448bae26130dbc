"""The leases that are out."""

from collections.abc import Callable, Iterator

import msgspec

from frontier.queues.lifecycle import Queue
from frontier.store import Waiting
from frontier.values import Lease


class Out(msgspec.Struct, eq=False):
    """A lease that is out."""

    lease: Lease
    waiting: Waiting
    queue: Queue
    superseded: bool = False
    """Whether its URL has been admitted anew: then the ledger and the queue know only the newer."""
    on_errand: bool = False
    """Whether the server that is asked is that of the queue's errand."""


class Leases:
    """Leases by the number of their URL."""

    def __init__(self, hits: Callable[[str], int]) -> None:
        """`hits` tells how many links to a URL were seen, beside those that it knows itself."""
        self._hits = hits
        self._out: dict[int, Out] = {}

    def __contains__(self, number: object) -> bool:
        return number in self._out

    def __len__(self) -> int:
        return len(self._out)

    def __iter__(self) -> Iterator[Out]:
        return iter(self._out.values())

    def give(self, waiting: Waiting, queue: Queue, *, now: float) -> Lease:
        health = queue.health
        lease = Lease(
            url=waiting.url,
            number=waiting.number,
            error_streak=health.error_streak,
            pressure=health.pressure,
            answered=health.answered,
            dead=(health.trouble or "unknown") if health.probe_at > now else None,
            hit_count=waiting.url.hits + self._hits(waiting.url.canonical),
        )
        self._out[waiting.number] = Out(lease, waiting, queue)
        return lease

    def get(self, lease: Lease) -> Out:
        """Raises ValueError if it is not out."""
        out = self._out.get(lease.number)
        # The URL may have been leased again since; that lease is another's.
        if out is None or out.lease is not lease:
            raise ValueError(f"the lease of {lease.url.url} (number {lease.number}) is not out")
        return out

    def take_back(self, out: Out) -> None:
        del self._out[out.lease.number]
