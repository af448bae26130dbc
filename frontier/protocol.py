"""The promise of a frontier."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from frontier.values import CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome


class Frontier(Protocol):
    """Hands out URLs politely, loses none, and remembers what became of each.

    Each call that changes something is one transition. If it raises, or the process dies, nothing of it has happened.
    Calls may overlap; transitions do not. A cancelled call has either been carried out or not begun.

    A call that makes no sense raises `ValueError` and changes nothing. Once a change could not be stored, every further
    call raises `StoreFailed`.
    """

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        """Enqueue the URLs that are new to the visited set, and return their number.

        Adding a URL again changes nothing. With `force`, a known URL that is settled is enqueued again under a new
        number. One that still waits stays as it is. One that is leased is enqueued too, because a redirect to its own
        canonical form needs it; the outcome of that lease then counts for its queue only.
        """
        ...

    def __aiter__(self) -> AsyncIterator[Lease]:
        """Iterate over leases. Any number of workers may iterate at once.

        `anext` waits until some queue may be fetched from. Iteration ends when nothing waits and nothing is leased, or
        after `stop`. A cancelled wait takes no lease.
        """
        ...

    async def __anext__(self) -> Lease: ...

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        """Ask for permission right before a request of the lease. `address` is where the request will go, if known.
        Returns False if others are asking that address now, or have just asked it. The lease has then been handed back;
        its URL is leased again when the address may be asked.

        A request to another host may have to come first. Then `prerequisite` is the key of the queue that a URL of
        that host would belong to, and `address` is that host's. From now on the lease's queue also keeps the pace of
        that host, until a lease for this prerequisite ends with the server asked."""
        ...

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        """Report the address that a request of the lease really went to. It becomes the address of the lease's queue,
        or of its `prerequisite` if that was asked for. So this address rests when the lease ends."""
        ...

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        """Settle the lease for good; its queue rests for `cooldown_s`. To settle a lease twice is an error
        (`ValueError`).

        All queues of its host rest too, and others that share its cooldown: for `group_cooldown_s` if it is given. The
        same holds for `retry` and `release`."""
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
        """Fetch the URL again after `after_s`, behind the URLs that wait by then. With None, it stays first in its
        queue, which rests for `cooldown_s`. Its `attempt` and the queue's error streak grow by one. `pressure` and
        `answered` are as in `Outcome`."""
        ...

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        reason: str | None = None,
    ) -> None:
        """Hand the URL back unchanged. It stays first in its queue, which rests for `cooldown_s`; until then the
        statistics give `reason`. If the server was `asked` for something else, the queue's groups rest too."""
        ...

    async def forget(self, canonicals: Iterable[str], /) -> int:
        """Remove settled URLs from ledger and visited set, so that they are new again. Returns how many were known.
        URLs that still wait are not removed.

        Raises `visited.CannotForget` if the visited set can't forget.
        """
        ...

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        """What became of a URL; None if it was never admitted."""
        ...

    def describe(self) -> FrontierStats:
        """Where the URLs are now. Needs no scan."""
        ...

    def stop(self) -> None:
        """End iteration for all workers. Open leases can still be settled."""
        ...

    async def aclose(self) -> None:
        """Save what makes the next opening quick, and close the store. Closing twice is harmless."""
        ...


class DurableMap(Protocol):
    """A small durable map beside the queues, for what must survive a restart, such as robots.txt rules."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...

    def set_aside(self, key: str, why: Exception, /) -> None:
        """Remove a value that can't be read. It is logged, counted as quarantined, and kept with the other records that
        the store can't read."""
        ...
