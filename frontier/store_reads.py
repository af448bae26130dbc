"""What a frontier reads in the place that keeps its URLs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from frontier.queues.queue import Position, QueueRecord
from frontier.records import PendingUrl, PostponedUrl
from frontier.values import Damaged, KnownUrl, LedgerEntry


class StoreReads(Protocol):
    """Reads what a running crawl needs."""

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        """The first URLs of a queue with an order above `after`, in order. Quarantines what can't be decoded."""
        ...

    def pending_urls_of_each(self, ranges: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[PendingUrl]]:
        """The same as `pending_urls` for several queues. Each range is the key of a queue and its `after`."""
        ...

    def pending_at(self, places: Sequence[tuple[str, int]], /) -> list[PendingUrl | None]:
        """For each key of a queue and order, the URL that waits there; None if none does, or it can't be decoded."""
        ...

    def due(self, now_ms: int, /, *, limit: int) -> list[PostponedUrl]:
        """The postponed URLs whose time has come, earliest first."""
        ...

    def next_due_ms(self) -> int | None:
        """When the first postponed URL comes due, in milliseconds since 1970; None if there is none."""
        ...

    def revisits_due(self, now_ms: int, /, *, limit: int) -> list[tuple[int, str]]:
        """The visits whose time has come, earliest first: when each is due, and the canonical URL. A visit does not
        count any more if the URL's ledger entry says something else."""
        ...

    def next_revisit_ms(self) -> int | None:
        """When the first visit is due, in milliseconds since 1970; None if there is none."""
        ...

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        """The ledger entry of a URL; None if it was never admitted."""
        ...

    def waiting(self, canonicals: Iterable[str], /) -> list[PendingUrl | PostponedUrl]:
        """What waits of these URLs, each named once. One that is settled, was never admitted, or can't be decoded is
        left out."""
        ...

    def link_count(self, canonical: str, /) -> int:
        """The links that `add_links` has added for a URL."""
        ...

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        """For each canonical URL, whether the ledger has it."""
        ...

    def queue(self, key: str, /) -> QueueRecord | None:
        """The record of a queue; None if the store has none."""
        ...

    def queues_of(self, keys: Iterable[str], /) -> dict[str, QueueRecord]:
        """The records of those of the queues that have one, in the order of `keys`."""
        ...

    def queues(self, after: str = "", /) -> Iterator[QueueRecord]:
        """The queues behind the key `after`, by key, including those without URLs."""
        ...

    def group_wake_at(self, group: str, /) -> float:
        """When the rest of a group ends, as last written, in seconds since 1970; 0 if nothing is known of it."""
        ...

    def queues_after(self, position: Position, /, *, limit: int) -> list[tuple[Position, str]]:
        """The queues after a position, in the order that the position's state names: positions and keys."""
        ...

    def ledger(self) -> Iterator[str]:
        """All canonical URLs ever admitted, in the store's order."""
        ...


class LedgerScan(Protocol):
    """Reads the ledger for look-ups, exports and checks. Changes nothing, even where a record is damaged. Later links
    are not in `LedgerEntry.hit_count`; see `StoreReads.link_count`."""

    def known(self, canonical: str, /) -> KnownUrl | None:
        """What is known about a URL; None if it was never admitted, or its entry can't be decoded."""
        ...

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        """The ledger after the URL `after`, in the order of canonical URLs."""
        ...
