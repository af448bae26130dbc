"""How far a gzip file of many members is whole."""

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.write.members import whole_members_bytes


def member(content: bytes) -> bytes:
    return zlib.compress(content, 6, wbits=31)


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
