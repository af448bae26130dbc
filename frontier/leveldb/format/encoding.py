"""Encodes URLs and ledger entries as compact, versioned msgpack arrays.

Each value begins with the number of its form, so that a later version knows what it reads.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from frontier.records import PendingUrl, PostponedUrl, precedence_of
from frontier.values import CrawlUrl, LedgerEntry, UrlState
from frontier.visits import LastVisit

_Record = TypeVar("_Record")
_LINK = "link"


class _Pending(msgspec.Struct, array_like=True, tag=1, gc=False):
    number: int
    found_at: int
    url: str
    canonical: str | None
    """None if it equals `url`, the usual case."""
    depth: int
    via: str | None
    kind: str
    anchor: str | None
    weight: float | int
    """0 takes one byte, 0.0 takes nine."""
    redirects: int
    attempt: int
    last_modified: str | None
    cost: int
    had_etag: str | None
    had_last_modified: str | None
    link_count: int
    last_visit: LastVisit | None
    change_frequency: str | None


class _Postponed(msgspec.Struct, array_like=True, tag=2, gc=False):
    queue_key: str
    order: int
    pending: _Pending
    reason: str | None


class _LedgerPending(msgspec.Struct, array_like=True, tag=3, gc=False):
    """Where the pending or postponed record is. That record has everything known about the URL."""

    number: int
    found_at: int
    queue_key: str
    order: int
    due_ms: int | None


class _LedgerSettled(msgspec.Struct, array_like=True, tag=4, gc=False):
    state: int
    number: int
    found_at: int
    via: str | None
    status: int | None
    reason: str | None
    fetched_at: float | None
    digest: bytes | None
    etag: str | None
    last_modified: str | None
    hit_count: int
    elsewhere: bool
    url: str | None
    kind: str | None
    """None for a link, the usual case."""
    depth: int | None
    visits: int
    history: tuple[int, ...] | None
    interval_s: int | None
    revisit_ms: int | None
    change_frequency: str | None
    settled_in: int | None


LENGTHS = {
    form: 1 + len(record.__struct_fields__)
    for form, record in enumerate((_Pending, _Postponed, _LedgerPending, _LedgerSettled), 1)
}
"""How many values the array of a record has, by the number of its form, which is the first of them."""


class Location(msgspec.Struct, frozen=True):
    """Where a URL that is not settled waits: in its queue, or postponed until `due_ms`."""

    number: int
    queue_key: str
    order: int
    due_ms: int | None


DecodeError = msgspec.DecodeError
"""All `decode_…` functions raise this for damaged bytes."""


def decoder(decode: Callable[[bytes], _Record]) -> Callable[[bytes], _Record]:
    """Wrap `decode`, so that it also raises `DecodeError` for text that is not UTF-8."""

    def decode_record(value: bytes) -> _Record:
        try:
            return decode(value)
        except UnicodeDecodeError as error:
            raise DecodeError(str(error)) from error

    return decode_record


_encode = msgspec.msgpack.Encoder().encode
encode_count = _encode
_decode_pending = decoder(msgspec.msgpack.Decoder(_Pending).decode)
_decode_postponed = decoder(msgspec.msgpack.Decoder(_Postponed).decode)
decode_count = decoder(msgspec.msgpack.Decoder(int).decode)
_decode_ledger = decoder(msgspec.msgpack.Decoder(_LedgerPending | _LedgerSettled).decode)


def encode_record(record: msgspec.Struct) -> bytes:
    try:
        return _encode(record)
    except UnicodeEncodeError:
        # A header or a link's text can hold a lone surrogate, which UTF-8 can't express.
        return _encode(_without_surrogates(record))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return replace(value, **{name: _without_surrogates(field) for name, field in fields})
    return value


def encode_pending(pending: PendingUrl) -> bytes:
    return encode_record(_to_record(pending))


def decode_pending(value: bytes, *, queue_key: str, order: int) -> PendingUrl:
    return _from_record(_decode_pending(value), queue_key=queue_key, order=order)


def encode_postponed(postponed: PostponedUrl) -> bytes:
    pending = postponed.pending
    return encode_record(
        _Postponed(
            queue_key=pending.url.queue_key, order=pending.order, pending=_to_record(pending), reason=postponed.reason
        )
    )


def decode_postponed(value: bytes, *, due_ms: int) -> PostponedUrl:
    record = _decode_postponed(value)
    pending = _from_record(record.pending, queue_key=record.queue_key, order=record.order)
    return PostponedUrl(pending=pending, due_ms=due_ms, reason=record.reason)


def encode_location(pending: PendingUrl, *, due_ms: int | None = None) -> bytes:
    """The ledger entry of a URL that is not settled."""
    return _encode(_LedgerPending(pending.number, pending.found_at, pending.url.queue_key, pending.order, due_ms))


def encode_entry(entry: LedgerEntry) -> bytes:
    # Positional arguments: keywords would make this half as slow again, for each URL.
    return encode_record(
        _LedgerSettled(
            entry.state,
            entry.number,
            int(entry.found_at),
            entry.via,
            entry.status,
            entry.reason,
            entry.fetched_at,
            entry.digest,
            entry.etag,
            entry.last_modified,
            entry.hit_count,
            entry.elsewhere,
            entry.url,
            None if entry.kind == _LINK else entry.kind,
            entry.depth,
            entry.visits,
            entry.history or None,
            entry.interval_s,
            entry.due_ms,
            entry.change_frequency,
            entry.settled_in,
        )
    )


def decode_entry(value: bytes, *, canonical: str) -> tuple[LedgerEntry, Location | None]:
    """The entry; and if the URL is not settled, its location, where the rest of what is known is stored."""
    record = _decode_ledger(value)
    if isinstance(record, _LedgerPending):
        entry = LedgerEntry(canonical=canonical, state=UrlState.PENDING, number=record.number, found_at=record.found_at)
        return entry, Location(record.number, record.queue_key, record.order, record.due_ms)
    try:
        state = UrlState(record.state)
    except ValueError as error:
        raise DecodeError(str(error)) from None
    entry = LedgerEntry(
        canonical=canonical,
        state=state,
        number=record.number,
        found_at=record.found_at,
        via=record.via,
        status=record.status,
        reason=record.reason,
        fetched_at=record.fetched_at,
        digest=record.digest,
        etag=record.etag,
        last_modified=record.last_modified,
        hit_count=record.hit_count,
        elsewhere=record.elsewhere,
        url=record.url,
        kind=record.kind or _LINK,
        depth=record.depth,
        visits=record.visits,
        history=record.history or (),
        interval_s=record.interval_s,
        due_ms=record.revisit_ms,
        change_frequency=record.change_frequency,
        settled_in=record.settled_in,
    )
    return entry, None


def _to_record(pending: PendingUrl) -> _Pending:
    url = pending.url
    return _Pending(
        pending.number,
        pending.found_at,
        url.url,
        None if url.canonical == url.url else url.canonical,
        url.depth,
        url.via,
        url.kind,
        url.anchor,
        url.weight or 0,
        url.redirects,
        url.attempt,
        url.last_modified,
        url.cost,
        url.had_etag,
        url.had_last_modified,
        url.link_count,
        url.last_visit,
        url.change_frequency,
    )


def _from_record(record: _Pending, *, queue_key: str, order: int) -> PendingUrl:
    # Few URLs have a visit behind them. Python makes a dictionary for a call with more than 15 keywords, which is slow.
    url = CrawlUrl(
        url=record.url,
        canonical=record.url if record.canonical is None else record.canonical,
        queue_key=queue_key,
        depth=record.depth,
        via=record.via,
        kind=record.kind,
        anchor=record.anchor,
        weight=float(record.weight),
        precedence=precedence_of(order),
        redirects=record.redirects,
        attempt=record.attempt,
        last_modified=record.last_modified,
        cost=record.cost,
        link_count=record.link_count,
        change_frequency=record.change_frequency,
    )
    etag, last_modified, last_visit = record.had_etag, record.had_last_modified, record.last_visit
    if etag is not None or last_modified is not None or last_visit is not None:
        url = replace(url, had_etag=etag, had_last_modified=last_modified, last_visit=last_visit)
    return PendingUrl(url=url, number=record.number, order=order, found_at=record.found_at)
