"""What is said of a crawl on many machines."""

from typing import Literal

import msgspec

State = Literal["held", "opening", "free", "unmade", "to be made"]
"""`held`: a machine runs it, or may. `opening`: a machine has claimed it, and waits out earlier leases. `free`: it was
made, and nobody runs it. `unmade`: it was never opened. `to be made`: it was adopted, and waits for a machine."""


class ClusterMade(msgspec.Struct, frozen=True, kw_only=True):
    crawl: str
    generation: str
    parts: int
    prefix: str
    url: str
    lease_s: float


class ClusterStopping(msgspec.Struct, frozen=True, kw_only=True):
    """All machines were told to end."""

    machines: list[str]
    """The machines that held parts."""
    parts: list[int]


class PartOnMachine(msgspec.Struct, frozen=True, kw_only=True):
    part: int
    state: State
    epoch: int
    """How often it was claimed until it was opened last; 0 if it never was."""
    lineage: int
    holder: str | None = None
    left_s: float | None = None
    """Time until its lease expires, if nobody renews it."""
    last_holder: str | None = None
    says: str | None = None
    """How it is, by the machine that runs it."""
    under_way: int = 0
    """Messages for it that are in Redis."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that has said something."""

    holder: str
    host: str
    pid: int
    directory: str
    silent_s: float
    """Time since its last message."""
    parts: list[int]
    """The parts of which it has directories."""


class ClusterStatus(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    prefix: str
    crawl: str
    generation: str
    name: str
    lease_s: float
    configuration_version: int
    is_whole: bool
    """Whether the register has been in Redis since it was made. Otherwise machines have written it again."""
    is_first_server: bool
    """Whether the server is the process in which it was made."""
    coordinator: str | None
    last_ending: str | None
    """How the last run on all machines ended; None during a run."""
    parts: list[PartOnMachine]
    machines: list[Machine]
    advice: list[str] = []
    retired_in: str | None = None
    """Where the crawl is being divided anew, or was: no machine may run it any more as it is."""
    server_trouble: str | None = None
    """Why the server takes no writes now, or soon will not, and what to do; None if it takes them."""


class ClusterAdopted(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that have a new lineage."""

    parts: list[int]
    directory: str | None = None
    """The directory that was taken; None if the parts are made anew."""
