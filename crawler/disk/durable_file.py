"""Replaces a file as a whole."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, so that a crash or a power failure leaves the old content or the new one. When this returns, the
    new one is on the disk. Raises `OSError`."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
