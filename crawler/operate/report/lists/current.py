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
    """The last visit says what became of a URL. What the page holds is said by the last one that was not answered by
    304, because that says that the copy before it is current.

    `add` all records first. A URL that was visited once costs nothing."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        self._rows = Rows(
            database,
            "INSERT INTO visits VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "last = max(last, excluded.last), current = max(current, excluded.current)",
        )
        self._has_any = False
        database.execute("CREATE TABLE visits (name TEXT PRIMARY KEY, last INTEGER, current INTEGER) WITHOUT ROWID")

    def add(self, listed: Visited) -> None:
        if listed.visit > 1:
            self._has_any = True
            self._rows.add(self._canonical(listed.url), listed.number, 0 if _tells_nothing(listed) else listed.number)

    def has(self, listed: Visited) -> bool:
        """Whether this visit says what the page holds."""
        return not _tells_nothing(listed) and self.which(listed)[1]

    def which(self, listed: Visited) -> tuple[bool, bool]:
        """Whether this visit is the last one, and whether it says what the page holds."""
        if not self._has_any:
            return True, True
        self._rows.write()
        found = self._database.execute(
            "SELECT last, current FROM visits WHERE name = ?", (self._canonical(listed.url),)
        ).fetchone()
        if found is None:
            return True, True
        return listed.number >= found[0], not _tells_nothing(listed) and listed.number >= found[1]


def _tells_nothing(listed: Visited) -> bool:
    return listed.visit > 1 and listed.status == HTTPStatus.NOT_MODIFIED
