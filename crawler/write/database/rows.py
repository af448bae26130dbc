"""What a page is in a table: its columns, and its row."""

import json
import math
import re
from collections.abc import Callable, Sequence
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_type_hints

import msgspec
from msgspec import Meta

from crawler.page import Failure, Fetched, Page, PageRecord
from crawler.url.urls import host_of


class Kind(Enum):
    """What a column holds."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    """A text in RFC 3339, UTC."""
    JSON = "json"
    """A text."""
    BYTES = "bytes"


class Column(msgspec.Struct, frozen=True):
    name: str
    kind: Kind


class Row(msgspec.Struct, frozen=True, gc=False):
    number: int
    values: tuple[Any, ...]
    """One for each of `COLUMNS`; None where nothing is known."""
    links: Sequence[str] | None
    """The canonical URLs of its links; None if the crawl does not write them."""
    size_bytes: int
    """About how much memory it takes."""


class RowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a sink: what its rows have beside records."""

    headers: Annotated[bool, Meta(description="Store the headers of each response, too.")] = False
    bodies: Annotated[bool, Meta(description="Store the body of each page, too.")] = False


_KINDS: Final = {int: Kind.INTEGER, float: Kind.REAL, str: Kind.TEXT, bool: Kind.BOOLEAN}
_MOMENTS: Final = frozenset({"fetched_at", "last_modified", "expires_at"})
_LINKS: Final = "references"
_MOST = 2**63 - 1
_LONGEST_HOST: Final = 255
"""The name of a host has at most 253 characters. An index of PostgreSQL has no place for what a page may claim."""
_LONGEST_BODY: Final = 500_000_000
"""SQLite has no place for more than a gigabyte, and psql shows none for more than half of that."""
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""A NUL in JSON, and not a backslash before `u0000`."""


def _kind(name: str, hint: Any) -> Kind:
    plain = [each for each in get_args(hint) if each is not NoneType] or [hint]
    return Kind.MOMENT if name in _MOMENTS else _KINDS.get(plain[0], Kind.JSON)


_NAMES: Final = dict(zip(PageRecord.__struct_fields__, PageRecord.__struct_encode_fields__, strict=True))
"""How users know the fields of a record."""
_HINTS: Final = {name: hint for name, hint in get_type_hints(PageRecord).items() if name != _LINKS}
_FIELDS: Final = tuple(Column(_NAMES[name], _kind(name, hint)) for name, hint in _HINTS.items())
COLUMNS: Final = (*_FIELDS, Column("host", Kind.TEXT), Column("headers", Kind.JSON), Column("body", Kind.BYTES))
"""The fields of a record, but for its links, which have a table of their own; the host; the headers and the body of the
response, if they are asked for."""


def row_of(page: Fetched | None, record: PageRecord, options: RowOptions) -> Row:
    """The row of a page. Its texts can be stored in any database: they have no NUL and no lone surrogate."""
    found = [_STORABLE[column.kind](getattr(record, name)) for name, column in zip(_HINTS, _FIELDS, strict=True)]
    headers = _headers(page) if options.headers else None
    body = page.body if options.bodies and isinstance(page, Page) and len(page.body) <= _LONGEST_BODY else None
    targets = _targets(record)
    links = None if targets is None else [_storable(each) for each in targets]
    host = host_of(record.url)
    values = (*found, _text(host) if len(host) <= _LONGEST_HOST else None, headers, body)
    size = sum(len(value) for value in values if isinstance(value, str | bytes)) + sum(map(len, links or ()))
    return Row(record.number, values, links, size + 1000)


def _targets(record: PageRecord) -> Sequence[str] | None:
    """The canonical URLs of its links, in their order; None if the crawl does not record them."""
    if record.references is not None or record.link_details is None:
        return record.references
    return [each.canonical or each.url for each in record.link_details]


def _headers(page: Fetched | None) -> str | None:
    """Names and values in their order, since a name may come twice."""
    if page is None or isinstance(page, Failure):
        return None
    return _json([[name.decode("latin-1"), value.decode("latin-1")] for name, value in page.headers])


def _text(value: str | None) -> str | None:
    return None if value is None else _storable(value)


def _storable(value: str) -> str:
    if value.isascii() and "\0" not in value:
        return value
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _integer(value: int | None) -> int | None:
    # Databases know no unsigned 64-bit numbers.
    return value if value is None or value <= _MOST else value - 2**64


def _json(value: object) -> str | None:
    if value is None:
        return None
    plain = msgspec.to_builtins(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a number that JSON does not have
        text = json.dumps(_finite(plain), ensure_ascii=False, separators=(",", ":"))
    text = _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text
    return text.encode("utf-8", "replace").decode()


def _finite(value: Any) -> Any:
    """With null for numbers that are none."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _same(value: Any) -> Any:
    return value


_STORABLE: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.INTEGER: _integer,
    Kind.REAL: _same,
    Kind.TEXT: _text,
    Kind.BOOLEAN: _same,
    Kind.MOMENT: _text,
    Kind.JSON: _json,
    Kind.BYTES: _same,
}
