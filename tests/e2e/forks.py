"""Commands as forks of one process that has imported the program. Importing takes most of the time of a command.

Each is a process of its own, with its own environment, folder and streams, and ends as Python ends. They have in common
what was imported, and the seed of the hashes of strings. What they start of the program are forks too: parts, and the
crawls of a daemon. So are simulated webs. A test of real starts sets `PYTHONHASHSEED`, which a fork could not obey.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from unittest import mock

from crawler.simweb import process
from tests.e2e import fork_server
from tests.e2e.fork_server import Fork

_servers: list[str] = []
"""Where to ask for forks: at most one place."""


def fork(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: Sequence[int],
    is_session: bool = False,
) -> Fork | None:
    """Start a command; None if a fork could not be like it. `streams` are its standard input, output and error."""
    if not _servers:
        return None
    return fork_server.ask(
        _servers[0], command, folder=folder, environment=environment, streams=streams, is_session=is_session
    )


class _Web:
    """Of `subprocess.Popen`, what `crawler.simweb.process` uses."""

    def __init__(self, environment: Mapping[str, str], command: Sequence[str], **_options: object) -> None:
        given, self._stdin = os.pipe()
        self._stdout, printed = os.pipe()
        with os.fdopen(given, "rb") as stdin, os.fdopen(printed, "wb") as stdout:
            # Its errors go where those of the tests go.
            streams = [stdin.fileno(), stdout.fileno(), 2]
            words = [fork_server.WEB, *command[3:]]
            forked = fork(words, folder=Path.cwd(), environment=environment, streams=streams, is_session=True)
        assert forked is not None
        self.wait, self.kill = forked.wait, forked.kill

    def __enter__(self) -> Self:
        self.stdin, self.stdout = os.fdopen(self._stdin, "wb"), os.fdopen(self._stdout, "rb")
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.stdout.close()
        self.wait()


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
        # In a group of its own: after Ctrl-C the tests still ask it whether what they kill has ended.
        server = subprocess.Popen(
            [sys.executable, "-P", fork_server.__file__, str(listener.fileno()), address],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            process_group=0,
        )
        listener.close()  # so whoever asks a process that is dead is refused, and does not wait
        _servers.append(address)
        popen = SimpleNamespace(**{**vars(subprocess), "Popen": partial(_Web, environment)})
        try:
            with server, mock.patch.object(process, "subprocess", popen):
                yield
        finally:
            _servers.clear()
