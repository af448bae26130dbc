"""An export whose temporary files don't fit says what to do, and leaves nothing behind."""

import sqlite3
from pathlib import Path

import pytest

from crawler.export.aside import written_aside
from crawler.testing.disks import mounted
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


def test_an_export_to_a_full_disk_names_its_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with mounted("-o", "size=8k", at=tmp_path / "mount") as mount:
        path = mount / "a.csv"
        with pytest.raises(OSError, match="No space left on device") as full, written_aside(path) as file:
            file.write(bytes(100_000))
        assert full.value.filename == str(path)
        assert not list(mount.iterdir())
