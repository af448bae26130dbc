"""Pages that have the same body, that name another page as their canonical one, or that have almost the same text."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.forms import Duplicate
from crawler.operate.report.lists.listed import Listed, other_canonical
from crawler.page import counts_as_page

_TABLE: Final = """
    CREATE TABLE pages (
        name TEXT PRIMARY KEY, digest TEXT, number INTEGER, url TEXT, bytes INTEGER, canonical TEXT, near TEXT,
        distance INTEGER
    ) WITHOUT ROWID
"""
"""A page that has redirected to itself, as with a cookie, may be visited in two ways. What comes later counts."""
_SAME_BODY: Final = """
    SELECT url, first_value(url) OVER same, bytes, count(*) OVER (PARTITION BY digest), number = min(number) OVER same
    FROM pages WHERE digest IS NOT NULL
    WINDOW same AS (PARTITION BY digest ORDER BY number)
    ORDER BY digest, number
"""


class Duplicates:
    """`add` all records first."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        database.execute(_TABLE)

    def add(self, listed: Listed) -> None:
        if not counts_as_page(listed) or not listed.size_bytes:
            return  # nobody wonders that empty bodies are equal
        canonical = other_canonical(listed, self._canonical)
        near = listed.near_duplicate_of if listed.duplicate_of is None else None
        page = listed.digest, listed.number, listed.url, listed.size_bytes, canonical, near, listed.near_distance
        row = self._canonical(listed.url), *page
        self._database.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def rows(self) -> Iterator[Duplicate]:
        """Those with the same body, together; then those that name another page; then others with almost the same
        text."""
        for url, first, size, count, is_first in self._database.execute(_SAME_BODY):
            if count > 1 and not is_first:
                yield Duplicate(url=url, of=first, by="body", bytes=size)
        for url, canonical, size in self._database.execute(
            "SELECT url, canonical, bytes FROM pages WHERE canonical IS NOT NULL ORDER BY canonical, number"
        ):
            yield Duplicate(url=url, of=canonical, by="canonical", bytes=size)
        for url, near, size, distance in self._database.execute(
            "SELECT url, near, bytes, distance FROM pages WHERE near IS NOT NULL ORDER BY near, number"
        ):
            yield Duplicate(url=url, of=near, by="text", bytes=size, distance=distance)
