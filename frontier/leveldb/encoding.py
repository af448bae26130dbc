"""How URLs and ledger entries are written down: compact, versioned msgpack arrays.

Each value begins with a number that names its form, so that a later version can tell what it reads. Fields are only
ever appended, with a default: older records stay readable.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from frontier.store import Postponed, Waiting, precedence_of
from frontier.values import CrawlUrl, LedgerEntry, UrlState

_Record = TypeVar("_Record")


class _Pending(msgspec.Struct, array_like=True, tag=1, gc=False):
    number: int
    found_at: int
    url: str
    canonical: str | None
    """None if it equals `url`, as it mostly does."""
    depth: int
    via: str | None
    kind: str
    anchor: str | None
    weight: float | int
    """0 takes a byte, and 0.0 nine."""
    redirects: int
    attempt: int
    last_modified: str | None = None
    cost: int = 1
    had_etag: str | None = None
    had_last_modified: str | None = None
    hits: int = 1


class _Postponed(msgspec.Struct, array_like=True, tag=2, gc=False):
    queue_key: str
    order: int
    pending: _Pending
    reason: str | None = None


class _LedgerPending(msgspec.Struct, array_like=True, tag=3, gc=False):
    """Says where the pending or postponed entry stands, which has all that is known of the URL."""

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
    hit_count: int = 1
    elsewhere: bool = False


class Place(msgspec.Struct, frozen=True):
    """Where a URL that is not settled stands: in its queue, or postponed until `due_ms`."""

    number: int
    queue_key: str
    order: int
    due_ms: int | None


DecodeError = msgspec.DecodeError
"""Raised by all `decode_…` functions for bytes that are not what they should be."""


def decoder(decode: Callable[[bytes], _Record]) -> Callable[[bytes], _Record]:
    """The same, raising `DecodeError` for text that is not UTF-8 too."""

    def decode_record(value: bytes) -> _Record:
        try:
            return decode(value)
        except UnicodeDecodeError as error:
            raise DecodeError(str(error)) from error

    return decode_record


_encode = msgspec.msgpack.Encoder().encode
encode_hits = _encode
_decode_pending = decoder(msgspec.msgpack.Decoder(_Pending).decode)
_decode_postponed = decoder(msgspec.msgpack.Decoder(_Postponed).decode)
decode_hits = decoder(msgspec.msgpack.Decoder(int).decode)
_decode_ledger = decoder(msgspec.msgpack.Decoder(_LedgerPending | _LedgerSettled).decode)


def encode_record(record: msgspec.Struct) -> bytes:
    try:
        return _encode(record)
    except UnicodeEncodeError:
        # A header or a link's text can hold a lone surrogate, which no server and no reader could be told again.
        return _encode(_without_surrogates(record))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, msgspec.Struct):
        return type(value)(*map(_without_surrogates, msgspec.structs.astuple(value)))
    return value


def encode_waiting(waiting: Waiting) -> bytes:
    return encode_record(_pending(waiting))


def decode_waiting(value: bytes, *, queue_key: str, order: int) -> Waiting:
    return _waiting(_decode_pending(value), queue_key=queue_key, order=order)


def encode_postponed(postponed: Postponed) -> bytes:
    waiting = postponed.waiting
    return encode_record(
        _Postponed(
            queue_key=waiting.url.queue_key, order=waiting.order, pending=_pending(waiting), reason=postponed.reason
        )
    )


def decode_postponed(value: bytes, *, due_ms: int) -> Postponed:
    record = _decode_postponed(value)
    waiting = _waiting(record.pending, queue_key=record.queue_key, order=record.order)
    return Postponed(waiting=waiting, due_ms=due_ms, reason=record.reason)


def encode_place(waiting: Waiting, *, due_ms: int | None = None) -> bytes:
    place = _LedgerPending(waiting.number, waiting.found_at, waiting.url.queue_key, waiting.order, due_ms)
    return _encode(place)


def encode_entry(entry: LedgerEntry) -> bytes:
    # By place, in the order of the fields: by name it would take half as long again, for each URL.
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
        )
    )


def decode_entry(value: bytes, *, canonical: str) -> tuple[LedgerEntry, Place | None]:
    """The entry, and for one that is not settled its place, whose record knows the rest."""
    record = _decode_ledger(value)
    if isinstance(record, _LedgerPending):
        entry = LedgerEntry(canonical=canonical, state=UrlState.PENDING, number=record.number, found_at=record.found_at)
        return entry, Place(record.number, record.queue_key, record.order, record.due_ms)
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
    )
    return entry, None


def _pending(waiting: Waiting) -> _Pending:
    url = waiting.url
    return _Pending(
        waiting.number,
        waiting.found_at,
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
        url.hits,
    )


def _waiting(record: _Pending, *, queue_key: str, order: int) -> Waiting:
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
        had_etag=record.had_etag,
        had_last_modified=record.had_last_modified,
        hits=record.hits,
    )
    return Waiting(url=url, number=record.number, order=order, found_at=record.found_at)
