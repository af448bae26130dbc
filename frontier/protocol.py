"""The promise of a frontier."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from frontier.values import CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome


class Frontier(Protocol):
    """Hands out URLs politely, loses none, and remembers what became of each.

    Each call that changes something is one transition: it happens whole or, if it raises or the process dies, not at
    all. Two calls may overlap; transitions do not. A call that is cancelled has been carried out or not begun.

    Raises `ValueError`, changing nothing, for what makes no sense. Once a change could not be stored, every further
    call raises `StoreFailed`.
    """

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        """Enqueue the URLs that are new to the visited set, and return their count.

        Adding again changes nothing. With `force`, a URL that is known and settled is enqueued once more, under a new
        number; one that still waits is left where it is. One that is leased is enqueued too, as a redirect to its own
        canonical form needs it: the outcome of that lease then counts for its queue only.
        """
        ...

    def __aiter__(self) -> AsyncIterator[Lease]:
        """Iterate over leases; any number of workers iterate at once.

        `anext` waits until some queue may be fetched. Iteration ends when nothing waits and nothing is leased, or after
        `stop`. A cancelled wait takes no lease.
        """
        ...

    def begins(self, lease: Lease, /, *, address: str | None, errand: str | None = None) -> bool:
        """The lease's server is about to be asked, at that address if it is known. Whether it may be: if not, the lease
        has been handed back, because others ask at that address, or have just asked; it comes again when it may.

        Before a host can be asked, another one may have to be: then `errand` is the key of the queue to which a URL
        there would belong, and the address is that of the other host. From now on the lease's queue keeps the pace of
        that host beside its own, until a lease on that errand ends with the server asked."""
        ...

    def relocate(self, lease: Lease, /, *, address: str, errand: str | None = None) -> None:
        """A request of the lease went to that address, whatever `begins` was told. The lease's queue lies there from
        now on, or its `errand` if the request was for that: so that address rests when the lease ends."""
        ...

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        """Settle the lease for good; its queue rests for `cooldown_s`. Settling twice is an error (`ValueError`).

        All queues of its host rest with it, and others that share its cooldown: for `group_cooldown_s` if that is
        given, here as in `retry` and `release`."""
        ...

    async def retry(
        self,
        lease: Lease,
        /,
        *,
        after_s: float | None,
        cooldown_s: float,
        group_cooldown_s: float | None = None,
        reason: str | None = None,
        pressure: int = 0,
        answered: bool = False,
    ) -> None:
        """Fetch the URL again after `after_s`, behind those that wait then; or with None as the first of its queue,
        once that has rested. Its `attempt` and the queue's error streak grow by one.
        `pressure` and `answered` are as in `Outcome`."""
        ...

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        why: str | None = None,
    ) -> None:
        """Hand the URL back untouched: it stays first in its queue, which rests for `cooldown_s`; until then, `why` is
        told. If its server was `asked` for something else, the queue's groups rest too."""
        ...

    async def forget(self, canonicals: Iterable[str], /) -> int:
        """Remove settled URLs from ledger and visited set, so that they are new again; return how many were known.

        Raises `visited.CannotForget` where the visited set can't; URLs that still wait are left.
        """
        ...

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        """What became of a URL; None if it was never admitted."""
        ...

    def describe(self) -> FrontierStats:
        """Where the URLs are now; needs no scan."""
        ...

    def stop(self) -> None:
        """End iteration for all workers; leases that are out can still be settled."""
        ...

    async def aclose(self) -> None:
        """Save what makes the next opening quick, and let go of the store. Closing twice is harmless."""
        ...


class Notes(Protocol):
    """A small durable map beside the queues, for what must outlive a restart, as robots.txt verdicts."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...

    def set_aside(self, key: str, why: Exception, /) -> None:
        """Take away a note that can't be read. It is logged, counted as quarantined, and kept where the store keeps
        what it can't read itself."""
        ...
