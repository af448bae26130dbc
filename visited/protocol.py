"""The promise of a visited set, and the values it speaks in."""

from collections.abc import Sequence
from typing import BinaryIO, Protocol

import msgspec


class CannotForget(Exception):
    """Raised by `forget_many` of a set that has no way to remove a URL, as a Bloom filter."""


class KernelRefused(Exception):
    """The environment asks for a kernel that there is not. The message says what there is."""


class DiskFull(Exception):
    """A set on disk can't be read before there is room on the disk. Nothing has changed; ask again then."""


class SnapshotRefused(Exception):
    """A snapshot is torn, damaged, or of another backend, parameters or version. The message says which."""


class VisitedStats(msgspec.Struct, frozen=True, kw_only=True):
    """What a visited set costs and what it loses, now."""

    backend: str
    count: int
    """URLs for which the set has answered "new", less those forgotten."""
    capacity: int | None
    """URLs for which the stated rate holds; None where the set grows without bound."""
    memory_bytes: int
    """Bytes that the set's own structures take of the process's memory, measured, not computed from the parameters.

    What the C library keeps of memory that was given back to it counts where a set can know of it.
    """
    disk_bytes: int = 0
    fill: float | None = None
    """Share of the structure in use: bits set for a filter, slots taken for a table. 0..1."""
    false_positive_rate: float = 0.0
    """Chance that a new URL would be called known now, from the fill. 0 for exact sets."""
    expected_lost: float = 0.0
    """New URLs that were probably called known so far: the sum of the rate at each addition.
    What a set that is rebuilt as it grows has probably accepted since, when it came again, is taken off."""
    rate_sigma: float = 0.0
    """Standard deviation of `false_positive_rate`, where that has to be guessed; 0 where it follows from the fill."""
    lost_sigma: float = 0.0
    """Standard deviation of what was really lost from `expected_lost`."""
    details: dict[str, float | int | str] = {}
    """What only this backend has to tell, as leaves and splits."""


class VisitedSet(Protocol):
    """Remembers canonical URLs and tells the new from the known, in one step.

    Calls do not overlap: one caller at a time, between whose calls the set does not change. A call that is cancelled
    or fails may have remembered any part of its batch; the caller then rebuilds the set from the ledger. A call that
    raises `DiskFull` has changed nothing, and can be made again.
    """

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL, in order, whether it is new, and remember it.

        A URL that stands twice in one batch is new once. A URL for which this has answered True is never called new
        again, across `dump` and `load` too, unless it is forgotten.
        """
        ...

    async def forget_many(self, urls: Sequence[str], /) -> int:
        """Forget the URLs, and return how many of them were known. Raises `CannotForget` where that can't be done."""
        ...

    def describe(self) -> VisitedStats:
        """Count, memory, fill and loss at this moment; cheap enough to be asked every second."""
        ...

    def dump(self, file: BinaryIO, /) -> None:
        """Write the whole set, as it is between two calls, to a file or a buffer."""
        ...

    def load(self, file: BinaryIO, /) -> None:
        """Replace the content by what `dump` wrote. Raises `SnapshotRefused`, and is then as empty as when made."""
        ...

    def __len__(self) -> int:
        """URLs for which the set has answered "new", less those forgotten."""
        ...

    async def aclose(self) -> None:
        """Release files and connections. Closing twice is harmless."""
        ...


class LocalSet(VisitedSet, Protocol):
    """A visited set in this process, which can also be asked; for inspection and comparison, not for the crawl."""

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it."""
        ...
