"""The fingerprints of all URLs in a splitting filter, on disk: eight bytes each, read only when a leaf is rebuilt.

A leaf holds the URLs whose fingerprints lie in one range. So the list of a leaf need not be a file of its own: new
fingerprints gather in memory, and go to the end of one file as a sorted *run*, of which a range can be read. The file
is only ever appended to, and nothing in it moves when a leaf splits.

    file    magic, 16 bytes · identity, 16 bytes · runs
    run     count u32 · checksum u32 · fingerprints, u64 each, ascending

Numbers are little-endian. A run is a 192nd of all there is, so that there are hundreds or a few thousand.

By tests/bench/leaflist.py, at ten million URLs, all that a URL costs a list, from its being written to its last
reading, is 0.7 µs here, 0.5 µs with a file for each leaf, and 6 µs in LevelDB, which takes 20 bytes for each. At a
million the first two are even. Files by the thousand, which a crash leaves each at another length, are not worth it.
"""

import os
import struct
import sys
import tempfile
import weakref
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory, allocated_bytes, zeros
from visited.full_disk import put_off_without_room
from visited.protocol import SnapshotRefused
from visited.snapshot import checksum

Fingerprints = NDArray[np.uint64]

_MAGIC = b"onceover-leaves1"
_HEADER_BYTES = 32
_RUN = struct.Struct("<II")
_SHARE = 192
_LEAST, _MOST = 128, 1 << 19
_SPACE = 1 << 64
_READ_BYTES = 1 << 30


