"""How much memory a crawl takes that waits.

The resident memory (Rss) of a crawl that has fetched the first page of each host of a simulated web and waits for
their rests to end, a quarter of a minute later: of a crawl of one host in one process, and of the larger part of a
crawl of eight hosts in two.
Default settings, but no archive and no robots.txt. Pages of memory that other processes use too count in full; in the
proportional set size (Pss), each process of those that use a page counts its share of it.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.measured import setting
from tests.bench.report import emit, options, tell

MEANINGS = {
    "idle_mb": "resident memory of a crawl that waits after its first page (goal 60)",
    "idle_part_mb": "the same of the larger part of two (goal 60)",
    "idle_part_share_mb": "proportional set size of the larger part of two",
}
_LOADED_AFTER_S = 15.0
"""By then, a crawl has also loaded what answers operators."""
_SETTINGS = (
    'scope.within="any"',
    "scope.sitemap_paths=[]",
    "output.warc=false",
    "politeness.robots=false",
    "politeness.min_delay_s=3600",
    "politeness.max_delay_s=3600",
    "progress.interval_s=1",
)


def main() -> None:
    asked = options(__doc__ or "")
    with tempfile.TemporaryDirectory() as name:
        (one,), parts = (_idle_mb(Path(name) / f"{number}", number, hosts) for number, hosts in ((1, 1), (2, 8)))
    tell(f"parts: {', '.join(f'{resident:.1f}' for resident, _ in parts)} MB")
    resident, shares = map(max, zip(*parts, strict=True))
    figures = {"idle_mb": one[0], "idle_part_mb": resident, "idle_part_share_mb": shares}
    emit(figures, asked=asked, packages=("aiohttp",), meanings=MEANINGS)


def _idle_mb(directory: Path, parts: int, hosts: int) -> list[tuple[float, float]]:
    """Rss and Pss of the process that crawls, or of those of the parts."""
    params = msgspec.structs.replace(bench_params(2 * hosts, pages_per_host=2), domain="test")
    with running(params) as port:
        command = ["--dir", str(directory)]
        for host in range(hosts):
            command += ["--seed", f"http://h{host:05d}.test/"]
        command += setting(*_SETTINGS, f'fetch.hosts={{"*.test" = "127.0.0.1:{port}"}}', f"crawl.parts={parts}")
        with _waiting(command, hosts) as crawl:
            time.sleep(_LOADED_AFTER_S)
            process = psutil.Process(crawl)
            crawling = [process] if parts == 1 else process.children()
            sizes = [each.memory_full_info() for each in crawling]
            return [(each.rss / 1e6, each.pss / 1e6) for each in sizes]


@contextmanager
def _waiting(arguments: list[str], pages: int) -> Iterator[int]:
    """A crawl that has fetched so many pages: its PID."""
    command = [sys.executable, "-m", "onceover_crawler", "crawl", *arguments]
    fetched = f"· {pages} page{'s' if pages > 1 else ''} ·"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if fetched in line:
                break
        else:
            raise AssertionError(f"ended before it had fetched {pages} pages: {''.join(said)}")
        yield process.pid
        process.terminate()
        process.stderr.read()


if __name__ == "__main__":
    main()
