"""Small disks to fill."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(*options: str, at: Path) -> Iterator[Path]:
    """A small file system in memory; skips where that takes more rights."""
    at.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a file system takes root")
    done = subprocess.run([mount, "-t", "tmpfs", *options, "tmpfs", at], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"can't mount a file system here: {done.stderr.decode().strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)
