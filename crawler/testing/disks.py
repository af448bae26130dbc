"""Disks that are full: a limit on the size of files, and a small file system in memory."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

_BLOCK_BYTES: Final = 4096


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size. Python ignores SIGXFSZ, so writing fails with EFBIG.

    This holds for files that are written by C code, too. Use it in a process of its own, because all of its files are
    concerned.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def file_limits(directory: Path, count: int) -> list[AbstractContextManager[None]]:
    """Limits on the size of files: so many, from 0 up to just below the largest file in a directory."""
    largest = max((path.stat().st_size for path in directory.rglob("*") if path.is_file()), default=0)
    assert largest, f"expected files in {directory}, found none"
    return [largest_file(largest * number // count) for number in range(count)]


@contextmanager
def mounted(*options: str, at: Path) -> Iterator[Path]:
    """A small file system in memory, with options of `mount`. Skips the test where that needs more rights."""
    at.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small file system, which is to be full")
    ended = subprocess.run([mount, "-t", "tmpfs", *options, "tmpfs", at], capture_output=True, check=False)
    if ended.returncode:
        pytest.skip(f"can't mount a file system here: {ended.stderr.decode().strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)  # noqa: S607


def fill(mount: Path) -> Path:
    """Take all space of a small file system. Removing the returned file gives it back."""
    ballast = mount / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(_BLOCK_BYTES))
    return ballast
