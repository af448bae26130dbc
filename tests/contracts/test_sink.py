"""What every sink promises, whatever it writes."""

import asyncio
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from crawler.page import Failure, FailureKind
from crawler.protocols import Sink
from crawler.record import fetched_record, unfetched_record
from crawler.write.appending import Durability
from crawler.write.fanout import Sinks
from crawler.write.records import RecordSink, read_records
from crawler.write.warc import WarcSink
from tests.unit.write.samples import archived, lease, numbers, page, record_of

CHILD = """
import asyncio, sys
from pathlib import Path
from tests.contracts.test_sink import FORMATS, write

async def main() -> None:
    sink = FORMATS[sys.argv[1]].open(Path(sys.argv[2]))
    for number in range(int(sys.argv[3]), 1 << 40):
        await write(sink, number)
        print(number, flush=True)

asyncio.run(main())
"""


class Format(msgspec.Struct, frozen=True):
    """A sink, and how to read back the numbers of the pages in its directory."""

    open: Callable[[Path], Sink]
    read: Callable[[Path], list[int]]


def read_lines(directory: Path) -> list[int]:
    return [record.number for record in read_records(directory, on_damage=fail_on_damage)]


def fail_on_damage(path: Path, offset: int, why: str) -> None:
    pytest.fail(f"{path} is damaged at byte {offset}: {why}")


def read_both(directory: Path) -> list[int]:
    fetched = {record.number for record in read_records(directory / "records") if record.status is not None}
    assert fetched <= set(numbers(directory / "warc"))  # a line promises that the page is archived
    return read_lines(directory / "records")


def open_records(directory: Path, *, durability: Durability = "process", max_bytes: int = 1500) -> Sink:
    return RecordSink(directory, max_bytes=max_bytes, durability=durability)


def open_warc(directory: Path, *, durability: Durability = "process", max_bytes: int = 3000) -> Sink:
    return WarcSink(directory, max_bytes=max_bytes, durability=durability)


def open_both(directory: Path) -> Sink:
    return Sinks([open_warc(directory / "warc"), open_records(directory / "records")])


FORMATS = {
    "records": Format(open_records, read_lines),
    "records-power": Format(lambda directory: open_records(directory, durability="power"), read_lines),
    "warc": Format(open_warc, numbers),
    "warc-power": Format(lambda directory: open_warc(directory, durability="power"), numbers),
    "both": Format(open_both, read_both),
}
ONE_FILE = {
    "records": Format(lambda directory: open_records(directory, max_bytes=1 << 20), read_lines),
    "warc": Format(lambda directory: open_warc(directory, max_bytes=1 << 20), numbers),
}


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


@pytest.fixture(params=ONE_FILE)
def one_file(request: pytest.FixtureRequest) -> Format:
    return ONE_FILE[request.param]


async def write(sink: Sink, number: int) -> None:
    fetched = page(number)
    await sink.write(fetched, record_of(fetched, number))


