"""Which visit of a URL counts, if it was fetched again."""

import sqlite3
from http import HTTPStatus
from typing import Protocol

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.temporary import Rows


class Visited(Protocol):
    """A visit of a URL."""

    @property
    def number(self) -> int: ...
    @property
    def url(self) -> str: ...
    @property
    def visit(self) -> int: ...
    @property
    def status(self) -> int | None: ...


class Current:
    """The last visit counts. Unless `with_not_modified`, the last one that was not answered by 304, because that says
    that the copy before it is current.

    `add` all records first. A URL that was visited once costs nothing."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical, *, with_not_modified: bool = False) -> None:
        self._with_not_modified = with_not_modified
        self._database = database
        self._canonical = canonical
        self._rows = Rows(
            database,
            "INSERT INTO visits VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = max(number, excluded.number)",
        )
        self._has_any = False
        database.execute("CREATE TABLE visits (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")

    def add(self, listed: Visited) -> None:
        if listed.visit > 1 and not self._is_passed_over(listed):
            self._has_any = True
            self._rows.add(self._canonical(listed.url), listed.number)

    def has(self, listed: Visited) -> bool:
        """Whether this visit counts."""
        if listed.visit > 1 and self._is_passed_over(listed):
            return False
        if not self._has_any:
            return True
        self._rows.write()
        found = self._database.execute(
            "SELECT number FROM visits WHERE name = ?", (self._canonical(listed.url),)
        ).fetchone()
        return found is None or listed.number >= found[0]

    def _is_passed_over(self, listed: Visited) -> bool:
        return listed.status == HTTPStatus.NOT_MODIFIED and not self._with_not_modified
