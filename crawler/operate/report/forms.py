"""What a report holds. Moments are RFC 3339."""

from collections.abc import Mapping
from typing import Literal

import msgspec


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """When URLs were fetched; None if none was."""

    first_at: str | None
    last_at: str | None
    mean_s: float | None
    """How long a fetch took on average."""


class Remaining(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to fetch, of what is known now."""

    urls: int
    seconds: float | None
    """An estimate, if no further URLs are found; None if there is none, as of a crawl that does not run."""
    host: str | None
    """The host whose URLs take so long, if the pace of one host decides."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All hosts together. Each URL counts once, as it was settled last."""

    urls: int
    """URLs that the crawl knows."""
    settled: int
    share_done: float | None
    """Of the known URLs, those that are settled: 0 to 1; None if none is known."""
    pages: int
    """URLs fetched with a 2xx status or 304."""
    failed: int
    excluded: int
    bytes_received: int | None
    """Bytes of bodies, as received; None if only the ledger tells."""
    bytes_decoded: int | None
    hosts: int
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


class HostRow(msgspec.Struct, frozen=True, kw_only=True):
    """A host."""

    host: str
    urls: int
    """URLs that are settled."""
    pages: int
    failures: int
    """URLs that were given up, or whose answer is an error status."""
    bytes_received: int | None
    mean_s: float | None
    last_at: str | None


class HostTable(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts with the most of something, the first ones first."""

    count: int
    is_exact: bool
    """Whether all hosts were counted from the beginning. Of very many, small ones may have been dropped."""
    most_pages: list[HostRow]
    most_bytes: list[HostRow]
    most_failures: list[HostRow]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl has found until now."""

    directory: str
    at: str
    running: bool
    source: Literal["records", "ledger"]
    """What it was made from."""
    summary: Summary
    hosts: HostTable
