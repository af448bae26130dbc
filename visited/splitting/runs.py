"""Sorted runs of fingerprints: the blocks of a file, with 8 bytes for each, ascending."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visited.splitting.block_file import BlockFile

Fingerprints = NDArray[np.uint64]

_SPACE = 1 << 64


def run_file(path: Path | None) -> BlockFile:
    """The file of runs at this path; a temporary one without a path."""
    return BlockFile(path, magic=b"onceover-leaves1", item_bytes=8, name="the list of fingerprints")


def read_range(file: BlockFile, run: int, low: int, high: int) -> Fingerprints:
    """Read the fingerprints of one run in low ≤ f < high, and a few on either side.

    They are hashes, so their values tell roughly where they are in the run.
    """
    count = file.count_of(run)
    slack = 2 * int(count**0.5) + 16
    while True:
        first = max(0, low * count // _SPACE - slack)
        last = min(count, high * count // _SPACE + slack)
        window = np.frombuffer(file.read(run, first, last), dtype=np.uint64)
        if (first == 0 or int(window[0]) < low) and (last == count or int(window[-1]) >= high):
            return window
        slack *= 4


def read_runs(file: BlockFile) -> Iterator[Fingerprints]:
    """Read all runs. Raises SnapshotRefused at a damaged one."""
    for data in file.blocks():
        yield np.frombuffer(data, dtype=np.uint64)
