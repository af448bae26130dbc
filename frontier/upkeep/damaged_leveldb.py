"""Lets LevelDB work on damaged files in a child process, because LevelDB ends its process where it finds what it
believes impossible."""

import subprocess
import sys
from pathlib import Path
from typing import Literal

import plyvel

from frontier.leveldb.opening import BLOOM_BITS, WRITE_BUFFER_BYTES

Task = Literal["open", "repair"]
"""To open a database without the damaged blocks of its logs; to make one of all tables that can be read."""


def run_leveldb(task: Task, directory: Path, *, write_buffer_bytes: int = WRITE_BUFFER_BYTES) -> bool:
    """Run a task on the database of a directory. Returns whether LevelDB came to its end."""
    command = [sys.executable, "-P", "-m", __name__, task, str(directory), str(write_buffer_bytes)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _main(task: str, directory: str, write_buffer_bytes: str) -> None:
    """The child process."""
    buffer_bytes = int(write_buffer_bytes)
    if task == "open":
        plyvel.DB(directory, write_buffer_size=buffer_bytes, paranoid_checks=False).close()
    else:
        # With paranoid checks, blocks with a wrong checksum are left out.
        plyvel.repair_db(directory, paranoid_checks=True, write_buffer_size=buffer_bytes, bloom_filter_bits=BLOOM_BITS)


if __name__ == "__main__":
    _main(*sys.argv[1:])
