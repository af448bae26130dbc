"""What the register of a cluster says."""

from collections.abc import Mapping
from typing import Final

import msgspec

COORDINATOR: Final = -1
"""Stands in place of a part's number for the lease of the one process that decides for the whole crawl."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl on many machines. This much is in the directory of each machine, too."""

    crawl: str
    """A random name, drawn when the crawl was made."""
    generation: str
    """A random name of the division into parts."""
    lineages: tuple[int, ...]
    """The lineage of each part."""
    next_lineage: int
    lease_s: float
    configuration: str
    """What lasts of it, as TOML."""
    configuration_version: int = 1
    suffixes: bytes
    """The list of public suffixes by which domains belong to parts."""
    replaces: tuple[str, ...] = ()
    """Earlier generations of the crawl, before it was divided anew."""
    last_lineage: int | None = None
    """The highest that parts may have, if those above belong to copies of the crawl."""
    drawn: tuple[tuple[int, int], ...] = ()
    """First and last of each block of lineages that the crawl, and those from which it was restored, have drawn at
    random."""

    @property
    def parts(self) -> int:
        return len(self.lineages)


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What the register says of a lease."""

    holder: str
    claim: str
    epoch: int
    stored: int
    """The epoch of the holder's directory before this claim."""
    stands: bool
    """Whether the holder may have opened the part."""
    left_s: float
    """Until it expires, by the clock of the server."""


class PartState(msgspec.Struct, frozen=True, kw_only=True):
    """A part, as the register knows it."""

    number: int
    lineage: int
    opened: int
    """The highest epoch in which it was opened; 0 if it never was."""
    claimed: int
    """The highest epoch that a claim was given."""
    may_be_made: bool
    """An operator has permitted to make it again, from nothing."""
    last_holder: str | None = None
    """Who has opened it last."""
    lease: Lease | None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine says of itself."""

    host: str
    pid: int
    directory: str
    parts: Mapping[int, str] = {}
    """The state of each part that it has a directory for, in a few words."""
    told_at: float = 0.0
    """When, in seconds since 1970 by the clock of the server, which sets it."""
    epochs: Mapping[int, int] = {}
    """The highest epoch in which each of these parts had been opened by then; the server sets it."""
    ending: str | None = None
    """The mark of the ending that had been written last by then, or nothing; the server sets it. None: a version that
    did not tell it yet."""


class EndingMark(msgspec.Struct, frozen=True, kw_only=True):
    """That all machines are to end their run. A machine that has started later than this was written does not obey it:
    it belongs to the next run."""

    mark: str
    """A random name, so that the next one differs."""
    ending: str
    """Why: the name of an ending of crawls."""
    now: bool = False
    """Whether URLs in flight are dropped."""


class Retirement(msgspec.Struct, frozen=True, kw_only=True):
    """That nobody may run this generation of the crawl any more: it is being divided anew, or was."""

    generation: str
    """Which takes its place."""
    where: str
    """The host and the directory, for people."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The register at one moment."""

    identity: Identity
    is_whole: bool
    """Whether it has been in Redis since it was created. Otherwise machines have written it again."""
    is_first_server: bool
    """Whether the server is the process in which it was created."""
    parts: tuple[PartState, ...]
    coordinator: Lease | None
    agents: Mapping[str, Agent]
    """By holder. Parts that another machine has opened since are left out."""
    now: float
    """The time by the clock of the server, in seconds since 1970."""
    ending: EndingMark | None = None
    """The last one that was written."""
    retired: Retirement | None = None
    """None while the crawl may be run."""

    def may_make(self, part: int) -> bool:
        """Whether the part may be given an empty directory."""
        state = self.parts[part]
        return state.may_be_made or (state.opened == 0 and self.is_whole and self.is_first_server)

    def unheld(self, claim: str) -> list[int]:
        """The parts that nobody holds in Redis, as the coordinator with this claim knows. After a flush the register
        lacks its lease, too, and all those by which parts still run."""
        if self.coordinator is None or self.coordinator.claim != claim:
            return []
        return [part.number for part in self.parts if part.lease is None]


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    """A part has a new lineage. No directory that it had before can be opened any more."""

    part: int
    epoch: int
    lineage: int


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """The claim holds the lease. It must stand before anything is opened."""

    epoch: int
    lineage: int


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """The claim was refused."""

    why: str
    holder: str | None = None
    """Who holds the lease, if somebody does."""


class Forgotten(Exception):
    """Redis has no register of this crawl: it was flushed, or another server answers."""


class RegisterDamaged(Exception):
    """A value in Redis is none that this program writes there. The message says where it is, and what to do."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A part that a machine would run."""

    part: int
    stored: int = 0
    """The epoch that its directory stores. 0 for the coordinator, and for a part that has none here."""
    makes: bool = False
    """There is no directory here: the part would be made."""
