"""A report or a difference whose temporary files don't fit says what to do."""

import sqlite3
from pathlib import Path

import pytest

from tests.e2e.crawling import FAILED, assert_told
from tests.unit.operate.stored_crawls import make


@pytest.mark.parametrize(
    "command", [("report", "DIR", "dead-links"), ("report", "DIR", "orphans"), ("diff", "DIR", "DIR")]
)
def test_lists_without_room_for_temporary_files_say_where_to_make_some(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl")
    connect = sqlite3.connect

    def connect_to_a_full_disk(path: str, *, isolation_level: None = None, uri: bool = False) -> sqlite3.Connection:
        database = connect(path, isolation_level=isolation_level, uri=uri)
        if not path:
            database.execute("PRAGMA max_page_count = 1")
        return database

    monkeypatch.setattr(sqlite3, "connect", connect_to_a_full_disk)
    assert_told(
        crawl.run(*command), FAILED, "a temporary file of SQLite can't be written", "full. Free", "SQLITE_TMPDIR"
    )
