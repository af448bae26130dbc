"""Visited sets on a server, which several crawls may share. The server may be away, and it may forget."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec


class Unreachable(Exception):
    """A shared set can't be asked now. Nothing has changed; call again later. The message says why."""


class Unanswered(Exception):
    """The server was asked and has not answered, so nobody knows what it has remembered of the batch."""


class Forgotten(Exception):
    """The server may have forgotten URLs: its memory is not the one that is trusted. Nothing has changed. Connect, fill
    in what it may lack, and trust the new memory; then call again."""


@runtime_checkable
class SharedSet(Protocol):
    """What a `VisitedSet` on a server promises in addition.

    `add_many` asks the server, which answers and remembers in one step, for all crawls that share the set. It may raise
    `Unreachable`, `Unanswered` and `Forgotten`; `forget_many` and `fill` too. It never repeats a batch by itself: if
    the first attempt was remembered and its answer lost, the second would call each URL known, and no crawl would
    fetch it.

    So whoever asks first notes durably what it asks. What was noted and has no answer counts as its own.

    It has no snapshots: `dump` and `load` raise `Unsaved`.
    """

    def asks(self, urls: Sequence[str], /) -> list[str]:
        """The URLs of the batch about which `add_many` would ask the server, each once. It knows the others itself."""
        ...

    async def connect(self) -> str:
        """Return the name of what the server now remembers. There is another name whenever it may have forgotten: after
        a restart, a failover, a flush. Raises `Unreachable`, and `Unavailable` for a server that can't be used."""
        ...

    def trust(self, memory: str, /) -> None:
        """From now on `add_many` asks this memory and no other: it has everything that the caller knows. A caller that
        trusts none asks any."""
        ...

    async def fill(self, urls: Sequence[str], /) -> None:
        """Remember URLs in the memory that is connected, trusted or not. To repeat it does no harm."""
        ...


@runtime_checkable
class OwnedSet(Protocol):
    """A `SharedSet` that may belong to one crawl alone."""

    async def delete(self) -> None:
        """Delete all that the server has of a set that belongs to this crawl alone; of one that is shared, nothing.
        A set of which only a part could be deleted has another memory. Raises what a `SharedSet` raises."""
        ...


@runtime_checkable
class MeteredSet(Protocol):
    """A set whose server tells what it spends."""

    async def server_cpu_s(self) -> float:
        """Processor time that the server has spent since it was started, in seconds, for whoever asked. Raises what a
        `SharedSet` raises."""
        ...


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One of the crawls that share a set."""

    id: str
    """The same in each run."""
    name: str
    """Where it runs, for people. One line."""
    paces: tuple[str, ...]
    """What keeps the pace of hosts for this crawl: two crawls with one in common never ask a host sooner than each of
    them may. One line each."""


@runtime_checkable
class MembersSet(Protocol):
    """A `SharedSet` that knows who shares it."""

    async def enter(self, member: Member, /) -> None:
        """Become a member until `leave`. Raises `Unavailable` if another member has no pace in common with this one,
        and what a `SharedSet` raises."""
        ...

    async def leave(self) -> None:
        """To leave without having entered does no harm, nor does a server that is gone."""
        ...
