"""A PostgreSQL of the test's own: an unprivileged server in a folder of its own, reached by a Unix socket."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from crawler.testing.timeouts import MAX_WAIT_S

_PORT = 5432
_USER = "crawl"
_OPTIONS = (
    "listen_addresses=",
    "shared_buffers=16MB",
    "max_connections=40",
    # Processes are killed here, not machines.
    "fsync=off",
)


def _programs() -> Path | None:
    """The folder of the newest server that is installed."""
    folders = [each.parent for each in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    folders.sort(key=lambda folder: folder.parent.name.zfill(3))
    other = shutil.which("postgres")
    if not folders and other is not None:
        folders = [Path(other).resolve().parent]
    return folders[-1] if folders and (folders[-1] / "initdb").exists() else None


PROGRAMS = _programs()


class PostgresServer:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path, options: Sequence[str] = (), port: int = _PORT) -> None:
        self._folder = folder
        self._port = port
        self._options = (*_OPTIONS, f"port={port}", *options)
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {"PGHOST": str(folder), "PGPORT": str(port), "PGUSER": _USER, "PGDATABASE": "postgres"}
        """By which a client without a DSN finds it."""
        self.dsn = f"postgresql://{_USER}@/postgres?host={folder}&port={port}"
        self.socket = folder / f".s.PGSQL.{port}"

    def start(self) -> None:
        """Return once it answers."""
        command = [part for option in self._options for part in ("-c", option)]
        give_up_at = time.monotonic() + MAX_WAIT_S
        while True:
            self._process = self._popen("postgres", "-D", self._data, "-k", self._folder, *command)
            while self._process.poll() is None:
                assert time.monotonic() < give_up_at, self.log()
                if self._run("pg_isready", "-q", "-h", self._folder, "-p", self._port).returncode == 0:
                    return
                time.sleep(0.02)
            # What is left of a server that was killed may still hold its memory.
            assert time.monotonic() < give_up_at, self.log()
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill all of its processes, as a crash of the machine does."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        self._process.kill()
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        self._process.wait()

    def start_again(self) -> None:
        """Start it if it does not run."""
        if not self._runs:
            self.start()

    def kill_and_start(self) -> None:
        self.kill()
        self.start()

    @property
    def _runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is not None and self._runs:
            self._process.send_signal(signal.SIGINT)  # disconnects all clients, and ends
            self._process.wait(MAX_WAIT_S)

    def make(self) -> None:
        arguments = ["-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = self._run("initdb", *arguments)
        assert made.returncode == 0, made.stdout.decode()

    def query(self, text: str) -> list[list[str]]:
        """The rows that a query finds, as texts."""
        found = self._run("psql", "-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", self.dsn, "-c", text)
        assert found.returncode == 0, found.stdout.decode()
        return [line.split("\t") for line in found.stdout.decode().splitlines()]

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def log(self) -> str:
        return (self._folder / "log").read_text()

    def _run(self, program: str, *arguments: object) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            self._command(program, arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=self._folder,
            env=_environment(),
            **_unprivileged(),
        )

    def _popen(self, program: str, *arguments: object) -> "subprocess.Popen[bytes]":
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                self._command(program, arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                process_group=0,
                env=_environment(),
                **_unprivileged(),
            )

    def _command(self, program: str, arguments: tuple[object, ...]) -> list[str]:
        assert PROGRAMS is not None
        return [str(PROGRAMS / program), *map(str, arguments)]


def _environment() -> dict[str, str]:
    """Without what others have set for servers of theirs."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**ours, "PGCLIENTENCODING": "UTF8"}


def owned_by_server(path: Path) -> None:
    """Let the server alone read a file, as it demands of its key."""
    path.chmod(0o600)
    if os.geteuid() == 0:
        shutil.chown(path, "nobody", "nogroup")


def _unprivileged() -> dict[str, Any]:
    """A server refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


@contextmanager
def running_postgres(
    options: Callable[[Path], Sequence[str]] = lambda _: (), *, port: int = _PORT
) -> Iterator[PostgresServer]:
    """A server that runs while the block lasts, with `options` for its folder. Skips the test if none is installed."""
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not installed")
    # Not in the folder of the test, into which nobody but its owner may look. The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="onceover-postgres-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        server = PostgresServer(folder, options(folder), port)
        server.make()
        try:
            server.start()
            yield server
        finally:
            server.stop()
