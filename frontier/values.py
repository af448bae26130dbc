"""The values that pass between a frontier and its callers."""

from collections.abc import Callable
from enum import IntEnum

import msgspec

from frontier.visits import History, LastVisit


class CrawlUrl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL to crawl and what must travel with it. The frontier never parses any of its strings."""

    url: str
    """The absolute URL to fetch."""
    canonical: str
    """The canonical form, by which the visited set and the ledger know it."""
    queue_key: str
    """Names the URLs that must take turns with this one; SURT-ordered, as `com,example,www`."""
    depth: int = 0
    """The number of links between a seed and this URL; 0 for a seed."""
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
    """Consecutive redirects that led here; for a sitemap, plus the sitemap indexes that led to it."""
    attempt: int = 0
    """Failed fetches so far."""
    cost: int = 1
    """What a fetch takes from the budget of its queue."""
    link_count: int = 1
    """How often the page it was found on links to it; 0 if no link led to it, as for a seed."""
    last_modified: str | None = None
    """When it changed last, according to the page that links to it. The server knows better."""
    change_frequency: str | None = None
    """How often it changes, according to a sitemap."""
    had_etag: str | None = None
    had_last_modified: str | None = None
    """The validators of the copy that the crawl has. The frontier sets them from the ledger when a URL is fetched
    again."""
    last_visit: LastVisit | None = None
    """What the last visit has found. The frontier sets it, too."""


class UrlState(IntEnum):
    """What became of a URL. The numbers are stored."""

    PENDING = 0
    DONE = 1
    """Fetched; see `status`."""
    FAILED = 2
    """Given up after the last attempt; see `reason`."""
    EXCLUDED = 3
    """A rule, such as robots.txt, forbids to fetch it; see `reason`."""


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
    """False if the server failed or refused service. This counts towards the queue's error streak."""
    answered: bool = False
    """Whether a failing server sent a status and headers, as with an error status or a truncated body. A failure with
    an answer after failures without one begins a new streak, and the reverse."""
    asked: bool = True
    """Whether the server was asked. If not, the outcome says nothing about it, and its groups need no rest."""
    pressure: int = 0
    """The new value of `Lease.pressure`."""
    self_links: int = 0
    """How often the page links to itself."""
    dead_for_s: float = 0.0
    """For this long, the queue's server counts as dead: its leases say so, and it is not asked."""
    is_page: bool = False
    """Whether it counts as a page, as in a limit of pages."""
    changed: bool | None = None
    """Whether it had changed since the last visit; None if that is not known."""
    revisit_after_s: float | None = None
    """When the next visit is due; None for never."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the frontier knows about one URL."""

    canonical: str
    state: UrlState
    number: int
    found_at: float
    """When it was found first: seconds since 1970."""
    via: str | None = None
    status: int | None = None
    reason: str | None = None
    fetched_at: float | None = None
    digest: bytes | None = None
    etag: str | None = None
    last_modified: str | None = None
    hit_count: int = 1
    """Links to it, seen so far."""
    elsewhere: bool = False
    """It was settled by another crawl and imported from there. This crawl has no output for it."""
    url: str | None = None
    """The URL to fetch; None if that is `canonical`, or the store does not know it."""
    kind: str = "link"
    depth: int | None = None
    """None if the store does not know it."""
    visits: int = 1
    """How often it was fetched, given up or excluded."""
    history: History = ()
    interval_s: int | None = None
    """How long after the last visit the next one was planned; None if none was."""
    due_ms: int | None = None
    """When the next visit is due, in milliseconds since 1970."""
    change_frequency: str | None = None
    """How often it changes, according to a sitemap."""
    settled_in: int | None = None
    """The lineage of the part that settled it, if the crawl was divided since: the output of that has it."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what a queue spends. A fetch costs what its URL says; a failure of the server adds `error_penalty`."""

    session: int | None = 1000
    """What a queue may spend in one go while others wait; None for no limit."""
    total: int | None = None
    """What a queue may spend in all, unless it has its own budget; None for no limit."""
    total_of: Callable[[str], int | None] | None = None
    """The total by queue key, where queues differ; it overrides `total`."""
    error_penalty: int = 0

    def limit(self, key: str, own: int | None, /) -> int | None:
        """What a queue with the budget `own` may spend in all; None for no limit."""
        if own is not None:
            return own
        return self.total if self.total_of is None else self.total_of(key)

    @property
    def serves_new_queues(self) -> bool:
        """Whether a queue that has spent nothing and has no budget of its own is served, whatever its key."""
        return self.total_of is None and (self.total is None or self.total > 0)


