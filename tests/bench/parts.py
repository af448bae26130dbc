"""What a crawl in parts costs, against the same crawl in one process.

The simulated web has its hosts directly below .test, so each is a registered domain of its own and most links lead to
other parts. Pages of 8 KB with 40 links; LevelDB frontier, Bloom visited set, records on, archive off, no delay. Only
the processor time of the crawler counts, not that of the server. A second start of each crawl, which finds nothing to
do, tells what starting and ending cost; that is subtracted. A share compares crawls that follow each other directly:
what else the machine does makes all of them slower.

The cost of a link is measured on frontiers alone: pages with 40 links to new URLs, which either stay or cross. A
crossing link is paid for by both parts: it is stored, sent, admitted, confirmed and deleted.

With --redis, two parts also crawl with their links going through a Redis of their own, which tells what that took.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import redis

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.measured import measured, setting
from tests.bench.parts_links import cost_of_links
from tests.bench.report import Options, emit, options, spread, tell
from tests.redis_server import running_redis

MEANINGS = {
    "cpu_share_2": "pages per CPU-second with 2 parts, as a share of one process's",
    "cpu_share_4": "the same with 4 parts",
    "cross_link_cost": "CPU time of a link that crosses, in links that stay",
    "pages_per_cpu_s": "one process",
    "part_mb": "peak resident memory of a part, of 2",
    "one_mb": "peak resident memory of one process with the same pages",
    "start_cpu_s": "CPU time of a start and an end with 2 parts, of a complete crawl",
    "cpu_share_redis": "as cpu_share_2, with links through Redis, without the server's own cost",
    "redis_commands_per_page": "by the server's own account, as are the next two",
    "redis_bytes_per_page": "into the server and out of it",
    "redis_cpu_us_per_page": "CPU time of the server, microseconds",
}
_MORE = {"redis": "also crawl with links through Redis"}
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


class ThroughRedis(msgspec.Struct, frozen=True):
    """A crawl with links through Redis, and what the server had to do."""

    cost: Cost
    commands: int
    moved_bytes: int
    cpu_s: float


def main() -> None:
    asked = options(__doc__ or "", more=_MORE)
    pages, rounds = (2_000, 1) if asked.quick else (10_000, 5)
    numbers = (1, 2) if asked.quick else (1, 2, 4)
    costs: dict[int, list[Cost]] = {number: [] for number in numbers}
    through_redis: list[ThroughRedis] = []
    params = msgspec.structs.replace(bench_params(pages, pages_per_host=50), domain="test", seed=asked.seed)
    with running(params) as port, tempfile.TemporaryDirectory() as folder:
        for round_ in range(rounds):
            for number in numbers:
                cost = _crawl(Path(folder) / f"{round_}-{number}", port, number, pages)
                costs[number].append(cost)
                tell(f"{number} parts: {pages / cost.cpu_s:,.0f} pages per CPU-second, {cost.peak_mb:,.0f} MB")
            if "redis" in asked.also:
                through_redis.append(_crawl_through_redis(Path(folder) / f"{round_}-redis", port, pages))
    rates = {number: [pages / cost.cpu_s for cost in of] for number, of in costs.items()}
    for number, of in rates.items():
        tell(f"{number} parts: {spread(of)} pages per CPU-second")
    figures = {}
    for number in numbers[1:]:
        shares = [of_parts / of_one for of_parts, of_one in zip(rates[number], rates[1], strict=True)]
        tell(f"{number} parts: {spread(shares, digits=2)} of one process")
        figures[f"cpu_share_{number}"] = statistics.median(shares)
    if through_redis:
        pairs = zip(through_redis, rates[1], strict=True)
        figures["cpu_share_redis"] = statistics.median(pages / found.cost.cpu_s / of_one for found, of_one in pairs)
        figures["redis_commands_per_page"] = statistics.median(found.commands for found in through_redis) / pages
        figures["redis_bytes_per_page"] = statistics.median(found.moved_bytes for found in through_redis) / pages
        figures["redis_cpu_us_per_page"] = statistics.median(found.cpu_s for found in through_redis) / pages * 1e6
    figures["cross_link_cost"] = _link_cost(asked)
    figures["pages_per_cpu_s"] = statistics.median(rates[1])
    figures["part_mb"] = max(cost.peak_mb for cost in costs[2])
    figures["one_mb"] = max(cost.peak_mb for cost in costs[1])
    figures["start_cpu_s"] = statistics.median(cost.start_cpu_s for cost in costs[2])
    emit(figures, asked=asked, packages=("onceover-crawler", "uvloop"), meanings=MEANINGS)


def _crawl(directory: Path, port: int, parts: int, pages: int, *more: str) -> Cost:
    command = ["crawl", "--seed", "http://h00000.test/", "--dir", str(directory), "--json"]
    command += setting(*_SETTINGS, *more, f'fetch.hosts={{"*.test" = "127.0.0.1:{port}"}}', f"crawl.parts={parts}")
    out, cpu_s, peak_mb = measured(command)
    found = msgspec.json.decode(out)["status"]["pages"]
    if found != pages:
        raise AssertionError(f"{parts} parts: expected {pages} pages, found {found}")
    _, start_cpu_s, _ = measured(command)
    return Cost(cpu_s=cpu_s - start_cpu_s, start_cpu_s=start_cpu_s, peak_mb=peak_mb)


def _crawl_through_redis(directory: Path, port: int, pages: int) -> ThroughRedis:
    with running_redis() as server, redis.Redis.from_url(server.url, decode_responses=True) as client:
        before: dict[str, Any] = client.info("everything")
        more = ('exchange.backend="redis"', f'exchange.url="{server.url}"')
        cost = _crawl(directory, port, 2, pages, *more)
        after: dict[str, Any] = client.info("everything")

    def grown(*names: str) -> float:
        return sum(float(after[name]) - float(before[name]) for name in names)

    return ThroughRedis(
        cost=cost,
        commands=int(grown("total_commands_processed")),
        moved_bytes=int(grown("total_net_input_bytes", "total_net_output_bytes")),
        cpu_s=grown("used_cpu_user", "used_cpu_sys"),
    )


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
