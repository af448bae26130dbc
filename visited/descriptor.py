"""What the rest of the program knows of a visited set: its descriptor, which stands beside its class."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from visited.protocol import LocalSet
from visited.shared import Crawl

Need = Literal["capacity", "directory", "server"]

Seed = Annotated[int, Meta(ge=0, le=2**32 - 1, description="Seed of the hash functions.")]


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What any set may use when it is made. Sets ignore what does not concern them."""

    capacity: int
    """Expected number of URLs."""
    error_rate: float
    directory: Path | None = None
    """For the files of this set alone. None if nothing may be stored on disk; a set that needs files is not made
    then."""
    site_of: Callable[[str], str]
    """Returns the host of a URL. No module of this package knows what a host is."""
    domain_of: Callable[[str], str]
    """Returns the registered domain of a URL."""
    connect: Callable[[Any, str], Any] | None = None
    """Makes a channel to a server (`visited.redis.server.Connect`). None if no server may be asked; a set that needs
    one is not made then."""
    recent: int = 0
    """Size of the cache of a set that has its own, in URLs."""
    crawl: Crawl | None = None
    """The crawl that the set is made for; None if its URLs are in no ledger."""


class NoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a set that has none of its own."""


class SeedOption(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a filter that has only a seed."""

    seed: Seed = 0


class SizeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a filter whose size may be given."""

    bits: Annotated[
        Annotated[int, Meta(ge=64, le=2**40, extra={"unit": "bits"})] | None,
        Meta(description="Size of the filter. Unset means that of the formula."),
    ] = None
    bits_per_url: Annotated[
        Annotated[float, Meta(ge=1, le=1000, extra={"unit": "bits"})] | None,
        Meta(description="Size of the filter for each URL of the capacity. It overrides bits."),
    ] = None

    def bits_for(self, capacity: int) -> int | None:
        """The size in bits for this capacity; None means that of the formula."""
        return self.bits if self.bits_per_url is None else max(64, round(self.bits_per_url * capacity))


class CommonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of every set."""

    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Number of sets over which the URLs are spread, by their hash.",
            extra={"unit": "sets"},
        ),
    ] = 1


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a set costs by the formulas, for a number of URLs at a rate."""

    memory_bytes: float
    disk_bytes: float = 0.0
    false_positive_rate: float = 0.0
    """After all URLs were added."""
    expected_lost: float = 0.0
    """New URLs that it loses until then without verification."""


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set as a value: how it is made, what it needs, costs and can do."""

    name: str
    make: Callable[[Parameters, Any], LocalSet]
    """Makes an empty set, with the options in their struct. Raises ValueError for values that do not fit together, and
    `Unavailable`."""
    options: type[msgspec.Struct] = NoOptions
    """Its own options: fields with defaults, limits and meanings, written like those of a configuration."""
    needs: frozenset[Need] = frozenset()
    """A set that needs a capacity has a size that follows from capacity and rate. One that needs a server is a
    `SharedSet`."""
    folder: str | None = None
    """Name of its directory among those of a crawl; None if it has no files."""
    cost: Callable[[int, float, Any], Cost] | None = None
    """Its cost for a number of URLs at a rate, with the options in their struct; None if there is no formula."""
    is_advised: bool = False
    """Whether advice may recommend it. It needs a formula for its cost."""
    is_exact: bool = False
    """Whether it never takes a new URL for a known one."""
    can_forget: bool = False
    has_estimates: bool = True
    """Whether it knows its rate, its losses and its memory. Sets of other libraries do not."""


def checked_options(struct: type[msgspec.Struct], options: Mapping[str, object]) -> msgspec.Struct:
    """The options of a backend in their struct, without those that it does not have. Raises ValueError for values that
    are out of bounds or do not fit together."""
    try:
        return msgspec.convert(options, struct)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
