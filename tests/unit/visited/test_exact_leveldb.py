"""The exact set on disk is, after a crash, what its last snapshot says."""

import errno
import os
import resource
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import plyvel
import pytest

from crawler.cli.errors import error_text
from tests.unit.visited.sets import dumped, urls_of
from visited import SnapshotRefused
from visited.digests.exact_leveldb import LevelDBSet


async def test_what_was_spilled_after_the_snapshot_is_undone(tmp_path: Path) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=50)
    await visited.add_many(urls_of(0, 120))
    file = dumped(visited)
    await visited.add_many(urls_of(120, 500))
    await visited.forget_many(urls_of(0, 30))
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=50)
    again.load(BytesIO(file))
    assert len(again) == 120
    assert await again.add_many(urls_of(0, 500)) == [False] * 120 + [True] * 380
    await again.aclose()


async def test_the_snapshot_before_the_last_can_still_be_loaded(tmp_path: Path) -> None:
    """A crash may come between the dump and the renaming of its file."""
    visited = LevelDBSet(tmp_path / "set", spill=20)
    await visited.add_many(urls_of(0, 100))
    older = dumped(visited)
    await visited.add_many(urls_of(100, 200))
    dumped(visited)
    await visited.add_many(urls_of(200, 300))
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=20)
    again.load(BytesIO(older))
    assert await again.add_many(urls_of(0, 300)) == [False] * 100 + [True] * 200
    await again.aclose()


async def test_one_that_is_older_still_is_refused(tmp_path: Path) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=20)
    files = []
    for start in range(0, 400, 100):
        await visited.add_many(urls_of(start, start + 100))
        files.append(dumped(visited))
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=20)
    with pytest.raises(SnapshotRefused, match="can't undo"):
        again.load(BytesIO(files[0]))
    assert len(again) == 0
    await again.aclose()


async def test_what_is_known_of_undoing_does_not_grow_for_ever(tmp_path: Path) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=10)
    for start in range(0, 1_000, 100):
        await visited.add_many(urls_of(start, start + 100))
        dumped(visited)
    await visited.aclose()
    store = plyvel.DB(str(tmp_path / "set"))
    assert len(list(store.iterator(prefix=b"u"))) == 1
    assert len(list(store.iterator(prefix=b"d"))) == 1_000
    store.close()


@pytest.mark.parametrize("damage", ["missing", "another", "no store", "behind"])
async def test_a_store_that_does_not_fit_the_snapshot_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "set"
    visited = LevelDBSet(path, spill=10)
    await visited.add_many(urls_of(0, 50))
    file = dumped(visited)
    await visited.aclose()
    if damage == "missing":
        plyvel.destroy_db(str(path))
        if path.exists():
            path.rmdir()
    elif damage == "another":
        other = LevelDBSet(path, spill=10)
        await other.add_many(urls_of(0, 50))
        await other.aclose()
    elif damage == "behind":
        store = plyvel.DB(str(path))
        meta = store.get(b"m")
        assert meta is not None
        store.put(b"m", meta.replace(b'"sequence":1', b'"sequence":0'))
        store.close()
    else:
        (path / "CURRENT").write_bytes(b"nonsense\n")
    again = LevelDBSet(path, spill=10)
    with pytest.raises(SnapshotRefused, match="rebuild it") as refused:
        again.load(BytesIO(file))
    assert "b'" not in str(refused.value)  # LevelDB's messages are bytes
    assert len(again) == 0
    await again.aclose()


async def test_without_a_load_it_begins_anew(tmp_path: Path) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=10)
    await visited.add_many(urls_of(0, 50))
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=10)
    assert await again.add_many(urls_of(0, 50)) == [True] * 50
    await again.aclose()


async def test_tens_of_thousands_of_files_are_not_counted_at_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=20)
    await visited.add_many(urls_of(0, 20))
    alone = visited.describe().disk_bytes
    for number in range(128):
        (tmp_path / "set" / f"9{number:05}.ldb").write_bytes(b"table")
    assert visited.describe().disk_bytes == alone + 128 * len(b"table")
    counted: list[Path] = []
    list_files = Path.iterdir

    def listed(path: Path) -> Iterator[Path]:
        counted.append(path)
        return list_files(path)

    monkeypatch.setattr(Path, "iterdir", listed)
    visited.describe()
    await visited.add_many(urls_of(20, 40))
    assert (visited.describe().disk_bytes, counted) == (alone + 128 * len(b"table"), [])
    await visited.add_many(urls_of(40, 60))
    assert visited.describe().disk_bytes > alone + 128 * len(b"table")
    assert counted == [tmp_path / "set"]
    await visited.aclose()
    assert visited.describe().disk_bytes == 0


async def test_too_many_open_files_are_no_damage_and_are_told(tmp_path: Path) -> None:
    visited = LevelDBSet(tmp_path / "set", spill=10)
    await visited.add_many(urls_of(0, 100))
    file = dumped(visited)
    await visited.aclose()
    again = LevelDBSet(tmp_path / "set", spill=10)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = os.dup(0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)) as raised:
            again.load(BytesIO(file))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        os.close(last)
    assert "raise the limit of open files (`ulimit -n`)" in error_text(raised.value)
    again.load(BytesIO(file))
    assert len(again) == 100
    await again.aclose()
