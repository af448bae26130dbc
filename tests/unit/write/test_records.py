"""Records as JSON Lines: names, rotation, reading back, damage."""

import io
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import PageRecord
from crawler.write.gzip_members import bytes_text
from crawler.write.records import RecordSink, find_record, newest_records, read_records, record_files
from tests.full_disk import no_space
from tests.unit.write.samples import page, record_of


def record(number: int, *, title: str = "") -> PageRecord:
    return PageRecord(
        number=number, url=f"http://h1.sim.test/{number}", state="done", depth=0, kind="seed", title=title
    )


async def write_all(directory: Path, records: Iterable[PageRecord], *, max_bytes: int = 1 << 20) -> None:
    sink = RecordSink(directory, max_bytes=max_bytes)
    for entry in records:
        await sink.write(None, entry)
    await sink.aclose()


def titles(directory: Path, *, last_only: bool = False) -> list[tuple[int, str | None]]:
    return [(entry.number, entry.title) for entry in read_records(directory, last_only=last_only)]


async def test_a_record_reads_back_equal_and_is_one_line_of_json(tmp_path: Path) -> None:
    whole = record_of(page(7), 7)
    await write_all(tmp_path, [whole])
    assert list(read_records(tmp_path)) == [whole]
    (line,) = (tmp_path / "records-00000.jsonl").read_text().splitlines()
    assert json.loads(line)["title"] == "Page 7"


async def test_files_are_rotated_by_size_and_read_in_order(tmp_path: Path) -> None:
    await write_all(tmp_path, (record(number) for number in range(50)), max_bytes=500)
    files = record_files(tmp_path)
    assert [path.name for path in files[:2]] == ["records-00000.jsonl", "records-00001.jsonl"]
    assert len(files) > 5
    assert all(path.stat().st_size <= 500 for path in files)
    assert [number for number, _ in titles(tmp_path)] == list(range(50))


async def test_a_record_larger_than_a_file_may_be_is_written_all_the_same(tmp_path: Path) -> None:
    await write_all(tmp_path, [record(1), record(2, title="x" * 1000), record(3)], max_bytes=300)
    assert [number for number, _ in titles(tmp_path)] == [1, 2, 3]


async def test_the_newest_file_is_told_by_its_number_not_by_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "records-99999.jsonl").write_text("")
    (tmp_path / "records-100000.jsonl").write_text("")
    await write_all(tmp_path, [record(1)])
    assert (tmp_path / "records-99999.jsonl").read_text() == ""
    assert (tmp_path / "records-100000.jsonl").read_text() != ""


async def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.txt", "records-1.jsonl.bak", "records-old.jsonl"):
        (tmp_path / name).write_text("no newline")
    await write_all(tmp_path, [record(1)])
    assert titles(tmp_path) == [(1, "")]
    assert (tmp_path / "notes.txt").read_text() == "no newline"


async def test_if_the_next_file_can_not_be_made_all_records_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = RecordSink(tmp_path, max_bytes=500)
    await sink.write(None, record(1, title="x" * 100))
    with monkeypatch.context() as full:
        full.setattr(os, "open", no_space)
        for title in ("y" * 400, "short"):  # the second one would still fit into the first file
            with pytest.raises(OSError, match="No space left"):
                await sink.write(None, record(2, title=title))
    await sink.write(None, record(3, title="short"))
    await sink.write(None, record(2, title="y" * 400))
    await sink.aclose()
    assert [number for number, _ in titles(tmp_path)] == [1, 3, 2]


@given(st.lists(st.integers(0, 12), max_size=60))
def test_with_last_only_each_number_appears_once_with_what_was_written_last(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int]
) -> None:
    directory = tmp_path_factory.mktemp("records")
    written = [record(number, title=str(turn)) for turn, number in enumerate(numbers)]
    (directory / "records-00000.jsonl").write_bytes(
        b"".join(msgspec.json.encode(entry) + b"\n" for entry in written[:20])
    )
    (directory / "records-00001.jsonl").write_bytes(
        b"".join(msgspec.json.encode(entry) + b"\n" for entry in written[20:])
    )
    last = {entry.number: entry.title for entry in written}
    found = titles(directory, last_only=True)
    assert dict(found) == last
    assert len(found) == len(last)
    assert found == [pair for pair in titles(directory) if last[pair[0]] == pair[1]]


