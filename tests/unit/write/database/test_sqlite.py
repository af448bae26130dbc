"""The sink that writes a file of SQLite."""

import asyncio
import errno
import json
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.cli.errors import KnownError, error_text, known_error
from crawler.page import LinkDetail
from crawler.testing.disks import fill, mounted
from crawler.testing.sink.pages import write, write_failure, write_unfetched
from crawler.write.database import sqlite_file
from crawler.write.database.rows import COLUMNS, RowOptions, row_of
from crawler.write.database.sqlite import SqliteSink
from crawler.write.database.sqlite_file import FILE_NAME, read_rows, read_written
from crawler.write.descriptor import LeftOut, OutputDamaged, Parameters
from tests.unit.write.database.samples import named, rich_page


def open_sink(directory: Path, *, headers: bool = False, bodies: bool = False) -> SqliteSink:
    return SqliteSink(Parameters(directory=directory), RowOptions(headers=headers, bodies=bodies))


@contextmanager
def database(directory: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as opened:
        yield opened


def rows(directory: Path) -> list[dict[str, Any]]:
    names = [f'"{column.name}"' for column in COLUMNS]
    return [named(row) for batch in read_rows(directory / FILE_NAME, *names) for row in batch]


async def test_a_row_has_every_field_of_the_record_and_what_the_options_ask_for(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, headers=True, bodies=True)
    fetched, record = rich_page(7)
    await sink.write(fetched, record)
    await write_unfetched(sink, 8)
    await write_failure(sink, 9)
    await sink.aclose()
    row, unfetched, failed = rows(tmp_path)
    assert row["number"] == 7
    assert (row["url"], row["host"], row["status"], row["state"]) == (record.url, "h1.sim.test", 200, "done")
    assert row["fetched_at"] == record.fetched_at
    assert row["title"] == "Zo\u00eb ? \ufffd end"
    assert row["noindex"] == 1
    assert json.loads(row["refused"]) == {"off-site": 3}
    assert json.loads(row["refusals"])[1] == ["java\ufffdscript:", "scheme"]
    assert json.loads(row["headers"])[0] == ["Server", "nginx"]
    assert row["body"] == fetched.body
    assert row["digest"] == record.digest
    assert (unfetched["state"], unfetched["reason"], unfetched["headers"]) == ("excluded", "robots", None)
    assert (failed["number"], failed["reason"], failed["body"]) == (9, "timeout", None)


def test_a_body_that_no_database_can_hold_is_left_out() -> None:
    fetched, record = rich_page(7)
    options = RowOptions(bodies=True)
    long, longer = (msgspec.structs.replace(fetched, body=bytes(size)) for size in (500_000_000, 500_000_001))
    assert named(row_of(long, record, options).values)["body"] is long.body
    assert named(row_of(longer, record, options).values)["body"] is None


async def test_the_log_is_cut_once_a_reader_that_let_it_grow_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOG_BYTES", 100_000)
    sink = open_sink(tmp_path)
    log = tmp_path / f"{FILE_NAME}-wal"
    with database(tmp_path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pages").fetchone()
        while log.stat().st_size < 6_000_000:  # SQLite looks for what it may cut each thousand pages of 4 KB
            await write(sink, log.stat().st_size)
    for number in range(3):
        await write(sink, number)
    assert log.stat().st_size <= 100_000
    await sink.aclose()


async def test_links_that_only_link_details_have_are_links_too(tmp_path: Path) -> None:
    details = [
        LinkDetail(url="http://a.test/1?s=2", canonical="http://a.test/1", kind="link"),
        LinkDetail(url="http://b.test/", kind="link", refused="out-of-scope"),
    ]
    sink = open_sink(tmp_path)
    await sink.write(*rich_page(1, references=None, link_details=details))
    await sink.write(*rich_page(2, references=["http://a.test/3"], link_details=details))
    await sink.aclose()
    with database(tmp_path) as opened:
        assert opened.execute("SELECT * FROM links").fetchall() == [
            (1, 0, "http://a.test/1"),
            (1, 1, "http://b.test/"),
            (2, 0, "http://a.test/3"),
        ]


async def test_links_have_a_row_each_and_are_replaced_with_their_page(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    await sink.write(*rich_page(1))
    await sink.write(*rich_page(2, references=None))
    await sink.write(*rich_page(1, references=["http://h1.sim.test:8080/c"]))
    await sink.aclose()
    with database(tmp_path) as opened:
        assert opened.execute("SELECT * FROM links").fetchall() == [(1, 0, "http://h1.sim.test:8080/c")]
    assert [(row["number"], row["headers"], row["body"]) for row in rows(tmp_path)] == [
        (1, None, None),
        (2, None, None),
    ]


async def test_a_locked_file_raises_an_error_and_takes_the_page_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_WAIT_S", 0.0)
    sink = open_sink(tmp_path)
    with database(tmp_path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="another process has locked") as raised:
            await write(sink, 1)
        assert raised.value.errno == errno.EAGAIN
        assert raised.value.filename == str(tmp_path / FILE_NAME)
        other.execute("ROLLBACK")
    await asyncio.gather(*(write(sink, number) for number in (2, 1)))
    await sink.aclose()
    assert [row["number"] for row in rows(tmp_path)] == [1, 2]


_NO_BAD = "CREATE TRIGGER mine BEFORE INSERT ON pages WHEN new.title = 'bad' BEGIN SELECT RAISE({}, 'no bad'); END"


@pytest.mark.parametrize(
    ("constraint", "why"),
    [
        ("CREATE UNIQUE INDEX mine ON pages (title) WHERE title <> 'good'", "UNIQUE constraint failed"),
        *((_NO_BAD.format(action), "no bad") for action in ("ABORT", "FAIL", "ROLLBACK")),
    ],
    ids=["index", "abort", "fail", "rollback"],
)
async def test_rows_that_the_file_refuses_are_left_out_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, constraint: str, why: str
) -> None:
    sink = open_sink(tmp_path)
    await sink.write(*rich_page(1, title="bad"))
    with database(tmp_path) as opened:
        opened.execute(constraint)
    pages = [rich_page(number, title="bad" if number in (3, 6) else "good") for number in range(2, 9)]
    await asyncio.gather(*(sink.write(*each) for each in pages))
    await sink.aclose()
    assert [row["number"] for row in rows(tmp_path)] == [1, 2, 4, 5, 7, 8]
    assert [f"(number {number}) is left out" in caplog.text for number in (3, 4, 6)] == [True, False, True]
    assert why in caplog.text
    with database(tmp_path) as opened:
        assert opened.execute("SELECT count(*) FROM links WHERE number IN (3, 6)").fetchone() == (0,)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP TABLE pages", ["table pages"]),
        ("DROP TABLE links", ["table links"]),
        ("ALTER TABLE pages RENAME TO mine", ["table pages"]),
        ("ALTER TABLE pages RENAME COLUMN title TO heading", []),
    ],
)
async def test_a_table_or_column_that_is_gone_is_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str, told: list[str]
) -> None:
    sink = open_sink(tmp_path)
    await write(sink, 1)
    with database(tmp_path) as opened:
        opened.execute(change)
    with pytest.raises(OSError, match=r"no such table|no column named") as raised:
        await write(sink, 2)
    assert "the log of the kernel" not in error_text(raised.value)
    for number in (2, 3):
        await write(sink, number)
    await sink.aclose()
    assert [row["title"] is None for row in rows(tmp_path)][-2:] == [False, False]
    with database(tmp_path) as opened:
        assert opened.execute("SELECT DISTINCT number FROM links WHERE number > 1").fetchall() == [(2,), (3,)]
    assert [each in message for each, message in zip(told, caplog.messages, strict=True)] == [True for _ in told]


