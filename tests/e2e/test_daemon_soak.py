"""A daemon for a long time: reloads, crashes of crawls and of itself. It leaks nothing, and each page is fetched.

`ONCEOVER_SOAK_PAGES` chooses how many pages the crawls have together.
"""

import os
import signal
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from crawler.disk.layout import part_directories
from crawler.page import LinkKind
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.e2e.crawling import Web, assert_sound
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import Served, serving, write
from tests.e2e.test_memory import anonymous_mb

PAGES = int(os.environ.get("ONCEOVER_SOAK_PAGES", "500_000"))
PAGES_PER_HOST = 100
NAMES = ("one", "two", "parts")
DISTURBANCES = 30
"""Of each life of the daemon, of which there are three."""
MOST_THREADS = 1 + min(32, (os.cpu_count() or 1) + 4)
"""The main one, and those that asyncio starts for calls that block."""
MOST_GROWTH = 1.15
"""Of the daemon's memory, from the second third of its life to the last one."""


class Sample(msgspec.Struct, frozen=True):
    """What the daemon took when its crawls had sent so many requests."""

    requests: int
    memory_mb: float
    open_files: int
    threads: int


class Soak:
    """Crawls of a daemon, each of a web of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.home = folder / "home"
        self.webs: dict[str, Web] = {}
        self._logs = [(folder / f"{name}.log") for name in NAMES]
        self._read = dict.fromkeys(self._logs, (0, 0))
        """Of each log, the bytes that were read, and the lines in them."""
        self._edition = 0
        self._kills = 0
        for name, log in zip(NAMES, self._logs, strict=True):
            # Directly below .test, each host is a registered domain, so the hosts are divided among the parts.
            domain = "test" if name == "parts" else f"{name}.test"
            hosts = max(2, PAGES // len(NAMES) // PAGES_PER_HOST)
            params = WorldParams(domain=domain, hosts=hosts, pages_per_host=PAGES_PER_HOST, page_bytes=1500)
            self.webs[name] = Web(stack.enter_context(running(params, log_path=log)), params)
        self.write()

    def write(self) -> None:
        """A change of each configuration, which holds at once."""
        self._edition += 1
        more = f'output.warc = false\nlog.format = "json"\nfetch.max_redirects = {5 + self._edition % 2}\n'
        for name, web in self.webs.items():
            path = write(self.home, name, web, more + ("crawl.parts = 2" if name == "parts" else ""))
            if name == "parts":
                path.write_text(path.read_text().replace('within = "domain"', 'within = "any"'))

    def requests(self) -> int:
        for log, (at, lines) in self._read.items():
            with log.open("rb") as file:
                file.seek(at)
                data = file.read()
            self._read[log] = (at + len(data), lines + data.count(b"\n"))
        return sum(lines for _, lines in self._read.values())

    def live(self, served: Served, pages: int) -> list[Sample]:
        """Let the crawls send so many requests, unless they are complete before, and disturb them meanwhile."""
        samples = [self.sample(served)]
        end = samples[0].requests + pages
        for number in range(DISTURBANCES):
            upto = samples[-1].requests + (end - samples[-1].requests) // (DISTURBANCES - number)

            def is_due(upto: int = upto) -> bool:
                return self.requests() >= upto or all(served.is_complete(name) for name in NAMES)

            served.wait(is_due, f"{upto} requests")
            samples.append(self.sample(served))
            self._disturb(served, number)
        return samples

    def sample(self, served: Served) -> Sample:
        pid = served.daemon.pid
        place = Path(f"/proc/{pid}")
        files, threads = (len(list((place / name).iterdir())) for name in ("fd", "task"))
        return Sample(self.requests(), anonymous_mb(pid), files, threads)

    def _disturb(self, served: Served, number: int) -> None:
        """Read the folder again, or now and then kill a crawl, or a part of one. Four kills of each crawl do not make
        the daemon hold it, which five might."""
        if number % 8:
            self.write()
            before = served.daemon.err.count("has read the folder again")
            served.daemon.signal(signal.SIGHUP)
            served.wait(lambda: served.daemon.err.count("has read the folder again") > before, "reload")
            return
        name = NAMES[self._kills % len(NAMES)]
        self._kills += 1
        runs = served.record(name).runs
        if runs and runs[-1].how is None:
            with suppress(ProcessLookupError, ValueError):
                # The youngest process of the crawl: of one in parts, a part.
                pid = max(pid for pid in processes_in(self.home) if os.getsid(pid) == runs[-1].pid)
                os.kill(pid, signal.SIGKILL)


def processes_in(home: Path) -> set[int]:
    """All processes that work in this folder: the crawls of a daemon, and their parts."""
    found = set()
    for place in Path("/proc").iterdir():
        with suppress(OSError):
            if place.name.isdigit() and (place / "cwd").readlink() == home:
                found.add(int(place.name))
    return found


@contextmanager
def daemon_of(soak: Soak) -> Iterator[Served]:
    with serving(soak.home, "--restart-delay", "0.1") as served:
        yield served


def slope(samples: Sequence[Sample]) -> float:
    """In MB for 100,000 requests."""
    requests = [float(each.requests) for each in samples]
    if len(set(requests)) < 2:
        return 0.0
    return statistics.linear_regression(requests, [each.memory_mb for each in samples]).slope * 100_000


def tell(life: str, samples: Sequence[Sample]) -> None:
    first, last = samples[len(samples) // 3], samples[-1]
    texts = [
        f"{last.requests - samples[0].requests:,} requests",
        f"{first.memory_mb:.1f} to {last.memory_mb:.1f} MB, {slope(samples[len(samples) // 3 :]):+.2f} MB for 100,000",
        f"{first.open_files} to {last.open_files} open files",
        f"{first.threads} to {last.threads} threads",
    ]
    print(f"{life}: {'; '.join(texts)}")  # noqa: T201 - for those who run it


@pytest.mark.long
def test_a_daemon_that_runs_for_long_leaks_nothing_and_its_counters_agree_with_its_records(tmp_path: Path) -> None:
    with ExitStack() as stack:
        soak = Soak(tmp_path, stack)
        with daemon_of(soak) as served:
            lives = [soak.live(served, PAGES // 2)]
            served.end()
            assert processes_in(soak.home) == set()
        with daemon_of(soak) as served:
            lives.append(soak.live(served, PAGES // 4))
            served.daemon.signal(signal.SIGKILL)
            served.daemon.process.wait()
            # Before the block ends the crawls, the next daemon takes them over.
            with daemon_of(soak) as third:
                lives.append(soak.live(third, PAGES // 4))
                third.wait_until_complete(*NAMES)
                at_end = soak.sample(third)
                third.end()
            assert processes_in(soak.home) == set()
        with daemon_of(soak) as served:
            served.wait(lambda: served.daemon.err.count(": complete: nothing is left") == len(NAMES), "list of crawls")
            fresh = soak.sample(served)
            served.end()
    for number, samples in enumerate(lives):
        tell(f"daemon {number + 1}", samples)
    print(f"at the end {at_end}, fresh {fresh}")  # noqa: T201
    assert at_end.open_files <= fresh.open_files + 2
    assert at_end.threads <= MOST_THREADS
    longest, size = lives[0], len(lives[0]) // 3
    middle, last = (statistics.mean(each.memory_mb for each in of) for of in (longest[size:-size], longest[-size:]))
    assert last <= MOST_GROWTH * middle
    for name, web in soak.webs.items():
        assert_counted(soak.home / "crawls" / name, web)


def assert_counted(directory: Path, web: Web) -> None:
    """Each page has a record, and the counters are as many as the records."""
    assert_sound(directory)
    reader, pages, settled = UrlReader(), set[str](), 0
    for place in part_directories(directory) or [directory]:
        newest = {record.number: record for record in read_records(place / "records")}
        settled += len(newest)
        pages |= {
            reader.seed(record.url).canonical
            for record in newest.values()
            if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
        }
    assert pages == web.pages
    status = msgspec.convert(command_here("status", str(directory), "--json").json()["frontier"], dict[str, object])
    assert (status["pending"], status["retrying"]) == (0, 0)
    counted = [status[each] for each in ("done", "failed", "excluded")]
    assert sum(int(str(each)) for each in counted) == settled
