"""What the frontier keeps of a URL that was fetched, beside its record."""

from typing import Final

from msgspec.structs import replace

from crawler.page import Answer, Fetched, NotModified, PageRecord
from crawler.politeness.response_policy import Decision
from crawler.record.changes import Change, has_copy, note_of
from crawler.record.headers import validator
from frontier import Lease, Outcome, UrlState

_STATE_BY_NAME: Final = {state.name.lower(): state for state in UrlState}


def outcome_of(
    lease: Lease,
    fetched: Fetched,
    record: PageRecord,
    decision: Decision,
    *,
    sha1: bytes | None,
    self_links: int,
    is_page: bool,
    revisit_after_s: float | None,
) -> Outcome:
    """The outcome of a fetch that `record` tells of. `sha1` is the digest of the body, and `self_links` the number of
    links of the page to itself."""
    keeps_copy = has_copy(record)
    outcome = Outcome(
        state=_STATE_BY_NAME[record.state],
        status=record.status,
        reason=record.reason or note_of(record),
        fetched_at=fetched.fetched_at,
        digest=_digest(lease, fetched, sha1),
        etag=_etag(lease, fetched, record) if keeps_copy else None,
        last_modified=_last_modified(lease, fetched) if keeps_copy else None,
        server_ok=decision.server_ok,
        answered=decision.answered,
        asked=decision.asked,
        pressure=decision.pressure,
        dead_for_s=decision.dead_for_s,
        self_links=self_links,
        is_page=is_page,
    )
    if revisit_after_s is not None or record.change is not None:
        # In pieces: Python makes a dictionary for a call with more than 15 keywords, which is slow.
        changed = None if record.change is None else record.change == Change.CHANGED
        outcome = replace(outcome, revisit_after_s=revisit_after_s, changed=changed)
    return outcome


def _etag(lease: Lease, fetched: Fetched, record: PageRecord) -> str | None:
    """The ETag to send with the next request for the URL. A 304 need not repeat it."""
    return record.etag or (lease.url.had_etag if isinstance(fetched, NotModified) else None)


def _last_modified(lease: Lease, fetched: Fetched) -> str | None:
    """The Last-Modified to send with the next request for the URL. A 304 need not repeat it."""
    if not isinstance(fetched, Answer):
        return None
    header = validator(fetched.header("last-modified"))
    return lease.url.had_last_modified if header is None and isinstance(fetched, NotModified) else header


def _digest(lease: Lease, fetched: Fetched, sha1: bytes | None) -> bytes | None:
    """The digest of the crawl's copy."""
    last_visit = lease.url.last_visit
    return last_visit.digest if last_visit is not None and isinstance(fetched, NotModified) else sha1