async def test_a_table_that_is_made_anew_is_told_once_if_a_row_is_left_out_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(tmp_path)
    await sink.write(*rich_page(1, title="good"))
    with database(tmp_path) as opened:
        opened.execute("DROP TABLE links")
        opened.execute(_NO_BAD.format("ABORT"))
    with pytest.raises(OSError, match="no such table"):  # asked whether it would take another row
        await sink.write(*rich_page(2, title="bad"))
    for number, title in ((2, "bad"), (3, "good"), (4, "good")):
        await sink.write(*rich_page(number, title=title))
    await sink.aclose()
    assert [row["number"] for row in rows(tmp_path)] == [1, 3, 4]
    assert ["left out" in message for message in caplog.messages] == [True, False]
    assert "table links" in caplog.messages[1]


async def test_a_view_in_place_of_the_table_is_told_and_waited_for(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    with database(tmp_path) as opened:
        opened.execute("ALTER TABLE pages RENAME TO mine")
        opened.execute("CREATE VIEW pages AS SELECT * FROM mine")
        for _ in range(2):
            with pytest.raises(OSError, match=r"view.*: .*pages\.sqlite") as raised:
                await write(sink, 1)
            assert "the log of the kernel" not in error_text(raised.value)
        opened.execute("DROP VIEW pages")
        opened.execute("ALTER TABLE mine RENAME TO pages")
    await write(sink, 1)
    await sink.aclose()
    assert [row["number"] for row in rows(tmp_path)] == [1]


async def test_the_names_of_columns_may_have_got_capitals(tmp_path: Path) -> None:
    for number in (1, 2):
        sink = open_sink(tmp_path)
        await write(sink, number)
        await sink.aclose()
        with database(tmp_path) as opened:
            opened.execute("ALTER TABLE pages RENAME COLUMN title TO Title")
    assert [row["number"] for row in rows(tmp_path)] == [1, 2]


async def test_a_file_that_refuses_each_page_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sink = open_sink(tmp_path)
    with database(tmp_path) as opened:
        opened.execute("CREATE TRIGGER mine BEFORE INSERT ON pages BEGIN SELECT RAISE(ABORT, 'not now'); END")
        for _ in range(2):
            with pytest.raises(OSError, match="not now"):
                await write(sink, 1)
        opened.execute("DROP TRIGGER mine")
    await write(sink, 1)
    await sink.aclose()
    assert [row["number"] for row in rows(tmp_path)] == [1]
    assert caplog.messages == []


async def test_a_repair_is_told_of_the_pages_that_the_file_refuses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = open_sink(tmp_path)
    with database(tmp_path) as opened:
        opened.execute("CREATE TRIGGER mine BEFORE INSERT ON pages BEGIN SELECT RAISE(ABORT, 'not now'); END")
    left_out: list[LeftOut] = []
    sink.tell_refusals(left_out.append)
    for number in (1, 2):
        await write(sink, number)
    await sink.aclose()
    assert [(each.number, each.why) for each in left_out] == [(1, "not now"), (2, "not now")]
    assert rows(tmp_path) == []
    assert caplog.messages == []


@pytest.mark.parametrize("free_bytes", [0, 8192, 16_384, 24_576])
def test_a_file_that_can_not_be_opened_on_a_full_disk_says_that_it_is_full(tmp_path: Path, free_bytes: int) -> None:
    with mounted("-o", "size=200k", at=tmp_path / "mount") as mount:
        ballast = fill(mount)
        os.truncate(ballast, ballast.stat().st_size - free_bytes)
        with pytest.raises(OSError, match="No space left on device") as raised:
            open_sink(mount)
        assert raised.value.errno == errno.ENOSPC


async def test_columns_that_older_tables_lack_are_added(tmp_path: Path) -> None:
    with database(tmp_path) as old:
        old.execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, url TEXT, mine TEXT)")
        old.execute("INSERT INTO pages VALUES (1, 'http://a.test/', 'kept')")
    sink = open_sink(tmp_path)
    await write(sink, 2)
    await sink.aclose()
    assert [(row["number"], row["status"]) for row in rows(tmp_path)] == [(1, None), (2, 200)]
    with database(tmp_path) as opened:
        assert opened.execute("SELECT mine FROM pages").fetchall() == [("kept",), (None,)]
    sink = open_sink(tmp_path)
    await write(sink, 1)  # again, as after a crash
    await sink.aclose()
    with database(tmp_path) as opened:
        assert opened.execute("SELECT status, mine FROM pages").fetchall() == [(200, "kept"), (200, None)]
        assert opened.execute("PRAGMA user_version").fetchone() == (sqlite_file.VERSION,)


