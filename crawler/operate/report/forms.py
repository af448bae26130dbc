"""What a report holds. Moments are RFC 3339."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from crawler.course.forms import CoursePoint, Remaining

ListName = Literal[
    "dead-links", "broken-anchors", "orphans", "redirects", "duplicates", "refused", "slowest", "largest"
]


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
    """URLs that answered with an error, or not at all."""
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


class DeadLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link from a page to a URL that leads to an error."""

    url: str
    leads_to: str | None
    """Where redirects lead from there; None if it is no redirect."""
    status: int | None
    """The status at the end; None if there was no answer."""
    reason: str | None
    page: str | None
    """None if no page is known to link to it, as to a seed."""
    anchor: str | None
    """The text of the link. Without `output.link_details` it is known only of the first link that the crawl found."""
    kind: str | None
    """Likewise."""
    external: bool = False
    """Whether the URL is out of scope, and was only checked."""


class DeadLinkList(msgspec.Struct, frozen=True, kw_only=True):
    """All links to URLs that lead to an error."""

    urls: int
    """How many URLs lead to an error, with those that the crawl has guessed, or to which no page links any more."""
    is_whole: bool
    """Whether each page is listed that links to them. Without `output.link_details` and `output.links`, only the first
    one is known."""
    links: list[DeadLink]


class BrokenAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """A link to a part of a page that the page does not have."""

    url: str
    """With the fragment."""
    page: str
    anchor: str | None
    """The text of the link; None for links within a page."""
    kind: str


class BrokenAnchorList(msgspec.Struct, frozen=True, kw_only=True):
    """All of these, of the pages that tell their anchors."""

    pages: int
    """How many do: those that were fetched with `output.check_fragments`."""
    links: list[BrokenAnchor]


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A page to which no page links."""

    url: str
    kind: str
    """How the crawl has found it: `listed` is by a sitemap."""
    via: str | None
    """Where: in that sitemap, for example; None for seeds."""


class OrphanList(msgspec.Struct, frozen=True, kw_only=True):
    """All of these."""

    unread: int
    """HTML pages that were fetched without `output.link_details`. If there are any, nobody knows which pages are
    orphans, and none is listed."""
    pages: list[Orphan]


class RedirectLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link from a page to a URL that redirects."""

    url: str
    status: int | None
    hops: int
    leads_to: str
    end_status: int | None
    """The status there; None if it was not fetched, or had no answer."""
    end_reason: str | None
    page: str | None
    """None if no page is known to link to it."""
    anchor: str | None
    """As of a `DeadLink`."""
    kind: str | None
    external: bool = False
    """As of a `DeadLink`."""


class RedirectList(msgspec.Struct, frozen=True, kw_only=True):
    """All links to URLs that redirect."""

    urls: int
    """How many URLs redirect, with those that the crawl has guessed."""
    is_whole: bool
    """As of a `DeadLinkList`."""
    links: list[RedirectLink]


class Duplicate(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is the same as another, or almost."""

    url: str
    of: str
    by: Literal["body", "canonical", "text"]
    """Because it has the same body, because it names the other as its canonical URL, or because its text is almost the
    same."""
    bytes: int | None
    distance: int | None = None
    """The number of bits in which the fingerprints of their texts differ."""


class RefusedExample(msgspec.Struct, frozen=True, kw_only=True):
    """A link that was refused, and a page with it."""

    url: str
    page: str


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Links that a rule has refused."""

    rule: str
    links: int
    examples: list[RefusedExample]
    """A few, with `output.refusals`."""


class FetchedRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL took to fetch."""

    url: str
    status: int | None
    duration_s: float | None
    received_bytes: int | None
    size_bytes: int | None


class Lists(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lists of URLs; None if nobody has asked for them."""

    dead_links: DeadLinkList | None = None
    broken_anchors: BrokenAnchorList | None = None
    orphans: OrphanList | None = None
    redirects: RedirectList | None = None
    duplicates: list[Duplicate] | None = None
    refused: list[RefusedRow] | None = None
    """Links that were not admitted, by rule."""
    slowest: list[FetchedRow] | None = None
    largest: list[FetchedRow] | None = None
    more: dict[str, int] = {}
    """How many rows lists have beyond the limit, by the name of the list; only lists that have any."""


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
    notes: list[str] = []
    """What it lacks, and why."""
