"""What is asked of a trial's process, and what it answers."""

import hashlib
from typing import Literal

import msgspec

from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.work import Work

Kind = Literal["time", "check", "crawl"]


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How much a trial does beside the work itself."""

    probes: int = 20_000
    """Absent URLs that are asked for at each look at the false-positive rate."""
    looks: int = 25
    """Looks at memory and rate while the work goes on."""
    past_capacity: float = 2.0
    """The check goes on up to so many times the capacity, or the work's URLs where these are more; 1 ends it there."""
    known: int = 500_000
    """Known URLs that are added again, at most."""
    memory_bytes: int | None = None
    """A trial that takes more than this beyond an empty process dies; None for no limit."""
    seed: int = 1


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement."""

    kind: Kind
    work: Work
    competitor: Competitor
    round: int = 0
    effort: Effort = Effort()
    version: str = ""
    """Of the program: what an older one has measured is measured again."""

    @property
    def key(self) -> str:
        """The same for trials that ask for the same."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:24]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor at one moment of a work."""

    distinct: int
    """Distinct URLs that have come."""
    told_bytes: int | None
    """Memory by its own account; None where it gives none."""
    resident_bytes: int | None = None
    """Growth of the process; None where that was not measured."""
    disk_bytes: int = 0
    fill: float | None = None
    told_rate: float | None = None
    """Its own estimate of the false-positive rate."""
    rate_sigma: float = 0.0
    """Standard deviation of that estimate, by its own account."""
    probes: int = 0
    hits: int = 0
    """Absent URLs that it called known."""
    told_lost: float | None = None
    lost: int = 0
    """New URLs that it called known, by the exact set beside it."""
    leaves: int | None = None
    splits: int | None = None


class Timing(msgspec.Struct, frozen=True, kw_only=True, tag="time"):
    """What a trial of kind "time" measured."""

    new_per_s: float
    known_per_s: float
    links_per_s: float
    """The work as it comes, with its repeats."""
    batches: int
    p50_s: float
    p99_s: float
    p999_s: float
    slowest_s: float
    """Of the batches of the work as it comes."""
    steady_bytes: int | None
    """Growth of the process with all URLs in it."""
    peak_bytes: int | None
    told_bytes: int | None
    noise_bytes: int = 0
    """What the process may have grown by for other reasons."""
    disk_bytes: int
    snapshot_bytes: int | None = None
    dump_s: float | None = None
    load_s: float | None = None
    """None where there are no snapshots."""
    forgotten_per_s: float | None = None
    """None where it can't forget."""
    looks: tuple[Look, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True, tag="check"):
    """What a trial of kind "check" found."""

    links: int
    distinct: int
    lost: int
    """New URLs that were called known, never to be crawled, unless they are met again and accepted then."""
    told_lost: float | None
    """Its own estimate."""
    lost_sigma: float | None = None
    """Standard deviation of what is lost from that estimate, by its own account."""
    recovered: int
    """Of the lost, those that were called new when they were met again."""
    twice: int
    """URLs that were called new twice: the promise is broken."""
    looks: tuple[Look, ...] = ()
    clustering: float = 1.0
    """How many times more the hits of all looks vary than those of independent probes: they are on the same sites."""
    past: tuple[Look, ...] = ()
    """Beyond the end of the work, up to a multiple of the capacity."""
    portal_probes: int = 0
    """Absent URLs of the largest host, asked for at the end of the work."""
    portal_hits: int = 0
    forgotten: int | None = None
    """Of `forget_asked` known URLs; None where it can't forget."""
    forget_asked: int = 0
    still_known: int = 0
    """Of those forgotten, what is still called known, by false positives."""
    wrongly_forgotten: int = 0
    """Known URLs that others' being forgotten made unknown."""


class Crawled(msgspec.Struct, frozen=True, kw_only=True, tag="crawl"):
    """What a live crawl brought."""

    pages: int
    missing: int | None
    """Pages that there are, and were not found; None where it is not known what there is."""
    seconds: float
    count: int
    """URLs in the visited set."""
    told_bytes: int | None
    told_lost: float | None


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """Why there is no measurement."""

    reason: str


Outcome = Timing | Check | Crawled | Failed


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A trial and its outcome: a line of the journal."""

    key: str
    kind: Kind
    work: str
    competitor: str
    round: int
    outcome: Outcome
