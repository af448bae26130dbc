"""A file to which chunks are appended completely or not at all."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from crawler.codes.full_disk import DISK_FULL
from crawler.files.folders import sync_directory

Durability = Literal["process", "power"]
_NAMELESS: Final = (
    "this file was deleted or moved away while the crawl wrote it; what is lost with it is fetched again after "
    "`onceover inspect DIR fsck --refetch`, where DIR is the directory of the crawl"
)
_REMOVED: Final = "a record could not be written at byte {at} and was removed"
_LEFT: Final = "a record could not be written at byte {at}, and what is there of it is removed later"
_NO_ROOM: Final = "what was written from byte {at} on had no room and was removed"
_UNSYNCED: Final = "what was written from byte {at} on may not have reached the disk, and is fetched again"
_JOINED_BYTES: Final = 1 << 16
"""Pieces are joined up to this size: copying them takes less time than another call of the system."""


class AppendFile:
    """Appends chunks to a file, each completely or not at all, unless the process dies while writing.

    For one process and one event loop. Errors are `OSError` with number, file and what to do.
    """

    def __init__(self, path: Path, *, durability: Durability, before_write: Callable[[], object] | None = None) -> None:
        """`before_write` is called right before each write of the system."""
        self.path = path
        self._before_write = before_write
        self._power = durability == "power"
        self._fd: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._fd).st_size
        self._synced = 0
        self._damage: OSError | None = None
        self._last_loss: OSError | None = None
        """Why unsynced chunks were last removed."""
        self._losses = 0
        self._sync_turn = asyncio.Lock()
        if self._power:
            try:
                if self.size:
                    os.fsync(self._fd)  # if a later sync has no room, what was here before must stay
                    self._synced = self.size
                sync_directory(path.parent)
            except BaseException:
                os.close(self._fd)
                if self.size == 0:  # whoever tries again may give it another name
                    path.unlink(missing_ok=True)
                raise

    def append(self, *pieces: bytes) -> None:
        """Append a chunk, given in pieces. If it can't be written completely, restore the file and raise `OSError`."""
        if self._damage is not None:
            self.ensure_intact()
        fd = self._descriptor()
        size = sum(map(len, pieces))
        try:
            for piece in filter(None, pieces) if size > _JOINED_BYTES else (b"".join(pieces),):
                if self._before_write is not None:
                    self._before_write()
                written = os.write(fd, piece)
                if written < len(piece):
                    self._write_rest(fd, memoryview(piece)[written:])
        except OSError as error:
            self._take_back(fd)
            raise self._explain(error, _REMOVED if self._damage is None else _LEFT) from error
        self.size += size

    def _write_rest(self, fd: int, rest: memoryview) -> None:
        """Write what the system has not taken at once."""
        while rest:
            if self._before_write is not None:
                self._before_write()
            written = os.write(fd, rest)
            if written == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            rest = rest[written:]

    async def settle(self) -> None:
        """Return once all chunks appended so far are as durable as promised. Concurrent callers share a sync.

        If the disk is full, all chunks that are not durable yet are removed, and each caller gets the `OSError`.
        """
        if not self._power:
            return
        wanted, losses = self.size, self._losses
        async with self._sync_turn:
            if self._last_loss is not None and self._losses != losses:
                raise self._last_loss
            if self._synced >= wanted:
                return
            self.ensure_intact()
            reached = self.size
            try:
                await asyncio.to_thread(os.fsync, self._descriptor())
            except OSError as error:
                if self._synced >= wanted:  # closed meanwhile, which syncs
                    return
                raise self._handle_sync_failure(error) from error
            self._synced = max(self._synced, reached)

    @property
    def is_closed(self) -> bool:
        return self._fd is None

    @property
    def is_intact(self) -> bool:
        """False once an error has left the file in doubt: it may end with an unacknowledged or incomplete chunk."""
        return self._damage is None

    def ensure_intact(self) -> None:
        """Raise the error that left the file in doubt, if there was one. Opening the file again repairs it. If the disk
        was too full to remove half a chunk, this tries again."""
        if self._damage is not None and self._damage.errno in DISK_FULL and self._fd is not None:
            self._damage = None
            self._take_back(self._fd)
        if self._damage is not None:
            raise self._damage

    def close(self) -> None:
        """Make the file durable and close it. Closing twice is harmless.

        If the disk is full, all chunks that are not durable yet are removed, and the file stays open. If it has lost
        its name meanwhile, `OSError` says what to do.
        """
        if self._fd is None:
            return
        if self._damage is None and self.size and not self._has_its_name():
            self._damage = OSError(errno.ENOENT, _NAMELESS, str(self.path))
            self._close_descriptor()
            raise self._damage
        if self._power and self._damage is None and self._synced < self.size:
            try:
                os.fsync(self._fd)
                self._synced = self.size
            except OSError as error:
                explained = self._handle_sync_failure(error)
                if not self.is_intact:
                    self._close_descriptor()
                raise explained from error
        self._close_descriptor()

    def _has_its_name(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor()), self.path.stat())
        except OSError:
            return False

    def _close_descriptor(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _descriptor(self) -> int:
        if self._fd is None:
            raise ValueError(f"{self.path} is closed; a sink can't be written to after aclose()")
        return self._fd

    def _take_back(self, fd: int) -> None:
        try:
            os.ftruncate(fd, self.size)
        except OSError as error:
            # The next chunk would follow half a record. The next opening repairs the tail.
            self._damage = self._explain(error, _LEFT)

    def _handle_sync_failure(self, error: OSError) -> OSError:
        """Handle a failed sync. The system forgets which pages it failed to store, so another fsync would succeed and
        prove nothing."""
        if self._fd is None or error.errno not in DISK_FULL:
            self._damage = self._explain(error, _UNSYNCED, at=self._synced)
            return self._damage
        self.size = self._synced
        self._take_back(self._fd)
        explained = self._explain(error, _NO_ROOM if self._damage is None else _LEFT)
        self._last_loss, self._losses = explained, self._losses + 1
        return explained

    def _explain(self, error: OSError, what: str, *, at: int | None = None) -> OSError:
        if error.errno in DISK_FULL:
            advice = "free some space"  # a crawl that goes on waits for it; one that ends says what to do then
        elif error.errno == errno.EFBIG:
            advice = "raise the file size limit (ulimit -f) or lower the rotation size, then run the same command again"
        else:
            advice = "check the disk and the permissions, then run the same command again"
        number = error.errno or errno.EIO
        what = what.format(at=self.size if at is None else at)
        kept = "all records before it are kept"
        return OSError(number, f"{os.strerror(number)}: {what}; {kept}; {advice}", str(self.path))
