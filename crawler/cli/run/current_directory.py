"""The directory in which a command was started, and another one in its place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_HOLD: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)  # macOS has none


def deleted_directory() -> str | None:
    """What to tell if the current directory was deleted, so that no relative path can be found; None if it is there."""
    try:
        Path.cwd()
    except FileNotFoundError:
        try:
            place = str(Path("/proc/self/cwd").readlink()).removesuffix(" (deleted)")
        except OSError:  # not on Linux
            place = os.environ.get("PWD", "unknown")
        return (
            f"the current directory was deleted: {place}. Change to one that is there, and run the same command again"
        )
    return None


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """A context with that current directory, where relative paths start. The one before may be deleted, so it has no
    name; or closed to this user, as that of root after `sudo -u`, and then nobody can go back to it. Raises
    `OSError`."""
    before: int | None
    try:
        before = os.open(".", _HOLD | os.O_CLOEXEC)
    except PermissionError:
        before = None
    try:
        os.chdir(folder)
        yield
    finally:
        if before is not None:
            os.fchdir(before)
            os.close(before)
