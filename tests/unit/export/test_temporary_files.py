"""An export whose temporary files don't fit says what to do, and leaves nothing behind."""

import sqlite3
from pathlib import Path

import pytest

from tests.unit.export.test_tables import run
from tests.unit.export.test_wacz import archived_crawl
from tests.unit.write.samples import page


@pytest.mark.parametrize("form", ["wacz", "csv"])
async def test_an_export_without_room_for_temporary_files_says_where_to_make_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1))
    connect = sqlite3.connect

    def connect_to_a_full_disk(path: str) -> sqlite3.Connection:
        database = connect(path)
        database.execute("PRAGMA max_page_count = 1")
        return database

    monkeypatch.setattr(sqlite3, "connect", connect_to_a_full_disk)
    to = tmp_path / "out" / f"a.{form}"
    with pytest.raises(OSError, match=r"a temporary file of SQLite.* is full\. Free some space .* SQLITE_TMPDIR"):
        run(crawl, form, to)
    assert not to.parent.exists() or not list(to.parent.iterdir())
