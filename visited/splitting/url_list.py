"""The URLs of a splitting filter themselves, on disk, in the order in which it accepted them.

A block of the file holds the URLs of some 64 KiB: their number, the length of each, and their text.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from visited.full_disk import ignore_full_disk
from visited.protocol import SnapshotRefused
from visited.splitting.block_file import BlockFile

_BLOCK_BYTES = 1 << 16
_NUMBER = 4
"""Bytes of a number in a block."""


class UrlList:
    """All URLs: blocks in a file, and in memory the *tail* that is not written yet.

    While the disk is full the tail grows.
    """

    def __init__(self, directory: Path | None) -> None:
        """Without a directory the file is temporary."""
        path = None if directory is None else directory / "urls"
        self.file = BlockFile(path, magic=b"onceover-leafurl", item_bytes=1, name="the list of URLs")
        self._reset_tail()

    def append(self, urls: Sequence[str]) -> None:
        """Add URLs. Raises OSError if a block can't be written; earlier ones are kept then."""
        for url in urls:
            text = url.encode("utf-8", "surrogatepass")
            self._lengths.append(len(text))
            self._text += text
        if len(self._text) >= self._flush_at:
            self.flush()

    def flush(self) -> None:
        """Write the tail as a block. It stays in memory if the disk is full."""
        self._flush_at = len(self._text) + _BLOCK_BYTES
        with ignore_full_disk():
            self.file.create()
            if self._lengths:
                self.file.append(self.tail())
                self._reset_tail()

    def tail(self) -> bytes:
        """Return the URLs that are in no block yet, in the form of a block."""
        return np.array([len(self._lengths), *self._lengths], dtype="<u4").tobytes() + self._text

    def begin(self, tail: bytes) -> None:
        """Continue the file, which was opened, with the tail of a snapshot. Raises SnapshotRefused."""
        self._reset_tail()
        self.append(_decode(tail))

    def read(self) -> Iterator[list[str]]:
        """Read the URLs, some at a time. Raises SnapshotRefused for a damaged block."""
        for block in self.file.blocks():
            yield _decode(block)
        yield _decode(self.tail())

    def close(self) -> None:
        """Close the file, and be empty. The file stays on disk until the next block."""
        self.file.close()
        self._reset_tail()

    @property
    def memory_bytes(self) -> int:
        return sys.getsizeof(self._text) + sys.getsizeof(self._lengths) + self.file.memory_bytes

    def __len__(self) -> int:
        """The number of URLs, in the file and in memory."""
        file = self.file
        numbers = (file.read(block, 0, min(_NUMBER, file.count_of(block))) for block in range(file.block_count))
        return len(self._lengths) + sum(int.from_bytes(number, "little") for number in numbers)

    def _reset_tail(self) -> None:
        self._text = bytearray()
        self._lengths = array("I")
        self._flush_at = _BLOCK_BYTES


def _decode(block: bytes) -> list[str]:
    count = int.from_bytes(block[:_NUMBER], "little")
    text = _NUMBER * (1 + count)
    if len(block) < text:
        raise SnapshotRefused("the list of URLs is damaged: a block ends within its lengths; rebuild it")
    lengths = np.frombuffer(block, dtype="<u4", count=count, offset=_NUMBER).astype(np.int64)
    ends = text + np.cumsum(lengths)
    if text + int(lengths.sum()) != len(block):
        raise SnapshotRefused("the list of URLs is damaged: lengths and text do not agree; rebuild it")
    return [
        block[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    ]
