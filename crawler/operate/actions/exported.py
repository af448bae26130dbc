"""One URL of the ledger, as a line of an export or an import."""

from typing import Annotated, Final

import msgspec

from crawler.control.requests import MAX_PRECEDENCE
from crawler.operate.actions.forms import moment, seconds
from crawler.page import LinkKind, digest_text
from crawler.page.digests import digest_bytes
from frontier import KnownUrl, UrlState

MAX_LINK_COUNT: Final = 1 << 53
"""A sum of many such counts still fits into the store."""
_MAX_DEPTH: Final = 1 << 31
_MAX_STATUS: Final = 999


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One URL of the ledger, as a line of JSON. An imported line only needs `url`."""

    url: str
    canonical: str | None = None
    """The canonical form, if it is not that of `url`."""
    state: str = msgspec.field(default_factory=lambda: "pending")
    """Always written: `omit_defaults` leaves out plain defaults alone."""
    queue: str | None = None
    precedence: Annotated[int, msgspec.Meta(ge=0, le=MAX_PRECEDENCE)] = 128
    depth: Annotated[int, msgspec.Meta(ge=0, le=_MAX_DEPTH)] = 0
    via: str | None = None
    kind: str = "link"
    anchor: str | None = None
    """Of a seed without a scheme, as it was written."""
    found_at: str | None = None
    """Moments are RFC 3339."""
    due_at: str | None = None
    status: Annotated[int, msgspec.Meta(ge=0, le=_MAX_STATUS)] | None = None
    reason: str | None = None
    fetched_at: str | None = None
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    """As the server wrote it, because it is sent back like that."""
    hit_count: Annotated[int, msgspec.Meta(ge=0, le=MAX_LINK_COUNT)] | None = None


def read_line(text: str | bytes | msgspec.Raw) -> Line:
    """Raises `ValueError`, with the reason."""
    line = msgspec.json.decode(text, type=Line)
    if line.state.upper() not in UrlState.__members__:
        raise ValueError(f"state {line.state!r} is none of pending, done, failed, excluded")
    if "\0" in (line.queue or ""):
        raise ValueError(f"queue {line.queue!r} contains a NUL")
    for when in (line.found_at, line.due_at, line.fetched_at):
        seconds(when)
    digest_bytes(line.digest)
    return line


def line_of(known: KnownUrl) -> Line:
    entry, waiting = known.entry, known.waiting
    if waiting is None:
        return Line(
            url=entry.canonical,
            state=entry.state.name.lower(),
            depth=entry.depth or 0,
            via=entry.via,
            kind=entry.kind,
            found_at=moment(entry.found_at),
            status=entry.status,
            reason=entry.reason,
            fetched_at=moment(entry.fetched_at),
            digest=None if entry.digest is None else digest_text(entry.digest),
            etag=entry.etag,
            last_modified=entry.last_modified,
            hit_count=entry.hit_count,
        )
    return Line(
        url=waiting.url,
        canonical=None if waiting.canonical == waiting.url else waiting.canonical,
        queue=waiting.queue_key,
        precedence=waiting.precedence,
        depth=waiting.depth,
        via=waiting.via,
        kind=waiting.kind,
        anchor=waiting.anchor if waiting.kind == LinkKind.SEED else None,
        found_at=moment(entry.found_at),
        due_at=moment(known.due_at),
        hit_count=entry.hit_count,
    )
