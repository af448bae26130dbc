"""The table of links."""

from typing import Final

import msgspec

from crawler.export.columns import Row, Table, columns
from crawler.page import LinkDetail

VERSION: Final = 1
COLUMNS: Final = columns(
    "source target anchor rel kind canonical fragment refused source_number:integer position:integer"
)


class _Linking(msgspec.Struct, frozen=True, gc=False):
    """The fields of a record that tell of links."""

    number: int
    url: str
    references: list[str] | None = None
    link_details: list[LinkDetail] | None = None


def links_table() -> Table:
    decoder = msgspec.json.Decoder(_Linking)

    def rows(line: bytes) -> list[Row]:
        return _rows(decoder.decode(line))

    return Table(name="links", version=VERSION, columns=COLUMNS, rows=rows)


def _rows(record: _Linking) -> list[Row]:
    source, number = record.url, record.number
    if record.link_details is None:
        targets = enumerate(record.references or ())
        return [(source, target, None, None, None, target, None, None, number, at) for at, target in targets]
    return [
        (
            source,
            link.url,
            link.text,
            link.rel,
            link.kind,
            link.canonical or link.url,
            link.fragment,
            link.refused,
            number,
            at,
        )
        for at, link in enumerate(record.link_details)
    ]
