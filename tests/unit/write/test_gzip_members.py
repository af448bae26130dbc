"""Which members of a gzip file are whole."""

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.write.gzip_members import Stretch, copy_stretches, members, stretches


def member(content: bytes) -> bytes:
    return zlib.compress(content, 6, wbits=31)


def parts_of(path: Path) -> list[Stretch]:
    with path.open("rb") as file:
        return list(stretches(members(file, is_ours=lambda head: head.startswith(b"ours"), max_bytes=0)))


def whole_members_bytes(path: Path) -> int:
    """How long the beginning of the file is that is whole."""
    first = [part for part in parts_of(path) if part.start == 0 and part.is_intact]
    return first[0].end if first else 0


@given(st.lists(st.binary(max_size=300), max_size=5), st.data())
def test_the_whole_part_ends_with_the_last_member_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], data: st.DataObject
) -> None:
    members = [member(content) for content in contents]
    ends = [0]
    for packed in members:
        ends.append(ends[-1] + len(packed))
    cut = data.draw(st.integers(0, ends[-1]))
    path = tmp_path_factory.mktemp("members") / "file.gz"
    path.write_bytes(b"".join(members)[:cut])
    assert whole_members_bytes(path) == max(end for end in ends if end <= cut)


def test_members_larger_than_the_buffers_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    noise = os.urandom(700_000)
    members = [member(noise), member(b"\0" * 9_000_000), member(b""), member(noise + noise)]
    path.write_bytes(b"".join(members))
    assert whole_members_bytes(path) == path.stat().st_size
    path.write_bytes(b"".join(members)[:-1])
    assert whole_members_bytes(path) == sum(map(len, members[:3]))


def test_a_member_with_a_wrong_checksum_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    second = bytearray(member(b"second"))
    second[-6] ^= 1
    path.write_bytes(member(b"first") + bytes(second) + member(b"third"))
    assert whole_members_bytes(path) == len(member(b"first"))


@pytest.mark.parametrize("content", [b"", b"\x1f", b"not gzip at all", b"\0" * 5000], ids=repr)
def test_what_is_not_gzip_has_no_whole_part(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(content)
    assert whole_members_bytes(path) == 0


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.data())
def test_one_damaged_bit_costs_one_member(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], data: st.DataObject
) -> None:
    members = [member(b"ours" + content) for content in contents]
    hit = data.draw(st.integers(0, len(members) - 1))
    damaged = bytearray(members[hit])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("members")
    path, copy = folder / "file.gz", folder / "copy.gz"
    path.write_bytes(b"".join([*members[:hit], damaged, *members[hit + 1 :]]))
    found = parts_of(path)
    assert [part.start for part in found] == [0, *(part.end for part in found)][:-1]
    assert found[-1].end == path.stat().st_size
    copy_stretches(path, copy, [part for part in found if part.is_intact])
    left = b"".join([*members[:hit], *members[hit + 1 :]])
    # A bit of the header that says nothing, as that of the system, leaves the member whole.
    assert copy.read_bytes() in (left, path.read_bytes())
    if hit < len(members) - 1:
        assert not any(part.torn for part in found)


def test_behind_damage_a_member_of_others_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    theirs = member(b"theirs")
    holder = bytearray(zlib.compress(b"ours: " + theirs + theirs, 0, wbits=31))
    holder[-5] ^= 1  # its checksum
    path.write_bytes(member(b"ours 1") + bytes(holder) + member(b"ours 3"))
    assert [(part.is_intact, part.torn, part.end - part.start) for part in parts_of(path)] == [
        (True, False, len(member(b"ours 1"))),
        (False, False, len(holder)),
        (True, False, len(member(b"ours 3"))),
    ]


def test_a_member_behind_damage_is_found_wherever_buffers_end(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    last = member(b"ours")
    for length in (1, 5, 262_143, 262_144, 262_145, 262_150, 262_151, 524_288):
        path.write_bytes(b"\xff" * length + last)
        assert [(part.start, part.end, part.is_intact) for part in parts_of(path)] == [
            (0, length, False),
            (length, length + len(last), True),
        ]


def test_a_copy_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        copy_stretches(tmp_path / "missing", tmp_path / "copy", [])
    assert list(tmp_path.iterdir()) == []
