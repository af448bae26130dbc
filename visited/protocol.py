"""The protocol of a visited set, its values and its errors."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO, Protocol, runtime_checkable

import msgspec


class CannotForget(Exception):
    """Raised by `forget_many` of a set that can't remove a URL, such as a Bloom filter."""


class CannotList(Exception):
    """Raised by `urls` of a set that does not keep its URLs."""


class KernelRefused(Exception):
    """The environment asks for a kernel that does not exist. The message says which ones do."""


class DiskFull(Exception):
    """A set on disk can't be read while the disk is full. Nothing has changed; call again when there is space."""


class Unavailable(Exception):
    """A set can't be made here, or has gone: a library is missing, or a server does not answer. The message says what
    to do."""


class Full(Exception):
    """Raised by `add_many` of a set that takes no more URLs."""


class Unsaved(Exception):
    """Raised by `dump` and `load` of a set that has no snapshots. A crawl can't use such a set."""


class WrongValue(Exception):
    """What a set is made of has returned a value that it must not return. The message says which."""


class SnapshotRefused(Exception):
    """A snapshot is torn or damaged, or has another backend, version or parameters. The message says which."""


class VisitedStats(msgspec.Struct, frozen=True, kw_only=True):
    """What a visited set now costs and loses."""

    backend: str
    count: int
    """URLs that the set has called new, minus forgotten ones."""
    capacity: int | None
    """URLs for which the stated rate holds; None if the set grows without bound."""
    memory_bytes: int
    """Process memory that the set's own structures use, measured, not computed from the parameters.

    Includes freed memory that the C library keeps, if the set can know it.
    """
    server_bytes: int = 0
    """Memory of a server that the set's data take, by the server's own account; 0 if it was not asked."""
    disk_bytes: int = 0
    fill: float | None = None
    """Share of the structure in use, 0..1: of a filter the bits set, of a table the slots in use."""
    false_positive_rate: float = 0.0
    """Probability that the set now calls a new URL known, from the fill. 0 for exact sets."""
    expected_lost: float = 0.0
    """Estimated number of new URLs that the set has called known so far.

    Does not include URLs that a set which is rebuilt as it grows has probably accepted later."""
    rate_sigma: float = 0.0
    """Standard deviation of `false_positive_rate` if that is an estimate; 0 if it follows from the fill."""
    lost_sigma: float = 0.0
    """Standard deviation of the true loss from `expected_lost`."""
    shared: str | None = None
    """A name of the set on its server, if other crawls or parts share it: all figures but those of this process are of
    the whole set, which each of them tells."""
    details: dict[str, float | int | str] = {}
    """Figures of this backend alone, such as leaves and splits."""


class VisitedSet(Protocol):
    """Remembers canonical URLs and says which are new, in one step.

    Calls must not overlap, and the set does not change between calls. A call that fails or is cancelled may have
    remembered any part of its batch; the caller then rebuilds the set from the ledger. A call that raises `DiskFull`
    has changed nothing, and can be repeated.
    """

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL, in order, whether it is new, and remember it.

        A URL that occurs twice in one batch is new once. A URL that was called new is never called new again, also
        after `dump` and `load`, unless it is forgotten.
        """
        ...

    async def forget_many(self, urls: Sequence[str], /) -> int:
        """Forget the URLs, and return how many of them were known. Raises `CannotForget` if the set can't do that."""
        ...

    def describe(self) -> VisitedStats:
        """Return the current count, memory, fill and loss. Cheap enough to be called every second."""
        ...

    def dump(self, file: BinaryIO, /) -> None:
        """Write the whole set to a file or a buffer. Raises `DiskFull`."""
        ...

    def load(self, file: BinaryIO, /) -> None:
        """Replace the content by what `dump` wrote. Raises `SnapshotRefused`, and leaves the set empty then."""
        ...

    def __len__(self) -> int:
        """URLs that the set has called new, minus forgotten ones."""
        ...

    async def aclose(self) -> None:
        """Release files and connections. Closing twice is harmless."""
        ...


class LocalSet(VisitedSet, Protocol):
    """A visited set in this process that can also be queried. For inspection and comparison, not for the crawl."""

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it."""
        ...


@runtime_checkable
class PromptSet(Protocol):
    """A visited set that may answer without waiting for anything, as most sets in this process do. Then asking needs
    no protection from cancellation, which costs more than many an answer."""

    @property
    def is_prompt(self) -> bool:
        """Whether `add_many` and `forget_many` never suspend their caller."""
        ...


def is_prompt(visited: VisitedSet) -> bool:
    """Whether a set is known to answer without waiting."""
    return isinstance(visited, PromptSet) and visited.is_prompt


@runtime_checkable
class RecallingSet(Protocol):
    """A visited set that can tell of some URLs at once that they are known, as one with a cache can."""

    def recalls(self, urls: Sequence[str], /) -> bool:
        """Whether all of these are known, as far as that can be told without waiting and without any change. If so,
        `add_many` would call none of them new; if not, it must be asked."""
        ...


def clear_set(visited: VisitedSet) -> None:
    """Remove all URLs of a set, by loading an empty file: a refused load leaves the set empty."""
    with suppress(SnapshotRefused):
        visited.load(BytesIO())


@runtime_checkable
class ListingSet(Protocol):
    """A visited set that may keep its URLs."""

    def urls(self) -> Iterator[str]:
        """List the URLs that the set has called new, minus forgotten ones. Raises `CannotList` if it does not keep
        them."""
        ...


def list_urls(visited: VisitedSet) -> Iterator[str]:
    """The URLs that a set has called new, if it is a `ListingSet`. Raises `CannotList`."""
    if not isinstance(visited, ListingSet):
        raise CannotList(f"{visited.describe().backend} does not keep its URLs")
    return visited.urls()
