"""An append-only file of sorted runs of fingerprints.

    file    magic, 16 bytes · identity, 16 bytes · runs
    run     count u32 · checksum u32 · fingerprints, u64 each, ascending

Numbers are little-endian.
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

from visited.bits.memory import Memory
from visited.protocol import SnapshotRefused
from visited.snapshot import checksum

Fingerprints = NDArray[np.uint64]

_MAGIC = b"onceover-leaves1"
_HEADER_BYTES = 32
_RUN = struct.Struct("<II")
_SPACE = 1 << 64
_READ_BYTES = 1 << 30


class RunFile:
    """A file of sorted runs, and where they begin.

    Without a path it is a temporary file without a name. The file is created by `create` or by the first run.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._descriptor = -1
        self._reset()

    def create(self) -> None:
        """Create the file, unless it is open. Replaces a file of an earlier set. Raises OSError."""
        if self._descriptor >= 0:
            return
        if self._path is None:
            descriptor, name = tempfile.mkstemp(prefix="onceover-leaves-")
            Path(name).unlink()
            self._use(descriptor)
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # A new file instead of truncating the old one: a process that still has the old one open keeps its content.
            self._path.unlink(missing_ok=True)
            self._use(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        self._identity = os.urandom(16)
        try:
            _write_all(self._descriptor, _MAGIC + self._identity, 0)
        except OSError:
            self._close_file()
            raise

    def append(self, run: Fingerprints) -> None:
        """Write ascending fingerprints as a run. Raises OSError, and keeps the earlier runs then."""
        self.create()
        head = _RUN.pack(len(run), checksum(run.data))
        # The next run overwrites what a failed write left behind the end.
        _write_all(self._descriptor, head, self._end)
        _write_all(self._descriptor, run.data.cast("B"), self._end + len(head))
        self._add_run(head)

    def read(self, run: int, low: int, high: int) -> Fingerprints:
        """Read the fingerprints of one run in low ≤ f < high, and a few on either side.

        They are hashes, so their values tell roughly where they are in the run.
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

    def runs(self) -> Iterator[Fingerprints]:
        """Read all runs. Raises SnapshotRefused at a damaged one."""
        for run in range(self.run_count):
            data = self._pread(self._offsets[run], self._count_of(run))
            expected = _RUN.unpack(os.pread(self._descriptor, _RUN.size, self._offsets[run] - _RUN.size))
            if expected != (len(data), checksum(data.data)):
                raise SnapshotRefused(f"the list of fingerprints is damaged in run {run}; rebuild it")
            yield data

    def content(self) -> bytes | bytearray:
        """Read the whole file."""
        if self._descriptor < 0:
            return b""
        content = bytearray(self._end)
        view, done = memoryview(content), 0
        while done < len(content):
            # Linux reads at most 2 GiB at once.
            found = os.preadv(self._descriptor, [view[done : done + _READ_BYTES]], done)
            if not found:
                raise OSError(f"the list of fingerprints ends at {done:,}; expected {len(content):,} bytes")
            done += found
        return content

    def open_content(self, content: bytes | Memory) -> None:
        """Begin with what `content` returned. Raises SnapshotRefused if it is no such file."""
        self.close()
        self.create()
        _write_all(self._descriptor, bytes(content), 0)
        self._scan(len(content))

    def open_at(self, identity: bytes, size_bytes: int) -> None:
        """Open the file as it was when it had this size, and cut off what follows.

        Raises SnapshotRefused if it is missing, another one, or shorter.
        """
        self.close()
        if self._path is None or not self._path.exists():
            raise SnapshotRefused(f"the list of fingerprints {self._path} is missing; rebuild it")
        self._use(os.open(self._path, os.O_RDWR | os.O_CLOEXEC))
        found = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if found != _MAGIC + identity:
            self.close()
            raise SnapshotRefused(f"the list of fingerprints {self._path} is not the one of this snapshot; rebuild it")
        if os.fstat(self._descriptor).st_size < size_bytes:
            self.close()
            raise SnapshotRefused(
                f"the list of fingerprints {self._path} is shorter than {size_bytes:,} bytes; rebuild it"
            )
        os.ftruncate(self._descriptor, size_bytes)
        self._scan(size_bytes)

    def close(self) -> None:
        """Close the file, and have no runs. The file stays on disk until the next `create`."""
        self._close_file()
        self._reset()

    @property
    def identity(self) -> bytes:
        """16 random bytes that distinguish this file from any other."""
        return self._identity

    def history_checksums(self) -> list[int]:
        """For each number of runs a checksum of these runs, read from the file.

        A file that was cut back may have continued with other runs.
        """
        history = [0]
        for offset in self._offsets:
            history.append(zlib.crc32(os.pread(self._descriptor, _RUN.size, offset - _RUN.size), history[-1]))
        return history

    @property
    def run_count(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        return self._end if self._descriptor >= 0 else 0

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._offsets)

    def __len__(self) -> int:
        """The number of fingerprints in all runs."""
        return self._count

    def _reset(self) -> None:
        self._identity = bytes(16)
        self._offsets = array("q")
        self._count = 0
        self._end = _HEADER_BYTES

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            self._finalizer()
            self._descriptor = -1

    def _use(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Closes the file also if the set is dropped without `close`.
        self._finalizer = weakref.finalize(self, os.close, descriptor)

    def _add_run(self, head: bytes) -> None:
        count = _RUN.unpack(head)[0]
        self._offsets.append(self._end + _RUN.size)
        self._count += count
        self._end += _RUN.size + count * 8

    def _scan(self, size_bytes: int) -> None:
        """Find all runs, and check them."""
        header = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if len(header) < _HEADER_BYTES or header[:16] != _MAGIC:
            self.close()
            raise SnapshotRefused("the list of fingerprints has no header; rebuild it")
        self._identity = header[16:]
        while self._end < size_bytes:
            head = os.pread(self._descriptor, _RUN.size, self._end)
            if len(head) < _RUN.size or self._end + _RUN.size + _RUN.unpack(head)[0] * 8 > size_bytes:
                self.close()
                raise SnapshotRefused("the list of fingerprints is damaged: a run goes beyond its end; rebuild it")
            self._add_run(head)
        try:
            for _ in self.runs():
                pass
        except SnapshotRefused:
            self.close()
            raise

    def _count_of(self, run: int) -> int:
        end = self._offsets[run + 1] - _RUN.size if run + 1 < len(self._offsets) else self._end
        return (end - self._offsets[run]) // 8

    def _pread(self, offset: int, count: int) -> Fingerprints:
        data = os.pread(self._descriptor, count * 8, offset)
        if len(data) != count * 8:
            raise OSError(f"the list of fingerprints ends at {offset + len(data):,}; expected {count * 8:,} bytes more")
        return np.frombuffer(data, dtype=np.uint64)


def _write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
