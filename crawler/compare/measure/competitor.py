"""A competitor: a visited set and its parameters, as a value that travels to another process."""

from typing import Final

import msgspec

OURS: Final = (
    "exact",
    "exact-leveldb",
    "bloom",
    "blocked",
    "counting",
    "counting-8",
    "counting-32",
    "dsbf",
    "per-site",
)
BASELINES: Final = ("raw", "fingerprints", "six-seeds", "salted-md5")
OTHERS: Final = ("python-set", "rbloom", "fastbloom-rs", "pybloom-live", "pybloom-live-scalable", "redisbloom")
"""Of other libraries, each in a package of its own, but for the first."""


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared. Parameters that a backend does not have are left alone."""

    name: str
    backend: str
    capacity: int | None = None
    """URLs it is made for; None for as many as the work has."""
    error_rate: float = 1e-4
    bits: int | None = None
    """Of a filter, in place of what the formula gives."""
    bits_per_url: float | None = None
    """The same for each URL of the capacity."""
    hashes: int | None = None
    """Hash functions of a bloom of that size; None for the best number."""
    site_bytes: int = 32_768
    filters: int | None = None
    """Of per-site: so many, chosen by the hash of the site; None gives each site its own."""
    shards: int = 1
    seed: int = 0
    server: str | None = None
    """URL of a Redis server."""
    works: tuple[str, ...] = ()
    """Names of the works that it takes part in; empty for all."""

    def capacity_for(self, distinct: int) -> int:
        """URLs it is made for on a work with so many."""
        return max(1, distinct) if self.capacity is None else self.capacity

    def bits_for(self, capacity: int) -> int | None:
        """The size that was asked for, in bits, for so many URLs; None leaves it to the formula."""
        return self.bits if self.bits_per_url is None else max(64, round(self.bits_per_url * capacity))
