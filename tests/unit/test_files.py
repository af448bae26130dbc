import os
from pathlib import Path

import pytest

from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from tests.full_disk import no_space


def test_a_file_is_replaced_by_its_new_content(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for content in (b"old and long", b"new"):
        replace_file(path, content)
        assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    replace_file(path, b"old")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left") as raised:
        replace_file(path, b"new")
    assert raised.value.filename == str(path)  # so that the message names the disk that is full
    assert path.read_bytes() == b"old"


def test_a_file_is_read_and_what_is_none_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(FileNotFoundError):
        read_file(path)
    replace_file(path, b"content")
    assert read_file(path) == b"content"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="expected a file, found a pipe or a device; move it away"):
        read_file(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError) as raised:
        read_file(tmp_path)
    assert raised.value.filename == str(tmp_path)
