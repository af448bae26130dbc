"""What is damaged in complete files of output is moved aside, and nothing else."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.page import PageRecord
from crawler.wiring.recovery.indexes import index_problems
from crawler.wiring.recovery.setting_aside import move_damage_aside
from crawler.write.cdxj.making import index_of
from crawler.write.records import RecordSink, read_records
from crawler.write.warc import WarcSink
from crawler.write.warc_reader import Capture, captures
from tests.unit.write.samples import NOON, page, record_of


async def archive(directory: Path) -> Path:
    sink = WarcSink(directory, clock=lambda: NOON)
    for number in range(1, 6):
        await sink.write(page(number, Random(number).randbytes(300)), record_of(page(number), number))
    await sink.aclose()
    (path,) = directory.glob("*.warc.gz")
    return path


async def records(directory: Path, count: int = 5) -> Path:
    sink = RecordSink(directory)
    for number in range(count):
        await sink.write(None, PageRecord(number=number, url=f"http://x/{number}", state="done", depth=0, kind="seed"))
    await sink.aclose()
    return directory / "records-00000.jsonl"


@settings(max_examples=30)
@given(st.data())
async def test_a_damaged_bit_of_an_archive_is_moved_aside_and_all_else_is_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("warc")
    path = await archive(directory)
    whole = bytearray(path.read_bytes())
    damaged = int(len(whole) * data.draw(st.floats(0, 1, exclude_max=True)))
    whole[damaged] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    asides = move_damage_aside(path)
    left = path.read_bytes()
    found = list(captures(directory, full_blocks=True))
    assert all(isinstance(each, Capture) for each in found)
    assert list(index_problems(directory)) == []
    if asides:  # some bits of a gzip header say nothing
        [aside] = asides
        start = int(aside.name.rpartition("-")[2])
        assert left[:start] + aside.read_bytes() + left[start:] == whole
    assert {each.name for each in directory.iterdir()} == {path.name, index_of(path).name, *(a.name for a in asides)}
    assert move_damage_aside(path) == []
    assert path.read_bytes() == left


async def test_of_an_archive_without_an_intact_record_only_what_was_set_aside_is_left(tmp_path: Path) -> None:
    path = await archive(tmp_path)
    content = bytes(path.stat().st_size)
    path.write_bytes(content)
    [aside] = move_damage_aside(path)
    assert list(tmp_path.iterdir()) == [aside]
    assert aside.read_bytes() == content


async def test_an_archive_that_is_open_is_left_to_the_next_start(tmp_path: Path) -> None:
    path = await archive(tmp_path)
    path = path.rename(path.with_name(f"{path.name}.open"))
    path.write_bytes(b"damaged" + path.read_bytes())
    assert move_damage_aside(path) == []
    assert path.read_bytes().startswith(b"damaged")


async def test_damaged_lines_of_records_are_moved_aside_and_all_others_are_kept(tmp_path: Path) -> None:
    path = await records(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    torn = lines[0][:20]
    path.write_bytes(b"".join([b"x", *lines[:2], b"[" + lines[2], b"\0\n", *lines[3:], torn]))
    asides = move_damage_aside(path)
    assert [each.read_bytes() for each in asides] == [b"x" + lines[0], b"[" + lines[2] + b"\0\n"]
    assert path.read_bytes() == b"".join([lines[1], *lines[3:], torn]), "the next start repairs the end"
    assert [each.number for each in read_records(tmp_path)] == [1, 3, 4]
    assert move_damage_aside(path) == []


async def test_the_end_of_an_older_file_of_records_is_repaired_too(tmp_path: Path) -> None:
    path = await records(tmp_path, 2)
    (tmp_path / "records-00001.jsonl").write_bytes(b"")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:20])
    [aside] = move_damage_aside(path)
    assert aside.read_bytes() == second[:20]
    assert path.read_bytes() == first


async def test_what_was_set_aside_is_kept_when_the_same_place_is_damaged_again(tmp_path: Path) -> None:
    path = await records(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"[" + lines[1], *lines[2:]]))
    [first] = move_damage_aside(path)
    path.write_bytes(b"".join([lines[0], b"[" + lines[2], *lines[3:]]))
    [second] = move_damage_aside(path)
    assert (first.read_bytes(), second.read_bytes()) == (b"[" + lines[1], b"[" + lines[2])
    path.write_bytes(b"".join([lines[0], b"[" + lines[2], *lines[3:]]))
    assert move_damage_aside(path) == [second], "as after a crash before the file was replaced"


@pytest.mark.parametrize("step", ["crawler.write.warc_opening._keep", "crawler.write.cdxj.making.write_index"])
async def test_no_crash_leaves_an_index_that_its_archive_does_not_bear_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = await archive(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 255
    path.write_bytes(whole)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(step, crash)
        with pytest.raises(KeyboardInterrupt):
            move_damage_aside(path)
    assert not index_of(path).exists()
    move_damage_aside(path)
    await WarcSink(tmp_path, clock=lambda: NOON).aclose()
    assert index_of(path).exists()
    assert list(index_problems(tmp_path)) == []
