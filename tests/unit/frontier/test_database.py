"""Whatever is damaged in a table of LevelDB, no read takes it for the end of what there is."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from typing import Any

import plyvel
import pytest

from frontier import StoreFailed
from frontier.leveldb.database import Database, SystemCalls
from frontier.upkeep.salvage import copy_database, is_readable, salvage
from frontier.values import StoreFull
from tests.full_disk import no_space

LAST = b"\xff"
KEYS: list[bytes] = [b"L%03d" % number for number in range(400)]
READS: dict[str, Callable[[Database, bytes], object]] = {
    "items": lambda database, start: list(database.items(start, LAST)),
    "keys": lambda database, start: list(database.keys(start, LAST)),
    "first": lambda database, start: database.first(start, LAST, 10_000),
    "first_of_each": lambda database, start: database.first_of_each([(start, LAST)], 10_000),
    "get_many": lambda database, start: database.get_many(key for key in KEYS if key >= start),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of one table, of some fifteen blocks."""
    directory = tmp_path_factory.mktemp("table") / "db"
    chance = Random(1)
    with closing(Database(directory, durability="process")) as database:
        batch = database.batch()
        for key in KEYS:
            batch.put(key, chance.randbytes(120))
        database.write(batch)
    Database(directory, durability="process").close()  # moves the log into a table
    return next(directory.glob("*.ldb"))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("start", [KEYS[0], KEYS[-20], KEYS[-1]])
def test_damage_is_never_taken_for_the_end(tmp_path: Path, table: Path, read: str, start: bytes) -> None:
    with closing(Database(table.parent, durability="process")) as database:
        expected = READS[read](database, start)
    damaged = noticed = 0
    for at in range(0, table.stat().st_size, 1009):
        rmtree(tmp_path / "db", ignore_errors=True)
        copytree(table.parent, tmp_path / "db")
        content = bytearray(table.read_bytes())
        content[at] ^= 1
        (tmp_path / "db" / table.name).write_bytes(content)
        damaged += 1
        try:
            with closing(Database(tmp_path / "db", durability="process")) as database:
                assert READS[read](database, start) == expected
        except StoreFailed:
            noticed += 1
    assert damaged > 40
    assert noticed >= (40 if start == KEYS[0] else 2)


def test_a_database_is_readable_only_to_its_last_block(tmp_path: Path, table: Path) -> None:
    """What a repair asks before it looks at records: a compaction would meet the damage later."""
    for at in range(0, table.stat().st_size, 1009):
        rmtree(tmp_path / "db", ignore_errors=True)
        copytree(table.parent, tmp_path / "db")
        content = bytearray(table.read_bytes())
        content[at] ^= 1
        (tmp_path / "db" / table.name).write_bytes(content)
        if is_readable(tmp_path / "db"):
            with plyvel.DB(str(tmp_path / "db"), paranoid_checks=True) as db:
                db.compact_range(start=b"", stop=LAST)
                db.put(b"M", b"")
                assert len(list(db.iterator(include_value=False))) == len(KEYS) + 1


@pytest.mark.parametrize("death", ["os.kill(os.getpid(), signal.SIGABRT)", "raise SystemError"])
def test_a_leveldb_that_ends_its_process_does_not_end_the_repair(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, death: str
) -> None:
    copytree(table.parent, tmp_path / "db")
    (tmp_path / "db" / "CURRENT").unlink()
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "plyvel.py").write_text(f"import os, signal\n{death}\n")
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "path"))
        assert salvage(tmp_path / "db") == "nothing"
    assert salvage(tmp_path / "db") == "tables"


def test_a_disk_that_is_full_while_a_log_is_salvaged_is_told_as_such(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(table.parent, tmp_path / "db")
    (tmp_path / "db" / "CURRENT").unlink()
    (tmp_path / "db" / "000009.log").touch()

    def full(*_: object, **__: object) -> None:
        raise plyvel.IOError(b"IO error: db.repairing/LOG: No space left on device")

    monkeypatch.setattr(plyvel, "DB", full)
    with pytest.raises(StoreFull, match="No space left"):
        salvage(tmp_path / "db")
    assert [path.name for path in tmp_path.glob("db*")] == ["db"]


def test_a_copy_for_which_there_is_no_room_leaves_nothing(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(table.parent, tmp_path / "db")
    copy_database(tmp_path / "db", tmp_path / "db.first")
    assert {path.name for path in (tmp_path / "db.first").iterdir()} == {
        path.name for path in (tmp_path / "db").iterdir()
    }

    monkeypatch.setattr(shutil, "copy2", no_space)
    with pytest.raises(OSError, match="No space left"):
        copy_database(tmp_path / "db", tmp_path / "db.second")
    assert sorted(path.name for path in tmp_path.glob("db*")) == ["db", "db.first"]


class Failing:
    """A LevelDB that can't be read or written for an error of the system."""

    closed = False

    def __init__(self, number: int) -> None:
        self._message = f"IO error: db/000005.ldb: {os.strerror(number)}".encode()

    def fail(self, *_: object, **__: object) -> None:
        raise plyvel.IOError(self._message)

    def write_batch(self) -> "Failing":
        return self

    def close(self) -> None:
        pass

    get = write = fail


@pytest.mark.parametrize(
    ("number", "told", "names_repair"),
    [
        (errno.EACCES, "let this user read and write its files", False),
        (errno.EROFS, "mount its file system for writing", False),
        (errno.EMFILE, "raise the limit of open files", False),
        (errno.EFBIG, "raise the limit of the size of files", False),
        (errno.EINTR, "wait a moment", False),
        (errno.EIO, "repair the disk, which the log of the kernel names", False),
        (errno.EISDIR, "move that folder away", False),
        (errno.ENOENT, "", True),
    ],
)
def test_an_error_of_the_system_is_told_with_what_helps_and_not_as_damage(
    number: int, told: str, names_repair: bool, tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(table.parent, tmp_path / "db")
    failing = Failing(number)
    with monkeypatch.context() as patch:
        patch.setattr(plyvel, "DB", failing.fail)
        with pytest.raises(StoreFailed, match=r"db can't be opened: .*") as opened:
            Database(tmp_path / "db", durability="process")
    calls = SystemCalls(open_database=lambda _: failing)  # type: ignore[arg-type, return-value]
    database = Database(tmp_path / "db", durability="process", calls=calls)
    with pytest.raises(StoreFailed, match="can't read") as read:
        database.get(b"")
    with pytest.raises(StoreFailed, match="can't write to") as written:
        database.write(database.batch())
    database.close()
    for raised in (opened, read, written):
        assert told in str(raised.value)
        assert "free some space" not in str(raised.value)
    for raised in (opened, read):
        assert ("fsck --repair" in str(raised.value)) == names_repair


def test_a_database_that_leveldb_cannot_see_for_a_moment_is_not_replaced(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LevelDB takes any error of the disk when it looks for CURRENT for a sign that there is no database."""
    directory = Path(copytree(table.parent, tmp_path / "db"))
    current = directory / "CURRENT"

    open_database = plyvel.DB

    def unseen(*arguments: Any, **options: Any) -> plyvel.DB:
        current.rename(tmp_path / "CURRENT")
        return open_database(*arguments, **options)

    monkeypatch.setattr(plyvel, "DB", unseen)
    with pytest.raises(StoreFailed, match="does not exist"):
        Database(directory, durability="process")
    monkeypatch.undo()
    (tmp_path / "CURRENT").rename(current)
    with closing(Database(directory, durability="process")) as database:
        assert list(database.keys(b"", LAST)) == KEYS
