"""Whether the directory in which a command was started is still there."""

import os
from pathlib import Path


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
