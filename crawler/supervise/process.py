"""A process of a part, and the supervisor's end of the line to it."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from crawler.cluster.guard import LEASE_ENDED
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.parts.line.line import Line, open_line
from crawler.parts.line.messages import Begin, FromPart, ToPart

COMMAND: Final = "run-part"
WITHOUT_LEASE: Final = "because its lease had ended"
"""How a process ends that finds out before its supervisor that its lease has ended."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PartProcess:
    """A process that runs a part."""

    def __init__(self, process: subprocess.Popen[bytes], line: Line[FromPart, ToPart]) -> None:
        self.line = line
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> str:
        """Wait for its end. Returns how it has ended, for people."""
        # Of the threads that all share there are few: processes that hang in the system would keep them from the rest.
        thread = ThreadPoolExecutor(1, "end-of-part")
        try:
            code = await asyncio.get_running_loop().run_in_executor(thread, self._process.wait)
        finally:
            thread.shutdown(wait=False)
        if code == LEASE_ENDED:
            return WITHOUT_LEASE
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"

    def kill(self) -> None:
        """End it at once. What is stored is kept."""
        self._process.kill()


def check_still_there(begin: Begin) -> None:
    """Raise `DirectoryRefused` if the directory of a part is gone that was open before in this run.

    To lock it or to log into it would make it, and the part would begin anew."""
    directory = CrawlDirectory(Path(begin.directories[begin.number]))
    if begin.again and not directory.lock.is_file():
        raise DirectoryRefused(
            f"{directory.path}, the directory of this part, is gone since the crawl was started: mount its disk, "
            "or put it back, then start the crawl again"
        )


async def start(log: Path, *, inherit: Sequence[int] = ()) -> PartProcess:
    """Start a process, which waits for `Begin`. What it prints goes to the end of the log. It gets the descriptors
    `inherit` under the same numbers. Raises `OSError`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    ours, its = socket.socketpair()
    try:
        with its, log.open("ab") as output, _signals_held():
            # `-P` keeps modules in the current directory from hiding ours.
            process = subprocess.Popen(  # noqa: ASYNC220 - it returns as soon as the process exists
                [sys.executable, "-P", "-m", "onceover_crawler", COMMAND, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[its.fileno(), *inherit],
            )
    except BaseException:
        ours.close()
        raise
    return PartProcess(process, await open_line(ours, FromPart))


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold signals back, also in a process that is started now, until it says what it does with them. Ctrl-C in the
    terminal must not end it before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_signals() -> None:
    """In the process of a part: ignore what a terminal sends, and let the rest come. The supervisor passes on what
    matters."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
