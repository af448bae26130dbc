"""What has become of a URL since its last visit."""

from enum import StrEnum
from typing import Final

from crawler.page import Failure, Fetched, LinkKind, NotModified, PageRecord, Redirect, Rendering
from frontier import Lease, LedgerEntry

GONE = frozenset({404, 410})
_MORE_NEXT_TIME = frozenset({"time", "disconnect", "partial"})
"""Why a page was truncated that may come whole the next time."""
_RENDERED_NEXT_TIME = frozenset({Rendering.HUNG, Rendering.MEMORY, Rendering.CRASHED})
"""How the rendering of a page failed that may succeed the next time."""


class Change(StrEnum):
    """What has become of a URL since its last visit."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """it was sent again, and its body is the same"""
    NOT_MODIFIED = "not modified"
    """the server said so"""
    GONE = "gone"
    """the second time in a row, the server has nothing there"""


_NO_HTTPS: Final = "no-https"
"""What the ledger notes of a seed without a scheme whose host has no https."""
_GONE: Final = str(Change.GONE)


def change_since(lease: Lease, fetched: Fetched, sha1: bytes | None) -> Change | None:
    """None if that is not known, as for a first visit, a failure or a redirect."""
    last_visit = lease.url.last_visit
    if last_visit is None or isinstance(fetched, Failure | Redirect):
        return None
    if isinstance(fetched, NotModified):
        return Change.NOT_MODIFIED
    if fetched.status in GONE and last_visit.status in GONE:
        return Change.GONE
    if (fetched.status in GONE) != (last_visit.status in GONE):
        return Change.CHANGED
    if last_visit.digest is None or sha1 is None:
        return None
    return Change.UNCHANGED if sha1 == last_visit.digest else Change.CHANGED


def has_copy(record: PageRecord) -> bool:
    """Whether the next visit may ask if the copy of this one is still current. A 304 would leave the crawl with what it
    has: nothing, links that it did not follow, a page that broke off, or one that could not be rendered."""
    is_kept = record.not_archived is None and record.not_followed is None
    return is_kept and record.truncated not in _MORE_NEXT_TIME and record.rendering not in _RENDERED_NEXT_TIME


def note_of(record: PageRecord) -> str | None:
    """What the ledger notes of a page that did not fail: why its links were not followed, why the archive does not have
    it, that it is gone, or that http was tried for it."""
    if record.kind == LinkKind.SEED and record.anchor is not None and None not in (record.redirect, record.message):
        return _NO_HTTPS
    return record.not_followed or record.not_archived or (_GONE if record.change == _GONE else None)


def seed_without_scheme(entry: LedgerEntry, url: str, /) -> str | None:
    """How a seed was written for which http was tried, so that later visits try it, too; None for all others."""
    return url.removeprefix("https://") if entry.reason == _NO_HTTPS else None
