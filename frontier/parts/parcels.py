"""The form of a parcel: URLs that one transition has found for another part, as bytes.

A parcel begins with the number of its form, so that a later version knows what it reads. It carries all of a URL that
the receiver can't find out itself: not its validators, which are in the receiver's ledger, and not its attempts.
"""

from collections.abc import Iterable
from itertools import islice

import msgspec

from frontier.parts.protocol import MAX_PARCEL_URLS
from frontier.values import CrawlUrl


class _Url(msgspec.Struct, array_like=True, gc=False):
    queue_key: str
    url: str
    canonical: str | None
    """None if it equals `url`, the usual case."""
    precedence: int
    depth: int
    via: str | None
    kind: str
    anchor: str | None
    weight: float | int
    """0 takes one byte, 0.0 takes nine."""
    redirects: int
    last_modified: str | None
    cost: int
    link_count: int
    change_frequency: str | None


class _Parcel(msgspec.Struct, array_like=True, tag=1, gc=False):
    urls: list[_Url]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Parcel).decode

EMPTY_PARCEL = _encode(_Parcel([]))


def encode_parcels(urls: Iterable[CrawlUrl]) -> list[bytes]:
    """One parcel, or several if there are very many URLs."""
    left = iter(urls)
    parcels = []
    while some := list(islice(left, MAX_PARCEL_URLS)):
        parcels.append(encode_parcel(some))
    return parcels


def encode_parcel(urls: Iterable[CrawlUrl]) -> bytes:
    parcel = _Parcel([_to_record(url) for url in urls])
    try:
        return _encode(parcel)
    except UnicodeEncodeError:
        # The text of a link can hold a lone surrogate, which UTF-8 can't express.
        return _encode(_Parcel([_without_surrogates(record) for record in parcel.urls]))


def decode_parcel(parcel: bytes) -> list[CrawlUrl]:
    """Raises ValueError if it can't be read."""
    try:
        return [_from_record(record) for record in _decode(parcel).urls]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"a parcel of links can't be read: {error}") from error


def _to_record(url: CrawlUrl) -> _Url:
    return _Url(
        url.queue_key,
        url.url,
        None if url.canonical == url.url else url.canonical,
        url.precedence,
        url.depth,
        url.via,
        url.kind,
        url.anchor,
        url.weight or 0,
        url.redirects,
        url.last_modified,
        url.cost,
        url.link_count,
        url.change_frequency,
    )


def _from_record(record: _Url) -> CrawlUrl:
    return CrawlUrl(
        url=record.url,
        canonical=record.url if record.canonical is None else record.canonical,
        queue_key=record.queue_key,
        precedence=record.precedence,
        depth=record.depth,
        via=record.via,
        kind=record.kind,
        anchor=record.anchor,
        weight=float(record.weight),
        redirects=record.redirects,
        last_modified=record.last_modified,
        cost=record.cost,
        link_count=record.link_count,
        change_frequency=record.change_frequency,
    )


def _without_surrogates(record: _Url) -> _Url:
    texts = {name: value for name, value in msgspec.structs.asdict(record).items() if isinstance(value, str)}
    return msgspec.structs.replace(
        record, **{name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    )
