"""A file that grows by whole chunks or not at all."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Literal

Durability = Literal["process", "power"]
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class AppendFile:
    """Appends chunks to a file, each one whole or not at all, except where the process dies in the middle of it.

    For one process and one event loop. Errors are `OSError` with number, file and what to do about it.
    """

    def __init__(self, path: Path, *, durability: Durability) -> None:
        self.path = path
        self._power = durability == "power"
        self._fd: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._fd).st_size
        self._synced = 0
        self._broken: OSError | None = None
        self._lost: OSError | None = None
        """Why what had been appended but not synced was last taken back."""
        self._losses = 0
        self._sync_turn = asyncio.Lock()
        if self._power:
            try:
                sync_directory(path.parent)
            except BaseException:
                os.close(self._fd)
                raise

    def append(self, *pieces: bytes) -> None:
        """Write a chunk at the end, which may be in pieces; if it can't be written whole, restore the file and raise
        `OSError`."""
        self.ensure_whole()
        fd = self._descriptor()
        try:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    written = os.write(fd, rest)
                    if written == 0:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    rest = rest[written:]
        except OSError as error:
            self._take_back(fd)
            raise self._explained(error) from error
        self.size += sum(map(len, pieces))

    async def settle(self) -> None:
        """Return once all that was appended before is as safe as promised. Callers at the same time share a sync.

        If the disk has no room for it, all that is not safe yet is taken back, and each of them gets the `OSError`.
        """
        if not self._power:
            return
        wanted, losses = self.size, self._losses
        async with self._sync_turn:
            if self._lost is not None and self._losses != losses:
                raise self._lost
            if self._synced >= wanted:
                return
            self.ensure_whole()
            reached = self.size
            try:
                await asyncio.to_thread(os.fsync, self._descriptor())
            except OSError as error:
                if self._synced >= wanted:  # closed meanwhile, which syncs
                    return
                raise self._unsynced(error) from error
            self._synced = max(self._synced, reached)

    @property
    def whole(self) -> bool:
        """False once an error left the file in doubt: what was not acknowledged may stand at its end, or half of it."""
        return self._broken is None

    def ensure_whole(self) -> None:
        """Raise the error that left the file in doubt, if one did. Only opening it again repairs it, or room where it
        took some to take back half a chunk."""
        if self._broken is not None and self._broken.errno in NO_ROOM and self._fd is not None:
            self._broken = None
            self._take_back(self._fd)
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Make the file safe and let go of it. Closing twice is harmless.

        If the disk has no room for what is not safe yet, that is taken back and the file stays open.
        """
        if self._fd is None:
            return
        if self._power and self._broken is None and self._synced < self.size:
            try:
                os.fsync(self._fd)
                self._synced = self.size
            except OSError as error:
                explained = self._unsynced(error)
                if not self.whole:
                    self._let_go()
                raise explained from error
        self._let_go()

    def _let_go(self) -> None:
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
            # Whatever came next would be glued to half a record. The next opening repairs the tail.
            self._broken = self._explained(error)

    def _unsynced(self, error: OSError) -> OSError:
        """The system forgets which pages it failed to store: another fsync would succeed and prove nothing."""
        explained = self._explained(error)
        if self._fd is None or error.errno not in NO_ROOM:
            self._broken = explained
            return explained
        self.size = self._synced
        self._lost, self._losses = explained, self._losses + 1
        self._take_back(self._fd)
        return explained

    def _explained(self, error: OSError) -> OSError:
        if error.errno in NO_ROOM:
            advice = "free some space, then run the same command again"
        elif error.errno == errno.EFBIG:
            advice = "raise the file size limit (ulimit -f) or lower the rotation size, then run the same command again"
        else:
            advice = "check the disk and the permissions, then run the same command again"
        number = error.errno or errno.EIO
        return OSError(
            number,
            f"{os.strerror(number)}: a record could not be written at byte {self.size} and was taken back, "
            f"what was written before it is kept; {advice}",
            str(self.path),
        )


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a power cut."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
