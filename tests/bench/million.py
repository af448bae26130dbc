"""A crawl of a million pages: does it keep its rate, stay small, and lose nothing though it is killed five times?

    python -m tests.bench.million [--quick] [--pages N] [--json]

The simulated web: ten pages of 8 KB on each host, 40 links each; default outputs, no delay. The crawl is killed
(SIGKILL) after about 1, 3, 5, 7 and 9 tenths of the URLs, and started again. Rates are by processor time, from the
first new record of a process on: what a start costs is told apart. The first tenths cost more, because they do more:
each host is asked for robots.txt, and nearly all URLs are found. So `growth` leaves them out. At the end, the records
must have exactly the pages and sitemaps of the web; otherwise the benchmark fails.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.write.records import read_records
from tests.bench.measured import setting
from tests.bench.report import Options, emit, tell

PAGES_PER_HOST = 10
LOOK_EVERY_S = 0.2
KILLED_AT = (1, 3, 5, 7, 9)
"""Tenths."""
MEANINGS = {
    "pages": "of the web",
    "slowest_tenth": "processor time for a URL in the cheapest tenth, over that in the dearest",
    "last_tenth": "processor time for a URL in the first tenth, over that in the last",
    "growth": "processor time for a URL in the last tenth, over the median from the third tenth on",
    **{f"cpu_us_tenth_{tenth}": "microseconds of processor time for a URL" for tenth in range(1, 11)},
    "peak_mb": "peak resident memory of any of the processes",
    "kills": "how often it was killed",
    "longest_start_s": "processor time from a start to its first new record",
    "written_again": "records of pages that were in flight at a kill, and were written twice",
}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class _Records:
    """Counts the records of a crawl while it writes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[Path, int] = {}
        self.count = 0

    def look(self) -> int:
        for path in self._directory.glob("*.jsonl"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                while piece := file.read(1 << 20):
                    self.count += piece.count(b"\n")
                self._read[path] = file.tell()
        return self.count


class _Process:
    """One run of the crawl."""

    def __init__(self, command: list[str]) -> None:
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
        self.peak_mb = 0.0

    def cpu_s(self) -> float:
        """Of the process so far; as a whole once it has ended."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    @property
    def runs(self) -> bool:
        # It is waited for, but not reaped: `cpu_s` can still be read.
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)

    def reap(self) -> int:
        _, status, usage = os.wait4(self._process.pid, 0)
        self.peak_mb = usage.ru_maxrss / 1000
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode


def main(pages: int, *, seed: int) -> dict[str, float]:
    params = WorldParams(seed=seed, hosts=pages // PAGES_PER_HOST, pages_per_host=PAGES_PER_HOST)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "crawl"
        with running(params) as port:
            command = [sys.executable, "-m", "onceover_crawler", "crawl", "--dir", str(directory), "--json"]
            command += ["--seed", f"http://h00000.sim.test:{port}/"]
            command += setting(
                'scope.within="domain"',
                "politeness.min_delay_s=0",
                "politeness.delay_factor=0",
                'fetch.hosts={"*.sim.test" = "127.0.0.1"}',
                f"visited.capacity={2 * pages}",
            )
            expected = {item.url for item in World(params).expected(sitemaps=True, port=port)}
            figures = {"pages": float(pages)} | _crawled(command, directory, len(expected))
        return figures | _compared(directory, expected)


def _crawled(command: list[str], directory: Path, urls: int) -> dict[str, float]:
    records, kills_left = _Records(directory / "records"), [urls * tenth // 10 for tenth in KILLED_AT]
    costs_s, counts, starts_s, peaks_mb = [0.0] * 10, [0] * 10, list[float](), list[float]()
    while True:
        open_mb = sum(path.stat().st_size for path in directory.glob("warc/*.open")) / 1e6
        before, process, seen_s, seen = records.look(), _Process(command), None, 0
        is_killed = False
        while True:
            runs = process.runs
            count, cpu_s = records.look(), process.cpu_s()
            if seen_s is None and count > before:
                starts_s.append(cpu_s)
                tell(f"started with an open archive of {open_mb:.0f} MB, in {cpu_s:.1f} s of processor time")
            elif seen_s is not None and count > seen:
                tenth = min(9, seen * 10 // urls)
                costs_s[tenth] += cpu_s - seen_s
                counts[tenth] += count - seen
            if count > before:
                seen_s, seen = cpu_s, count
            if not runs:
                break
            if kills_left and count >= kills_left[0] and not is_killed:
                is_killed = True
                process.kill()
            time.sleep(LOOK_EVERY_S)
        code = process.reap()
        peaks_mb.append(process.peak_mb)
        if not is_killed:
            if code != 0:
                raise AssertionError(f"the crawl ended with {code}, expected 0")
            break
        del kills_left[0]
        tell(f"killed after {records.count:,} records, {process.peak_mb:.0f} MB")
    us = [cost / max(1, count) * 1e6 for cost, count in zip(costs_s, counts, strict=True)]
    return {
        **{f"cpu_us_tenth_{tenth}": value for tenth, value in enumerate(us, 1)},
        "slowest_tenth": min(us) / max(us),
        "last_tenth": us[0] / us[-1],
        "growth": us[-1] / statistics.median(us[2:]),
        "peak_mb": max(peaks_mb),
        "kills": len(peaks_mb) - 1,
        "longest_start_s": max(starts_s),
    }


def _compared(directory: Path, expected: set[str]) -> dict[str, float]:
    """Raises `AssertionError` if the records have other URLs than the web."""
    written, found = 0, set[str]()
    for record in read_records(directory / "records"):
        written += 1
        found.add(record.url)
    if found != expected:
        missing, more = sorted(expected - found), sorted(found - expected)
        raise AssertionError(f"{len(missing)} pages are missing: {missing[:5]}; {len(more)} are too many: {more[:5]}")
    return {"written_again": written - len(found)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a thousand pages")
    parser.add_argument("--pages", type=int, default=1_000_000, help="how many; a multiple of ten")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object on stdout, nothing else")
    parser.add_argument("--seed", type=int, default=1, help="of the web")
    chosen = parser.parse_args()
    asked = Options(quick=chosen.quick, as_json=chosen.as_json, seed=chosen.seed)
    found = main(1_000 if chosen.quick else chosen.pages, seed=chosen.seed)
    emit(found, asked=asked, packages=("aiohttp", "plyvel", "uvloop"), meanings=MEANINGS)
