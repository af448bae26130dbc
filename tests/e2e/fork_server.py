"""The process that `tests.e2e.forks` starts: it imports the program once, and forks for each command.

Its arguments are the number of a listening socket, and its address. A connection brings one request; it is answered
with the number of the new process, and with its exit code when it has ended. As a process that was started by exec, it
stays a zombie until its end was taken note of: until the connection is closed.

What a fork starts of the program, as parts and the crawls of a daemon, are forks too. They are no children of it, so
what a fork in a session of its own starts is started by exec: the session can be killed as a whole.
"""

import asyncio
import fcntl
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypedDict

import onceover_crawler

IMPORTED = (
    "chardet.pipeline.orchestrator",
    "crawler.cli.configure",
    "crawler.cli.crawl",
    "crawler.cli.errors",
    "crawler.cli.inspect",
    "crawler.cli.operate.pausing",
    "crawler.cli.run.interrupts",
    "crawler.cli.run.parts",
    "crawler.cli.run.running",
    "crawler.read.feeds.feeds",
    "crawler.simweb.__main__",
    "crawler.write.warc",
    "frontier.states.leveldb",
    "frontier.upkeep.fsck",
    "lxml.etree",
    "tomllib",
    "uvloop",
    "visited.digests.exact",
)
"""What the most frequent commands import when they are called. Other commands import the rest then."""
WEB = "crawler.simweb"
"""In place of a command, begins the arguments of a simulated web."""
PID, CODE = b"pid ", b"code "
"""With which the answers begin."""
LONGEST_REQUEST_BYTES = 1 << 18
_DESCRIPTORS = 16
"""As many at most are sent with a request."""
_FREE_FROM = 500
"""No process here has descriptors from this number on."""
_PACKAGES = ("config", "crawler", "frontier", "visited")
_INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals that a command ignores if its parent does."""
_STARTS = [sys.executable, "-P", "-m", "onceover_crawler"]
"""How the program starts itself."""


class Request(TypedDict):
    """A command, where it runs, which signals it ignores or holds back, which descriptors it has beside its streams,
    and whether it begins a session of its own."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    ignored: list[int]
    blocked: list[int]
    kept: list[int]
    is_session: bool


