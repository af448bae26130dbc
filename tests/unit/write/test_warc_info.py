"""That each record of an archive says by which settings it was made."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.write import warc
from crawler.write.warc import WarcOptions, WarcSink
from crawler.write.warc_info import WarcInfo
from crawler.write.warc_opening import is_ours
from crawler.write.warc_reader import captures
from tests.unit.write.samples import NOON, Archived, archived, page, record_of

ABOUT = {"software": "onceover", "settings": "a = 1\nb = 2"}


def assert_each_refers_to_the_last_one(found: list[Archived]) -> list[str]:
    """Each record refers to the last warcinfo record before it, in its file. Returns the last settings of each."""
    file, last, told = "", None, []
    for each in found:
        if each.file != file:
            file = each.file
            assert each.kind == "warcinfo"
        if each.kind == "warcinfo":
            last = each
        else:
            assert last is not None
            assert each.fields["WARC-Warcinfo-ID"] == last.fields["WARC-Record-ID"]
            lines = last.payload.decode().splitlines()
            told.append(";".join(line.removeprefix("setting: ") for line in lines if line.startswith("setting: ")))
    return told


async def test_a_change_of_settings_is_in_the_archive_before_what_follows_from_it(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, info=ABOUT, clock=lambda: NOON)
    await sink.write(page(1), record_of(page(1), 1))
    sink.tell(ABOUT | {"settings": "a = 2"})
    sink.tell(ABOUT | {"settings": "a = 3"})
    await sink.write(page(2), record_of(page(2), 2))
    sink.tell(ABOUT | {"settings": "a = 3"})  # nothing has changed
    await sink.write_exchange(page(3), "robots")
    await sink.aclose()
    found = archived(tmp_path)
    kinds = ["warcinfo", *["response", "request", "metadata"]]
    assert [each.kind for each in found] == [*kinds, *kinds, *kinds[1:]]
    assert assert_each_refers_to_the_last_one(found) == ["a = 1;b = 2"] * 3 + ["a = 3"] * 6
    assert len({each.fields["WARC-Record-ID"] for each in found}) == len(found)
    assert [each.number for each in captures(tmp_path, full_blocks=False)] == [1] * 3 + [2] * 3  # type: ignore[union-attr]


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.one_of(st.integers(1, 4), st.sampled_from(["told", "large"])), max_size=12),
    max_bytes=st.sampled_from([1, 3000, 1 << 30]),
)
def test_records_refer_to_the_last_one_of_their_file_whatever_happens_at_the_same_time(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int | str], max_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("info")

    async def run() -> None:
        sink = WarcSink(folder, WarcOptions(max_bytes=max_bytes), info=ABOUT)
        number = 0
        async with asyncio.TaskGroup() as tasks:
            for step in steps:
                if step == "told":
                    sink.tell(ABOUT | {"settings": f"step = {number}"})
                    continue
                for _ in range(step if isinstance(step, int) else 1):
                    number += 1
                    fetched = page(number, b"x" * (warc._THREAD_BYTES if step == "large" else 50))
                    tasks.create_task(sink.write(fetched, record_of(fetched, number)))
                await asyncio.sleep(0)
        await sink.aclose()
        written = {each.number for each in archived(folder)} - {None}
        assert written == set(range(1, number + 1))

    asyncio.run(run())
    assert_each_refers_to_the_last_one(archived(folder))


def test_what_a_full_disk_has_taken_back_is_written_again_under_its_name() -> None:
    info = WarcInfo(ABOUT, level=3, clock=lambda: NOON)
    first = info.record("a", 700)
    info.note_written(700)
    assert info.record("a", 900) == b""
    assert info.record("a", 700) == first
    before = info.urns
    info.tell(ABOUT)
    assert info.urns == before
    info.begin()
    assert info.urns != before
    assert info.record("b", 0)


async def test_damage_costs_no_change_of_settings_behind_it(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, info=ABOUT)
    await sink.write(page(1), record_of(page(1), 1))
    await sink.aclose()
    [info, *_] = archived(tmp_path)
    head = "".join(f"{name}: {value}\r\n" for name, value in info.fields.items())
    assert is_ours(f"WARC/1.1\r\n{head}\r\n".encode())
