"""Leaves out rows that a database refuses though it takes others: they would hold up the crawl for ever."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from crawler.write.database.rows import COLUMNS, Row
from crawler.write.descriptor import LeftOut

MOST_LEFT_OUT: Final = 100
"""How many rows in a row are left out before the crawl waits: a constraint that refuses all pages may take the row with
which a database is asked."""
CHECKED: Final = -1
"""A number that no page has."""
EMPTY_ROW: Final = Row(
    number=CHECKED,
    values=tuple(CHECKED if column.name == "number" else None for column in COLUMNS),
    links=None,
    size_bytes=0,
)

_log = logging.getLogger(__name__)
_URL_AT: Final = [column.name for column in COLUMNS].index("url")


class RowRefused(OSError):
    """A database does not take a row of a batch, as for a constraint or an index that users have made. It has stored
    none of them."""


class LeavingOut:
    """Stores what a database takes of the rows that it gets."""

    def __init__(
        self,
        sink: str,
        *,
        store: Callable[[Sequence[Row]], Awaitable[None]],
        takes: Callable[[Row], Awaitable[bool]],
    ) -> None:
        """`store` stores rows, all of them or none, and raises `RowRefused` and other `OSError`. `takes` says whether
        the database would take a row now."""
        self._sink = sink
        self._store = store
        self._takes = takes
        self._taken = EMPTY_ROW
        """A row that the database has taken, if there is one."""
        self._left_out = 0
        """How many rows in a row."""
        self._told: set[int] = set()
        """Numbers of rows that are left out, of batches that come again."""
        self._tell: Callable[[LeftOut], object] | None = None

    def tell_refusals(self, tell: Callable[[LeftOut], object], /) -> None:
        """See `LeavesOut`."""
        self._tell = tell

    async def store(self, rows: Sequence[Row]) -> None:
        """Store pages. After an `OSError`, nobody knows which are stored, and to store them again is right. A page is
        left out, and logged or told once, whose row the database refuses though it takes others. Where it is told,
        whatever rows the database refuses are left out.
        """
        await self._store_taken(rows)
        self._told.difference_update(row.number for row in rows)

    async def _store_taken(self, rows: Sequence[Row]) -> None:
        try:
            await self._store(rows)
        except RowRefused as refused:
            if len(rows) == 1:
                await self._leave_out(rows[0], refused)
                return
            middle = len(rows) // 2
            await self._store_taken(rows[:middle])
            await self._store_taken(rows[middle:])
        else:
            self._taken, self._left_out = min(rows, key=lambda row: row.size_bytes), 0

    async def _leave_out(self, row: Row, refused: RowRefused) -> None:
        """Raises `refused` if users have to change the tables, or nobody knows."""
        url, why = row.values[_URL_AT], str(refused)
        if self._tell is None and self._left_out == MOST_LEFT_OUT:
            raise refused
        if row.number in self._told:
            return
        if self._tell is not None:
            self._told.add(row.number)
            self._tell(LeftOut(number=row.number, url=url, why=why))
            return
        if not await self._takes(self._taken):
            raise refused
        self._told.add(row.number)
        self._left_out += 1
        _log.error(
            "the sink %s: %s (number %d) is left out, because the database refuses its row: %s; once it takes the row, "
            "`onceover inspect DIR verify --repair` stores the page from its record, if the crawl writes records",
            self._sink,
            url,
            row.number,
            why,
        )
