"""A Redis of the test's own: an unprivileged server in a folder of its own, reached by a Unix socket."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from crawler.testing.timeouts import MAX_WAIT_S

PROGRAM = shutil.which("redis-server")


class RedisServer:
    """A server that can be killed, stopped and started again."""

    def __init__(self, folder: Path, *, is_sentinel: bool = False) -> None:
        self.folder = folder
        """Where it stores its data."""
        self._is_sentinel = is_sentinel
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"

    def start(self, *options: str, port: int = 0) -> None:
        """Return once it answers. It has a Unix socket, and a `port` if that is not 0."""
        assert PROGRAM is not None
        log = (self.folder / "log").open("ab")
        place = ["--port", str(port), "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        if self._is_sentinel:
            file = self.folder / "sentinel.conf"
            file.touch()
            command = [PROGRAM, str(file), "--sentinel", *place]
        else:
            command = [PROGRAM, *place, "--save", ""]
        with log:
            self._process = subprocess.Popen([*command, *options], stdout=log, stderr=log)
        give_up_at = time.monotonic() + MAX_WAIT_S
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < give_up_at, (self.folder / "log").read_text()
            try:
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
            except redis.exceptions.RedisError:
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.socket.unlink(missing_ok=True)

    def hold(self) -> None:
        """Stop its process until `go_on`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def running_redis(*options: str, port: int = 0, is_sentinel: bool = False) -> Iterator[RedisServer]:
    """A server, until the end of the block. Skips the test if there is no Redis."""
    if PROGRAM is None:
        pytest.skip("Redis is not installed: apt-get install redis-server")
    # The path of a Unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        server = RedisServer(Path(folder), is_sentinel=is_sentinel)
        server.start(*options, port=port)
        try:
            yield server
        finally:
            server.kill()