async def test_what_was_written_can_be_read_before_the_sink_is_closed(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    for number in range(20):
        await write(sink, number)
        assert form.read(tmp_path) == list(range(number + 1))
    await sink.aclose()
    assert form.read(tmp_path) == list(range(20))


async def test_a_page_written_again_is_there_twice_under_one_number(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    for number in (1, 2, 1):
        await write(sink, number)
    await sink.aclose()
    assert form.read(tmp_path) == [1, 2, 1]


async def test_a_sink_opened_again_keeps_what_is_there_and_goes_on_after_it(form: Format, tmp_path: Path) -> None:
    for number in range(12):
        sink = form.open(tmp_path)
        await write(sink, number)
        await sink.aclose()
    assert form.read(tmp_path) == list(range(12))


async def test_a_sink_that_was_never_closed_can_be_opened_again(form: Format, tmp_path: Path) -> None:
    left = []
    for number in range(5):
        sink = form.open(tmp_path)
        left.append(sink)
        await write(sink, number)
    assert form.read(tmp_path) == list(range(5))
    for sink in left[-1:]:
        await sink.aclose()


async def test_writers_at_the_same_time_mix_no_records(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    await asyncio.gather(*(write(sink, number) for number in range(100)))
    await sink.aclose()
    assert sorted(form.read(tmp_path)) == list(range(100))


async def test_closing_twice_is_harmless_and_writing_after_it_is_an_error(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    await write(sink, 1)
    await sink.aclose()
    await sink.aclose()
    with pytest.raises(ValueError, match="closed"):
        await write(sink, 2)
    assert form.read(tmp_path) == [1]


async def test_urls_without_a_response_are_accepted(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    await sink.write(None, unfetched_record(lease(1), reason="robots"))
    failure = Failure(
        url="http://h1.sim.test/", kind=FailureKind.TIMEOUT, message="60 s", fetched_at=1e9, duration_s=60
    )
    await sink.write(failure, fetched_record(lease(2), failure))
    await write(sink, 3)
    await sink.aclose()
    assert 3 in form.read(tmp_path)


async def test_a_cancelled_write_leaves_whole_records_behind(form: Format, tmp_path: Path) -> None:
    sink = form.open(tmp_path)
    await write(sink, 1)
    task = asyncio.ensure_future(write(sink, 2))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await write(sink, 3)
    await sink.aclose()
    assert [number for number in form.read(tmp_path) if number != 2] == [1, 3]


@pytest.mark.parametrize("name", ["records", "warc", "both"])
def test_kill_9_loses_nothing_that_was_written(name: str, tmp_path: Path) -> None:
    written: list[int] = []
    for pages in (1, 7, 60):
        written += _write_until_killed(name, tmp_path, first=1000 * len(written), pages=pages)
    sink = FORMATS[name].open(tmp_path)
    asyncio.run(_write_and_close(sink, 1 << 41))
    found = FORMATS[name].read(tmp_path)
    assert found[-1] == 1 << 41
    assert set(written) <= set(found)
    assert len(set(found) - set(written)) <= 1 + 3 * 40  # what the killed processes did after the last line was read


def _write_until_killed(name: str, directory: Path, *, first: int, pages: int) -> list[int]:
    """Start a process that writes pages, kill it once that many were written, and return their numbers."""
    command = [sys.executable, "-c", CHILD, name, str(directory), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(pages)]
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        assert child.wait() == -signal.SIGKILL
    return acknowledged


async def _write_and_close(sink: Sink, *numbers_to_write: int) -> None:
    for number in numbers_to_write:
        await write(sink, number)
    await sink.aclose()


def test_a_tail_torn_at_any_byte_costs_only_the_page_it_belonged_to(one_file: Format, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    asyncio.run(_leave_open(one_file.open(whole), whole, tmp_path / "two"))
    path = only_file(whole)
    start = (tmp_path / "two").stat().st_size
    content = path.read_bytes()
    assert start < len(content)
    for end in range(start, len(content)):
        torn = tmp_path / f"torn-{end}"
        torn.mkdir()
        (torn / path.name).write_bytes(content[:end])
        asyncio.run(_write_and_close(one_file.open(torn), 3, 4))
        found = one_file.read(torn)
        assert found in ([1, 2, 3, 4], [1, 2, 3, 3, 4]), f"torn at byte {end} of {len(content)}"
        shutil.rmtree(torn)


async def _leave_open(sink: Sink, directory: Path, copy: Path) -> None:
    for number in (1, 2):
        await write(sink, number)
    shutil.copy(only_file(directory), copy)
    await write(sink, 3)
    # Not closed: that would rename a WARC file. A copy of the directory is what a crash leaves.


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
        assert Path(caught.value.filename).parent == tmp_path
        await write(sink, room + 1)
    await sink.aclose()
    assert one_file.read(tmp_path) == [0, *range(1, 401, 13)]


async def test_the_system_s_own_file_size_limit_is_explained(one_file: Format, tmp_path: Path) -> None:
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
    (path,) = directory.iterdir()
    return path


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size. Python ignores SIGXFSZ, so that writing fails with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system of 256 KiB")
def test_a_disk_that_is_really_full_stops_the_crawl_and_lets_it_go_on_once_there_is_space(
    one_file: Format, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small file system is refused here: {mounted.stderr.decode().strip()}")
    try:
        (disk / "other").write_bytes(b"x" * 150_000)
        asyncio.run(_fill(one_file, disk))
    finally:
        subprocess.run(["umount", disk], check=True)


async def _fill(one_file: Format, disk: Path) -> None:
    sink = one_file.open(disk / "out")
    number = 0
    refusal: OSError | None = None
    while refusal is None:
        try:
            await write(sink, number)
            number += 1
        except OSError as error:
            refusal = error
    assert "free some space" in str(refusal)
    assert number > 10
    assert one_file.read(disk / "out") == list(range(number))
    (disk / "other").unlink()
    await write(sink, number)
    await sink.aclose()
    assert one_file.read(disk / "out") == list(range(number + 1))


@pytest.mark.parametrize("next_bytes", [10, 9000], ids=["same file", "next file"])
@pytest.mark.parametrize("opening", [open_records, open_warc])
async def test_a_sink_that_can_t_take_half_a_record_back_writes_no_more_and_is_repaired_by_opening(
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
async def test_what_could_not_be_synced_for_want_of_room_is_taken_back_and_can_be_written_again(
    name: str, max_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, read = {"records": (open_records, read_lines), "warc": (open_warc, numbers)}[name]
    sink = opening(tmp_path, durability="power", max_bytes=max_bytes)
    await write(sink, 1)

    def refusing(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refusing)
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


@pytest.mark.parametrize("name", FORMATS)
def test_a_directory_that_can_t_be_made_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        FORMATS[name].open(tmp_path / "file" / "records")


def test_a_torn_warc_file_would_be_noticed_by_these_tests(tmp_path: Path) -> None:
    asyncio.run(_write_and_close(open_warc(tmp_path, max_bytes=1 << 20), 1, 2))
    path = only_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises((OSError, zlib.error)):
        archived(tmp_path)
