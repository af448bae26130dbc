"""Pages and records with something of everything."""

from typing import Any

import msgspec

from crawler.page import Page, PageRecord
from crawler.testing.sink.pages import page, record_of
from crawler.write.database.rows import COLUMNS

RICH = {
    "title": "Zo\u00eb \ud800 \0 end",
    "refused": {"off-site": 3},
    "refusals": [("http://other.test/\udfff", "off-site"), ("java\0script:", "scheme")],
    "last_modified": "2026-01-02T03:04:05Z",
    "noindex": True,
    "weight": 0.5,
    "references": ["http://h1.sim.test:8080/", "http://h1.sim.test:8080/b", "http://h1.sim.test:8080/"],
}


def rich_page(number: int, **changes: object) -> tuple[Page, PageRecord]:
    fetched = page(number)
    record = record_of(fetched, number)
    return fetched, msgspec.structs.replace(record, **{**RICH, **changes})


def named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([column.name for column in COLUMNS], row, strict=True))
