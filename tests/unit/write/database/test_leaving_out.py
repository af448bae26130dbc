"""Rows that a database refuses though it takes others."""

from collections.abc import Sequence

import pytest

from crawler.write.database.leaving_out import MOST_LEFT_OUT, LeavingOut, RowRefused
from crawler.write.database.rows import COLUMNS, Row
from crawler.write.descriptor import LeftOut

REFUSED = 0


def row(number: int) -> Row:
    values = {"number": number, "url": f"http://a.test/{number}"}
    return Row(
        number=number, values=tuple(values.get(column.name) for column in COLUMNS), links=None, size_bytes=number
    )


class Database:
    """Refuses the row `REFUSED`. While it `is_full`, it has room for row 1 alone."""

    def __init__(self) -> None:
        self.is_full = True
        self.stored: set[int] = set()
        self.leaving_out = LeavingOut("small", store=self._store, takes=self._takes)

    async def _store(self, rows: Sequence[Row]) -> None:
        numbers = {each.number for each in rows}
        if REFUSED in numbers:
            raise RowRefused("violates a constraint")
        if self.is_full and numbers != {1}:
            raise OSError("no space")
        self.stored |= numbers

    async def _takes(self, _: Row) -> bool:
        return True


@pytest.mark.parametrize("rows", [(REFUSED, 1, 2, 3), (REFUSED, 2, 3)], ids=["after-one-is-stored", "at-once"])
@pytest.mark.parametrize("is_repair", [False, True])
async def test_a_row_is_told_once_however_often_its_batch_comes_again(
    rows: tuple[int, ...], caplog: pytest.LogCaptureFixture, *, is_repair: bool
) -> None:
    database, told = Database(), list[LeftOut]()
    if is_repair:
        database.leaving_out.tell_refusals(told.append)
    batch = [row(number) for number in rows]
    for _ in range(MOST_LEFT_OUT + 1):
        with pytest.raises(OSError, match="no space"):
            await database.leaving_out.store(batch)
    database.is_full = False
    await database.leaving_out.store(batch)
    assert database.stored == set(rows) - {REFUSED}
    assert ([each.number for each in told], len(caplog.messages)) == (([REFUSED], 0) if is_repair else ([], 1))
