"""Files that grow by whole chunks."""

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.appending import AppendFile
from tests.full_disk import no_space


def test_each_write_of_the_system_is_checked_right_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    real = os.write

    def write(fd: int, data: memoryview) -> int:
        events.append("written")
        return real(fd, data[: 1 << 16])

    file = AppendFile(tmp_path / "file", durability="process", before_write=lambda: events.append("checked"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        file.append(b"small", b"pieces")
        file.append(b"x" * (1 << 17), b"more")  # in three steps
    file.close()
    assert events == ["checked", "written"] * 4


async def test_a_file_closed_while_it_is_synced_is_safe_for_those_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file", durability="power")
    file.append(b"a chunk")
    entered, closed = threading.Event(), threading.Event()
    real = os.fsync

    def fsync(fd: int) -> None:
        if threading.current_thread() is threading.main_thread():
            real(fd)
            return
        entered.set()
        assert closed.wait(MAX_WAIT_S)
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(os, "fsync", fsync)
    waiting = asyncio.ensure_future(file.settle())
    await asyncio.to_thread(entered.wait, 10)
    file.close()
    closed.set()
    await waiting
    assert file.is_intact


def test_half_a_chunk_that_took_room_to_take_back_is_taken_back_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file", durability="process")
    file.append(b"one")
    real = os.write

    def half(fd: int, data: memoryview) -> int:
        if len(data) < 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data[:2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        patch.setattr(os, "ftruncate", no_space)
        for _ in range(2):
            with pytest.raises(OSError, match="free some space"):
                file.append(b"four")
        assert not file.is_intact
    file.append(b"two")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"onetwo"


async def test_closing_a_file_for_which_there_is_no_room_leaves_it_open_without_what_was_not_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file", durability="power")
    file.append(b"one")
    await file.settle()
    file.append(b"two")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="free some space"):
            file.close()
    file.append(b"three")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"onethree"


async def test_a_full_disk_takes_nothing_from_a_file_that_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    file = AppendFile(path, durability="power")
    file.append(b"two")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="from byte 3 on had no room"):
            await file.settle()
    assert path.read_bytes() == b"one"
    file.close()


def test_a_file_that_can_t_be_synced_when_it_is_opened_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space left"):
            AppendFile(path, durability="power")
    assert path.read_bytes() == b"one"


async def test_a_cancelled_sync_leaves_the_file_usable(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "file", durability="power")
    file.append(b"one")
    waiting = asyncio.ensure_future(file.settle())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    file.append(b"two")
    await file.settle()
    file.close()
    assert (tmp_path / "file").read_bytes() == b"onetwo"


def test_a_write_that_makes_no_progress_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AppendFile(tmp_path / "file", durability="process")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: 0)
        with pytest.raises(OSError, match="byte 0") as caught:
            file.append(b"chunk")
    file.close()
    assert caught.value.errno == errno.EIO


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
async def test_an_error_says_what_has_become_of_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "file"
    file = AppendFile(path, durability="power")
    file.append(b"one")
    await file.settle()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(OSError, match="byte 3 and was removed"):
            file.append(b"two")
    file.append(b"two")
    file.append(b"three")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(
            OSError, match=r"from byte 3 on (had no room and was removed|may not have reached)"
        ) as caught:
            await file.settle()
    is_removed = "was removed" in str(caught.value)
    assert path.read_bytes() == (b"one" if is_removed else b"onetwothree")
    file.close()


def test_an_error_does_not_say_that_half_a_chunk_was_removed_if_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file", durability="process")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_space)
        patch.setattr(os, "ftruncate", no_space)
        with pytest.raises(OSError, match="byte 0, and what is there of it is removed later"):
            file.append(b"one")
    file.append(b"one")  # there is room again
    file.close()


async def test_an_error_does_not_say_that_what_had_no_room_was_removed_if_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file", durability="power")
    file.append(b"one")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        patch.setattr(os, "ftruncate", no_space)
        with pytest.raises(OSError, match="byte 0, and what is there of it is removed later"):
            await file.settle()
    file.append(b"two")  # there is room again
    file.close()
    assert (tmp_path / "file").read_bytes() == b"two"


def test_a_file_that_can_t_be_made_safe_at_the_end_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AppendFile(tmp_path / "file", durability="power")
    file.append(b"chunk")

    def refusing(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refusing)
    with pytest.raises(OSError, match="check the disk"):
        file.close()
    file.close()
    assert not file.is_intact


def test_a_file_that_was_deleted_while_it_was_written_says_so_at_the_end(tmp_path: Path) -> None:
    for others in (None, b"of others"):
        file = AppendFile(tmp_path / "file", durability="process")
        file.append(b"chunk")
        (tmp_path / "file").unlink()
        if others is not None:
            (tmp_path / "file").write_bytes(others)
        with pytest.raises(FileNotFoundError, match=r"deleted or moved away .* `onceover inspect DIR fsck --refetch`"):
            file.close()
        file.close()
        assert not file.is_intact
        with pytest.raises(FileNotFoundError, match="deleted or moved away"):
            file.ensure_intact()
    assert (tmp_path / "file").read_bytes() == b"of others"


def test_an_empty_file_that_was_deleted_is_no_loss(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "file", durability="process")
    (tmp_path / "file").unlink()
    file.close()
