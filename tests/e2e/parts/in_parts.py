"""Crawls in parts, as a user runs them: a supervisor, its parts, and a simulated web whose hosts are domains."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from crawler.disk.layout import part_directories
from crawler.page import LinkKind, PageRecord
from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.e2e.crawling import TIMEOUT_S, Running, Web, setting, started

WORLD = WorldParams(domain="test", seed=3, hosts=12, pages_per_host=10, links_per_page=8, page_bytes=800)
"""Directly below .test, each host is a registered domain, so the hosts are divided among the parts."""
UNHURRIED = ("politeness.min_delay_s=2", "politeness.robots=false")
"""All hosts are asked at once, and each of their next pages is due two seconds later. Such a crawl can't be complete
before something is done to it, however busy the machine is."""
HURRIED = setting("politeness.min_delay_s=0")
"""Options with which it goes on to its end."""


class PartsOfWeb(msgspec.Struct, frozen=True):
    """A crawl in parts of a simulated web that is served, and logged."""

    folder: Path
    web: Web
    log: Path
    parts: int
    settings: tuple[str, ...]

    @property
    def directory(self) -> Path:
        return self.folder / "crawl"

    @property
    def options(self) -> list[str]:
        more = setting('scope.within="any"', *self.settings)
        return ["crawl", *self.web.options, *more, "--parts", str(self.parts), "--dir", "crawl"]

    @contextmanager
    def started(self, *more: str) -> Iterator[Running]:
        """The crawl, while it runs. Parts that it leaves behind are killed."""
        try:
            with started(*self.options, *more, cwd=self.folder) as supervisor:
                yield supervisor
        finally:
            self.kill_parts()

    def kill_parts(self) -> None:
        for pid in self.pids():
            send(pid, signal.SIGKILL)
        self.wait_until_gone()

    def wait_until_gone(self) -> None:
        """Until no part runs."""
        give_up_at = time.monotonic() + TIMEOUT_S
        while self.pids():
            assert time.monotonic() < give_up_at, f"these parts stay: {self.pids()}"
            time.sleep(0.01)

    def wait_until_all_crawl(self, supervisor: Running) -> None:
        """Until each part has fetched a page."""

        def all_crawl() -> bool:
            each_records = [self.directory / f"part-{number}" / "records" for number in range(self.parts)]
            return len(self.pids()) == self.parts and all(map(_has_records, each_records))

        supervisor.wait_until(all_crawl, "a page of each part")

    def pids(self) -> list[int]:
        """The processes of the parts that run."""
        return [pid for number in range(self.parts) if (pid := self.pid(number)) is not None]

    def pid(self, number: int) -> int | None:
        """Of the process of a part; see `running_part`."""
        return running_part(self.directory / f"part-{number}", cwd=self.folder)

    def requests(self) -> list[LogEntry]:
        return list(read_json_lines(self.log))

    def records(self) -> list[list[PageRecord]]:
        """Of each part: the last copy of each record."""
        return [list(read_records(path / "records", last_only=True)) for path in part_directories(self.directory)]


@contextmanager
def in_parts(folder: Path, *settings: str, parts: int = 2, params: WorldParams = WORLD) -> Iterator[PartsOfWeb]:
    log = folder / "requests.jsonl"
    with running(params, log_path=log) as port:
        yield PartsOfWeb(folder, Web(port, params), log, parts, settings)


def running_part(directory: Path, *, cwd: Path) -> int | None:
    """The process that runs the part in a directory, and was started in `cwd`. None also if it is dead and nobody has
    waited for it yet, or if another process has got its number, as that of a part in another test."""
    try:
        pid = int((directory / "lock").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        is_it = (b"run-part" in command or b"fork_server" in command) and Path(f"/proc/{pid}/cwd").samefile(cwd)
    except (OSError, ValueError):
        return None
    return pid if is_it else None


def _has_records(folder: Path) -> bool:
    return folder.is_dir() and any(True for _ in read_records(folder))


def send(pid: int, number: int) -> None:
    """A signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


_reader = UrlReader()


def host_of(url: str) -> str:
    return _reader.seed(url).host


def assert_fetched_once(records: Sequence[Sequence[PageRecord]], expected: set[str]) -> None:
    """The union of the records of all parts has each expected page, and nothing twice. No host is in two parts."""
    urls = Counter(_reader.seed(record.url).canonical for part in records for record in part)
    assert max(urls.values()) == 1, urls.most_common(3)
    pages = {
        _reader.seed(record.url).canonical
        for part in records
        for record in part
        if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
    }
    assert pages == expected
    numbers = [record.number for part in records for record in part]
    assert len(set(numbers)) == len(numbers)
    hosts = Counter(host for part in records for host in {host_of(record.url) for record in part})
    assert max(hosts.values()) == 1


def crossed(records: Sequence[Sequence[PageRecord]]) -> int:
    """URLs that were found on a host of another part."""
    count = 0
    for part in records:
        own = {host_of(record.url) for record in part}
        count += sum(record.via is not None and host_of(record.via) not in own for record in part)
    return count
