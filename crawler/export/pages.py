"""The table of pages: the columns of Common Crawl's columnar index, then the other fields of records."""

import types
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from crawler.export.captures import Location
from crawler.export.columns import Column, Kind, Row, Table, Value, columns
from crawler.page import LinkKind, PageRecord
from crawler.url.hosts import public_suffixes, split_port, surt_host
from crawler.url.urls import path_of

VERSION: Final = 1
COMMON_COLUMNS: Final = columns(
    "url_surtkey url url_host_name url_host_tld url_host_2nd_last_part url_host_3rd_last_part "
    "url_host_4th_last_part url_host_5th_last_part url_host_registry_suffix url_host_registered_domain "
    "url_host_private_suffix url_host_private_domain url_host_name_reversed url_protocol url_port:integer "
    "url_path url_query fetch_time:time fetch_status:integer fetch_redirect content_digest content_mime_type "
    "content_mime_detected content_charset content_languages content_truncated warc_filename "
    "warc_record_offset:integer warc_record_length:integer warc_segment crawl subset"
)
"""As in `cc-index-schema-flat.json` of Common Crawl's cc-index-table."""

_OF_URL: Final = 17
"""Columns that follow from the URL."""
_SAID_ABOVE: Final = frozenset(
    "url status fetched_at redirect digest declared_type content_type charset language truncated".split()
)
_LEFT_OUT: Final = frozenset(("references", "link_details", "refusals"))
"""Lists that may be long. The table of links has the first two."""
_KINDS: Final[dict[object, Kind]] = {str: "string", int: "integer", float: "number", bool: "boolean"}


_NAMES: Final = dict(zip(PageRecord.__struct_fields__, PageRecord.__struct_encode_fields__, strict=True))
"""How users know the fields of a record."""


def _own_columns() -> dict[str, Kind | None]:
    """The other fields of a record; None for those that become JSON."""
    kinds: dict[str, Kind | None] = {}
    for name, hint in get_type_hints(PageRecord).items():
        if name not in _SAID_ABOVE and name not in _LEFT_OUT:
            is_union = get_origin(hint) in (Union, types.UnionType)
            plain = [each for each in get_args(hint) if each is not types.NoneType] if is_union else [hint]
            kinds[name] = _KINDS.get(plain[0]) if len(plain) == 1 else None
    for name in ("last_modified", "expires_at"):
        kinds[name] = "time"
    return kinds


_OWN: Final = _own_columns()
OWN_COLUMNS: Final = tuple(Column(_NAMES[name], kind or "string") for name, kind in _OWN.items())

Locate = Callable[[str, str | None], Location | None]
"""Tells where the archive has the capture of a URL at a time."""


def pages_table(locate: Locate, *, crawl: str) -> Table:
    """The table for a crawl of that name."""
    decoder = msgspec.json.Decoder(PageRecord)

    def rows(line: bytes) -> list[Row]:
        record = decoder.decode(line)
        if record.kind == LinkKind.EXTERNAL:
            return []
        own = [_plain(getattr(record, name), kind) for name, kind in _OWN.items()]
        return [(*_url_values(record.url), *_fetch_values(record, locate(record.url, record.fetched_at), crawl), *own)]

    return Table(name="pages", version=VERSION, columns=(*COMMON_COLUMNS, *OWN_COLUMNS), rows=rows, is_lines=True)


def _plain(value: Any, kind: Kind | None) -> Value:
    if value is None or kind is not None:
        plain: Value = value
        return plain
    return msgspec.json.encode(value).decode()


def _fetch_values(record: PageRecord, location: Location | None, crawl: str) -> Row:
    return (
        record.fetched_at,
        record.status,
        record.redirect,
        None if record.digest is None else record.digest.removeprefix("sha1:"),
        record.declared_type,
        record.content_type,
        record.charset,
        record.language,
        record.truncated,
        *((None, None, None) if location is None else (location.filename, location.offset, location.length)),
        None if location is None else location.filename.rpartition("/warc/")[0] or None,
        crawl,
        None if record.status is None else "warc" if record.status == HTTPStatus.OK else "crawldiagnostics",
    )


def _url_values(url: str) -> Row:
    protocol, separator, rest = url.partition("://")
    if not separator:
        return (None, url, *(None,) * (_OF_URL - 2))
    authority = rest.partition("/")[0].partition("?")[0].rpartition("@")[2]
    host, port = split_port(authority)
    path, question, query = path_of(url).partition("?")
    of_host = _host_values(host)
    return (
        f"{surt_host(host)}{port}){path}{question}{query}",
        url,
        *of_host,
        protocol,
        int(port[1:]) if port else None,
        path,
        query if question else None,
    )


@lru_cache(maxsize=10_000)
def _host_values(host: str) -> Row:
    suffixes = public_suffixes(host)
    if suffixes is None:  # an address
        return (host, *(None,) * 9, host)
    labels = host.rstrip(".").split(".")
    parts = [labels[-at] if at <= len(labels) else None for at in range(1, 6)]
    of_suffixes = suffixes.registry_suffix, suffixes.registered_domain, suffixes.private_suffix, suffixes.private_domain
    return (host, *parts, *of_suffixes, ".".join(reversed(labels)))
