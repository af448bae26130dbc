"""What the rest of the program knows of a sink: its descriptor, which stands beside its class."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

import msgspec

from crawler.seams import NoOptions, Sink
from crawler.write.appending import Durability

Need = Literal["directory"]
FILES: Final = frozenset[Need]({"directory"})


class OutputDamaged(ValueError):
    """What a sink has written is damaged, so that it can't go on. No time mends that: the crawl ends."""


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What any sink may use when it is made. Sinks ignore what does not concern them."""

    directory: Path | None = None
    """For the files of this sink alone; it exists. None unless the sink needs it."""
    durability: Durability = "process"
    """What a page survives once it is written: a crash of the process, or also a power failure."""
    about: Mapping[str, str] = {}
    """What the output says about the crawl: `software`, `isPartOf` (the name of the crawl), `http-header-user-agent`,
    `robots`, and `settings`, a line for each that is not at its default, without secrets."""
    before_write: Callable[[], object] | None = None
    """Ends the process where the crawl may not go on. It is called before each page anyway; a sink that composes for
    long calls it again right before it writes."""


class Written(msgspec.Struct, frozen=True, gc=False):
    """What an output has of a page. The fields are columns of the tables of sinks, too."""

    number: int
    url: str
    state: str
    status: int | None
    digest: str | None


@runtime_checkable
class Refers(Protocol):
    """What a sink may have beside the methods of `Sink`, if it refers to pages that it has written before."""

    def forget_before(self, serial: int, /) -> None:
        """Refer to no page any more in an archive with a lower number, and begin one that has this number at least: the
        archives before are to be deleted some time, and nothing may need them then."""
        ...


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A page whose row a database does not take."""

    number: int
    url: str
    why: str


@runtime_checkable
class LeavesOut(Protocol):
    """What a sink may have beside the methods of `Sink`, if it leaves out pages that its database refuses."""

    def tell_refusals(self, tell: Callable[[LeftOut], object], /) -> None:
        """From now on tell of each such page, instead of logging it. A repair, which can't wait until somebody has
        changed the tables, goes on however many there are."""
        ...


Read = Callable[[Parameters, Any], AsyncIterator[Sequence[Written]]]
Check = Callable[[Parameters, Any], Awaitable[None]]


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """A sink as a value: how it is made, and what it needs."""

    name: str
    make: Callable[[Parameters, Any], Sink]
    """Opens the sink, with the options in their struct. Raises ValueError for values that do not fit together, and
    `OSError` if it can't write."""
    options: type[msgspec.Struct] = NoOptions
    """Its options: fields with defaults, limits and meanings, written like those of a configuration."""
    needs: frozenset[Need] = frozenset()
    read: Read | None = None
    """Reads back what was written with these parameters and options, in batches, for `inspect verify`. Of a page that
    was written again, the last copy comes last. Changes nothing. Raises `OSError` if it can't be read."""
    check: Check | None = None
    """Checks that the server of such a sink takes pages, before an earlier crawl is deleted (`--fresh`). Changes
    nothing. Raises ValueError for what would refuse the crawl, and not if the server is only away."""
    from_records: bool = False
    """Whether records without their pages are enough to write again what it lacks."""
    waits: bool = True
    """Whether the crawl waits after any `OSError`, and writes the page again. Otherwise it only waits for disk space,
    and another error ends it."""
