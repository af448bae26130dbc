"""Commands as forks of one process that has imported the program. Importing takes most of the time of a command.

Each is a process of its own, with its own environment, folder and streams, and ends as Python ends. They have in common
what was imported, and the seed of the hashes of strings.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e import fork_server

_PACKAGES = ("config", "crawler", "frontier", "visited")
_INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals that a command ignores if the tests do."""
_servers: list[str] = []
"""Where to ask for forks: at most one place."""


class Fork:
    """A command that runs: of `subprocess.Popen`, what the tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = _receive(connection, fork_server.PID)
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
        if self.returncode is not None:
            return self.returncode
        self._connection.settimeout(timeout)
        try:
            return self._end()
        except TimeoutError:
            raise subprocess.TimeoutExpired("onceover", timeout or 0) from None

    def _end(self) -> int:
        code = self.returncode = _receive(self._connection, fork_server.CODE)
        self._connection.close()
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
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


def fork(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: Sequence[int],
    is_session: bool = False,
) -> Fork | None:
    """Start a command; None if a fork could not be like it. `streams` are its standard input, output and error."""
    if not _servers or not _can_fork(environment):
        return None
    request = fork_server.Request(
        command=[str(word) for word in command],
        folder=str(folder),
        environment=dict(environment),
        ignored=[number for number in _INHERITED if signal.getsignal(number) is signal.SIG_IGN],
        is_session=is_session,
    )
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(_servers[0])
    socket.send_fds(connection, [json.dumps(request).encode()], list(streams))
    return Fork(connection)


def _can_fork(environment: Mapping[str, str]) -> bool:
    """Whether all that it says can still be obeyed when the program is imported."""
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    other = any((Path(folder) / package).exists() for folder in path if folder for package in _PACKAGES)
    return not other and not any(name.startswith("PYTHON") and name != "PYTHONPATH" for name in environment)


@contextmanager
def forking(environment: Mapping[str, str]) -> Iterator[None]:
    """While the block lasts, `fork` starts commands; in that environment the program is imported.

    Not if coverage is measured: it would not be of forks.
    """
    if any(name.startswith("COV") for name in os.environ):
        yield
        return
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        address = str(Path(place) / "forks")
        listener.bind(address)
        listener.listen(64)
        server = subprocess.Popen(
            [sys.executable, "-P", fork_server.__file__, str(listener.fileno())],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )
        listener.close()  # so whoever asks a process that is dead is refused, and does not wait
        _servers.append(address)
        try:
            with server:
                yield
        finally:
            _servers.clear()
