"""Compares the indexes of archives with what the archives hold."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from crawler.write.cdxj.making import OPEN, archives, index_of, lines_of, make_index
from frontier.descriptor import Problem


def index_problems(directory: Path) -> Iterator[Problem]:
    """Where the index of a complete archive is not what would be made of that archive now. The next start makes those
    that were open. Takes some dozens of bytes of memory for each line of one archive at a time."""
    for archive in _indexed(directory):
        reading = _Reading(index_of(archive))
        # Nothing is taken back in an archive that is complete, so its lines are all true.
        expected, found = _digests(lines_of(archive)), _digests(reading)
        if not reading.is_sorted or not np.array_equal(expected, found):
            lacking, foreign = len(np.setdiff1d(expected, found)), len(np.setdiff1d(found, expected))
            message = f"it lacks {lacking} captures, and has {foreign} lines that its archive does not bear out"
            yield Problem("index", str(index_of(archive)), f"{message}; `verify --repair` makes it anew")


class _Reading:
    """The lines of an index, and whether they were in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_sorted = True

    def __iter__(self) -> Iterator[bytes]:
        before = b""
        with self._path.open("rb") as lines:
            for line in lines:
                content = line.removesuffix(b"\n")
                self.is_sorted = self.is_sorted and before <= content
                yield content
                before = content


def _digests(lines: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    """Eight bytes for each line, sorted."""
    found = (int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little") for line in lines)
    digests = np.fromiter(found, dtype=np.uint64)
    digests.sort()
    return digests


def repair_indexes(directory: Path) -> int:
    """Make the indexes anew that are wrong; returns how many. Raises `OSError`."""
    wrong = {problem.where for problem in index_problems(directory)}
    for archive in _indexed(directory):
        if str(index_of(archive)) in wrong:
            make_index(archive)
    return len(wrong)


def _indexed(directory: Path) -> Iterator[Path]:
    for archive in archives(directory):
        if not archive.name.endswith(OPEN) and index_of(archive).exists():
            yield archive
