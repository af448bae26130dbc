import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.page import PageRecord
from crawler.repeats.stored import Near, StoredFingerprints, read_fingerprints

LINES, INDEX = "fingerprints.txt", "fingerprints.index"


async def opened(directory: Path, use: Callable[[StoredFingerprints], object]) -> None:
    known = StoredFingerprints(directory)
    try:
        use(known)
    finally:
        await known.aclose()


def fill(known: StoredFingerprints, fingerprints: list[int]) -> None:
    for number, each in enumerate(fingerprints):
        known.add(each, number=number, url=f"http://a.test/{number}?ü")


FINGERPRINTS = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(1, 50)]


async def test_the_nearest_page_is_found_and_of_several_the_first(tmp_path: Path) -> None:
    known = StoredFingerprints(tmp_path / "new")
    fill(known, [0b1111, 0b1, 0b10, 1 << 40])
    assert known.find(0, 3, url="http://a.test/x") == Near("http://a.test/1?ü", 1)
    assert known.find(0b1111 << 20, 3, url="http://a.test/x") is None
    assert known.find(0b1111 << 20, 4, url="http://a.test/x") == Near("http://a.test/1?ü", 5) or len(known) == 4
    await known.aclose()


async def test_a_page_that_is_fetched_again_is_no_near_duplicate_of_itself(tmp_path: Path) -> None:
    known = StoredFingerprints(tmp_path)
    known.add(7, number=1, url="http://a.test/1")
    assert known.find(7, 3, url="http://a.test/1") is None
    known.add(7, number=1, url="http://a.test/1")
    assert len(known) == 1
    known.add(0xFFFF, number=1, url="http://a.test/1")
    assert known.find(6, 3, url="http://a.test/2") == Near("http://a.test/1", 1)
    await known.aclose()


async def test_a_page_that_hardly_changes_is_stored_once(tmp_path: Path) -> None:
    known = StoredFingerprints(tmp_path, distance=3)
    for number in range(50):
        known.add(0xFF00 ^ 1 << number % 3, number=number, url="http://a.test/clock")
    known.add(0xFF00, number=50, url="http://b.test/")
    known.add(0x00FF, number=51, url="http://a.test/clock")
    assert len(known) == 3
    assert known.find(0xFF00 ^ 1 << 2, 3, url="http://c.test/") == Near("http://b.test/", 1)
    await known.aclose()


async def test_a_page_that_is_fetched_again_by_another_form_of_its_url_is_no_near_duplicate_of_itself(
    tmp_path: Path,
) -> None:
    known = StoredFingerprints(tmp_path, name_of=lambda url: url.partition("?")[0])
    known.add(7, number=1, url="http://a.test/1?sid=1")
    assert known.find(7, 3, url="http://a.test/1") is None
    assert known.find(7, 3, url="http://a.test/2") == Near("http://a.test/1?sid=1", 0)
    known.add(7, number=1, url="http://a.test/1?sid=2")
    assert len(known) == 1
    await known.aclose()


@pytest.mark.parametrize("file", [LINES, INDEX])
async def test_a_crash_at_any_byte_costs_at_most_the_page_that_was_being_stored(tmp_path: Path, file: str) -> None:
    await opened(tmp_path, lambda known: fill(known, FINGERPRINTS[:6]))
    whole = {name: (tmp_path / name).read_bytes() for name in (LINES, INDEX)}
    ends = [at + 1 for at, byte in enumerate(whole[LINES]) if byte == ord("\n")]
    for cut in range(len(whole[file]) + 1):
        for name, content in whole.items():
            (tmp_path / name).write_bytes(content[:cut] if name == file else content)
        left = 6 if file == INDEX else sum(end <= cut for end in ends)
        known = StoredFingerprints(tmp_path)
        assert len(known) == left
        known.add(1, number=9, url="http://a.test/9")
        for place, each in enumerate([*FINGERPRINTS[:left], 1]):
            assert known.find(each, 0, url="other") == Near(
                f"http://a.test/{place}?ü" if each != 1 else "http://a.test/9", 0
            )
        await known.aclose()


@given(seed=st.integers(0, 10**6), steps=st.lists(st.sampled_from(("add", "restart", "crash")), max_size=40))
@settings(max_examples=60, deadline=None)
async def test_restarts_and_crashes_change_no_answer(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: list[str]
) -> None:
    chance, directory = Random(seed), tmp_path_factory.mktemp("stored")
    known, added = StoredFingerprints(directory), list[tuple[int, str]]()
    for step in steps:
        if step == "add":
            near = chance.choice(added)[0] ^ 1 << chance.randrange(64) if added and chance.random() < 0.7 else 0
            fingerprint, url = near or chance.getrandbits(64), f"http://a.test/{chance.randrange(30)}"
            known.add(fingerprint, number=len(added), url=url)
            if (fingerprint, url) not in added:
                added.append((fingerprint, url))
            continue
        await known.aclose()
        if step == "crash":  # while a line, or its entry, was written
            with (directory / LINES).open("ab") as lines:
                lines.write(b"0123456789abcdef 1 http://half"[: chance.randrange(31)])
            with (directory / INDEX).open("ab") as index:
                index.write(bytes(chance.randrange(16)))
        known = StoredFingerprints(directory)
        assert len(known) == len(added)
    for fingerprint, url in added:
        asked, distance = fingerprint ^ 1 << chance.randrange(64), chance.randrange(9)
        others = [((each ^ asked).bit_count(), place) for place, (each, other) in enumerate(added) if other != url]
        nearest = min((each for each in others if each[0] <= distance), default=None)
        expected = None if nearest is None else Near(added[nearest[1]][1], nearest[0])
        assert known.find(asked, distance, url=url) == expected
    await known.aclose()


