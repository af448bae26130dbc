"""The cycles in which a crawl archives. Pure.

A revisit record has no body, but refers to an earlier record that has it. Such references form chains: if a page is
archived again whenever its last body is too old, each archive has bodies of some pages and refers to bodies of others,
so each needs one before it, and none can ever be deleted. Thus all pages begin anew together. A cycle begins with a new
archive, and nothing in it refers to what was written before. So its archives are needed by each other at most.

A record of a page that has not changed does not have what the page holds either. A crawl that writes records alone has
cycles, too, so that it has each page as a whole again before the file with the last such record goes.
"""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from crawler.disk.pruned import Cycle
from crawler.prune.choosing import Keep
from crawler.prune.finished import OutputFile
from crawler.write.cdxj.making import serial_of

Place = tuple[Path, int]
"""A cycle: the directory with its archives, and its number among those that are known, from 1."""

_PER_LIMIT: Final = 3
"""Cycles that fit into the bytes to be kept. All of the oldest one goes at once, so two thirds stay. With more cycles
that would be more, but more of it would be copies of what has not changed."""


_PER_TIME: Final = 2
"""Cycles of records alone that fit into the seconds to be kept. A file of records does not wait for others to go. So a
page that is visited at least so often has been fetched as a whole again by then."""


def is_over(files: Sequence[OutputFile], keep: Keep, *, began: float, now: float, archives: bool = True) -> bool:
    """Whether a cycle has lasted long enough, or has written enough: one with `archives`, or with records alone.
    `began` is 0 if nothing says when the present one began: then it has all files. Times are in seconds since 1970."""
    written = [file for file in files if file.written_at >= began]
    counted = [file.written_at for file in written if file.is_archive or not archives]
    if not counted:
        return False
    lasts_s = None if keep.seconds is None else keep.seconds if archives else keep.seconds / _PER_TIME
    if lasts_s is not None and now - (began or min(counted)) >= lasts_s:
        return True
    return keep.bytes is not None and _PER_LIMIT * sum(file.bytes for file in written) >= keep.bytes


def place_of(archive: OutputFile, cycles: Sequence[Cycle]) -> Place | None:
    """The cycle of an archive, if it is not older than all. `cycles` are those of its directory, the oldest first."""
    number = bisect_right(cycles, serial_of(archive.path), key=lambda cycle: cycle.first)
    return (archive.directory, number) if number else None


def with_next(cycles: Sequence[Cycle], following: Cycle, *, oldest: int) -> list[Cycle]:
    """With the cycle that follows, and without those of which nothing is left. `oldest` is the number of the oldest
    archive that is left."""
    gone = bisect_right(cycles, oldest, key=lambda cycle: cycle.first) - 1
    # The newest archives may be gone, but who writes them goes on counting.
    first = max([following.first, *(cycle.first for cycle in cycles[-1:])])
    return [*cycles[max(0, gone) :], replace(following, first=first)]


def renumbered(cycles: Sequence[Cycle], *, next_number: int) -> list[Cycle]:
    """What they are when archives are numbered from `next_number` on, which no archive has. It may be less than the
    number of the last cycle, because the newest archives are gone."""
    if not cycles or cycles[-1].first <= next_number:
        return list(cycles)
    return [*(cycle for cycle in cycles if cycle.first < next_number), replace(cycles[-1], first=next_number)]