def test_tables_of_a_newer_version_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    with database(tmp_path) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match=r"version 99.* knows 1"):
        open_sink(tmp_path)
    with database(tmp_path) as newer:
        assert newer.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("no database at all" * 100)
    with pytest.raises(ValueError, match=r"pages\.sqlite can't be read.*move it away"):
        open_sink(tmp_path)
    assert (tmp_path / FILE_NAME).read_text().startswith("no database")


async def test_damage_that_a_write_meets_is_told_with_what_to_do_and_not_waited_for(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    for number in range(1, 20):
        await write(sink, number)
    await sink.aclose()
    path = tmp_path / FILE_NAME
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (size - 4096))
    sink = open_sink(tmp_path)
    with pytest.raises(OutputDamaged, match=r"pages\.sqlite can't be read: .*malformed.*move it away") as raised:
        await write(sink, 200)
    await sink.aclose()
    assert known_error(ExceptionGroup("of a crawl", [raised.value])) == KnownError(str(raised.value), 1, True)


@pytest.mark.parametrize("damage", ["url = NULL", "state = x'ff'", "status = 'many'", "digest = x'00'"])
async def test_a_damaged_row_is_told_as_such_when_it_is_read_back(tmp_path: Path, damage: str) -> None:
    sink = open_sink(tmp_path)
    for number in range(3):
        await write(sink, number)
    await sink.aclose()
    assert [each.number for batch in read_written(tmp_path / FILE_NAME) for each in batch] == [0, 1, 2]
    with database(tmp_path) as opened:
        opened.execute(f"UPDATE pages SET {damage} WHERE number = 1")
    with pytest.raises(OSError, match=r"a row of it is damaged: .*pages\.sqlite"):
        list(read_written(tmp_path / FILE_NAME))


