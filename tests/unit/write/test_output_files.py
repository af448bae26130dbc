"""What happens to the files of sinks: torn tails, garbage, full disks, syncs that fail."""

import asyncio
import errno
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crawler.seams import Sink
from crawler.testing.disks import largest_file
from crawler.testing.sink.pages import write
from tests.full_disk import no_space
from tests.unit.write.formats import ONE_FILE, Format, open_records, open_warc, read_lines
from tests.unit.write.samples import archived, numbers, numbers_by_fastwarc, page, record_of


@pytest.fixture(params=ONE_FILE)
def one_file(request: pytest.FixtureRequest) -> Format:
    return ONE_FILE[request.param]


async def test_a_tail_torn_at_any_byte_costs_only_the_page_it_belonged_to(one_file: Format, memory_path: Path) -> None:
    whole = memory_path / "whole"
    start = await _leave_open(one_file.open(whole), whole)
    path = only_file(whole)
    content = path.read_bytes()
    assert start < len(content)
    for end in range(start, len(content)):
        torn = memory_path / f"torn-{end}"
        torn.mkdir()
        (torn / path.name).write_bytes(content[:end])
        await _write_and_close(one_file.open(torn), 2, 3)
        assert one_file.read(torn) in ([1, 2, 3], [1, 2, 2, 3]), f"torn at byte {end} of {len(content)}"
        shutil.rmtree(torn)


async def _leave_open(sink: Sink, directory: Path) -> int:
    """Write two pages, as a process that is killed then. Returns the size of the file after the first."""
    await write(sink, 1)
    size = only_file(directory).stat().st_size
    await write(sink, 2)
    # Not closed: that would rename a WARC file. A copy of the directory is what a crash leaves.
    return size


@pytest.mark.parametrize("garbage", [b"\0" * 700, b"\x1f\x8b\x08\0", b"{}", b'{"number":'], ids=repr)
async def test_garbage_after_the_last_record_is_cut_off(one_file: Format, garbage: bytes, tmp_path: Path) -> None:
    sink = one_file.open(tmp_path)
    await write(sink, 1)
    path = only_file(tmp_path)
    with path.open("ab") as file:
        file.write(garbage)
    again = one_file.open(tmp_path)
    await _write_and_close(again, 2)
    assert one_file.read(tmp_path) == [1, 2]


async def test_a_full_disk_at_any_byte_costs_only_the_page_that_did_not_fit(
    one_file: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = one_file.open(tmp_path)
    await write(sink, 0)
    real = os.write
    for room in range(0, 400, 13):
        left = room

        def full(fd: int, data: memoryview) -> int:
            nonlocal left
            if left <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = real(fd, data[:left])
            left -= written
            return written

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="free some space") as caught:
            await write(sink, -1)
        monkeypatch.setattr(os, "write", real)
        assert caught.value.errno == errno.ENOSPC
        assert "run the same command again" not in str(caught.value)  # a crawl that runs goes on by itself
        assert Path(caught.value.filename).parent == tmp_path
        await write(sink, room + 1)
    await sink.aclose()
    assert one_file.read(tmp_path) == [0, *range(1, 401, 13)]


async def test_the_limit_of_the_system_for_the_size_of_files_is_explained(one_file: Format, tmp_path: Path) -> None:
    sink = one_file.open(tmp_path)
    await write(sink, 1)
    path = only_file(tmp_path)
    with largest_file(path.stat().st_size + 100), pytest.raises(OSError, match="ulimit -f") as caught:
        await write(sink, 2)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    await write(sink, 3)
    await sink.aclose()
    assert one_file.read(tmp_path) == [1, 3]


def only_file(directory: Path) -> Path:
    (path,) = (path for path in directory.iterdir() if ".cdxj" not in path.name)
    return path


@pytest.mark.parametrize("next_bytes", [10, 9000], ids=["same file", "next file"])
@pytest.mark.parametrize("opening", [open_records, open_warc])
async def test_a_sink_that_cannot_take_half_a_record_back_writes_no_more_and_is_repaired_by_opening(
    opening: Callable[..., Sink], next_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = opening(tmp_path, max_bytes=8000)
    await write(sink, 1)
    before = only_file(tmp_path).stat().st_size
    real = os.write

    def failing(fd: int, data: memoryview) -> int:
        if only_file(tmp_path).stat().st_size > before:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, data[:50])

    def refusing(fd: int, length: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing)
        patch.setattr(os, "ftruncate", refusing)
        with pytest.raises(OSError, match="check the disk"):
            await write(sink, 2)
    following = page(3, os.urandom(next_bytes))
    with pytest.raises(OSError, match="check the disk"):
        await sink.write(following, msgspec.structs.replace(record_of(following, 3), title="x" * next_bytes))
    await sink.aclose()
    await _write_and_close(opening(tmp_path), 4)
    read = read_lines if opening is open_records else numbers
    assert read(tmp_path) == [1, 4]


@pytest.mark.parametrize("name", ["records", "warc"])
async def test_a_failed_sync_is_never_taken_for_a_success_later(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = {"records": open_records, "warc": open_warc}
    sink = opening[name](tmp_path, durability="power", max_bytes=1 << 20)
    await write(sink, 1)

    def refusing(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refusing)
        outcomes = await asyncio.gather(*(write(sink, number) for number in (2, 3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [OSError, OSError]
    with pytest.raises(OSError, match="check the disk"):
        await write(sink, 4)


@pytest.mark.parametrize("max_bytes", [1, 1 << 20], ids=["a file each", "one file"])
@pytest.mark.parametrize("name", ["records", "warc"])
async def test_what_could_not_be_synced_because_the_disk_was_full_is_taken_back_and_can_be_written_again(
    name: str, max_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, read = {"records": (open_records, read_lines), "warc": (open_warc, numbers)}[name]
    sink = opening(tmp_path, durability="power", max_bytes=max_bytes)
    await write(sink, 1)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        outcomes = await asyncio.gather(*(write(sink, number) for number in (2, 3, 4)), return_exceptions=True)
    assert [getattr(outcome, "errno", None) for outcome in outcomes] == [errno.ENOSPC] * 3
    assert read(tmp_path) == [1]
    for number in (2, 3, 4):
        await write(sink, number)
    assert read(tmp_path) == [1, 2, 3, 4]
    await sink.aclose()
    assert read(tmp_path) == [1, 2, 3, 4]


async def test_writers_at_the_same_time_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = open_records(tmp_path, durability="power", max_bytes=1 << 20)
    syncs = 0
    real = os.fsync

    def counting(fd: int) -> None:
        nonlocal syncs
        syncs += 1
        real(fd)

    monkeypatch.setattr(os, "fsync", counting)
    await asyncio.gather(*(write(sink, number) for number in range(50)))
    assert syncs == 2  # one for the first, one for all that came while it ran
    await sink.aclose()


@pytest.mark.parametrize("read", [archived, numbers_by_fastwarc])
async def test_a_torn_warc_file_would_be_noticed_by_these_tests(read: Callable[[Path], object], tmp_path: Path) -> None:
    await _write_and_close(open_warc(tmp_path, max_bytes=1 << 20), 1, 2)
    path = only_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises((OSError, zlib.error)):
        read(tmp_path)


async def _write_and_close(sink: Sink, *numbers_to_write: int) -> None:
    for number in numbers_to_write:
        await write(sink, number)
    await sink.aclose()
