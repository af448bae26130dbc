"""Several sinks as one."""

import pytest

from crawler.page import Fetched, PageRecord
from crawler.write.fanout import Sinks
from tests.unit.write.samples import page, record_of


class Noting:
    """Notes what it is told in a list shared with others; fails where it is told to."""

    def __init__(self, name: str, notes: list[str], *, fails_at: str = "") -> None:
        self._name = name
        self._notes = notes
        self._fails_at = fails_at

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self._note(f"write {record.number}")

    async def aclose(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        self._notes.append(f"{self._name} {what}")
        if what.startswith(self._fails_at or "never"):
            raise OSError(28, f"{self._name} is full")


async def test_every_sink_is_written_and_closed_in_the_given_order() -> None:
    notes: list[str] = []
    sinks = Sinks([Noting("warc", notes), Noting("records", notes)])
    await sinks.write(page(1), record_of(page(1), 1))
    await sinks.aclose()
    assert notes == ["warc write 1", "records write 1", "warc close", "records close"]


async def test_a_page_that_the_first_sink_refuses_does_not_reach_the_next() -> None:
    notes: list[str] = []
    sinks = Sinks([Noting("warc", notes, fails_at="write"), Noting("records", notes)])
    with pytest.raises(OSError, match="warc is full"):
        await sinks.write(page(1), record_of(page(1), 1))
    assert notes == ["warc write 1"]


async def test_all_are_closed_even_if_one_of_them_fails() -> None:
    notes: list[str] = []
    sinks = Sinks([Noting("warc", notes, fails_at="close"), Noting("records", notes)])
    with pytest.raises(OSError, match="warc is full"):
        await sinks.aclose()
    assert notes == ["warc close", "records close"]


async def test_no_sinks_at_all_swallow_everything() -> None:
    sinks = Sinks([])
    await sinks.write(None, record_of(page(1), 1))
    await sinks.aclose()
