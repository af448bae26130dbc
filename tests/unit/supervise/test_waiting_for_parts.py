"""Before the parts of a crawl start, what still uses their directories is waited for, and named if that takes long."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.supervise import preparing
from crawler.supervise.preparing import waits_for_parts


@contextmanager
def held(directory: Path, holder: str) -> Iterator[None]:
    """Another process, which stands in the lock, has a directory."""
    directory.mkdir()
    with CrawlDirectory(directory).lock.open("w") as lock:
        lock.write(holder)
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize(
    ("holder", "waits_for", "refusal"),
    [
        ("1", "parts of an earlier run, which finish what is in flight: process 1", "`kill -9 1` ends them"),
        ("1 changes", "commands that use parts: process 1", "process 1, a command that changes the crawl; repeat this"),
    ],
)
def test_who_has_a_part_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str, waits_for: str, refusal: str
) -> None:
    told: list[str] = []
    with held(tmp_path / "part-1", holder):
        waits = waits_for_parts([tmp_path / "part-1"], told.append)
        next(waits)
        monkeypatch.setattr(preparing, "WAIT_S", 0)
        waits = waits_for_parts([tmp_path / "part-1"], told.append)
        with pytest.raises(DirectoryRefused) as refused:
            next(waits)
    assert told == [f"Waiting for {waits_for}"]
    assert refusal in str(refused.value)
