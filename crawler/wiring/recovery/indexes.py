"""Compares the indexes of archives with what the archives hold."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from crawler.status import number_of
from crawler.wiring.recovery.setting_aside import unread_file
from crawler.write.cdxj.making import OPEN, archives, index_of, lines_of, make_index
from frontier.descriptor import Problem

_AT_ONCE: Final = 1_000_000
"""Lines whose digests are in memory at the same time."""


def index_problems(directory: Path) -> Iterator[Problem]:
    """Where the index of a complete archive is not what would be made of that archive now. The next start makes those
    that were open. Takes the same memory for an index of any length; one that is wrong is read several times if it is
    long."""
    for archive in _indexed(directory):
        try:
            # Nothing is taken back in an archive that is complete, so its lines are all true.
            expected = _sum_of(lines_of(archive))
        except OSError:
            continue  # who reads the archive tells
        try:
            message = _difference(archive, expected)
        except OSError as error:
            yield unread_file(index_of(archive), error)
        else:
            if message is not None:
                yield Problem("index", str(index_of(archive)), f"{message}; `verify --repair` makes it anew")


def _difference(archive: Path, expected: tuple[int, int]) -> str | None:
    found = _sum_of(_lines_in(index_of(archive)))
    is_sorted = all(before <= line for before, line in pairwise(_lines_in(index_of(archive))))
    if is_sorted and expected == found:
        return None
    lacking, foreign = _differences(archive, passes=1 + max(expected[0], found[0]) // _AT_ONCE)
    lines = f"{number_of(foreign, 'line')} that its archive does not bear out"
    return f"it lacks {number_of(lacking, 'capture')}, and has {lines}"


def _lines_in(index: Path) -> Iterator[bytes]:
    with index.open("rb") as lines:
        for line in lines:
            yield line.removesuffix(b"\n")


def _sum_of(lines: Iterable[bytes]) -> tuple[int, int]:
    """The number of lines, and the sum of their digests. The same lines have the same ones, in any order."""
    count = total = 0
    for line in lines:
        count += 1
        total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "little")
    return count, total


def _differences(archive: Path, *, passes: int) -> tuple[int, int]:
    """How many lines the index of an archive lacks, and has too many. Each pass compares some of them."""
    lacking = foreign = 0
    for number in range(passes):
        expected = _digests(lines_of(archive), number, passes)
        found = _digests(_lines_in(index_of(archive)), number, passes)
        lacking += len(np.setdiff1d(expected, found))
        foreign += len(np.setdiff1d(found, expected))
    return lacking, foreign


def _digests(lines: Iterable[bytes], number: int, passes: int) -> npt.NDArray[np.uint64]:
    """Eight bytes for each line of a pass."""
    found = (int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little") for line in lines)
    return np.fromiter((digest for digest in found if digest % passes == number), dtype=np.uint64)


def repair_indexes(directory: Path) -> int:
    """Make the indexes anew that are wrong; returns how many. Raises `OSError`."""
    wrong = {problem.where for problem in index_problems(directory) if problem.kind == "index"}
    for archive in _indexed(directory):
        if str(index_of(archive)) in wrong:
            make_index(archive)
    return len(wrong)


def _indexed(directory: Path) -> Iterator[Path]:
    for archive in archives(directory):
        index = index_of(archive)
        # Who reads a link to a disk that is not mounted tells of it.
        if not archive.name.endswith(OPEN) and (index.exists() or index.is_symlink()):
            yield archive
