"""Starts the command `onceover`, also as `python -m onceover_crawler`.

The packages of this program have common names: `config`, `crawler`, `frontier`, `visited`. Python prefers modules of
these names beside a script or in PYTHONPATH to ours. This module has a name of its own, so it can tell about that.

Importing the rest takes a second or more. A signal during that time ends the process as it would end a crawl: with a
message and exit code 4. Nothing has been opened yet.
"""

import gc
import os
import resource
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

_FAILED = 1
_USAGE = 2
_STOPPED = 4
MIN_OPEN_FILES = 64
"""Which a crawl of a few hosts needs."""
_MANY_OPEN_FILES = 1 << 16
"""More than a crawl of the largest concurrency has."""
MIN_ADDRESS_SPACE_BYTES = 512 * 1024 * 1024
"""A crawl of a few pages needs 330 MB."""
_STOPPED_MESSAGE = b"onceover: stopped before it began\n"


def main() -> None:
    """Run the command, and end the process with its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    # What is imported stays. The collector would take a seventh of the time of importing to find that out.
    gc.disable()
    _refuse_hidden_packages()
    _refuse_small_address_space()
    _allow_many_open_files()
    _need_no_threads_for_matrices()
    from crawler.cli import main as command  # noqa: PLC0415 - see above

    command()


def _end(_number: int, _frame: FrameType | None) -> None:
    # Python might drop an exception here, or print the traceback of a half-imported module.
    try:
        os.write(2, _STOPPED_MESSAGE)
    finally:
        os._exit(_STOPPED)


def _refuse_hidden_packages() -> None:
    root = Path(__file__).resolve().parent
    spec = find_spec("crawler")
    found = None if spec is None else spec.origin
    if found is not None and Path(found).resolve().parents[1] != root:
        _refuse(
            f"{found} hides the package 'crawler' of onceover, which is in {root}: rename it, or move it "
            "out of the folder of the script and out of PYTHONPATH",
            _USAGE,
        )
    try:
        import crawler  # noqa: F401, PLC0415 - may be hidden until here; looks for the other packages
    except ImportError as error:
        if error.name not in ("config", "frontier", "visited"):
            raise
        _refuse(str(error), _USAGE)


def _refuse_small_address_space() -> None:
    """Some of the libraries abort the process when they get no memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE_BYTES:
        _refuse(
            f"the address space is limited to {limit >> 20} MiB (ulimit -v): expected at least "
            f"{MIN_ADDRESS_SPACE_BYTES >> 20} MiB, and more for a large crawl, because LevelDB maps its files into "
            "memory. Raise that limit, and limit the memory by a control group, as with systemd-run -p MemoryMax=1G",
            _FAILED,
        )


def _allow_many_open_files() -> None:
    """Most systems allow 1,024 at first, because old programs can't deal with more, and many more to who asks."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY_OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _MANY_OPEN_FILES)
    if limit < wanted and limit != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    if wanted < MIN_OPEN_FILES:
        _refuse(
            f"this process may have {most} open files (ulimit -n): expected at least {MIN_OPEN_FILES}, and more for a "
            "crawl of many hosts. Raise that limit",
            _FAILED,
        )


def _need_no_threads_for_matrices() -> None:
    """NumPy would start a thread for each core, for products of matrices, of which we have none. They wait actively at
    first: a tenth of the processor time of a start on two cores, and more on more."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _refuse(message: str, exit_code: int) -> None:
    sys.stderr.write(f"onceover: {message}\n")
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
