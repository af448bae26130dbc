"""What a crawl notes of those who share a set with it."""

from pathlib import Path

import pytest

from visited.redis.making import own_keys
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


def test_a_crawl_does_not_read_damaged_names_of_others(tmp_path: Path) -> None:
    """Before, it ended with a traceback."""
    notes = Notes(tmp_path / "notes", Crawl(directory=tmp_path, host="h"), meeting=None)
    other = Notes(tmp_path / "other", Crawl(directory=tmp_path / "other", host="h"), meeting=None)
    notes.open()
    other.open()
    (tmp_path / "other" / "me").write_bytes(b"\xff")
    known = other.read()
    assert known.known
    notes.note(known)
    assert notes.read().known.keys() > known.known.keys()


def test_a_damaged_name_of_a_crawl_is_refused_with_its_file(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "notes", Crawl(directory=tmp_path, host="h"), meeting=None)
    notes.open()
    (tmp_path / "notes" / "me").write_bytes(b"\xff")
    with pytest.raises(OSError, match=r"notes/me is damaged: .* Delete the file"):
        notes.own_id()
    (tmp_path / "visited" / "redis").mkdir(parents=True)
    (tmp_path / "visited" / "redis" / "name").write_bytes(b"own-\xff")
    with pytest.raises(OSError, match="redis/name is damaged"):
        list(own_keys(tmp_path / "visited"))
