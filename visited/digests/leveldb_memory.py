"""The memory that LevelDB uses for a store of digests."""

from pathlib import Path

import plyvel

from visited.bits.memory import count_mapped_files, trim_heap

WRITE_BUFFER_BYTES = 4 << 20

_MAX_OPEN_TABLES = 990
"""LevelDB's default."""
_FILE_BYTES = 128 << 10
"""LevelDB's buffers for its log and for the list of its tables: 64 KiB each."""
_THREAD_BYTES = 400 << 10
"""Memory that remains allocated after writing tables, mostly by LevelDB's thread: 200 to 600 KiB, as measured."""
_TABLE_BYTES_PER_URL = 3
"""Filter and index of a table."""


class LevelDBMemory:
    """Reports the memory of a database, and returns what it frees to the system.

    LevelDB allocates its buffers in blocks of 4 KiB. The C library may or may not keep them after LevelDB frees them.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._peak_bytes = 0
        """The most that LevelDB has used since freed memory was last returned to the system."""

    def reset(self) -> None:
        """Begin with a new or closed database."""
        self._peak_bytes = 0

    def update(self, db: plyvel.DB | None) -> None:
        """Return freed memory to the system, if it is a good part of a buffer."""
        used = 0
        if db is not None and not db.closed:
            used = int(db.get_property(b"leveldb.approximate-memory-usage") or 0)
        if used < self._peak_bytes - WRITE_BUFFER_BYTES // 4:
            trim_heap()
            self._peak_bytes = used
        self._peak_bytes = max(self._peak_bytes, used)

    def used_bytes(self, db: plyvel.DB | None, count: int, *, tables: int) -> int:
        """The memory now in use, with `count` digests in the store, in so many tables."""
        self.update(db)
        if db is None:
            return self._peak_bytes
        # LevelDB keeps filter and index of a table in memory if it can't map the table.
        unmapped = max(0, min(tables, _MAX_OPEN_TABLES) - count_mapped_files(self._directory)) if tables else 0
        table_bytes = count * _TABLE_BYTES_PER_URL * unmapped // max(tables, 1)
        return self._peak_bytes + _FILE_BYTES + (_THREAD_BYTES if tables else 0) + table_bytes
