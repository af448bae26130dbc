"""Hosts that are served by http and https and by any port, and crawls of them."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import msgspec

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.engine import Ending
from crawler.page import PageRecord
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.certificates import issued
from tests.e2e.crawling import COMPLETE, ONCEOVER, environment
from tests.servers import front_door


class Killed(msgspec.Struct, frozen=True):
    """A crawl that was killed once, and resumed to its end."""

    at_s: float
    """When its first process was gone, by the clock of `time.monotonic`."""
    records: list[PageRecord]


class Site:
    """Servers for one address, by http and https, and a crawl of them that is polite."""

    def __init__(self, folder: Path, port: int, authority: str, log: list[Seen]) -> None:
        self._folder = folder
        self.port = port
        self._authority = authority
        self.log = log

    async def crawl(self, *seeds: str, settings: Mapping[str, object]) -> list[PageRecord]:
        """The records of a whole crawl."""
        file = self._configuration(seeds, settings)
        with CrawlDirectory(self._folder / "crawl") as directory:
            async with open_crawl(load(file), directory) as crawl:
                assert await crawl.engine.run() is Ending.COMPLETE
        return self._records()

    async def crawl_with_a_kill(self, *seeds: str, settings: Mapping[str, object], at: asyncio.Event) -> Killed:
        """A crawl by two processes: the first is killed at the event, which must come before its end."""
        command: list[str | Path] = [
            ONCEOVER,
            "crawl",
            self._configuration(seeds, settings),
            "--dir",
            self._folder / "crawl",
        ]
        first = await asyncio.create_subprocess_exec(*command, env=environment())
        async with ended(first), asyncio.timeout(MAX_WAIT_S):
            first_of = [asyncio.create_task(at.wait()), asyncio.create_task(first.wait())]
            await asyncio.wait(first_of, return_when=asyncio.FIRST_COMPLETED)
            for each in first_of:
                each.cancel()
            assert first.returncode is None, "it ended before it was killed"
            first.kill()
            assert await first.wait() == -signal.SIGKILL
        at_s = time.monotonic()
        second = await asyncio.create_subprocess_exec(*command, env=environment())
        async with ended(second), asyncio.timeout(MAX_WAIT_S):
            assert await second.wait() == COMPLETE
        return Killed(at_s, self._records())

    def _configuration(self, seeds: Sequence[str], settings: Mapping[str, object]) -> Path:
        tables: dict[str, dict[str, object]] = {
            "crawl": {"seeds": list(seeds)},
            "scope": {"within": "any", "sitemap_paths": []},
            "frontier": {"retry_delay_s": 0.1, "retry_max_delay_s": 0.5},
            "fetch": {
                "hosts": {"*.web.test": f"127.0.0.1:{self.port}", "gone.test": "127.0.0.1:9"},
                "authorities": [self._authority],
            },
        }
        for key, value in settings.items():
            table, _, name = key.partition(".")
            tables.setdefault(table, {})[name] = value
        file = self._folder / "crawl.toml"
        lines = (
            f"[{table}]\n" + "".join(f"{name} = {toml_value(value)}\n" for name, value in of_table.items())
            for table, of_table in tables.items()
        )
        file.write_text("".join(lines))
        return file

    def _records(self) -> list[PageRecord]:
        return list(read_records(self._folder / "crawl" / "records"))

    def asked(self, name: str) -> list[Seen]:
        """All requests to the host of that name, by any port, in order."""
        return [seen for seen in sorted(self.log, key=lambda seen: seen.at_s) if host_name(seen) == name]

    def least_gap_s(self, name: str) -> float:
        """Between the starts of two requests to a host."""
        return min(after.at_s - before.at_s for before, after in pairwise(self.asked(name)))


@asynccontextmanager
async def ended(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Nothing of the process is left behind the block."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def host_name(seen: Seen) -> str:
    return (seen.header("Host") or "").partition(":")[0]


@asynccontextmanager
async def site(folder: Path, answer: Callable[[str, Seen], Script]) -> AsyncIterator[Site]:
    """Serves all hosts of web.test, by any port, as `answer` says of a scheme and a request."""
    log: list[Seen] = []

    def by(scheme: str) -> Callable[[Seen], Script]:
        def logged(seen: Seen) -> Script:
            log.append(seen)
            return answer(scheme, seen)

        return logged

    tls, authority = issued("*.web.test", folder)
    async with (
        raw_server(by("http")) as plain,
        raw_server(by("https"), tls=tls) as secure,
        front_door(plain, secure) as port,
    ):
        yield Site(folder, port, authority, log)


def linking(*hrefs: str) -> Script:
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs).encode()
    return [page(body, b"Content-Type: text/html")]


def to(location: str) -> Script:
    return [page(b"", b"Location: " + location.encode(), status=b"301 Moved Permanently")]


GONE: Script = [page(status=b"404 Not Found")]
