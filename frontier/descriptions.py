"""What an operator sees of queues, and the times that a frontier tells."""

from typing import Literal

import msgspec

from frontier.values import Health, LedgerEntry


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an operator sees of a queue."""

    key: str
    size: int = 0
    """URLs that wait in it, the leased ones included."""
    wake_at: float = 0.0
    """It rests until this time, in seconds since 1970."""
    health: Health = Health()
    precedence: int = 128
    """0..255; lower goes first."""
    spent: int = 0
    budget: int | None = None
    """Its own total budget; None if the general one applies."""
    retired: bool = False
    """Whether an operator has retired it."""
    pace_s: float = 0.0
    """How long it rested after its server's last good answer."""
    address: str | None = None
    """The last known address of its server."""
    served: bool = False
    """Whether its URLs get fetched. If it has any and is not served, it is retired."""


class ActiveQueue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an operator sees of a queue that is being served."""

    key: str
    state: Literal["in-process", "ready", "held-back", "snoozed"]
    """`held-back` is ready but for a group that it belongs to."""
    size: int
    """URLs that wait in it, the leased ones included."""
    spent: int
    leased: int
    wake_at: float
    """It rests until this time, in seconds since 1970."""
    rest_reason: str | None
    """Why it rests, if the release of its last lease gave a reason."""
    health: Health
    group: str | None = None
    """The group that holds it back."""
    group_wake_at: float | None = None
    """When that group may be asked, in seconds since 1970; None if it is being asked now."""
    group_is_elsewhere: bool = False
    """Whether the group waits for other parts of the crawl."""


# A frontier's own clock is ahead of the system's by `ahead_s` after that was set back. Callers know the system's.


def told_time(at: float, *, ahead_s: float) -> float:
    """A time in seconds since 1970; 0 for none."""
    return max(0.0, at - ahead_s) if at else 0.0


def told_health(health: Health, *, ahead_s: float) -> Health:
    if not ahead_s or not health.probe_at:
        return health
    return msgspec.structs.replace(health, probe_at=told_time(health.probe_at, ahead_s=ahead_s))


def told_entry(entry: LedgerEntry, *, links: int, ahead_s: float) -> LedgerEntry:
    """An entry with so many more links to it."""
    if ahead_s and entry.due_ms is not None:
        entry = msgspec.structs.replace(entry, due_ms=max(0, entry.due_ms - round(1000 * ahead_s)))
    return msgspec.structs.replace(entry, hit_count=entry.hit_count + links) if links else entry
