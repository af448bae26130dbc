"""Brings the names in a folder onto the disk, tells whether one still has its name, and deletes folders."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Bring the names of the files in a folder onto the disk. Raises `OSError`."""
    with opened_folder(path) as descriptor:
        os.fsync(descriptor)


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """A folder that is open in this context, by its descriptor. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_open_as(descriptor: int, path: Path) -> bool:
    """Whether an open file or folder still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def delete_folders(folders: Iterable[Path]) -> None:
    """Delete those that exist, in this order. A link to another disk stays, and what it leads to is deleted. Raises
    `OSError`."""
    for folder in filter(Path.exists, folders):
        if not folder.is_symlink():
            shutil.rmtree(folder)
            continue
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
