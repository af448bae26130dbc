"""How fast one process crawls, against Scrapy and wget2 on the same pages and core, and against the bare client.

Two sites: the simulated web with pages of 8 KB and 40 links, and Debian's python3-doc with pages of 95 KB, served by
nginx. The crawler runs on one core, the server on the other. LevelDB frontier, Bloom visited set, records on, archive
off but for one run per round; robots.txt off and no delay, as for the others. Only HTML pages count, though this
crawler and wget2 also fetch images, styles and scripts. Rates are by each crawler's own clock, from start to finish;
rounds alternate, and medians are compared. wget2 keeps its queue in memory, and writes each page to a file; where it
isn't installed it is left out.

With `--tls`, it measures other things instead: what TLS costs. See `tests.bench.crawl_tls`.

A third site has a document of each kind that takes long. There it is measured for how long the event loop of this
crawler is held at most; it should be 50 ms.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from crawler.write.records import read_records
from tests.bench import blocked_loop, crawl_tls
from tests.bench.measured import UNHINDERED, setting
from tests.bench.peers.wget2 import WGET2
from tests.bench.report import Options, emit, options, spread, tell
from tests.nginx import NGINX, serving

CRAWLER_CPU, SERVER_CPU = 0, 1
WITH_WARC = "with WARC"
DOCS = Path("/usr/share/doc/python3-doc/html")
MEANINGS = {
    "ratio_scrapy_small": "times Scrapy's rate, pages of 8 KB with 40 links",
    "ratio_scrapy_docs": "times Scrapy's rate, python3-doc",
    "share_of_bare_aiohttp": "of the rate of the bare client that only fetches the same URLs, pages of 8 KB",
    "share_of_bare_aiohttp_docs": "the same for python3-doc",
    "share_of_wget2": "of the rate of wget2, pages of 8 KB",
    "share_of_wget2_docs": "the same for python3-doc",
    "share_with_warc": "of the rate without an archive, pages of 8 KB",
    "share_with_warc_docs": "the same for python3-doc",
    "pages_per_s": "pages of 8 KB",
    "docs_pages_per_s": "pages of python3-doc",
    "peak_mb": "peak resident memory of this crawler, pages of 8 KB",
    "longest_hold_ms": "for which the event loop was held by one of the long documents, or by anything else",
}


class Result(msgspec.Struct, frozen=True):
    """One run of one crawler."""

    pages: int
    seconds: float
    peak_mb: float

    @property
    def rate(self) -> float:
        return self.pages / self.seconds


class Site(msgspec.Struct, frozen=True):
    """What is crawled."""

    name: str
    seed: str
    suffix: str
    hosts: tuple[str, ...]
    port: int
    pages: int


def main() -> None:
    asked = options(__doc__ or "", more={"tls": "measure what TLS costs, instead"})
    packages = ("onceover-crawler", "aiohttp", "uvloop", "selectolax", "scrapy", "twisted", "lxml")
    if "tls" in asked.also:
        emit(crawl_tls.main(asked), asked=asked, packages=packages, meanings=crawl_tls.MEANINGS)
        return
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pages = 1000 if asked.quick else 4000
        params = bench_params(pages)
        hosts = tuple(f"h{number:05}.{params.domain}" for number in range(params.hosts))
        with running(params, cpu=SERVER_CPU) as port:
            site = Site("8 KB pages", f"http://{hosts[0]}:{port}/", params.domain, hosts, port, pages)
            figures |= _figures(_compared(site, directory / "small", asked), ratio="_small")
        figures |= _docs(directory, asked)
        figures |= _holds(directory, asked)
    emit(figures, asked=asked, packages=packages, meanings=MEANINGS)


def _docs(directory: Path, asked: Options) -> dict[str, float]:
    if NGINX is None or not DOCS.is_dir():
        tell("python3-doc or nginx is not installed: apt-get install nginx python3-doc; its figures are left out")
        return {}
    (directory / "nginx").mkdir()
    with serving(DOCS, directory / "nginx", cpu=SERVER_CPU) as port:
        site = Site("python3-doc", f"http://docs.test:{port}/index.html", "docs.test", ("docs.test",), port, 0)
        return _figures(_compared(site, directory / "docs", asked), ratio="_docs", prefix="docs_", suffix="_docs")


def _holds(directory: Path, asked: Options) -> dict[str, float]:
    if NGINX is None:
        return {}
    place, root, domain = directory / "blocked_loop", directory / "long", "long.test"
    place.mkdir()
    root.mkdir()
    with serving(root, place, cpu=SERVER_CPU) as port:
        long = blocked_loop.write_documents(root, domain=domain, port=port)
        settings = (
            *UNHINDERED,
            "politeness.robots=true",
            f'fetch.hosts={{"*.{domain}" = "127.0.0.1"}}',
            "fetch.allow_private=true",
            "output.links=true",
            f"limits.seconds={20 if asked.quick else 60}",
        )
        command = [sys.executable, "-m", "tests.bench.blocked_loop", "crawl", "--seed", f"http://www.{domain}:{port}/"]
        command += ["--dir", str(place / "crawl"), "--json"]
        _run([*command, *setting(*settings)], place, may_end=(0, 3))
    fetched = {record.url.rpartition("/")[2] for record in read_records(place / "crawl" / "records")}
    if missing := long - fetched:
        raise AssertionError(f"not crawled in time: {sorted(missing)}")
    told = (place / "stderr").read_text().rpartition(blocked_loop.WORD)[2]
    tell(f"{blocked_loop.WORD}{told.rstrip()}")
    return {"longest_hold_ms": float(told.split()[0])}


def _compared(site: Site, directory: Path, asked: Options) -> dict[str, list[Result]]:
    """The runs of each crawler, round by round."""
    rounds = 1 if asked.quick else 3
    found: dict[str, list[Result]] = {}
    for number in range(rounds):
        place = directory / str(number)
        place.mkdir(parents=True)
        ours, urls = _onceover(site, place)
        results = {
            "onceover": ours,
            WITH_WARC: _onceover(site, place, warc=True)[0],
            "Scrapy": _peer(place, "scrapy_crawl", site.seed, str(place / "scrapy_crawl"), site.suffix),
            "bare aiohttp": _peer(place, "aiohttp_fetch", str(urls), str(site.port)),
        }
        if WGET2 is not None:
            results["wget2"] = _peer(place, "wget2", site.seed, str(place / "wget2"), str(site.port), *site.hosts)
        told = "; ".join(f"{name} {run.pages} at {run.rate:,.0f}/s" for name, run in results.items())
        tell(f"{site.name}, round {number + 1} of {rounds}: {told}")
        for name, run in results.items():
            found.setdefault(name, []).append(run)
    for name, runs in found.items():
        tell(f"{site.name}: {name} {spread([run.rate for run in runs])} pages/s")
    return found


def _figures(runs: dict[str, list[Result]], *, ratio: str, prefix: str = "", suffix: str = "") -> dict[str, float]:
    ours = runs["onceover"]
    figures = {
        f"ratio_scrapy{ratio}": _ratio(ours, runs["Scrapy"]),
        f"share_of_bare_aiohttp{suffix}": _ratio(ours, runs["bare aiohttp"]),
        f"share_with_warc{suffix}": _ratio(runs[WITH_WARC], ours),
    }
    if "wget2" in runs:
        figures[f"share_of_wget2{suffix}"] = _ratio(ours, runs["wget2"])
    for name, results in runs.items():
        whose = "" if results is ours else f"{name.lower().replace(' ', '_')}_"
        figures[f"{whose}{prefix}pages_per_s"] = statistics.median(run.rate for run in results)
        if name in ("onceover", "Scrapy"):  # The others take less than this benchmark, whose child each run is.
            figures[f"{whose}{prefix}peak_mb"] = max(run.peak_mb for run in results)
    return figures


def _ratio(ours: list[Result], theirs: list[Result]) -> float:
    """The median of the ratios, round by round: so a machine that changes its speed between rounds does not count."""
    return statistics.median(our.rate / their.rate for our, their in zip(ours, theirs, strict=True))


def _onceover(site: Site, place: Path, *, warc: bool = False) -> tuple[Result, Path]:
    directory = place / ("with-warc" if warc else "onceover")
    settings = (
        *UNHINDERED,
        'scope.within="domain"' if site.suffix == "sim.test" else 'scope.within="host"',
        f'fetch.hosts={{"*.{site.suffix}" = "127.0.0.1", "{site.suffix}" = "127.0.0.1"}}',
        f"output.warc={str(warc).lower()}",
    )
    command = [sys.executable, "-c", "from crawler.cli import main; main()", "crawl", "--seed", site.seed]
    command += ["--dir", str(directory), *setting(*settings), "--json"]
    printed, peak_mb = _run(command, place)
    status = json.loads(printed)["status"]
    urls = place / "urls.txt"
    pages = 0
    with urls.open("w", encoding="utf-8") as file:
        for path in sorted((directory / "records").glob("*.jsonl")):
            for line in path.open("rb"):
                record = json.loads(line)
                if record.get("status") == 200 and record.get("content_type") == "text/html":
                    pages += 1
                    file.write(f"{record['url']}\n")
    if site.pages and pages != site.pages:
        raise AssertionError(f"expected {site.pages} pages, crawled {pages}")
    return Result(pages, status["elapsed_s"], peak_mb), urls


def _peer(place: Path, module: str, *arguments: str) -> Result:
    (place / module).mkdir()
    printed, peak_mb = _run([sys.executable, "-m", f"tests.bench.peers.{module}", *arguments], place / module)
    return msgspec.convert({**json.loads(printed), "peak_mb": peak_mb}, Result)


def _run(command: list[str], place: Path, *, may_end: tuple[int, ...] = (0,)) -> tuple[bytes, float]:
    """What a command on the crawler's core printed, and its peak resident memory in MB."""
    pin: Callable[[], None] = lambda: os.sched_setaffinity(0, {CRAWLER_CPU})  # noqa: E731
    with (place / "stderr").open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, preexec_fn=pin)  # noqa: PLW1509
        assert process.stdout is not None
        printed = process.stdout.read()
        process.stdout.close()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode not in may_end:
        raise RuntimeError(f"{command[:4]} failed with {process.returncode}: {(place / 'stderr').read_text()[-2000:]}")
    return printed, usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
