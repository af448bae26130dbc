"""The command as a user runs it: whole processes, in a clean environment, on a small simulated web."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec

from crawler.page import LinkKind, PageRecord
from crawler.simweb.expected import Kind
from crawler.simweb.params import WorldParams
from crawler.simweb.world import World
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.e2e.fork_server import Fork
from tests.e2e.forks import fork
from tests.invoking import invoke

ONCEOVER = Path(sys.executable).with_name("onceover")
TIMEOUT_S = MAX_WAIT_S
COMPLETE, FAILED, USAGE, LIMIT, STOPPED, REFUSED, AWAY = range(7)

SMALL = WorldParams(
    seed=7,
    hosts=5,
    pages_per_host=8,
    links_per_page=8,
    page_bytes=1_500,
    redirects=0.1,
    not_found=0.1,
    duplicates=0.05,
    robots_rules=0.4,
    disallowed=0.1,
    session_ids=0.1,
    odd_links=0.1,
    legacy_charsets=0.1,
)
"""Exactly 40 pages, and some of what a crawl meets that needs no waiting."""


Process = subprocess.Popen[bytes] | Fork


class Ended(msgspec.Struct, frozen=True):
    """A process that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, object]:
        """The one object on stdout."""
        return msgspec.json.decode(self.out, type=dict[str, object])


class Web(msgspec.Struct, frozen=True):
    """A simulated web that is being served."""

    port: int
    params: WorldParams

    @property
    def options(self) -> list[str]:
        """Options of a crawl of all of it, as fast as it goes."""
        settings = [
            'scope.within="domain"',
            f'fetch.hosts={{"*.{self.params.domain}" = "127.0.0.1:{self.port}"}}',
            "politeness.min_delay_s=0",
            "politeness.delay_factor=0",
            "frontier.retry_delay_s=0.05",
            "frontier.retry_max_delay_s=0.2",
            # Its robots.txt names every sitemap, and the log of requests is compared.
            "scope.sitemap_paths=[]",
        ]
        return ["--seed", f"http://h00000.{self.params.domain}/", *setting(*settings)]

    @property
    def pages(self) -> set[str]:
        """Canonical URLs of the pages that a complete crawl fetches."""
        return {item.url for item in World(self.params).expected() if item.kind is Kind.PAGE}


def setting(*assignments: str) -> list[str]:
    return [part for assignment in assignments for part in ("--set", assignment)]


def environment(**more: str) -> dict[str, str]:
    """Nothing of the user's but what finds the program, and what measures its coverage."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("COVERAGE", "COV_"))}
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/nonexistent", **kept, **more}


def onceover(*arguments: str | Path, cwd: Path, timeout_s: float = TIMEOUT_S, **env: str) -> Ended:
    """Run a command to its end."""
    with TemporaryFile() as out, TemporaryFile() as err:
        process = start(*arguments, cwd=cwd, out=out, err=err, env=env)
        try:
            code = process.wait(timeout_s)
        finally:
            process.kill()
            process.wait()
        for file in (out, err):
            file.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


def start(
    *arguments: str | Path, cwd: Path, out: IO[bytes], err: IO[bytes], env: Mapping[str, str], is_session: bool = False
) -> Process:
    """Start a command, in a session of its own if so asked, without input."""
    command = [ONCEOVER, *arguments]
    with Path(os.devnull).open("rb") as nothing:
        streams = [each.fileno() for each in (nothing, out, err)]
        if forked := fork(command, folder=cwd, environment=environment(**env), streams=streams, is_session=is_session):
            return forked
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environment(**env),
            stdin=nothing,
            stdout=out,
            stderr=err,
            start_new_session=is_session,
        )


class Running:
    """A command that runs; what it says goes to files."""

    def __init__(self, process: Process, folder: Path) -> None:
        self.process = process
        self._folder = folder

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def err(self) -> str:
        return (self._folder / "stderr").read_text()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> Ended:
        code = self.process.wait(TIMEOUT_S)
        return Ended(code, (self._folder / "stdout").read_text(), self.err)

    def wait_until(self, holds: Callable[[], object], what: str) -> None:
        """Until something holds; fails at once if the process ends before."""
        give_up_at = time.monotonic() + TIMEOUT_S
        while not holds():
            assert self.process.poll() is None, f"ended with {self.process.returncode} before {what}: {self.err}"
            assert time.monotonic() < give_up_at, f"no {what} within {TIMEOUT_S:g} s: {self.err}"
            time.sleep(0.03)


@contextmanager
def started(*arguments: str | Path, cwd: Path, **env: str) -> Iterator[Running]:
    """A command that runs while the block lasts, and is killed at its end if it still does."""
    with (cwd / "stdout").open("wb") as out, (cwd / "stderr").open("wb") as err:
        process = start(*arguments, cwd=cwd, out=out, err=err, env=env)
    try:
        yield Running(process, cwd)
    finally:
        process.kill()
        process.wait()


def records(directory: Path) -> list[PageRecord]:
    """All page records of a crawl, in order."""
    return list(read_records(directory / "records"))


def fetched(directory: Path) -> Counter[str]:
    """How often each page, sitemaps not counted, was recorded with a 200, by canonical URL."""
    reader = UrlReader()
    return Counter(
        reader.seed(record.url).canonical
        for record in records(directory)
        if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
    )


def tree(path: Path) -> dict[str, bytes | None]:
    """Every file and folder below, with its content."""
    return {str(entry.relative_to(path)): entry.read_bytes() if entry.is_file() else None for entry in path.rglob("*")}


def assert_told(ended: Ended, code: int, *words: str) -> None:
    """The process ended with that code and a message that has these words, and no traceback."""
    assert "Traceback" not in ended.err, ended.err
    assert ended.code == code, (ended.code, ended.err)
    said = " ".join(ended.err.split())
    missing = [word for word in words if word not in said]
    assert not missing, f"{missing} not in: {said}"


def assert_sound(directory: Path) -> None:
    """The stored state keeps every invariant.

    Asks in this process, because the start of another takes longer than that; in a thread, because the test may run in
    an event loop, and so does the command.
    """
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(invoke, "inspect", directory, "fsck", "--json").result()
    assert ended.return_value == COMPLETE, ended.output
    assert msgspec.json.decode(ended.stdout)["problems"] == []