class Fork:
    """A command that runs: of `subprocess.Popen`, what the tests and the program use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._waits = threading.Lock()
        self.pid = _receive(connection, PID)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._connection.setblocking(False)
            try:
                self._end()
            except BlockingIOError:
                return None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        with self._waits:
            if self.returncode is not None:
                return self.returncode
            self._connection.settimeout(timeout)
            try:
                return self._end()
            except TimeoutError:
                raise subprocess.TimeoutExpired("onceover", timeout or 0) from None

    def _end(self) -> int:
        code = self.returncode = _receive(self._connection, CODE)
        self._connection.close()
        return code

    def send_signal(self, number: int) -> None:
        # Its number is not given to another process as long as nobody has asked for its exit code.
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _receive(connection: socket.socket, beginning: bytes) -> int:
    said = connection.recv(32)
    assert said.startswith(beginning), f"expected {beginning!r} from the process that forks, found {said!r}"
    return int(said.removeprefix(beginning))


def ask(
    address: str,
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: Sequence[int],
    kept: Sequence[int] = (),
    is_session: bool = False,
) -> Fork | None:
    """Start a command; None if a fork could not be like it. `streams` are its standard input, output and error; the
    descriptors `kept` have the same numbers there."""
    if not _can_fork(environment):
        return None
    request = Request(
        command=[str(word) for word in command],
        folder=str(folder),
        environment=dict(environment),
        ignored=[number for number in _INHERITED if signal.getsignal(number) is signal.SIG_IGN],
        blocked=[int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        kept=list(kept),
        is_session=is_session,
    )
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address)
    socket.send_fds(connection, [json.dumps(request).encode()], [*streams, *kept])
    return Fork(connection)


def _can_fork(environment: Mapping[str, str]) -> bool:
    """Whether all that it says can still be obeyed when the program is imported."""
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    other = any((Path(folder) / package).exists() for folder in path if folder for package in _PACKAGES)
    return not other and not any(name.startswith("PYTHON") and name != "PYTHONPATH" for name in environment)


# the server


def serve(listener: socket.socket) -> tuple[Request, list[int], socket.socket]:
    """Returns in each fork: what it is to run, the descriptors for it, and where to tell its number. The process ends
    when its standard input ends."""
    running: dict[int, tuple[int, socket.socket]] = {}
    ended: dict[socket.socket, int] = {}
    with selectors.DefaultSelector() as selector, listener:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    sys.exit()
                if key.fd in running:
                    selector.unregister(key.fd)
                    pid, connection = running.pop(key.fd)
                    _tell_end(key.fd, connection)
                    ended[connection] = pid
                    selector.register(connection, selectors.EVENT_READ)
                    continue
                if isinstance(key.fileobj, socket.socket) and key.fileobj in ended:
                    # Closed: its end was taken note of, or nobody is there to do so.
                    selector.unregister(key.fileobj)
                    os.waitpid(ended.pop(key.fileobj), 0)
                    key.fileobj.close()
                    continue
                connection, _ = listener.accept()
                request, descriptors, _, _ = socket.recv_fds(connection, LONGEST_REQUEST_BYTES, _DESCRIPTORS)
                if (pid := os.fork()) == 0:
                    for descriptor, (_, other) in running.items():
                        os.close(descriptor)
                        other.close()
                    for other in ended:
                        other.close()
                    return json.loads(request), descriptors, connection
                for descriptor in descriptors:
                    os.close(descriptor)
                running[descriptor := os.pidfd_open(pid)] = (pid, connection)
                selector.register(descriptor, selectors.EVENT_READ)


def _tell_end(descriptor: int, connection: socket.socket) -> None:
    found = os.waitid(os.P_PIDFD, descriptor, os.WEXITED | os.WNOWAIT)
    assert found is not None
    os.close(descriptor)
    code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    with suppress(OSError):
        connection.send(CODE + str(code).encode(), socket.MSG_NOSIGNAL)


def _prepare(request: Request, descriptors: list[int], connection: socket.socket) -> None:
    """Become what was asked for, and tell so: from then on it may get signals."""
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
    # Where they are, they might be in each other's way.
    sent = [_move(descriptor) for descriptor in descriptors]
    with socket.socket(fileno=_move(connection.detach())) as answers:
        for descriptor, number in zip(sent, (0, 1, 2, *request["kept"]), strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        if request["is_session"]:
            os.setsid()
        for number in request["ignored"]:
            signal.signal(number, signal.SIG_IGN)
        sys.argv = request["command"]
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        answers.send(PID + str(os.getpid()).encode())


def _move(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FREE_FROM)
    os.close(descriptor)
    return moved


# what a fork starts


class AsyncFork:
    """Of `asyncio.subprocess.Process`, what the program uses."""

    def __init__(self, fork: Fork, given: int | None, printed: Sequence[IO[bytes] | None]) -> None:
        self._fork = fork
        self._given = given
        self._printed = printed

    @property
    def returncode(self) -> int | None:
        return self._fork.returncode

    async def communicate(self, given: bytes = b"") -> tuple[bytes | None, ...]:
        if self._given is not None:
            with suppress(BrokenPipeError), os.fdopen(self._given, "wb") as pipe:
                await asyncio.to_thread(pipe.write, given)
        await self.wait()
        return tuple(map(_read, self._printed))

    async def wait(self) -> int:
        return await asyncio.to_thread(self._fork.wait)

    def kill(self) -> None:
        self._fork.kill()


def _read(file: IO[bytes] | None) -> bytes | None:
    if file is None:
        return None
    with file:
        file.seek(0)
        return file.read()


def _fork_too(address: str) -> None:
    """Has the program start itself as forks."""
    start_in_loop = asyncio.create_subprocess_exec

    class Popen(subprocess.Popen[bytes]):
        def __new__(cls, command: Sequence[str], **options: Any) -> Any:
            forked = _start(address, command, **options)
            return super().__new__(cls) if forked is None else forked

    async def create_subprocess_exec(*command: str, **options: Any) -> Any:
        names = ("stdout", "stderr")
        printed = [TemporaryFile() if options.get(name) == subprocess.PIPE else None for name in names]  # noqa: SIM115
        files: dict[str, IO[bytes]] = {
            name: file for name, file in zip(names, printed, strict=True) if file is not None
        }
        theirs, ours = os.pipe() if options.get("stdin") == subprocess.PIPE else (None, None)
        if theirs is not None:
            files["stdin"] = os.fdopen(theirs, "rb")
        forked = _start(address, command, **{**options, **files})
        if theirs is not None:
            files["stdin"].close()
        if forked is not None:
            return AsyncFork(forked, ours, printed)
        for file in files.values():
            file.close()
        if ours is not None:
            os.close(ours)
        return await start_in_loop(*command, **options)

    subprocess.Popen = Popen  # type: ignore[assignment, misc]
    asyncio.create_subprocess_exec = create_subprocess_exec  # type: ignore[assignment]


def _start(
    address: str,
    command: Sequence[str],
    *,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    start_new_session: bool = False,
    **more: Any,
) -> Fork | None:
    """As `subprocess.Popen`; None if it is no start of the program."""
    if more or list(command[: len(_STARTS)]) != _STARTS:
        return None
    with Path(os.devnull).open("r+b") as nothing:
        files = (nothing if each == subprocess.DEVNULL else each for each in (stdin, stdout, stderr))
        return ask(
            address,
            [onceover_crawler.__file__, *command[len(_STARTS) :]],
            folder=cwd or Path.cwd(),
            environment=os.environ if env is None else env,
            streams=[number if file is None else file.fileno() for number, file in enumerate(files)],
            kept=pass_fds,
            is_session=start_new_session,
        )


if __name__ == "__main__":
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    _, number, address = sys.argv
    request, descriptors, connection = serve(socket.socket(fileno=int(number)))
    _prepare(request, descriptors, connection)
    if sys.argv[0] == WEB:
        sys.exit(import_module("crawler.simweb.__main__").main(sys.argv[1:]))
    if not request["is_session"]:
        _fork_too(address)
    onceover_crawler.main()
