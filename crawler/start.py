"""Where the command begins.

To import the rest takes a second or more. A signal that comes meanwhile ends the process as it would end a crawl, with
a word and exit code 4; nothing has been opened yet.
"""

import os
import resource
import signal
import sys
from types import FrameType

_FAILED = 1
_STOPPED = 4
LEAST_ADDRESS_SPACE_BYTES = 512 * 1024 * 1024
"""A crawl of a few pages needs 330 MB."""
_WORD = b"onceover: stopped before it began\n"


def main() -> None:
    """Run the command, and end the process with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE_BYTES:
        # Some of what is imported ends the process, or sends it signals, when it gets no memory.
        sys.stderr.write(
            f"onceover: the address space is limited to {limit >> 20} MiB (ulimit -v): expected at least "
            f"{LEAST_ADDRESS_SPACE_BYTES >> 20} MiB, and more for a large crawl, as files are mapped into it. "
            "Raise that limit, and limit the memory by a control group, as with systemd-run -p MemoryMax=1G\n"
        )
        sys.exit(_FAILED)
    from crawler.cli import main as command  # noqa: PLC0415 - see above

    command()


def _end(_number: int, _frame: FrameType | None) -> None:
    # An exception might be dropped, or end in the traceback of a module that is half imported.
    try:
        os.write(2, _WORD)
    finally:
        os._exit(_STOPPED)
