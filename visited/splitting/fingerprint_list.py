"""The fingerprints of all URLs in a splitting filter: eight bytes each, on disk, read only to rebuild a leaf.

A leaf holds the URLs whose fingerprints lie in one range. So the leaves need no files of their own: new fingerprints
gather in memory, and are appended to one file as a sorted *run*, a block from which a range can be read. Nothing in
the file moves when a leaf splits. A run holds a 192nd of all fingerprints, so there are hundreds or a few thousand
runs.

tests/bench/leaflist.py compares this with other layouts. At ten million URLs the total cost per URL, for writing it and
for all later reading, is 0.7 µs here, 0.5 µs with a file for each leaf, and 6 µs in LevelDB, which takes 20 bytes for
each. At a million the first two are equal. One file is worth the difference: a crash would leave thousands of files at
different lengths.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import allocated_bytes, zeros
from visited.full_disk import ignore_full_disk
from visited.splitting.block_file import BlockFile

Fingerprints = NDArray[np.uint64]

_SPACE = 1 << 64
_RUN_SHARE = 192
_MIN_TAIL, _MAX_TAIL = 128, 1 << 19


class FingerprintList:
    """All fingerprints: sorted runs in a file, and in memory the *tail* that is not written yet.

    While the disk is full the tail grows.
    """

    def __init__(self, directory: Path | None) -> None:
        """Without a directory the file is temporary."""
        path = None if directory is None else directory / "leaves"
        self.file = BlockFile(path, magic=b"onceover-leaves1", item_bytes=8, name="the list of fingerprints")
        self._tail: Fingerprints
        self._tail_count: int
        self._reset_tail()

    def append(self, fingerprints: Fingerprints) -> None:
        """Add fingerprints, in any order. Raises OSError if a run can't be written; earlier ones are kept then."""
        start = 0
        while start < len(fingerprints):
            part = fingerprints[start : start + len(self._tail) - self._tail_count]
            self._tail[self._tail_count : self._tail_count + len(part)] = part
            self._tail_count += len(part)
            start += len(part)
            if self._tail_count == len(self._tail):
                self.flush()
                if self._tail_count:  # the disk is full
                    tail = _allocate(len(self._tail) + self._wanted_tail)
                    tail[: self._tail_count] = self._tail[: self._tail_count]
                    self._tail = tail

    def flush(self) -> None:
        """Write the tail as a run. It stays in memory if the disk is full."""
        with ignore_full_disk():
            self.file.create()
            if self._tail_count:
                self._write_tail()

    def tail(self) -> Fingerprints:
        """Return the fingerprints that are in no run yet, in ascending order."""
        return np.sort(self._tail[: self._tail_count])

    def begin(self, tail: Fingerprints) -> None:
        """Continue the file, which was opened, with the tail of a snapshot."""
        self._reset_tail()
        self._tail = _allocate(self._wanted_tail)
        self.append(tail)

    def close(self) -> None:
        """Close the file, and be empty. The file stays on disk until the next run."""
        self.file.close()
        self._reset_tail()

    @property
    def memory_bytes(self) -> int:
        return allocated_bytes(self._tail.nbytes) + self.file.memory_bytes

    def __len__(self) -> int:
        return len(self.file) + self._tail_count

    def _reset_tail(self) -> None:
        self._tail = _allocate(_MIN_TAIL)
        self._tail_count = 0

    def _write_tail(self) -> None:
        run = self._tail[: self._tail_count]
        run.sort()
        self.file.append(run.data)
        self._tail_count = 0
        if not len(self._tail) <= self._wanted_tail <= len(self._tail) * 1.25:
            self._tail = _allocate(self._wanted_tail)

    @property
    def _wanted_tail(self) -> int:
        return min(max(len(self.file) // _RUN_SHARE, _MIN_TAIL), _MAX_TAIL)


def _allocate(count: int) -> Fingerprints:
    return np.frombuffer(zeros(count * 8), dtype=np.uint64)


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
