"""What the process of a trial is asked to measure, and what it answers: values that are sent to and fro."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from crawler.compare.measure.work import Work
from visited import LocalSet

Kind = Literal["time", "check", "crawl"]

ReportProgress = Callable[[float], None]
"""Called with the share of a trial that is done."""


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set to compare. Parameters that its backend does not have are ignored."""

    name: str
    backend: str
    capacity: int | None = None
    """Number of URLs for which it is sized; None means that of the work."""
    error_rate: float = 1e-4
    bits: int | None = None
    """Size of a filter; None means that of the formula."""
    bits_per_url: float | None = None
    """The size for each URL of the capacity."""
    hashes: int | None = None
    """Hash functions of a bloom of that size; None means the best number."""
    site_bytes: int = 32_768
    filters: int | None = None
    """Number of filters of per-site; the hash of the site chooses one. None means one for each site."""
    shards: int = 1
    seed: int = 0
    server: str | None = None
    """URL of a Redis server."""
    options: dict[str, Any] = {}
    """More options of the backend, which override those above."""
    package: str = ""
    """The package of a plug-in, with its version. What was measured with another version is measured again."""
    has_estimates: bool = True
    """Whether it knows its rate, its losses and its memory."""
    is_exact: bool = False
    """Whether it loses no URL, or only by equal fingerprints."""
    works: tuple[str, ...] = ()
    """Names of the works on which it is measured; empty means all."""

    @property
    def all_options(self) -> dict[str, Any]:
        """The options of its backend, and others that it does not have. An option that is not set here has the default
        of the backend, not ours."""
        set_here = {name: getattr(self, name) for name in _OPTIONS if getattr(self, name) != getattr(_DEFAULTS, name)}
        return {**set_here, **self.options}

    def capacity_for(self, distinct: int) -> int:
        """Number of URLs for which it is sized, on a work with `distinct` URLs."""
        return max(1, distinct) if self.capacity is None else self.capacity


Maker = Callable[[Competitor, int, Path], LocalSet]
"""Makes the visited set of a competitor for a number of distinct URLs. It may use the directory, which belongs to it
alone. Raises `Unavailable`, and ValueError for parameters that do not fit together."""

_OPTIONS = ("bits", "bits_per_url", "hashes", "site_bytes", "filters", "shards", "seed", "server")
_DEFAULTS = Competitor(name="", backend="")


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How much a trial does in addition to the work."""

    probes: int = 20_000
    """Absent URLs that are looked up each time the false-positive rate is measured."""
    looks: int = 25
    """How often memory and rate are measured during the work."""
    past_capacity: float = 2.0
    """The check continues up to this many times the capacity, or the URLs of the work if these are more."""
    known: int = 500_000
    """The most known URLs that are added again."""
    memory_bytes: int | None = None
    """Memory limit beyond that of an empty process; None means no limit."""
    seed: int = 1


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    work: Work
    competitor: Competitor
    round: int = 0
    effort: Effort = Effort()
    version: str = ""
    """Version of the program. Trials of other versions are measured again."""

    @property
    def key(self) -> str:
        """Identifies the trial: equal trials have equal keys."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:24]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A competitor at one moment of a work."""

    distinct: int
    """Distinct URLs so far."""
    reported_bytes: int | None = msgspec.field(name="told_bytes")  # as journals and reports have always called it
    """Memory as the set itself reports it; None if it does not."""
    resident_bytes: int | None = None
    """Growth of the process; None if it was not measured."""
    disk_bytes: int = 0
    fill: float | None = None
    estimated_rate: float | None = msgspec.field(default=None, name="told_rate")
    """Its own estimate of the false-positive rate."""
    rate_sigma: float = 0.0
    """Standard deviation of that estimate, as the set itself reports it."""
    probes: int = 0
    hits: int = 0
    """Absent URLs that it called known."""
    estimated_lost: float | None = msgspec.field(default=None, name="told_lost")
    lost: int = 0
    """New URLs that it called known, according to an exact set."""
    leaves: int | None = None
    splits: int | None = None


class Timing(msgspec.Struct, frozen=True, kw_only=True, tag="time"):
    new_per_s: float
    known_per_s: float
    links_per_s: float
    """On the links of the work, repeats included."""
    batches: int
    p50_s: float
    p99_s: float
    p999_s: float
    slowest_s: float
    """The slowest batch of the work."""
    steady_bytes: int | None
    """Growth of the process once all URLs are in the set."""
    peak_bytes: int | None
    reported_bytes: int | None = msgspec.field(name="told_bytes")
    server_bytes: int | None = None
    """Memory of the server; None if the set lies on none."""
    server_cpu_s: float | None = None
    """Processor time of the server for each link of the work, repeats included."""
    noise_bytes: int = 0
    """Growth of the process that may have other reasons."""
    disk_bytes: int
    snapshot_bytes: int | None = None
    dump_s: float | None = None
    load_s: float | None = None
    """None if the set has no snapshots."""
    forgotten_per_s: float | None = None
    """None if the set can't forget."""
    looks: tuple[Look, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True, tag="check"):
    links: int
    distinct: int
    lost: int
    """New URLs that the set called known. A crawl would never fetch them, unless the set accepts a later link to
    them."""
    estimated_lost: float | None = msgspec.field(name="told_lost")
    """Its own estimate."""
    lost_sigma: float | None = None
    """Standard deviation of the losses from that estimate, as the set itself reports it."""
    recovered: int
    """Lost URLs that the set called new when they occurred again."""
    twice: int
    """URLs that the set called new twice, which breaks its promise."""
    looks: tuple[Look, ...] = ()
    clustering: float = 1.0
    """By what factor the hits of all looks vary more than those of independent probes, because they are on the same
    sites."""
    past: tuple[Look, ...] = ()
    """Looks beyond the end of the work, up to a multiple of the capacity."""
    portal_probes: int = 0
    """Absent URLs of the largest host, looked up at the end of the work."""
    portal_hits: int = 0
    forgotten: int | None = None
    """How many of `forget_asked` known URLs it forgot; None if it can't forget."""
    forget_asked: int = 0
    still_known: int = 0
    """Forgotten URLs that it still calls known, as false positives."""
    wrongly_forgotten: int = 0
    """Known URLs that became unknown when others were forgotten."""


class Crawled(msgspec.Struct, frozen=True, kw_only=True, tag="crawl"):
    """The result of a live crawl."""

    pages: int
    missing: int | None
    """Existing pages that the crawl did not find; None if it is not known which pages exist."""
    seconds: float
    count: int
    """URLs in the visited set."""
    reported_bytes: int | None = msgspec.field(name="told_bytes")
    estimated_lost: float | None = msgspec.field(name="told_lost")


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
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
