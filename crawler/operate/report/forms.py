"""What a report holds. Moments are RFC 3339."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from crawler.course.forms import CoursePoint, Remaining
from crawler.operate.report.lists.forms import Lists


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """When URLs were fetched; None if none was."""

    first_at: str | None
    last_at: str | None
    mean_s: float | None
    """How long a fetch took on average."""


class External(msgspec.Struct, frozen=True, kw_only=True):
    """URLs out of scope, with `scope.check_external`. They count nowhere else."""

    checked: int
    dead: int
    """URLs that answered with an error, or not at all, and to which a page still links."""
    excluded: int
    """URLs that were not asked."""
    exclusions: Mapping[str, int] = {}
    """URLs that were not asked, by the rule that forbids it."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All hosts together. Each URL counts once, as it was settled last."""

    urls: int
    """URLs that the crawl knows."""
    settled: int
    share_done: float | None
    """The share of the known URLs that are settled: 0 to 1; None if no URL is known, or a part can't tell."""
    pages: int
    """URLs fetched with a 2xx status or 304, without sitemaps."""
    failed: int
    excluded: int
    bytes_received: int | None
    """Bytes of bodies, as received, of all visits; None if only the ledger tells."""
    bytes_decoded: int | None
    hosts: int
    visits: int = 0
    """How often URLs were settled: more often than there are URLs, if some were fetched again."""
    times: Times
    remaining: Remaining
    statuses: Mapping[str, int]
    """URLs by the status of their last response."""
    failures: Mapping[str, int]
    """URLs that were given up, by reason."""
    exclusions: Mapping[str, int]
    """URLs that a rule forbids to fetch, by rule."""
    refused: Mapping[str, int] | None
    """Links that were not admitted, by rule; None if only the ledger tells."""
    pruned: int = 0
    """Records that were deleted because they are old, and are not counted here."""
    types: Mapping[str, int] = {}
    """Pages by the type of their content."""
    depths: Mapping[str, int] = {}
    """Pages by their distance from a seed, in links."""
    external: External | None = None
    """None if none was checked."""
    read_in_part: int | None = None
    """Documents of which only a part was read, as too much to parse; None if only the ledger tells."""
    truncated: Mapping[str, int] | None = None
    """Pages whose body is incomplete, by reason; None if only the ledger tells."""


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """What was fetched in a time."""

    at: str
    """When it began."""
    seconds: int
    pages: int
    bytes_received: int


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """A host."""

    host: str
    urls: int
    """URLs that are settled."""
    pages: int
    failures: int
    """URLs that were given up, or whose answer is an error status."""
    statuses: Mapping[str, int] = {}
    """URLs by the status of their last response."""
    excluded: Mapping[str, int] = {}
    """URLs that a rule forbids to fetch, by rule: `robots` is what robots.txt disallows."""
    bytes_received: int | None
    mean_s: float | None
    last_at: str | None
    queued: int | None = None
    """URLs that wait now; None if the host is not among those that the crawl serves now or next."""
    waits: str | None = None
    """What it does or why it waits, for people; likewise."""
    robots: str | None = None
    """What its robots.txt said when it was asked last: `allowed` (everything), `partly`, `disallowed` (everything),
    `unreachable`, or `none` (there is none); None if the crawl has not asked, or has not kept it."""
    robots_at: str | None = None
    """When that was."""
    crawl_delay_s: float | None = None
    """The Crawl-delay that it asks for."""


class HostTable(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts with the most of something, the first ones first."""

    count: int
    is_exact: bool
    """Whether all hosts were counted from the beginning. Of very many, small ones may have been dropped."""
    most_pages: list[HostRow]
    most_bytes: list[HostRow]
    most_failures: list[HostRow]

    @property
    def rows(self) -> list[HostRow]:
        """One row for each host."""
        tables = (self.most_pages, self.most_bytes, self.most_failures)
        return list({row.host: row for rows in tables for row in rows}.values())


class Report(Lists, frozen=True, kw_only=True, omit_defaults=True):
    """What a crawl has found until now."""

    directory: str
    at: str
    running: bool
    source: Literal["records", "ledger"]
    """What it was made from."""
    summary: Summary
    course: list[CoursePoint]
    """Discovered against finished over time."""
    activity: list[Activity]
    """What was fetched over time; where nothing was, there is nothing."""
    hosts: HostTable
    notes: list[str] = msgspec.field(default_factory=list)
    """What it lacks, and why."""
