"""A crawl takes no more memory however long it lasts, and no more when it is taken up again."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.e2e.crawling import LIMIT, Running, Web, setting, started

HOSTS = 2000
FILLED_PAGES, LONG_PAGES = 200_000, 400_000
"""Memory rose until 90,000 pages in a crawl of 105,000, and hardly after. LevelDB's cache of blocks fills last,
and is given twice as many."""
RESUMED_RUNS, RESUMED_PAGES = 5, 20_000
MOST_MB = 450
"""What all parts of this crawl take when they are full, some 360 MB (docs/frontier.md, "What takes memory"), and a
quarter more for what the allocator keeps."""

_PROGRESS = re.compile(r"· ([\d,]+) pages")


class Sample(msgspec.Struct, frozen=True):
    """What a process took when it had fetched so many pages."""

    pages: int
    anonymous_mb: float


def anonymous_mb(pid: int) -> float:
    """What a process has in memory beside mapped files, which the system takes back when it needs room."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1000


def samples(crawl: Running) -> Iterator[Sample]:
    """One a second, until the process ends."""
    while crawl.process.poll() is None:
        told = _PROGRESS.findall(crawl.err)
        yield Sample(int(told[-1].replace(",", "")) if told else 0, anonymous_mb(crawl.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            crawl.process.wait(1.0)


def crawls(directory: Path, *pages_of_runs: int, hosts: int) -> list[list[Sample]]:
    """A crawl in runs of so many pages each, of a web that has twice as many."""
    params = WorldParams(hosts=hosts, pages_per_host=2 * sum(pages_of_runs) // hosts)
    runs: list[list[Sample]] = []
    with running(params) as port:
        options = [*Web(port, params).options, *setting("politeness.robots=false", 'visited.backend="bloom"')]
        for pages in pages_of_runs:
            again = ["--dir", "crawl", "--max-pages", str(pages)]
            with started("crawl", *(again if runs else [*options, *again]), cwd=directory) as crawl:
                runs.append(list(samples(crawl)))
            assert crawl.process.returncode == LIMIT, crawl.err[-2000:]
    return runs


def peak_mb(run: list[Sample], *, up_to: int | None = None) -> float:
    """The most that a run took, or that it took before so many pages."""
    return max(sample.anonymous_mb for sample in run if up_to is None or sample.pages <= up_to)


@pytest.mark.long
def test_memory_reaches_a_plateau_in_a_long_crawl_and_stays_below_it_when_the_crawl_is_resumed(tmp_path: Path) -> None:
    long, *resumed = crawls(tmp_path, LONG_PAGES, *[RESUMED_PAGES] * RESUMED_RUNS, hosts=HOSTS)
    peaks = [peak_mb(run) for run in (long, *resumed)]
    filled = peak_mb(long, up_to=FILLED_PAGES)
    assert long[-1].pages > FILLED_PAGES
    assert peak_mb(long) <= 1.1 * filled, (filled, peaks)
    assert max(peaks[1:]) <= peak_mb(long), peaks
    assert max(peaks) < MOST_MB, peaks
