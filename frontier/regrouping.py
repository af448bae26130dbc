"""What it takes to divide the stored URLs of a crawl anew among its parts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from frontier.parts.protocol import Part
from frontier.queues.settings import QueueSettings


class Routing(Protocol):
    """Where things belong after a crawl has been divided anew. Parts are named by their numbers."""

    def owner(self, queue_key: str, /) -> int:
        """The part that a queue belongs to, by its key."""
        ...

    def owner_of_settled(self, canonical: str, /) -> int:
        """The part that would admit a URL, by its canonical form."""
        ...

    def owners_of_group(self, name: str, /) -> Sequence[int]:
        """The parts that have queues of a group."""
        ...

    def check_note(self, key: str, /) -> None:
        """Raise `StoreRefused` for a note of a kind that nobody has declared."""
        ...

    def note(self, key: str, values: Mapping[int, bytes], /) -> tuple[Sequence[int], bytes]:
        """The parts that get a note, and its value. `values` are what the old parts have, by their numbers."""
        ...


class PartOfState(msgspec.Struct, frozen=True):
    """The state of one part, in a directory of its own."""

    directory: Path
    part: Part | None
    """None for a crawl that is not in parts."""


class Regrouping(msgspec.Struct, frozen=True, kw_only=True):
    """The stores that are divided, and those that are filled."""

    sources: Sequence[PartOfState]
    """All parts of the crawl as it is, by number. Nobody has them open."""
    targets: Sequence[PartOfState]
    """All parts of the crawl as it is to be, by number."""
    routing: Routing
    settings: QueueSettings = QueueSettings()
    """How queues are served."""
    progress: Callable[[str, int], None] = lambda _what, _count: None
    """Called with what is being done, and how many records that was so far."""


class Regrouped(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts have now. Counts are of URLs unless the name says otherwise."""

    urls: int
    pending: int
    """Waiting in queues, those of retired queues included."""
    retrying: int
    queues: int
    links: int
    """Links that were on their way to other parts, and have been admitted where they belong."""
    new: int
    """Of these, URLs that were not known there."""
