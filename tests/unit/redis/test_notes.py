"""What a crawl notes of those who share a set with it."""

from pathlib import Path

import pytest

from visited.redis.notes import Notes
from visited.shared import Crawl


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"name":"\xff","directory":"","notes":""}'])
def test_a_crawl_whose_note_is_damaged_is_known_by_its_id(tmp_path: Path, damage: bytes) -> None:
    notes = Notes(tmp_path / "notes", Crawl(directory=tmp_path, host="h"), meeting=None)
    me = notes.open()
    (tmp_path / "notes" / "0123.crawl").write_bytes(damage)
    known = notes.read().known
    assert known.keys() == {me, "0123"}
    assert known["0123"].name == "a crawl whose note is damaged"
    (tmp_path / "notes" / f"{me}.crawl").write_bytes(damage)
    again = Notes(tmp_path / "notes", Crawl(directory=tmp_path, host="h"), meeting=None)
    assert again.open() == me
    assert again.read().known[me].directory == str(tmp_path)
