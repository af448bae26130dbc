"""Processes of crawls: starts them, finds those that run, and tells them to end.

A process is held by a descriptor of it (pidfd), which becomes readable at its end. A signal through it can't reach
another process that got the same number. This works alike for children and for processes that an earlier daemon has
started. Only a child tells its exit code; what the others report is read from their output.
"""

import asyncio
import errno
import fcntl
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from crawler.codes.exit_codes import FAILED, REFUSED, STOPPED
from crawler.codes.unreadable import UNREADABLE
from crawler.control.replies import CrawlStatus
from crawler.disk.directory import READS, CrawlDirectory
from crawler.disk.free_space import DISK_IS_FULL, free_bytes
from crawler.disk.permissions import read_holder
from crawler.files.content import last_lines, read_file
from crawler.serve.life.endings import BY_COMMAND, Ended
from crawler.serve.life.facts import Process
from crawler.status import Status
from crawler.wiring.revisiting import STAY_VARIABLE
from crawler.wiring.sharing import PACE_VARIABLE

MAX_OUTPUT_BYTES: Final = 1 << 20
KEPT_OUTPUT_BYTES: Final = 1 << 16
LAST_LINES: Final = 12
_WARNING: Final = "warning: "
_OF_DAEMON: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL)
"""A crawl finishes what is in flight at the first signal, and ends at once at the second."""


_Form = TypeVar("_Form", bound=msgspec.Struct)


class _ReportedStatus(msgspec.Struct):
    pages: int


class _Report(msgspec.Struct):
    """What a crawl prints at its end, as far as it is of interest."""

    ending: str
    exit_code: int
    status: _ReportedStatus | None = None

    def ended(self) -> Ended:
        pages = None if self.status is None else self.status.pages
        return Ended(exit_code=self.exit_code, ending=self.ending, pages=pages)


class _LastStatus(msgspec.Struct):
    """How the crawl stood at its end, as it prints it."""

    status: Status


class Output:
    """What the processes of a crawl print: the result of the last one, and messages of all."""

    def __init__(self, folder: Path, name: str) -> None:
        self.result = folder / f"{name}.out"
        self.messages = folder / f"{name}.err"
        self.begun_at_byte = 0
        """Where the messages of the last process begin, if this daemon has started it."""

    def report(self) -> _Report | None:
        """The result of the last process; None if it has not got that far."""
        return self._read(_Report)

    def printed_at_ns(self) -> int:
        """When the last process printed its result. It does so when it has unlocked the crawl. If it has not got that
        far, when it was started."""
        try:
            return self.result.stat().st_mtime_ns
        except OSError:
            return 0

    def last_status(self) -> Status | None:
        """How the crawl stood when the last process ended; None if it has not got that far."""
        found = self._read(_LastStatus)
        return None if found is None else found.status

    def _read(self, kind: type[_Form]) -> _Form | None:
        try:
            return msgspec.json.decode(self.result.read_bytes(), type=kind)
        except (OSError, *UNREADABLE):
            return None

    def last_lines(self, log: Path) -> tuple[str, ...]:
        """The last lines of the messages of the last process; of the log if there are none."""
        return last_lines(self.messages, LAST_LINES, begin=self.begun_at_byte) or last_lines(log, LAST_LINES)

    def why_silent(self) -> str:
        """Why a process that runs does not answer, as far as it has said: one that waits for a server warns of that."""
        said = last_lines(self.messages, 1, begin=self.begun_at_byte)
        warning = said[0].removeprefix(_WARNING) if said and said[0].startswith(_WARNING) else None
        return "it does not answer yet, or any more" + ("" if warning is None else f". It says: {warning}")

    def trim(self) -> None:
        """Drop old messages of a file that has grown large. A running process appends, so it goes on at the new end."""
        with suppress(OSError):
            if (size := self.messages.stat().st_size) > MAX_OUTPUT_BYTES:
                self.begun_at_byte = 0
                with self.messages.open("r+b") as file:
                    file.seek(size - KEPT_OUTPUT_BYTES)
                    kept = file.read()
                    file.truncate(0)
                with self.messages.open("ab") as file:
                    file.write(kept.partition(b"\n")[2])