def test_numbers_far_apart_cost_no_memory_between_them(tmp_path: Path) -> None:
    lines = [msgspec.json.encode(record(number)) for number in (0, 1 << 62, 5, 1 << 62)]
    (tmp_path / "records-00000.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    assert [number for number, _ in titles(tmp_path, last_only=True)] == [0, 5, 1 << 62]


@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize(
    "damage", [b"{", b"\xff\xfe{}", b'{"number": "x"}', b"[]", b"\0\0\0", b"", b'{"number": 1}'], ids=repr
)
def test_a_damaged_line_is_reported_and_skipped(tmp_path: Path, damage: bytes, last_only: bool) -> None:
    first, last = (msgspec.json.encode(record(number)) for number in (1, 2))
    (tmp_path / "records-00000.jsonl").write_bytes(first + b"\n" + damage + b"\n" + last + b"\n")
    reports: list[tuple[str, int]] = []

    def note(path: Path, offset: int, why: str) -> None:
        assert why
        reports.append((path.name, offset))

    found = [entry.number for entry in read_records(tmp_path, last_only=last_only, on_damage=note)]
    assert found == [1, 2]
    assert reports == [("records-00000.jsonl", len(first) + 1)]


def test_what_is_no_directory_of_records_is_told(tmp_path: Path) -> None:
    (tmp_path / "records-00000.jsonl").write_bytes(b"")
    assert list(read_records(tmp_path)) == []
    for place in ("recrods", "records-00000.jsonl"):
        with pytest.raises(OSError, match=place):
            list(read_records(tmp_path / place))


def test_damage_is_logged_where_nobody_asks_for_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "records-00000.jsonl").write_bytes(b"garbage\n")
    assert list(read_records(tmp_path)) == []
    assert "the line at byte 0 is not a page record" in caplog.text


def test_a_damaged_last_copy_does_not_hide_the_copy_before_it(tmp_path: Path) -> None:
    whole = msgspec.json.encode(record(1, title="whole"))
    (tmp_path / "records-00000.jsonl").write_bytes(whole + b"\n" + whole[:-5] + b"\n")
    assert titles(tmp_path, last_only=True) == [(1, "whole")]


def test_reading_skips_the_unfinished_line_of_a_running_crawl_silently(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = msgspec.json.encode(record(1))
    for end in range(len(whole) + 1):
        (tmp_path / "records-00000.jsonl").write_bytes(whole + b"\n" + whole[:end])
        assert titles(tmp_path, last_only=True) == [(1, "")]
    assert caplog.text == ""


async def reopened(directory: Path, content: bytes) -> list[tuple[int, str | None]]:
    """What is read of a file with this content, to which a sink has added one record."""
    (directory / "records-00000.jsonl").write_bytes(content)
    sink = RecordSink(directory)
    await sink.write(None, record(9))
    await sink.aclose()
    return titles(directory)


async def test_a_line_that_lacks_nothing_but_its_end_is_kept(tmp_path: Path) -> None:
    line = msgspec.json.encode(record(1)) + b"\n"
    for tail in (line[:-1], *(line[:-1] + bytes([ord("\n") ^ 1 << bit]) for bit in range(8))):
        found = await reopened(tmp_path, line + tail)
        assert [number for number, _ in found] == [1, 1, 9]
        assert len(list(tmp_path.iterdir())) == 1


async def test_a_torn_line_is_cut_and_a_damaged_one_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = msgspec.json.encode(record(1, title="Größe 😀 \\"))
    for end in range(1, len(line)):
        found = await reopened(tmp_path, line + b"\n" + line[:end])
        assert f"cut off {bytes_text(end)} " in caplog.messages[-1]
        assert [number for number, _ in found] == [1, 9]
    assert len(list(tmp_path.iterdir())) == 1
    for tail in (b"\0" * 100, line[:20] + b"\0" + line[21:], line[:20] + b"\xff" + line[21:] + b"\x0b"):
        found = await reopened(tmp_path, line + b"\n" + tail)
        assert [number for number, _ in found] == [1, 9]
        aside = tmp_path / f"records-00000.jsonl.damaged-{len(line) + 1}"
        assert aside.read_bytes() == tail
        assert aside.name in caplog.text
        aside.unlink()


async def test_what_is_set_aside_is_on_the_disk_before_it_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = msgspec.json.encode(record(1)) + b"\n"
    path = tmp_path / "records-00000.jsonl"
    synced: list[tuple[str, int]] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, path.stat().st_size))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    await reopened(tmp_path, whole + b"\0" * 100)
    size = len(whole) + 100
    assert synced[:2] == [(f"{path.name}.aside", size), (tmp_path.name, size)]
    assert (tmp_path / f"{path.name}.damaged-{len(whole)}").exists()


