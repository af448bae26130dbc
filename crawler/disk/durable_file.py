"""Replaces a file as a whole."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file, so that a crash or a power failure leaves the old content or the new one. When this returns, the
    new one is on the disk. The umask applies to `mode`. Raises `OSError`."""
    new = path.with_suffix(".new")
    # Made anew, because a file that a crash has left may be open to more readers.
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
