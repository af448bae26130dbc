"""Compares the indexes of archives with what the archives hold."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from crawler.status import number_of
from crawler.write.cdxj.making import OPEN, archives, index_of, lines_of, make_index
from frontier.descriptor import Problem

_AT_ONCE: Final = 1_000_000
"""Lines whose digests are in memory at the same time."""


def index_problems(directory: Path) -> Iterator[Problem]:
    """Where the index of a complete archive is not what would be made of that archive now. The next start makes those
    that were open. Takes the same memory for an index of any length; one that is wrong is read several times if it is
    long."""
    for archive in _indexed(directory):
        reading = _Reading(index_of(archive))
        # Nothing is taken back in an archive that is complete, so its lines are all true.
        expected, found = _Sum.of(lines_of(archive)), _Sum.of(reading)
        if not reading.is_sorted or expected != found:
            lacking, foreign = _differences(archive, passes=1 + max(expected.count, found.count) // _AT_ONCE)
            message = (
                f"it lacks {number_of(lacking, 'capture')}, and has {number_of(foreign, 'line')} that its archive does "
                "not bear out"
            )
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


class _Sum(msgspec.Struct, frozen=True):
    """The sum of the digests of lines. The same lines have the same sum, in any order."""

    count: int
    total: int

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Self:
        count = total = 0
        for line in lines:
            count += 1
            total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "little")
        return cls(count, total)


def _differences(archive: Path, *, passes: int) -> tuple[int, int]:
    """How many lines the index of an archive lacks, and has too many. Each pass compares some of them."""
    lacking = foreign = 0
    for number in range(passes):
        expected = _digests(lines_of(archive), number, passes)
        found = _digests(_Reading(index_of(archive)), number, passes)
        lacking += len(np.setdiff1d(expected, found))
        foreign += len(np.setdiff1d(found, expected))
    return lacking, foreign


def _digests(lines: Iterable[bytes], number: int, passes: int) -> npt.NDArray[np.uint64]:
    """Eight bytes for each line of a pass."""
    found = (int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little") for line in lines)
    return np.fromiter((digest for digest in found if digest % passes == number), dtype=np.uint64)


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