def test_an_unfinished_line_at_the_end_of_an_older_file_is_damage(tmp_path: Path) -> None:
    whole = msgspec.json.encode(record(1))
    (tmp_path / "records-00000.jsonl").write_bytes(whole + b"\n" + whole[:10])
    (tmp_path / "records-00001.jsonl").write_bytes(whole + b"\n")
    reports: list[str] = []
    assert len(list(read_records(tmp_path, on_damage=lambda *where: reports.append(str(where))))) == 2
    assert len(reports) == 1


@pytest.mark.parametrize(
    ("tail", "told"),
    [
        (b"{", "cut off 1 byte of a record"),
        (b'{"', "cut off 2 bytes of"),
        (b"x", "damage of 1 byte at byte "),
        (b"xx", "damage of 2 bytes"),
    ],
)
def test_a_single_byte_is_not_told_as_bytes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tail: bytes, told: str
) -> None:
    (tmp_path / "records-00000.jsonl").write_bytes(msgspec.json.encode(record(1)) + b"\n" + tail)
    with caplog.at_level(logging.WARNING):
        RecordSink(tmp_path)
    assert told in caplog.text


def test_opening_tells_how_much_it_cut_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    torn = b'{"number": 1, "abstract": "' + b"x" * 200_000  # longer than what is read backwards at once
    whole = msgspec.json.encode(record(1)) + b"\n"
    (tmp_path / "records-00000.jsonl").write_bytes(whole + torn)
    with caplog.at_level(logging.WARNING):
        RecordSink(tmp_path)
    assert f"cut off {len(torn)} bytes" in caplog.text
    assert (tmp_path / "records-00000.jsonl").read_bytes() == whole


async def test_text_that_utf_8_can_t_hold_is_written_with_question_marks(tmp_path: Path) -> None:
    await write_all(tmp_path, [record(1, title="lone \udc80 surrogate, é"), record(2)])
    assert titles(tmp_path) == [(1, "lone ? surrogate, é"), (2, "")]


async def test_the_last_record_of_a_number_is_found_in_whatever_file_it_is(tmp_path: Path) -> None:
    assert find_record(tmp_path, 1) is None
    await write_all(
        tmp_path, [record(1, title="first"), record(11), record(1, title='again "number":3,')], max_bytes=200
    )
    assert len(list(tmp_path.iterdir())) > 1
    await write_all(tmp_path, [record(2, title="lone \udc80")])
    for number, title in ((1, 'again "number":3,'), (2, "lone ?"), (11, "")):
        found = find_record(tmp_path, number)
        assert found is not None
        assert (found.number, found.title or "") == (number, title)
    assert find_record(tmp_path, 3) is None
    newest = max(tmp_path.iterdir())
    newest.write_bytes(newest.read_bytes() + b'{"number":1,"url":"torn\n{"number":3,"url"')
    again = find_record(tmp_path, 1)
    assert again is not None
    assert again.title == 'again "number":3,'
    assert find_record(tmp_path, 3) is None


def test_a_record_is_found_while_a_crawl_deletes_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "records-00000.jsonl").write_bytes(msgspec.json.encode(record_of(page(1), 1)) + b"\n")
    (tmp_path / "records-00001.jsonl").write_bytes(b"{}\n")
    look = Path.stat

    def look_and_delete(path: Path, **options: bool) -> os.stat_result:
        found = look(path, **options)
        if path.name == "records-00001.jsonl":
            path.unlink()
        return found

    monkeypatch.setattr(Path, "stat", look_and_delete)
    found = find_record(tmp_path, 1)
    assert found is not None
    assert found.number == 1


def test_a_directory_without_records_reads_as_none(tmp_path: Path) -> None:
    assert list(read_records(tmp_path)) == []


class _Block(bytes):
    """What is read, and how much was put behind such blocks."""

    appended = 0

    def __add__(self, other: bytes) -> bytes:  # type: ignore[override]
        _Block.appended += len(other)
        return bytes(self) + other


class _File(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        return _Block(super().read(size))


def test_a_long_line_is_not_copied_with_each_block_that_is_read_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [PageRecord(number=1, url="http://x/", state="done", depth=0, kind="seed", main_text="a" * 1_000_000)]
    records.append(msgspec.structs.replace(records[0], number=2, main_text="b" * 10))
    content = b"".join(msgspec.json.encode(each) + b"\n" for each in records)
    (tmp_path / "records-00000.jsonl").write_bytes(content)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", lambda *_: _File(content))
        assert list(newest_records(tmp_path)) == records[::-1]
    assert _Block.appended < len(content)