class Lease(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The right to fetch one URL, until it is settled."""

    url: CrawlUrl
    number: int
    """The ordinal of admission, unique in the crawl. It is also the record number of the page."""
    error_streak: int = 0
    """Failures of this queue's server in a row, before this lease. Either all of them were answers or none was."""
    answered: bool = False
    """Whether these failures were answers. If so, they are no sign that the server is dead."""
    pressure: int = 0
    """How often the server has asked us to slow down, less its good answers since."""
    dead: str | None = None
    """If the server counts as dead, its last failure. The URL must then be settled without asking the server."""
    hit_count: int = 1
    """Links to this URL, seen so far."""


class KnownUrl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL of the ledger, and how it waits if it does."""

    entry: LedgerEntry
    waiting: CrawlUrl | None = None
    """None if it is settled, or what waits can't be read."""
    due_at: float | None = None
    """When its next attempt is due, in seconds since 1970; None if it waits in its queue."""


class Damaged(msgspec.Struct, frozen=True):
    """A record that can't be decoded."""

    key: bytes
    message: str


class Health(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the server of a queue has behaved lately."""

    error_streak: int = 0
    """Failures in a row. Either all of them were answers or none was."""
    answered: bool = False
    """Whether these failures were answers: the server sent a status and headers each time."""
    trouble: str | None = None
    """The reason of the last failure."""
    pressure: int = 0
    """How often the server has asked us to slow down, less its good answers since."""
    probe_at: float = 0.0
    """The server counts as dead until this time, in seconds since 1970."""


class FrontierStats(msgspec.Struct, frozen=True, kw_only=True):
    """Where the URLs are now. Counts are of URLs unless the name says queues."""

    admitted: int
    """URLs ever admitted."""
    pending: int
    """Waiting in queues that are not retired, including the leased ones."""
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
    """Seconds until the next snoozed queue wakes or the next retry comes due; None if there is none."""
    next_wake_key: str | None
    """The queue that wakes next."""
    next_wake_streak: int = 0
    """Failures in a row of the server of the queue that wakes next."""
    next_wake_trouble: str | None = None
    """The reason of the last failure."""
    next_wake_why: str | None = None
    """Why that queue rests, if the release of its last lease gave a reason."""
    next_group: str | None = None
    """The group that wakes next, if it holds queues back and wakes before any queue."""
    next_visit_s: float | None = None
    """Seconds until a settled URL is visited again; None if none is, or nobody asks for it."""
    held_back_queues: int = 0
    """Queues that only a group keeps from being ready."""
    groups_elsewhere: int = 0
    """Groups that wait for other parts of the crawl."""
    awaits_limit: int = 0
    """Leased, but may only begin if the limit of pages leaves some for this part of the crawl."""
    troubled_queues: int = 0
    """Queues whose server failed the last time it was asked."""
    quarantined: int = 0
    """Records that could not be decoded and were quarantined."""
    lost: int = 0
    """Admitted URLs that damage has destroyed without a trace."""
    gaps: int = 0
    """How often links from another part of the crawl were lost on their way."""
    generation: int = 0
    """How often URLs were forgotten, or merged into others by new rules. What is then found again is a new URL."""
    inactive_queues: int = 0
    """Queues with URLs that wait to become active, or that rest and were spilled to the store."""
    retired: int = 0
    """Waiting in retired queues."""
    retired_queues: int = 0
    paused: str | None = None
    """Why nothing is leased; None while leases are allowed."""

    @property
    def settled(self) -> int:
        return self.done + self.failed + self.excluded

    @property
    def queued(self) -> int:
        """URLs that wait to be fetched, but for those in retired queues."""
        return self.pending + self.retrying

    @property
    def missing(self) -> int:
        """URLs that are neither settled nor waiting, because damage destroyed them or they were quarantined."""
        return self.lost + max(0, self.admitted - self.settled - self.queued - self.retired)

    @property
    def is_incomplete(self) -> bool:
        """Whether nothing waits, although URLs are missing, or links that may have led to others."""
        return not self.queued and bool(self.missing or self.gaps)


REPAIR_ADVICE = (
    "repair it with `onceover inspect DIR fsck --repair`, where DIR is the directory of the crawl, or restore a copy"
)


def number_of(count: int, noun: str) -> str:
    """A count with its noun: 1 URL, 2 URLs."""
    return f"{count} {noun if count == 1 else noun + 's'}"


class StoreRefused(Exception):
    """The stored state can't be used: it is locked, or of another version or identity. Nothing has changed. The message
    says what was expected, what was found and what to do."""


class StoreFailed(Exception):
    """The store can't write or read. Everything settled before is safe. The message says what to do."""


class StoreFull(StoreFailed):
    """The disk is full, and nothing of the change was stored. The change can be tried again when there is space."""