def make_folder(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "make", "number", "told"),
    [
        (FILE_NAME, make_folder, errno.EISDIR, "expected a file, found a folder: {}; move it away"),
        (f"{FILE_NAME}-wal", make_folder, errno.EISDIR, "expected a file, found a folder: {}; move it away"),
        (FILE_NAME, make_pipe, errno.EINVAL, "expected a file, found a pipe or a device; move it away: {}"),
    ],
)
def test_what_is_no_file_is_told_as_such_and_not_as_a_broken_disk(
    name: str, make: Callable[[Path], None], number: int, told: str, tmp_path: Path
) -> None:
    with database(tmp_path):
        pass
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    for read_or_write in (lambda: open_sink(tmp_path), lambda: list(read_written(tmp_path / FILE_NAME))):
        with pytest.raises(OSError) as raised:  # noqa: PT011 - its number is compared
            read_or_write()
        assert raised.value.errno == number
        assert error_text(raised.value).startswith(told.format(tmp_path / name))


def test_no_new_database_is_begun_behind_a_link_to_a_disk_that_is_not_mounted(tmp_path: Path) -> None:
    target = tmp_path / "disk" / FILE_NAME
    target.parent.mkdir()
    (tmp_path / FILE_NAME).symlink_to(target)
    for read_or_write in (lambda: open_sink(tmp_path), lambda: list(read_written(tmp_path / FILE_NAME))):
        with pytest.raises(FileNotFoundError) as raised:
            read_or_write()
        assert str(tmp_path / FILE_NAME) in error_text(raised.value)
    assert not target.exists()


@pytest.mark.parametrize("denied", [FILE_NAME, "."])
def test_a_file_without_permission_is_told_as_such(
    denied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(tmp_path):
        pass
    place, access = tmp_path / denied, os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place and access(path, mode))
    with pytest.raises(PermissionError) as raised:
        open_sink(tmp_path)
    assert error_text(raised.value) == f"Permission denied: {place}; change its permissions"


def test_a_file_on_a_disk_that_can_only_be_read_is_told_as_such(tmp_path: Path) -> None:
    with mounted("-o", "size=1m,ro", at=tmp_path / "disk") as disk:
        with pytest.raises(OSError) as raised:  # noqa: PT011 - its text is compared
            open_sink(disk)
        then = "mount its file system for writing, too, then run the same command again; what was saved is kept"
        assert error_text(raised.value) == f"Read-only file system: {disk}; {then}"


@pytest.mark.parametrize("free", [0, 1, 2])
def test_too_many_open_files_are_told_as_such_and_not_as_a_lack_of_permission(free: int, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as opened:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        files = []
        with suppress(OSError):
            while True:
                files.append(opened.enter_context(open(os.devnull, "rb")))  # noqa: PTH123 - a device
        for file in files[:free]:
            file.close()
        with pytest.raises(OSError, match="Too many open files") as raised:
            open_sink(tmp_path)
    assert raised.value.errno == errno.EMFILE
    then = "raise the limit of open files (`ulimit -n`), then run the same command again"
    assert error_text(raised.value) == f"Too many open files: {tmp_path / FILE_NAME}; {then}"


def test_a_path_that_is_too_long_for_sqlite_is_told_as_such(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 250) / ("b" * 250)
    folder.mkdir(parents=True)
    with pytest.raises(OSError, match="the path is longer than the 500 bytes that SQLite takes") as raised:
        open_sink(folder)
    assert "the log of the kernel" not in error_text(raised.value)
