"""What a page costs in a broad crawl as users run it: many hosts with robots.txt and sitemaps, records and archive on.

The simulated web, pages of 8 KB with 40 links, a quarter of them in an encoding that is often not declared; one request
at a time to each host, without delay. Only processor time counts, so other work on the machine disturbs little. What a
second start of the crawl costs, which finds nothing to do, is subtracted.

Each duty is left out in turn, which tells what it costs. A new URL is one of a sitemap that is admitted and not
fetched: a crawl with sitemaps and one without stop after the same number of pages. Scrapy obeys robots.txt, reads no
sitemaps, and writes a feed, but no archive; the crawl that is compared with it reads none either, and writes its
archive.
"""

import statistics
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from crawler.simweb.params import WorldParams, bench_params
from crawler.simweb.process import running
from tests.bench.measured import measured, setting
from tests.bench.report import Options, emit, options, spread, tell

MEANINGS = {
    "cpu_us_per_page": "microseconds of processor time for a page, with all duties",
    "cpu_us_per_new_url": "for a URL that a sitemap lists: read, judged, tested and admitted",
    "archive_us": "of cpu_us_per_page: the archive",
    "robots_us": "robots.txt, and the sitemaps that it names",
    "sitemaps_us": "sitemaps, and guessed places",
    "share_of_small": "processor time for a page of one friendly site without archive, over cpu_us_per_page",
    "ratio_scrapy_broad": "times the pages of Scrapy for the same processor time, sitemaps off, our archive on",
    "scrapy_cpu_us_per_page": "microseconds of processor time for a page of Scrapy",
}
_COMMON = (
    'scope.within="domain"',
    "politeness.min_delay_s=0",
    "politeness.delay_factor=0",
    'fetch.hosts={"*.sim.test" = "127.0.0.1"}',
)
_SMALL = ("politeness.robots=false", "politeness.per_host=16", "output.warc=false", 'visited.backend="bloom"')
_WITHOUT = {
    "archive": "output.warc=false",
    "robots": "politeness.robots=false",
    "sitemaps": "scope.sitemaps=false",
}


class _Web(msgspec.Struct, frozen=True):
    params: WorldParams
    port: int
    place: Path


class _Cost(msgspec.Struct, frozen=True):
    pages: int
    admitted: int
    cpu_s: float

    @property
    def us_per_page(self) -> float:
        return self.cpu_s / self.pages * 1e6


def main(asked: Options) -> dict[str, float]:
    hosts, rounds = (40, 1) if asked.quick else (400, 3)
    broad = WorldParams(
        seed=asked.seed,
        hosts=hosts,
        pages_per_host=25,
        robots_rules=0.5,
        disallowed=0.05,
        sitemap_only=0.1,
        legacy_charsets=0.25,
    )
    small = msgspec.structs.replace(bench_params(1_000 if asked.quick else 4_000), seed=asked.seed)
    long = msgspec.structs.replace(broad, hosts=max(10, hosts // 10), pages_per_host=1_000)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            place = Path(folder) / str(turn)
            place.mkdir()
            figures = _costs(broad, place / "broad") | _of_new_urls(long, place / "long")
            with running(small) as port:
                small_us = _crawl(_Web(small, port, place), "small", _SMALL).us_per_page
            figures["share_of_small"] = small_us / figures["cpu_us_per_page"]
            for name, value in figures.items():
                found.setdefault(name, []).append(value)
            tell(f"round {turn + 1} of {rounds}: {figures['cpu_us_per_page']:,.0f} µs a page")
    for name, values in found.items():
        tell(f"{name}: {spread(values, digits=2)}")
    return {name: statistics.median(values) for name, values in found.items()}


def _costs(params: WorldParams, place: Path) -> dict[str, float]:
    place.mkdir()
    with running(params) as port:
        web = _Web(params, port, place)
        whole = _crawl(web, "whole").us_per_page
        left_out = {name: _crawl(web, name, (setting,)).us_per_page for name, setting in _WITHOUT.items()}
        figures = {"cpu_us_per_page": whole} | {f"{name}_us": whole - cost for name, cost in left_out.items()}
        scrapy = _scrapy(web)
    if scrapy is None:
        return figures
    return figures | {"scrapy_cpu_us_per_page": scrapy, "ratio_scrapy_broad": scrapy / left_out["sitemaps"]}


def _of_new_urls(params: WorldParams, place: Path) -> dict[str, float]:
    place.mkdir()
    with running(params) as port:
        web, limit = _Web(params, port, place), params.hosts * 5
        many = _crawl(web, "many", limit=limit)
        few = _crawl(web, "few", (_WITHOUT["sitemaps"],), limit=limit)
    return {"cpu_us_per_new_url": (many.cpu_s - few.cpu_s) / (many.admitted - few.admitted) * 1e6}


def _crawl(web: _Web, name: str, settings: Sequence[str] = (), *, limit: int | None = None) -> _Cost:
    """A whole crawl without its start, or one that stops after so many pages, with its start."""
    command = ["crawl", "--seed", f"http://h00000.sim.test:{web.port}/", "--dir", str(web.place / name), "--json"]
    command += setting(*_COMMON, *settings)
    if limit is not None:
        out, cpu_s, _ = measured([*command, "--max-pages", str(limit)], ends_with=3)
    else:
        out, cpu_s, _ = measured(command)
        cpu_s -= measured(command)[1]
    status = msgspec.json.decode(out)["status"]
    return _Cost(pages=status["pages"], admitted=status["admitted"], cpu_s=cpu_s)


def _scrapy(web: _Web) -> float | None:
    """Microseconds of processor time for a page of Scrapy, without its start. None if it is not installed."""
    if find_spec("scrapy") is None:
        tell("Scrapy is not installed; its figures are left out")
        return None
    program, seed = "tests.bench.peers.scrapy_crawl", f"http://h00000.sim.test:{web.port}/"
    (web.place / "scrapy").mkdir()
    out, cpu_s, _ = measured([seed, str(web.place / "scrapy"), "sim.test", "--polite"], program=program)
    start_cpu_s = measured([seed, str(web.place / "scrapy"), "sim.test", "--polite"], program=program)[1]
    pages: int = msgspec.json.decode(out)["pages"]
    return (cpu_s - start_cpu_s) / pages * 1e6


if __name__ == "__main__":
    chosen = options(__doc__ or "")
    emit(main(chosen), asked=chosen, packages=("scrapy", "aiohttp", "isal"), meanings=MEANINGS)
