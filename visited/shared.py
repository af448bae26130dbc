"""Visited sets on a server, which several crawls may share. The server may be away, and it may forget."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from visited.protocol import LocalSet, Unavailable


class Unreachable(Exception):
    """A shared set can't be asked now. Nothing has changed; call again later. The message says why."""


class Incomplete(Unreachable):
    """The server has lost URLs, and another crawl that shares the set has not added its own again yet. The message says
    which one, and what to do if it never will."""


class Unwritable(Unavailable):
    """The server takes no writes when it is asked for the first time. That may pass: one that was used before may be
    waited for."""


class Unanswered(Exception):
    """The server was asked and has not answered, so nobody knows what it has remembered of the batch."""


class Forgotten(Exception):
    """The server may have forgotten URLs: its memory is not the one that is trusted. Nothing has changed. Connect, fill
    in what it may lack, and trust the new memory; then call again."""


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """The crawl that uses a set."""

    directory: Path
    host: str
    """The machine that has the directory, for people."""
    meeting: Path | None = None
    """A folder where all crawls meet that may share its sets; None if there is none."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One of the crawls that share a set."""

    id: str
    """The same in each run."""
    name: str
    """Where it runs, for people. One line."""
    paces: tuple[str, ...]
    """What keeps the pace of hosts for this crawl: two crawls with one in common never ask a host sooner than each of
    them may. One line each."""


class Sharer(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that shares a set, or has shared it."""

    id: str
    name: str
    """Where it is, for people."""
    directory: str
    is_added: bool
    """Whether the server has all URLs of its ledger, as far as they were ever asked."""
    is_gone: bool
    """Whether an operator has said that it will never come again."""


@runtime_checkable
class SharedSet(LocalSet, Protocol):
    """A visited set on a server.

    `add_many` asks the server, which answers and remembers in one step, for all crawls that share the set. It may raise
    `Unreachable`, `Unanswered` and `Forgotten`, and so may all other methods that ask the server. After the server has
    lost URLs, it raises `Incomplete` until all crawls that share the set have added theirs again. It never repeats a
    batch by itself: if the first attempt was remembered and its answer lost, the second would call each URL known, and
    no crawl would fetch it.

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

    async def sharers(self, *, gone: Sequence[str] = ()) -> list[Sharer]:
        """All crawls that are known to share the set, after some are said to be gone: nobody waits for them any
        more."""
        ...

    async def register(self) -> None:
        """Tell the others that the trusted memory has the ledger of this crawl. Does not raise `Incomplete`."""
        ...

    async def enter(self, member: Member, /) -> None:
        """Become a member until `leave`. Raises `Unavailable` if another member has no pace in common with this one."""
        ...

    async def leave(self) -> None:
        """End the membership. Does nothing if this never entered, or if the server is gone."""
        ...

    async def delete(self) -> None:
        """Delete all that the server has of a set that belongs to this crawl alone. Delete nothing of a shared set, but
        say that this crawl is gone, because its ledger is about to be deleted. A set of which only a part
        could be deleted has another memory."""
        ...

    async def server_cpu_s(self) -> float:
        """Processor time that the server has spent since it was started, in seconds, for whoever asked."""
        ...
