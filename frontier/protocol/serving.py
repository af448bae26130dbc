"""What a running frontier promises: to the loop, in `Frontier`, and in small protocols of their own, which a frontier
may lack, to an operator and to those who repair a crawl."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Protocol, runtime_checkable

from frontier.descriptions import ActiveQueue
from frontier.pauses import Pauses
from frontier.values import Budgets, CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome


class Frontier(Protocol):
    """Hands out URLs politely, loses none, and remembers what became of each.

    Each call that changes something is one transition. If it raises, or the process dies, nothing of it has happened.
    Calls may overlap; transitions do not. A cancelled call has either been carried out or not begun.

    A call that makes no sense raises `ValueError` and changes nothing. Once a change could not be stored, no other is:
    calls that would store one raise `StoreFailed`, and so does iteration.
    """

    @property
    def pauses(self) -> Pauses:
        """While there is any, iteration waits. These pauses end with the process; for those of an operator see
        `Pausing`."""
        ...

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
        server_ok: bool = False,
    ) -> None:
        """Fetch the URL again after `after_s`, behind the URLs that wait by then. With None, it stays first in its
        queue, which rests for `cooldown_s`. Its `attempt` grows by one. `pressure`, `answered` and `server_ok` are as
        in `Outcome`."""
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

    async def skip_numbers(self, upto: int, /) -> bool:
        """Give no URL a number up to this: output of a frontier that was newer has them. Returns whether any such
        number was left."""
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


@runtime_checkable
class Pausing(Protocol):
    """Can be paused by an operator, also over a restart. So can its state, while no frontier is open over it."""

    @property
    def paused(self) -> str | None:
        """Why an operator has paused the crawl; None if none has."""
        ...

    async def pause(self, reason: str, /) -> None:
        """Lease nothing until `resume`, whoever starts the crawl. Open leases can still be settled."""
        ...

    async def resume(self) -> None:
        """End the pause. Raises `ValueError` if there is none."""
        ...


@runtime_checkable
class Syncing(Protocol):
    """Can be brought onto the disk while it runs."""

    async def make_safe(self) -> None:
        """Wait until all changes so far are on the disk, so that they survive a power failure, whatever durability it
        was asked for."""
        ...


@runtime_checkable
class QueueControl(Protocol):
    """Lets an operator say which queues are served. So does its state, while no frontier is open over it.

    Each change survives a restart. A change that makes no sense raises `ValueError`. A queue that has no URL yet may be
    named too.
    """

    async def retire(self, key: str, /) -> None:
        """Serve a queue no more. Its open leases can still be settled, and new URLs for it are kept."""
        ...

    async def unretire(self, key: str, /) -> None:
        """Serve a queue again that an operator has retired."""
        ...

    async def set_budget(self, key: str, budget: int | None, /) -> None:
        """Give a queue its own total budget; with None, the general one applies again. The queue is retired if it has
        spent its budget, and served again if not."""
        ...


@runtime_checkable
class Budgeted(Protocol):
    """Can be given other budgets for all its queues while it serves them."""

    async def set_budgets(self, budgets: Budgets, /) -> None:
        """From now on these hold. A queue that has spent them is retired, with its open leases or when its turn comes;
        one that has not is served again, unless an operator has retired it. They end with the process: the settings of
        the crawl say what holds in the next one."""
        ...


@runtime_checkable
class Serving(Protocol):
    """Tells which queues it serves, and why each waits."""

    def active_queues(self) -> Iterator[ActiveQueue]:
        """The queues that are being served now. May be read while the frontier goes on: a queue that is not served any
        more is left out."""
        ...


@runtime_checkable
class Recovering(Protocol):
    """Can be given what only the output of a crawl still knows."""

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        """Enter URLs into the ledger that were settled elsewhere, so that they are not fetched here. Returns how many
        were new. Of several entries of one URL, the first counts. Entries without a number get one. Raises `ValueError`
        for an entry that is not settled."""
        ...

    async def add_anew(self, urls: Iterable[CrawlUrl], /) -> int:
        """Fetch URLs again whose copies are lost. The same as `add` with `force`, but no server is asked whether a copy
        is still current, nor for those that wait already: these keep their turns."""
        ...

    async def set_lost(self, count: int, /) -> None:
        """From now on this many admitted URLs count as destroyed by damage without a trace."""
        ...


@runtime_checkable
class Recrawling(Protocol):
    """Can fetch settled URLs again."""

    async def readmit(self, urls: Iterable[CrawlUrl], /, *, whole: bool = False) -> int:
        """Enqueue the settled ones among these URLs again, each under a new number, and return their number. Their
        servers are asked whether the crawl's copies are still current; with `whole`, they are not."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """Knows which queues are served soon."""

    def upcoming(self, *, within_s: float, limit: int) -> list[str]:
        """The keys of up to `limit` queues that are leased from next, or that wake within `within_s`, about in that
        order. It takes no longer with more queues, and changes nothing."""
        ...


@runtime_checkable
class Tended(Protocol):
    """Has a visited set that others may wait for (`visited.SharedSet`)."""

    async def tend(self) -> None:
        """Add to the server of the visited set what it has forgotten, if it answers, as the next question would. To be
        called now and then, because a crawl may ask nothing for days."""
        ...


class RevisitPlan(Protocol):
    """Says how settled URLs are visited again. Neither method raises for what an entry contains."""

    def url(self, entry: LedgerEntry, /) -> CrawlUrl | None:
        """The URL to enqueue; None if it is not to be visited."""
        ...

    def interval_s(self, entry: LedgerEntry, /) -> float | None:
        """For a URL that was settled without a plan, the time from its last visit to the next; None for never."""
        ...


@runtime_checkable
class Revisiting(Protocol):
    """Can visit settled URLs again by itself, `Outcome.revisit_after_s` after each visit."""

    async def revisit(self, plan: RevisitPlan, /, *, stay: bool) -> None:
        """Enqueue settled URLs when their visits are due, until it is cancelled or the frontier stops. Meanwhile
        iteration does not end while a visit is due; with `stay`, it does not end at all. A visit that is due when
        nobody calls this waits for the next call."""
        ...
