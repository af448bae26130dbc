"""What is kept beside a frontier or by it, as others read it: notes, queues and the ledger."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from frontier.descriptions import QueueStatus
from frontier.values import CrawlUrl, Damaged, KnownUrl


class Notes(Protocol):
    """A small durable map beside the queues, for what must survive a restart, such as robots.txt rules."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        """The keys that begin with `prefix`, and their values."""
        ...

    def set_aside(self, key: str, why: Exception, /) -> None:
        """Remove a value that can't be read. It is logged, counted as quarantined, and kept with the other records that
        the state can't read."""
        ...


@runtime_checkable
class QueueReads(Protocol):
    """Tells about queues."""

    def queues(self, after: str = "", /) -> Iterator[QueueStatus]:
        """The queues behind the key `after`, by key, including those without URLs."""
        ...

    def queue(self, key: str, /) -> QueueStatus | None:
        """One queue; None if it is not known."""
        ...

    def next_urls(self, key: str, /, *, limit: int) -> list[CrawlUrl]:
        """The first URLs of a queue in the order in which they are fetched, the leased ones included."""
        ...


@runtime_checkable
class LedgerReads(Protocol):
    """Tells about every URL ever admitted. Changes nothing, even where a record is damaged."""

    @property
    def numbers_given(self) -> int:
        """How many numbers were given to URLs, or skipped."""
        ...

    def known(self, canonical: str, /) -> KnownUrl | None:
        """What is known about a URL; None if it was never admitted, or its entry can't be decoded."""
        ...

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        """The ledger after the URL `after`, in the order of canonical URLs."""
        ...


@runtime_checkable
class ClaimReads(Protocol):
    """Tells of URLs about which a visited set on a server was asked, and whose answer was lost with a process."""

    @property
    def has_claims(self) -> bool:
        """Whether there are any. The server may have remembered them, so they are admitted when a frontier is opened,
        unless the ledger has them."""
        ...


@runtime_checkable
class Numbering(Protocol):
    """Tells the numbers that URLs get."""

    @property
    def next_number(self) -> int:
        """The number of the next URL that is admitted. No URL before has it, or a higher one."""
        ...


@runtime_checkable
class Timing(Protocol):
    """Tells when URLs were fetched."""

    @property
    def latest_at(self) -> float:
        """No settled URL was fetched later, whatever clocks have said since: seconds since 1970."""
        ...


@runtime_checkable
class NumberReads(Protocol):
    """Tells why the ledger lacks a URL that the output has."""

    def was_forgotten(self, number: int, /) -> bool:
        """Whether the URL with this number, which the ledger lacks, was forgotten. If not, it was lost: the change that
        admitted it is missing, or damage has destroyed it."""
        ...
