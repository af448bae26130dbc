"""The entry point of the command.

Importing the rest takes a second or more. A signal during that time ends the process as it would end a crawl: with a
message and exit code 4. Nothing has been opened yet.
"""

import os
import resource
import signal
import sys
from types import FrameType

_FAILED = 1
_STOPPED = 4
MIN_ADDRESS_SPACE_BYTES = 512 * 1024 * 1024
"""A crawl of a few pages needs 330 MB."""
_MESSAGE = b"onceover: stopped before it began\n"


def main() -> None:
    """Run the command, and end the process with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE_BYTES:
        # Some of the imported libraries abort the process when they get no memory.
        sys.stderr.write(
            f"onceover: the address space is limited to {limit >> 20} MiB (ulimit -v): expected at least "
            f"{MIN_ADDRESS_SPACE_BYTES >> 20} MiB, and more for a large crawl, because LevelDB maps its files into "
            "memory. Raise that limit, and limit the memory by a control group, as with systemd-run -p MemoryMax=1G\n"
        )
        sys.exit(_FAILED)
    from crawler.cli import main as command  # noqa: PLC0415 - see above

    command()


def _end(_number: int, _frame: FrameType | None) -> None:
    # Python might drop an exception here, or print the traceback of a half-imported module.
    try:
        os.write(2, _MESSAGE)
    finally:
        os._exit(_STOPPED)
