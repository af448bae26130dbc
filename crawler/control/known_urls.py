"""What a crawl tells about a URL."""

import msgspec
from msgspec import UNSET

from crawler.control.replies import PartNumber


class VisitForm(msgspec.Struct, frozen=True, kw_only=True):
    """A visit to a page that found whether it had changed."""

    at: str | None
    """Computed from the intervals between visits."""
    changed: bool
    after_s: int
    """How long after the visit before it was."""


class UrlVisits(msgspec.Struct, frozen=True, kw_only=True):
    """The visits to a URL."""

    count: int = 0
    """How often it was fetched, given up or excluded."""
    last: list[VisitForm] = []
    """The last visits, the newest first; none before the second one."""
    changes_every_s: int | None = None
    """How long it is between two changes, as estimated from these visits."""
    next_at: str | None = None
    next_why: str | None = None
    """Why then, or why never, for people."""


class UrlForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl knows about a URL that was admitted."""

    canonical: str
    state: str
    number: int
    found_at: str | None
    via: str | None
    status: int | None
    reason: str | None
    fetched_at: str | None
    digest: str | None
    etag: str | None
    last_modified: str | None
    hit_count: int
    elsewhere: bool
    due_at: str | None
    """When it may be fetched at the earliest; None if it does not wait."""
    message: str | None = None
    truncated: str | None = None
    """This and the message are in its page record, which the client reads."""
    found: str
    """Where it was found, for people."""
    waits: str | None
    """Why it waits, for people; None if it does not wait."""
    visits: UrlVisits = UrlVisits()
    part: PartNumber = UNSET


class UrlFound(msgspec.Struct, frozen=True, kw_only=True):
    """A URL under its canonical form; `found` is None if the crawl does not know it."""

    canonical: str
    found: UrlForm | None
    refused: str | None = None
    """Why links to a URL that the crawl does not know are not followed; None if they are, where pages have some."""
