"""A crawl that runs while an operator does something to it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from crawler.cli import main
from crawler.control.address import SocketRefused
from crawler.control.client import connect
from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.process import running
from tests.e2e.crawling import COMPLETE, SMALL, Ended, Running, Web, started

SLOW = msgspec.structs.replace(SMALL, slow=0.95, duplicates=0.0, delay_s=0.1)


def command_here(*arguments: str, given: bytes = b"") -> Ended:
    """Run a command in this process, because the start of another takes longer than most of them. `given` is its
    standard input."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    code: object = None
    with pytest.MonkeyPatch.context() as patch, CliRunner().isolation(given) as (out, err, _):
        patch.setattr(sys, "argv", ["onceover", *arguments])
        patch.setattr(sys, "unraisablehook", sys.unraisablehook)  # to which it is set back afterwards
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        told, complained = out.getvalue(), err.getvalue()
    assert isinstance(code, int)
    return Ended(code, told.decode(), complained.decode())


def is_listening(directory: Path) -> bool:
    """Whether a process answers commands there. A killed one leaves its socket, and a new one is not ready at once."""
    try:
        with connect(directory) as connection:
            return connection is not None
    except SocketRefused:
        return False


class Operated:
    """A crawl that runs, and the log of the servers that it asks."""

    def __init__(self, folder: Path, web: Web, log: Path, crawl: Running) -> None:
        self.directory = folder / "crawl"
        self.web = web
        self.crawl = crawl
        self._log = log

    def do(self, command: str, *arguments: str) -> Ended:
        """A command of the operator."""
        return command_here(command, str(self.directory), *arguments)

    def look(self, what: str, *arguments: str) -> Ended:
        return command_here("inspect", str(self.directory), what, *arguments)

    def status(self) -> dict[str, object]:
        return self.do("status", "--json").json()

    def requests(self) -> list[LogEntry]:
        return read_json_lines(self._log)

    def wait_until_listening(self) -> None:
        self.crawl.wait_until(partial(is_listening, self.directory), "socket")

    def hurry(self) -> None:
        """Let the crawl go on without delays, when it has been slow for long enough."""
        assert self.do("set", "politeness.min_delay_s=0").code == COMPLETE

    def wait_until_drained(self) -> None:
        """Until nothing is in flight."""

        def is_drained() -> bool:
            return msgspec.convert(self.status()["frontier"], dict[str, int | str | float | None])["in_process"] == 0

        self.crawl.wait_until(is_drained, "end of what is in flight")


@contextmanager
def operated(folder: Path, *options: str) -> Iterator[Operated]:
    log = folder / "requests.jsonl"
    with running(SLOW, log_path=log) as port:
        web = Web(port, SLOW)
        with started("crawl", *web.options, *options, "--dir", "crawl", cwd=folder) as crawl:
            found = Operated(folder, web, log, crawl)
            found.wait_until_listening()
            yield found
