"""Replaces a file as a whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawler.files.folders import sync_directory


def replace_file(path: Path, content: bytes, *, mode: int = 0o666, owner: tuple[int, int] | None = None) -> None:
    """Write a file, so that a crash or a power failure leaves the old content or the new one. When this returns, the
    new one is on the disk. The umask applies to `mode`. `owner` are the user and the group that get the file. Raises
    `OSError`."""
    new = path.with_suffix(".new")
    # Made anew, because a file that a crash has left may be open to more readers.
    new.unlink(missing_ok=True)
    with naming(path):
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_directory(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let each `OSError` within name a file: those of writing do not, so nobody would know which disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
