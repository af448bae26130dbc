"""An append-only file of blocks, each with a checksum.

    file    magic, 16 bytes · identity, 16 bytes · blocks
    block   count u32 · checksum u32 · items, all of one size

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

from visited.bits.memory import Part
from visited.protocol import SnapshotRefused
from visited.snapshot import checksum

_HEADER_BYTES = 32
_BLOCK = struct.Struct("<II")
_READ_BYTES = 1 << 30


class BlockFile:
    """A file of blocks, and where they begin.

    Without a path it is a temporary file without a name. The file is created by `create` or by the first block.
    """

    def __init__(self, path: Path | None, *, magic: bytes, item_bytes: int, name: str) -> None:
        """`magic` has 16 bytes. `name` says in messages what the file is."""
        self._path = path
        self._magic = magic
        self._item_bytes = item_bytes
        self._name = name
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
            _write_all(self._descriptor, self._magic + self._identity, 0)
        except OSError:
            self._close_file()
            raise

    def append(self, items: bytes | memoryview) -> None:
        """Write items as a block. Raises OSError, and keeps the earlier blocks then."""
        self.create()
        data = memoryview(items).cast("B")
        head = _BLOCK.pack(len(data) // self._item_bytes, checksum(data))
        # The next block overwrites what a failed write left behind the end.
        _write_all(self._descriptor, head, self._end)
        _write_all(self._descriptor, data, self._end + len(head))
        self._add_block(head)

    def read(self, block: int, first: int, last: int) -> bytes:
        """Read the items `first` to `last` of a block."""
        offset, size_bytes = self._offsets[block] + first * self._item_bytes, (last - first) * self._item_bytes
        data = os.pread(self._descriptor, size_bytes, offset)
        if len(data) != size_bytes:
            raise OSError(f"{self._name} ends at {offset + len(data):,}; expected {size_bytes:,} bytes more")
        return data

    def blocks(self) -> Iterator[bytes]:
        """Read all blocks. Raises SnapshotRefused at a damaged one."""
        for block in range(self.block_count):
            count = self.count_of(block)
            data = self.read(block, 0, count)
            expected = _BLOCK.unpack(os.pread(self._descriptor, _BLOCK.size, self._offsets[block] - _BLOCK.size))
            if expected != (count, checksum(data)):
                raise SnapshotRefused(f"{self._name} is damaged in block {block}; rebuild it")
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
                raise OSError(f"{self._name} ends at {done:,}; expected {len(content):,} bytes")
            done += found
        return content

    def open_content(self, content: Part) -> None:
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
            raise SnapshotRefused(f"{self._name} {self._path} is missing; rebuild it")
        self._use(os.open(self._path, os.O_RDWR | os.O_CLOEXEC))
        found = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if found != self._magic + identity:
            self.close()
            raise SnapshotRefused(f"{self._name} {self._path} is not the one of this snapshot; rebuild it")
        if os.fstat(self._descriptor).st_size < size_bytes:
            self.close()
            raise SnapshotRefused(f"{self._name} {self._path} is shorter than {size_bytes:,} bytes; rebuild it")
        os.ftruncate(self._descriptor, size_bytes)
        self._scan(size_bytes)

    def close(self) -> None:
        """Close the file, and have no blocks. The file stays on disk until the next `create`."""
        self._close_file()
        self._reset()

    @property
    def identity(self) -> bytes:
        """16 random bytes that distinguish this file from any other."""
        return self._identity

    def history_checksums(self) -> list[int]:
        """For each number of blocks a checksum of these blocks, read from the file.

        A file that was cut back may have continued with other blocks.
        """
        history = [0]
        for offset in self._offsets:
            history.append(zlib.crc32(os.pread(self._descriptor, _BLOCK.size, offset - _BLOCK.size), history[-1]))
        return history

    def count_of(self, block: int) -> int:
        """The number of items in a block."""
        end = self._offsets[block + 1] - _BLOCK.size if block + 1 < len(self._offsets) else self._end
        return (end - self._offsets[block]) // self._item_bytes

    @property
    def block_count(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        return self._end if self._descriptor >= 0 else 0

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._offsets)

    def __len__(self) -> int:
        """The number of items in all blocks."""
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

    def _add_block(self, head: bytes) -> None:
        count = _BLOCK.unpack(head)[0]
        self._offsets.append(self._end + _BLOCK.size)
        self._count += count
        self._end += _BLOCK.size + count * self._item_bytes

    def _scan(self, size_bytes: int) -> None:
        """Find all blocks, and check them."""
        header = os.pread(self._descriptor, _HEADER_BYTES, 0)
        if len(header) < _HEADER_BYTES or header[:16] != self._magic:
            self.close()
            raise SnapshotRefused(f"{self._name} has no header; rebuild it")
        self._identity = header[16:]
        while self._end < size_bytes:
            head = os.pread(self._descriptor, _BLOCK.size, self._end)
            if len(head) == _BLOCK.size:
                self._add_block(head)
            if len(head) < _BLOCK.size or self._end > size_bytes:
                self.close()
                raise SnapshotRefused(f"{self._name} is damaged: a block goes beyond its end; rebuild it")
        try:
            for _ in self.blocks():
                pass
        except SnapshotRefused:
            self.close()
            raise


def _write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