class CrawlProcess:
    """A process that runs a crawl. `close` it when it has ended, or is left alone."""

    def __init__(self, pid: int, child: "subprocess.Popen[bytes] | None" = None, *, is_command: bool = False) -> None:
        """`is_command`: it does not run the crawl, and changes it. Raises `ProcessLookupError` if there is no such
        process, or it is the daemon itself, which runs no crawl."""
        if pid == os.getpid():
            raise ProcessLookupError(f"process {pid} is the daemon")
        self.pid = pid
        self.is_command = is_command
        self._child = child
        self._descriptor: int | None = os.pidfd_open(pid)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the process has ended."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._notice)

    @property
    def exit_code(self) -> int | None:
        """The exit code after its end; negative for a signal; None if this is not its parent."""
        return None if self._child is None else self._child.wait()

    def tell_to_end(self, force: int) -> None:
        """0 lets it finish what is in flight, 1 ends it at once, 2 kills it and all its processes."""
        number = _SIGNALS[force]
        if self._descriptor is None or self.ended.done():
            return
        with suppress(ProcessLookupError, PermissionError):
            if number is signal.SIGKILL and os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, number)
            signal.pidfd_send_signal(self._descriptor, number)

    def close(self) -> None:
        if self._descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._child is not None and self._child.returncode is None:
            # It goes on without us; nobody here waits for it.
            self._child.returncode = 0
        self.ended.cancel()

    def _notice(self) -> None:
        assert self._descriptor is not None
        asyncio.get_running_loop().remove_reader(self._descriptor)
        if not self.ended.done():
            self.ended.set_result(None)


def command(*arguments: str) -> list[str]:
    """The command line of one of our commands. Python must not look for modules in the folder of the daemon."""
    return [sys.executable, "-P", "-m", "onceover_crawler", *arguments]


def environment() -> dict[str, str]:
    """The environment of our commands: ours, without what only the daemon is told."""
    return {name: value for name, value in os.environ.items() if name not in _OF_DAEMON}


def start(home: Path, configuration: str, directory: str, output: Output, *, pace: Path) -> CrawlProcess:
    """Start a crawl, in a session of its own: neither a signal to the daemon nor its death reaches it. Crawls with the
    same `pace` file keep the pace of hosts together. Raises `OSError`."""
    output.trim()
    output.result.parent.mkdir(mode=0o700, exist_ok=True)
    with output.result.open("wb") as result, output.messages.open("ab") as messages:
        output.begun_at_byte = messages.tell()
        child = subprocess.Popen(
            command("crawl", "--dir", directory, "--json", "--", configuration),
            cwd=home,
            env={**environment(), PACE_VARIABLE: str(pace), STAY_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=result,
            stderr=messages,
            start_new_session=True,
        )
    return CrawlProcess(child.pid, child)


def how_it_ended(process: CrawlProcess, output: Output, directory: str, *, is_foreign: bool) -> Ended:
    """How a process has ended."""
    if is_foreign:
        # A command leaves there how the run before it has ended.
        was_stopped = not process.is_command and _left_in_lock(Path(directory)) == BY_COMMAND
        return Ended(exit_code=STOPPED, ending=BY_COMMAND) if was_stopped else Ended(exit_code=None)
    report = output.report()
    code = process.exit_code
    if report is not None:
        return report.ended()
    lines = output.last_lines(CrawlDirectory(Path(directory)).log)
    # Where the disk has no room for messages, either, there is none.
    is_told = bool(lines) and DISK_IS_FULL in lines[-1]
    is_disk_full = code == FAILED and (is_told or _is_full(Path(directory)) or _is_full(output.messages))
    is_read_only = code in (FAILED, REFUSED) and bool(lines) and os.strerror(errno.EROFS) in lines[-1]
    return Ended(exit_code=code, lines=lines, is_disk_full=is_disk_full, is_read_only=is_read_only)


def _left_in_lock(directory: Path) -> str | None:
    """How the last run of a crawl ended, if that is known: not if it was killed."""
    try:
        return read_file(CrawlDirectory(directory).lock).decode("ascii", "replace")
    except OSError:
        return None


def _is_full(place: Path) -> bool:
    try:
        return not free_bytes(place)
    except OSError:
        return False


def last_answer(process: Process, output: Output) -> CrawlStatus | None:
    """How a crawl stood when its process ended, if that is known. What a crawl in parts prints is the sum of its parts,
    which says nothing of each."""
    status = None if process.is_foreign else output.last_status()
    if status is None or CrawlDirectory(Path(process.directory)).parts.exists():
        return None
    return CrawlStatus(
        directory=process.directory,
        running=False,
        pid=process.pid,
        paused=status.frontier.paused,
        frontier=status.frontier,
        run=status,
    )


def lock_holder(directory: Path) -> tuple[int, bool] | None:
    """The process that holds the lock of a crawl directory, and whether it is a command that changes the crawl; None if
    nobody does, or only to read, or there is no crawl."""
    path = CrawlDirectory(directory).lock
    try:
        if not path.is_file():
            return None  # to open a pipe would take until somebody writes to it
        lock = path.open("rb")
    except OSError:
        return None
    with lock:
        if _noted_holder(lock) is None:
            return None  # nobody has it. Who takes it now would be refused if this process had it, even for a moment
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _noted_holder(lock)
    return None


def _noted_holder(lock: BinaryIO) -> tuple[int, bool] | None:
    pid, _, purpose = read_holder(lock.fileno()).partition(" ")
    return (int(pid), bool(purpose)) if pid.isdecimal() and purpose != READS else None