class LeafList:
    """An append-only file of sorted runs of fingerprints, and the tail that is not written yet.

    Without a directory it is a temporary file that nobody else sees. It is made by the first run. While the disk
    has no room the tail grows.
    """

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / "leaves"
        self._descriptor = -1
        self._tail: Fingerprints
        self._tail_count: int
        self._reset()

    def append(self, fingerprints: Fingerprints) -> None:
        """Add fingerprints, in any order. Raises OSError when a run can't be written; what came before is kept."""
        start = 0
        while start < len(fingerprints):
            part = fingerprints[start : start + len(self._tail) - self._tail_count]
            self._tail[self._tail_count : self._tail_count + len(part)] = part
            self._tail_count += len(part)
            start += len(part)
            if self._tail_count == len(self._tail):
                self.flush()
                if self._tail_count:
                    self._lengthen_tail()

    def flush(self) -> None:
        """Write the tail as a run; where there is no room, it stays."""
        with put_off_without_room():
            if self._descriptor < 0:
                self._create()
            if self._tail_count:
                self._write_run()

    def read(self, run: int, low: int, high: int) -> Fingerprints:
        """The fingerprints of one run in low ≤ f < high, and some on either side.

        They are hashes, so one can guess where they stand.
        """
        count = self._count_of(run)
        slack = 2 * int(count**0.5) + 16
        while True:
            first = max(0, low * count // _SPACE - slack)
            last = min(count, high * count // _SPACE + slack)
            window = self._pread(self._offsets[run] + first * 8, last - first)
            if (first == 0 or int(window[0]) < low) and (last == count or int(window[-1]) >= high):
                return window
            slack *= 4

    def tail(self) -> Fingerprints:
        """The fingerprints that are in no run yet, in ascending order."""
        return np.sort(self._tail[: self._tail_count])

    def runs(self) -> Iterator[Fingerprints]:
        """All runs, whole. Raises SnapshotRefused when one is damaged."""
        for run in range(self.run_count):
            data = self._pread(self._offsets[run], self._count_of(run))
            expected = _RUN.unpack(os.pread(self._descriptor, _RUN.size, self._offsets[run] - _RUN.size))
            if expected != (len(data), checksum(data.data)):
                raise SnapshotRefused(f"the list of fingerprints is damaged in run {run}; rebuild it")
            yield data

    def content(self) -> bytes | bytearray:
        """The file as it is, all runs; the tail is not in it."""
        if self._descriptor < 0:
            return b""
        content = bytearray(self._end)
        view, done = memoryview(content), 0
        while done < len(content):
            # Linux reads 2 GiB at once at most.
            found = os.preadv(self._descriptor, [view[done : done + _READ_BYTES]], done)
            if not found:
                raise OSError(f"the list of fingerprints ends at {done:,}; expected {len(content):,} bytes")
            done += found
        return content

    def open_content(self, content: bytes | Memory) -> None:
        """Begin with what `content` gave. Raises SnapshotRefused when it is no such file."""
        self.forget()
        self._create()
        _write_all(self._descriptor, bytes(content), 0)
        self._scan(len(content))

    def open_at(self, identity: bytes, size_bytes: int) -> None:
        """Open the file in the directory as it was when it had this size, and drop what came later.

        Raises SnapshotRefused when it is missing, another one, or shorter.
        """
        self.forget()
        if self._path is None or not self._path.exists():
            raise SnapshotRefused(f"the list of fingerprints {self._path} is missing; rebuild it")
        self._own(os.open(self._path, os.O_RDWR | os.O_CLOEXEC))
        found = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if found != _MAGIC + identity:
            self.forget()
            raise SnapshotRefused(f"the list of fingerprints {self._path} is not the one of this snapshot; rebuild it")
        if os.fstat(self._descriptor).st_size < size_bytes:
            self.forget()
            raise SnapshotRefused(
                f"the list of fingerprints {self._path} is shorter than {size_bytes:,} bytes; rebuild it"
            )
        os.ftruncate(self._descriptor, size_bytes)
        self._scan(size_bytes)

    def forget(self) -> None:
        """Let go of the file and be as new. The file stays, until something is appended."""
        self._let_go()
        self._reset()

    @property
    def identity(self) -> bytes:
        """Tells this file from any other; 16 bytes."""
        return self._identity

    def histories(self) -> list[int]:
        """For each number of runs, a number that tells these runs from any others; read from the file.

        A file that was cut back may have gone on differently.
        """
        history = [0]
        for offset in self._offsets:
            history.append(zlib.crc32(os.pread(self._descriptor, _RUN.size, offset - _RUN.size), history[-1]))
        return history

    @property
    def run_count(self) -> int:
        """Runs written so far."""
        return len(self._offsets)

    @property
    def disk_bytes(self) -> int:
        """Size of the file."""
        return self._end if self._descriptor >= 0 else 0

    @property
    def memory_bytes(self) -> int:
        """The tail, and where the runs are."""
        return allocated_bytes(self._tail.nbytes) + sys.getsizeof(self._offsets)

    def __len__(self) -> int:
        return self._count + self._tail_count

    def _reset(self) -> None:
        self._identity = bytes(16)
        self._offsets = array("q")
        self._count = 0
        self._end = _HEADER_BYTES
        self._tail = _room_for(_LEAST)
        self._tail_count = 0

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            self._finalizer()
            self._descriptor = -1

    def _own(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Closes the file also when the set is only dropped.
        self._finalizer = weakref.finalize(self, os.close, descriptor)

    def _create(self) -> None:
        if self._path is None:
            descriptor, name = tempfile.mkstemp(prefix="onceover-leaves-")
            Path(name).unlink()
            self._own(descriptor)
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # A new file, not the old one emptied: whoever still has that one open keeps it.
            self._path.unlink(missing_ok=True)
            self._own(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        self._identity = os.urandom(16)
        try:
            _write_all(self._descriptor, _MAGIC + self._identity, 0)
        except OSError:
            self._let_go()
            raise

    def _write_run(self) -> None:
        run = self._tail[: self._tail_count]
        run.sort()
        head = _RUN.pack(len(run), checksum(run.data))
        # At a place that we know, so that what a failed write left there is overwritten by the next one.
        _write_all(self._descriptor, head, self._end)
        _write_all(self._descriptor, run.data.cast("B"), self._end + len(head))
        self._add_run(head)
        self._tail_count = 0
        if not len(self._tail) <= self._wanted_tail <= len(self._tail) * 1.25:
            self._tail = _room_for(self._wanted_tail)

    def _lengthen_tail(self) -> None:
        tail = _room_for(len(self._tail) + self._wanted_tail)
        tail[: self._tail_count] = self._tail[: self._tail_count]
        self._tail = tail

    @property
    def _wanted_tail(self) -> int:
        return min(max(self._count // _SHARE, _LEAST), _MOST)

    def _add_run(self, head: bytes) -> None:
        count = _RUN.unpack(head)[0]
        self._offsets.append(self._end + _RUN.size)
        self._count += count
        self._end += _RUN.size + count * 8

    def _scan(self, size_bytes: int) -> None:
        header = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if len(header) < _HEADER_BYTES or header[:16] != _MAGIC:
            self.forget()
            raise SnapshotRefused("the list of fingerprints has no header; rebuild it")
        self._identity = header[16:]
        while self._end < size_bytes:
            head = os.pread(self._descriptor, _RUN.size, self._end)
            if len(head) < _RUN.size or self._end + _RUN.size + _RUN.unpack(head)[0] * 8 > size_bytes:
                self.forget()
                raise SnapshotRefused("the list of fingerprints is damaged: a run goes beyond its end; rebuild it")
            self._add_run(head)
        self._tail = _room_for(self._wanted_tail)
        try:
            for _ in self.runs():
                pass
        except SnapshotRefused:
            self.forget()
            raise

    def _count_of(self, run: int) -> int:
        end = self._offsets[run + 1] - _RUN.size if run + 1 < len(self._offsets) else self._end
        return (end - self._offsets[run]) // 8

    def _pread(self, offset: int, count: int) -> Fingerprints:
        data = os.pread(self._descriptor, count * 8, offset)
        if len(data) != count * 8:
            raise OSError(f"the list of fingerprints ends at {offset + len(data):,}; expected {count * 8:,} bytes more")
        return np.frombuffer(data, dtype=np.uint64)


def _room_for(count: int) -> Fingerprints:
    return np.frombuffer(zeros(count * 8), dtype=np.uint64)


def _write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