async def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    await opened(tmp_path, lambda known: fill(known, [3, 5]))
    lines = (tmp_path / LINES).read_bytes()
    (tmp_path / LINES).write_bytes(b"x" + lines[1:])
    known = StoredFingerprints(tmp_path)
    assert known.find(3, 1, url="other") is None
    assert known.find(3, 2, url="other") == Near("http://a.test/1?ü", 2)
    await known.aclose()


@pytest.mark.parametrize("cut", [8, 24, 40])
async def test_files_that_are_cut_while_a_crawl_has_them_cost_no_more_than_what_they_had(
    tmp_path: Path, cut: int
) -> None:
    known = StoredFingerprints(tmp_path)
    fill(known, FINGERPRINTS[:5])
    os.truncate(tmp_path / INDEX, cut)
    os.truncate(tmp_path / LINES, cut)
    fill(known, FINGERPRINTS[5:])
    assert all(
        known.find(each, 3, url="other") in (None, Near(f"http://a.test/{n}?ü", 0))
        for n, each in enumerate(FINGERPRINTS[5:])
    )
    await known.aclose()
    await opened(tmp_path, lambda known: fill(known, FINGERPRINTS))


async def test_a_lost_index_is_made_anew_and_damaged_lines_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await opened(tmp_path, lambda known: fill(known, [3, 5, 9]))
    lines = (tmp_path / LINES).read_bytes().splitlines(keepends=True)
    (tmp_path / LINES).write_bytes(lines[0] + b"\0" * 20 + b"\n" + lines[2])
    (tmp_path / INDEX).unlink()
    known = StoredFingerprints(tmp_path)
    assert "added fingerprints that the index lacked: 2;" in caplog.text
    assert [known.find(each, 0, url="other") for each in (3, 5)] == [Near("http://a.test/0?ü", 0), None]
    assert known.find(9, 0, url="other") == Near("http://a.test/2?ü", 0)
    await known.aclose()


async def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = StoredFingerprints(tmp_path)
    known.add(3, number=0, url="http://a.test/0")
    write, room = os.write, [30]

    def write_while_there_is_room(file: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(file, bytes(data)[: room[0]])
        room[0] -= written
        return written

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write_while_there_is_room)
        for least in (30, 45):
            room[0] = least
            with pytest.raises(OSError, match=LINES) as refused:
                known.add(5, number=1, url="http://a.test/1")
            assert refused.value.errno == errno.ENOSPC
    assert known.find(5, 0, url="other") is None
    known.add(5, number=1, url="http://a.test/1")
    await known.aclose()
    again = StoredFingerprints(tmp_path)
    assert [again.find(each, 0, url="other") for each in (3, 5)] == [
        Near("http://a.test/0", 0),
        Near("http://a.test/1", 0),
    ]
    await again.aclose()


async def test_only_pages_that_repeat_nothing_are_stored(tmp_path: Path) -> None:
    known = StoredFingerprints(tmp_path, only_archived=True)
    first = PageRecord(number=1, url="http://a.test/1", state="done", depth=0, kind="link", simhash="00000000000000ff")
    await known.write(None, first)
    fields = {"number": 2, "url": "http://a.test/2", "state": "done", "depth": 0, "kind": "link", "simhash": "1"}
    for changes in ({"simhash": None}, {"near_duplicate_of": "http://a.test/0"}, {"not_followed": "canonical"}):
        await known.write(None, PageRecord(**(fields | changes)))  # type: ignore[arg-type]
    too_large = PageRecord(**(fields | {"simhash": "2", "not_archived": "too-large"}))  # type: ignore[arg-type]
    await known.write(None, too_large)
    failed = PageRecord(number=3, url="http://a.test/3", state="failed", depth=0, kind="link", simhash="1")
    await known.write(None, failed)
    assert len(known) == 1
    assert known.find(0xFF, 0, url="other") == Near("http://a.test/1", 0)
    await known.aclose()


@pytest.mark.parametrize(
    "damaged",
    [b"-00000000000000f 1", b"0x0000000000000f 1", b"000000000000000f " + b"9" * 5000],
    ids=["-", "0x", "long"],
)
async def test_a_line_whose_numbers_are_damaged_counts_for_nothing(tmp_path: Path, damaged: bytes) -> None:
    await opened(tmp_path, lambda known: known.add(7, number=1, url="http://a.test/1"))
    with (tmp_path / LINES).open("ab") as lines:
        lines.write(damaged + b" http://a.test/2\n")
    assert list(read_fingerprints(tmp_path)) == [(7, 1, "http://a.test/1")]
    known = StoredFingerprints(tmp_path)
    assert len(known) == 1
    await known.aclose()
