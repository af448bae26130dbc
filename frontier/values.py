"""The values that pass between a frontier and those who use it."""

from enum import IntEnum

import msgspec


class CrawlUrl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL to crawl, with what must travel with it. The frontier looks inside none of its strings."""

    url: str
    """Absolute, as it will be fetched."""
    canonical: str
    """The form under which the visited set and the ledger know it."""
    queue_key: str
    """Names the URLs that must take turns with this one; SURT-ordered, as `com,example,www`."""
    depth: int = 0
    """Links between a seed and this URL; seeds are 0."""
    via: str | None = None
    """The URL of the page it was found on."""
    kind: str = "link"
    """How it was found: seed, link, embed, redirect, sitemap, …"""
    anchor: str | None = None
    """The text of the link, shortened."""
    weight: float = 0.0
    precedence: int = 128
    """0..255; lower goes first."""
    redirects: int = 0
    """Redirects in a row that led here, and for a sitemap also the sitemaps around it."""
    attempt: int = 0
    """Fetches of it that failed so far."""
    cost: int = 1
    """What fetching it takes from the budget of its queue."""
    hits: int = 1
    """How often the page that it was found on links to it; 0 if it is no link that led there, as for a seed."""
    last_modified: str | None = None
    """When it changed last, by whoever linked to it; a server knows better."""
    had_etag: str | None = None
    had_last_modified: str | None = None
    """What the server said of the copy that the crawl has, when a URL is fetched once more; the frontier fills them in
    from the ledger."""


class UrlState(IntEnum):
    """What became of a URL. The numbers are stored."""

    PENDING = 0
    DONE = 1
    """Fetched; `status` tells with what."""
    FAILED = 2
    """Given up after the last attempt; `reason` tells why."""
    EXCLUDED = 3
    """Not fetched by rule, as robots.txt; `reason` tells which."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a lease ended, for the ledger."""

    state: UrlState
    status: int | None = None
    reason: str | None = None
    fetched_at: float | None = None
    """Seconds since 1970."""
    digest: bytes | None = None
    etag: str | None = None
    last_modified: str | None = None
    server_ok: bool = True
    """False where the server failed or refused service: it counts into the queue's error streak."""
    answered: bool = False
    """Where it did: it sent a status and headers, as with an error or a body that breaks off. Answers, and failures
    without one, begin a new streak after each other."""
    asked: bool = True
    """Whether its server was asked; if not, nothing is learned of it, and its groups need no rest."""
    pressure: int = 0
    """How hard the server has been asked from now on; see `Lease.pressure`."""
    hits: int = 0
    """How often the page links to itself."""
    dead_for_s: float = 0.0
    """For so long, the queue's server is given up: leases say so, and nobody asks it."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the frontier knows of one URL."""

    canonical: str
    state: UrlState
    number: int
    found_at: float
    via: str | None = None
    status: int | None = None
    reason: str | None = None
    fetched_at: float | None = None
    digest: bytes | None = None
    etag: str | None = None
    last_modified: str | None = None
    hit_count: int = 1
    """Links to it that were seen."""
    elsewhere: bool = False
    """It was settled by another crawl, from which it was imported: there is no output of it here."""


class Lease(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The right to fetch one URL, until it is settled."""

    url: CrawlUrl
    number: int
    """Ordinal of admission, unique in the crawl; the record number of the page."""
    error_streak: int = 0
    """Failures of this queue's server in a row, before this lease: all of them answers, or none."""
    answered: bool = False
    """Those failures were answers: they say nothing of whether the server is dead."""
    pressure: int = 0
    """How often that server has asked to be spared, less what it has answered well since."""
    dead: str | None = None
    """The last failure of a server that is given up for now: its URL is to be settled without asking."""
    hit_count: int = 1
    """Links to this URL seen so far."""


class FrontierStats(msgspec.Struct, frozen=True, kw_only=True):
    """Where the URLs are, now. Counts of URLs unless they say queues."""

    admitted: int
    """URLs ever admitted."""
    pending: int
    """Waiting in queues that are not retired, those in process included."""
    in_process: int
    """Leased now."""
    retrying: int
    """Waiting for another attempt."""
    done: int
    failed: int
    excluded: int
    ready_queues: int
    in_process_queues: int
    snoozed_queues: int
    next_wake_s: float | None
    """Seconds until a snoozed queue or a retry comes due; None when none waits."""
    next_wake_key: str | None
    """The queue that wakes next."""
    next_wake_streak: int = 0
    """Failures in a row of the server of the queue that wakes next."""
    next_wake_trouble: str | None = None
    """What the last of these was."""
    next_wake_why: str | None = None
    """Why that rests, where whoever handed its URL back has said so."""
    next_group: str | None = None
    """The group that opens next, if that is before any queue wakes."""
    held_back_queues: int = 0
    """Queues that are due, but for a group that they share a pace with."""
    troubled_queues: int = 0
    """Queues whose server failed when it was asked last."""
    quarantined: int = 0
    """Records that could not be decoded, set aside."""
    lost: int = 0
    """URLs that were admitted, and of which damage has left nothing."""
    inactive_queues: int = 0
    """Queues with URLs that wait for a place among the active ones, or rest and are put away."""
    retired: int = 0
    """Waiting in queues that are retired."""
    retired_queues: int = 0
    held: str | None = None
    """Why nothing is leased; None while it may be."""

    @property
    def missing(self) -> int:
        """URLs that are neither settled nor waiting: they were lost to damage, or set aside."""
        known = self.done + self.failed + self.excluded + self.pending + self.retrying + self.retired
        return self.lost + max(0, self.admitted - known)


MEND = "mend it with `onceover inspect DIR fsck --repair`, where DIR is the directory of the crawl, or restore a copy"
"""What to do about damage."""


class StoreRefused(Exception):
    """Stored state can't be used as asked: it is locked, or of another version or identity. The message says what was
    expected, what was found and what to do; nothing has been changed."""


class StoreFailed(Exception):
    """The store could not write or read. What was settled before is safe; the message says what to do."""


class StoreFull(StoreFailed):
    """The disk has no room for a change, of which nothing was stored. It may be made again when there is room."""
