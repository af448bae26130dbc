"""What the rest of the program knows of a backend: its descriptor, which stands beside what opens its state."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from frontier.clock import steady_clock
from frontier.queues.settings import QueueSettings
from frontier.regrouping import Regrouped, Regrouping
from frontier.state import FrontierState
from frontier.terms import Terms
from frontier.values import CrawlUrl, LedgerEntry
from visited import VisitedSet

Need = Literal["directory"]
Durability = Literal["process", "power"]


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What any backend may use when its state is opened. Backends ignore what does not concern them."""

    terms: Terms
    directory: Path | None = None
    """For the files of this frontier alone. None if nothing may be stored on disk."""
    durability: Durability = "process"
    """What a change survives once it has been made: a crash of the process, or also a power failure."""
    settings: QueueSettings = QueueSettings()
    """How queues are served."""
    rest_after_crash_s: float = 0.0
    """After a crash each queue rests at least for so long."""
    snapshot_directory: Path | None = None
    """For snapshots of the visited set. None if none may be stored."""
    snapshot_every: int = 250_000
    """New URLs between two snapshots."""
    clock: Callable[[], float] = msgspec.field(default_factory=steady_clock)
    """Seconds since 1970."""
    before_write: Callable[[], object] | None = None
    """To be called right before each write to the disk. It may end the process there, because the crawl is not this
    process's any more. Another machine may have had it before, whose clock shows another time. So each queue first
    rests as after a crash."""
    owner: Callable[[str], int] | None = None
    """The part that a queue belongs to, by its key; None unless the terms name a part."""


class NoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a backend that has none of its own."""


class Problem(msgspec.Struct, frozen=True):
    """One record that does not agree with another."""

    kind: str
    where: str
    message: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, and what is wrong."""

    urls: int
    pending: int
    retrying: int
    queues: int
    quarantined: int
    problems: list[Problem]


class Naming(Protocol):
    """New rules for the names of URLs. To apply them again changes nothing."""

    def name_settled(self, entry: LedgerEntry, /) -> LedgerEntry:
        """A settled URL with its new canonical form; the URL to fetch stays the same. Where the entry has none, only
        the old canonical form is known."""
        ...

    def name_pending(self, url: CrawlUrl, /) -> CrawlUrl:
        """The URL with its new canonical form and queue key."""
        ...


class RenameResult(msgspec.Struct, kw_only=True):
    """What a renaming has done. Counts of URLs."""

    urls: int = 0
    renamed: int = 0
    """Of these, URLs that have another canonical form or queue."""
    merged: int = 0
    """Of these, URLs that were known under the new form already."""


class RepairResult(msgspec.Struct, frozen=True, kw_only=True):
    """A state that was repaired, open, and what the repair has done."""

    state: FrontierState
    done: list[str]
    """What was done, in words for people."""
    is_copied: bool
    """Whether the copy was kept. It is not if nothing had to be repaired."""
    is_incomplete: bool
    """Whether URLs are missing, which the output may still name."""


class Upkeep(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done to the whole state of a backend, mostly while no crawl runs. None means that it can't be
    done."""

    check: Callable[[Any], Report] | None = None
    """Checks every invariant of an open state. Reads everything."""
    check_visited: Callable[[Any, VisitedSet], Awaitable[list[Problem]]] | None = None
    """Restores an empty visited set from its snapshot, and finds the URLs of the ledger that it lacks."""
    check_parts: Callable[[Sequence[Any]], list[Problem]] | None = None
    """Checks that the open states of all parts of a crawl agree with each other."""
    take_positions: Callable[[Sequence[Any], int], None] | None = None
    """Lets one of the parts of a crawl, whose states are all open, count as having received all links that the others
    have deleted, because it was rebuilt from their output."""
    parts_that_lack_links: Callable[[Sequence[Any]], list[int]] | None = None
    """Finds the parts of a crawl, whose states are all open, that have not received all links that the others have
    deleted. It is not None if `take_positions` is not None."""
    repair: Callable[[Parameters, Any, Path], RepairResult] | None = None
    """Opens a damaged state, with the backend's options in their struct, and repairs it. The path is where a copy of
    the old state goes."""
    rename: Callable[[Any, Naming, Callable[[int], None] | None], Awaitable[RenameResult | None]] | None = None
    """Renames all URLs of a state that was opened for that; None if they have these names. Calls back with the number
    of URLs so far."""
    regroup: Callable[[Regrouping], Awaitable[Regrouped]] | None = None
    """Divides the stored URLs of a crawl anew among its parts. If it was interrupted, call it again, with the same
    parts, or call `abandon`. Raises `StoreRefused` for what can't be divided, before anything has changed."""
    abandon: Callable[[Regrouping], None] | None = None
    """Undoes a `regroup` that has not returned. It is not None if `regroup` is not None."""
    link: Callable[[Path, Path], Mapping[str, int]] | None = None
    """Links the files of the state in a directory, which a frontier of this process may use, into a folder, where those
    of `link_ahead` are. Returns their lengths: up to there, they are the state of this moment. It must be quick."""
    link_ahead: Callable[[Path, Path], None] | None = None
    """Does as much of `link` as can be done while others change the state. It is not None if `link` is not None."""
    set_lineage: Callable[[Path, int], None] | None = None
    """Lets the state in a directory, which nobody has open, give numbers of another lineage. It is not None if `link`
    is not None."""


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """A backend of the frontier as a value: how its state is opened, what it needs and can do."""

    name: str
    make: Callable[[Parameters, Any], FrontierState]
    """Opens the state, or makes an empty one, with the backend's options in their struct. Raises `StoreRefused` if it
    is in use, of another format, or not on these terms; `StoreFailed` if it is damaged; ValueError for options that do
    not fit together."""
    options: type[msgspec.Struct] = NoOptions
    """Its own options: fields with defaults, limits and meanings, written like those of a configuration."""
    needs: frozenset[Need] = frozenset()
    is_persistent: bool = True
    """Whether a crawl can be resumed from its state after the process has ended, and so also after a crash."""
    can_be_part: bool = True
    """Whether a part of a crawl in parts can use it: then its terms name the part."""
    min_free_bytes: int = 0
    """What it needs of free disk space to go on after the disk was full."""
    asks_servers: bool = False
    """Whether its frontiers may use a visited set on a server (`visited.SharedSet`): they keep what they ask."""
    upkeep: Upkeep = Upkeep()
