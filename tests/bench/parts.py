"""What a crawl in parts costs, against the same crawl in one process.

The simulated web has its hosts directly below .test, so each is a registered domain of its own and most links lead to
other parts. Pages of 8 KB with 40 links; LevelDB frontier, Bloom visited set, records on, archive off, no delay. Only
the processor time of the crawler counts, not that of the server. A second start of each crawl, which finds nothing to
do, tells what starting and ending cost; that is subtracted. A share compares crawls that follow each other directly:
what else the machine does makes all of them slower.

The cost of a link is measured on frontiers alone: pages with 40 links to new URLs, which either stay or cross. A
crossing link is paid for by both parts: it is stored, sent, admitted, confirmed and deleted.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.measured import measured
from tests.bench.parts_links import cost_of_links
from tests.bench.report import Options, emit, options, spread, tell

MEANINGS = {
    "cpu_share_2": "pages per CPU-second with 2 parts, as a share of one process's",
    "cpu_share_4": "the same with 4 parts",
    "cross_link_cost": "CPU time of a link that crosses, in links that stay",
    "pages_per_cpu_s": "one process",
    "part_mb": "peak resident memory of a part, of 2",
    "one_mb": "peak resident memory of one process with the same pages",
    "start_cpu_s": "CPU time of a start and an end with 2 parts, of a complete crawl",
}
_SETTINGS = (
    'scope.within="any"',
    "politeness.robots=false",
    "politeness.min_delay_s=0",
    "politeness.delay_factor=0",
    'visited.backend="bloom"',
    "visited.capacity=1_000_000",
    "output.warc=false",
    "scope.sitemap_paths=[]",
)


class Cost(msgspec.Struct, frozen=True):
    """A crawl of some pages."""

    cpu_s: float
    """Of the crawl, without what a start and an end cost."""
    start_cpu_s: float
    peak_mb: float
    """Of the largest process."""


def main() -> None:
    asked = options(__doc__ or "")
    pages, rounds = (2_000, 1) if asked.quick else (10_000, 5)
    numbers = (1, 2) if asked.quick else (1, 2, 4)
    costs: dict[int, list[Cost]] = {number: [] for number in numbers}
    params = msgspec.structs.replace(bench_params(pages, pages_per_host=50), domain="test", seed=asked.seed)
    with running(params) as port, tempfile.TemporaryDirectory() as folder:
        for round_ in range(rounds):
            for number in numbers:
                cost = _crawl(Path(folder) / f"{round_}-{number}", port, number, pages)
                costs[number].append(cost)
                tell(f"{number} parts: {pages / cost.cpu_s:,.0f} pages per CPU-second, {cost.peak_mb:,.0f} MB")
    rates = {number: [pages / cost.cpu_s for cost in of] for number, of in costs.items()}
    for number, of in rates.items():
        tell(f"{number} parts: {spread(of)} pages per CPU-second")
    figures = {}
    for number in numbers[1:]:
        shares = [of_parts / of_one for of_parts, of_one in zip(rates[number], rates[1], strict=True)]
        tell(f"{number} parts: {spread(shares, digits=2)} of one process")
        figures[f"cpu_share_{number}"] = statistics.median(shares)
    figures["cross_link_cost"] = _link_cost(asked)
    figures["pages_per_cpu_s"] = statistics.median(rates[1])
    figures["part_mb"] = max(cost.peak_mb for cost in costs[2])
    figures["one_mb"] = max(cost.peak_mb for cost in costs[1])
    figures["start_cpu_s"] = statistics.median(cost.start_cpu_s for cost in costs[2])
    emit(figures, asked=asked, packages=("onceover-crawler", "uvloop"), meanings=MEANINGS)


def _crawl(directory: Path, port: int, parts: int, pages: int) -> Cost:
    options_ = [*_SETTINGS, f'fetch.hosts={{"*.test" = "127.0.0.1:{port}"}}', f"crawl.parts={parts}"]
    command = ["crawl", "--seed", "http://h00000.test/", "--dir", str(directory), "--json"]
    command += [part for setting in options_ for part in ("--set", setting)]
    out, cpu_s, peak_mb = measured(command)
    found = msgspec.json.decode(out)["status"]["pages"]
    if found != pages:
        raise AssertionError(f"{parts} parts: expected {pages} pages, found {found}")
    _, start_cpu_s, _ = measured(command)
    return Cost(cpu_s=cpu_s - start_cpu_s, start_cpu_s=start_cpu_s, peak_mb=peak_mb)


def _link_cost(asked: Options) -> float:
    pages, rounds = (500, 3) if asked.quick else (2_000, 5)
    ratios: list[float] = []
    for _ in range(rounds):
        costs = {}
        for crosses in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                before = time.process_time()
                asyncio.run(cost_of_links(Path(folder), pages, crosses=crosses))
                costs[crosses] = time.process_time() - before
        ratios.append(costs[True] / costs[False])
    tell(f"a link that crosses costs {spread(ratios, digits=2)} times one that stays")
    return statistics.median(ratios)


if __name__ == "__main__":
    main()
