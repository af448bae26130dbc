"""What a column of a table is."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Kind = Literal["string", "integer", "number", "boolean", "time"]
"""A time is RFC 3339 until it is written."""

Value = str | int | float | bool | None
Row = tuple[Value, ...]


class Column(msgspec.Struct, frozen=True):
    """A column. Each may be null."""

    name: str
    kind: Kind = "string"


def columns(words: str) -> tuple[Column, ...]:
    """Columns that are written as `name`, for texts, or as `name:kind`."""
    pairs = (word.partition(":") for word in words.split())
    return tuple(Column(name, msgspec.convert(kind or "string", Kind)) for name, _, kind in pairs)


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of rows that an export writes."""

    name: str
    version: int
    """Grows when a column gets another meaning or goes away, and not when one comes."""
    columns: Sequence[Column]
    rows: Callable[[bytes], Sequence[Row]]
    """The rows of a line of records. Raises what decoding it raises."""
    rewrite: Callable[[bytes], bytes] | None = None
    """What to make of a line of records first. Raises what decoding it raises."""
    is_lines: bool = False
    """Whether a line of records is a row, so that JSON Lines need no other form."""
