"""A disk that may be full, or broken."""

from pathlib import Path
from typing import Any

import plyvel

from frontier import StoreFull


class Disk:
    """Stands before a database; a write to a full disk fails, and so does opening it."""

    def __init__(self) -> None:
        self.is_full = False
        self.failure: str | None = None
        self.written = 0
        self.opened = 0
        self._db: Any = None

    def open(self, directory: Path) -> Any:
        self.opened += 1
        if self.is_full:
            raise StoreFull("No space left on device")
        self._db = plyvel.DB(str(directory), create_if_missing=True)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def put(self, key: bytes, value: bytes) -> None:
        self.count()
        self._db.put(key, value)

    def write_batch(self) -> "Batch":
        return Batch(self, self._db.write_batch())

    def count(self) -> None:
        if self.is_full:
            raise plyvel.IOError("No space left on device")
        if self.failure is not None:
            raise plyvel.IOError(self.failure)
        self.written += 1


class Batch:
    def __init__(self, disk: Disk, batch: Any) -> None:
        self._disk = disk
        self._batch = batch
        self.put = batch.put
        self.delete = batch.delete

    def write(self) -> None:
        self._disk.count()
        self._batch.write()
