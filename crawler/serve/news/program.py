"""Runs the program of the operator for one event, which it reads from its standard input."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Final

import msgspec

from crawler.serve.life.steps import KILL
from crawler.serve.process import CrawlProcess

_DYING_S: Final = 1.0
_PIPE_BYTES: Final = 1 << 16
_KEPT_BYTES: Final = 1000
_PASSED_ON: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""Variables that the program gets. Others may hold passwords, as `ONCEOVER_…` does."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is told of events."""

    path: Path
    folder: Path
    """Where it runs."""
    within_s: float = 60.0
    """How long it may run."""

    async def run(self, event: bytes) -> str | None:
        """Run it until it ends, but no longer than it may, or this is cancelled: then it is killed, with its process
        group. Returns what went wrong; None if nothing did. Raises `OSError` if it can't be started."""
        with closing(_Messages()) as messages:
            process = self._start(event, messages.writing)
            try:
                await asyncio.wait({process.ended}, timeout=self.within_s)
                is_late = not process.ended.done()
            finally:
                code = await _end(process)
            if is_late:
                return f"did not end within {self.within_s:g} s, and was killed{messages.last_line()}"
            return None if code == 0 else f"{_ending(code)}{messages.last_line()}"

    def _start(self, event: bytes, stderr: IO[bytes]) -> CrawlProcess:
        # A file takes all of the event, whether or not the program reads it.
        with os.fdopen(os.memfd_create("event"), "w+b") as stdin:
            stdin.write(event)
            stdin.seek(0)
            child = subprocess.Popen(
                [self.path],
                cwd=self.folder,
                env=passed_on(os.environ),
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            return CrawlProcess(child.pid, child)
        except OSError:
            child.kill()
            child.wait()
            raise


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program."""
    return {name: value for name, value in environ.items() if name in _PASSED_ON}


async def _end(process: CrawlProcess) -> int | None:
    """Kill it if it runs. Returns its exit code."""
    if not process.ended.done():
        process.tell_to_end(KILL)
        await asyncio.wait({process.ended}, timeout=_DYING_S)
    code = process.exit_code if process.ended.done() else None
    process.close()
    return code


def _ending(code: int | None) -> str:
    return f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"


class _Messages:
    """What a program prints on stderr, of which the end is kept. It is read at once, so the program need not wait."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self._reading = os.fdopen(reading, "rb", buffering=0)
        self.writing = os.fdopen(writing, "wb", buffering=0)
        self._kept = b""
        os.set_blocking(reading, False)
        asyncio.get_running_loop().add_reader(reading, self._take)

    def _take(self) -> None:
        self._kept = (self._kept + (self._reading.read(_PIPE_BYTES) or b""))[-_KEPT_BYTES:]

    def last_line(self) -> str:
        """With a colon before it; empty if there is none."""
        self._take()
        lines = self._kept.decode("utf-8", "replace").split("\n")
        return next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._reading)
        self._reading.close()
        self.writing.close()
