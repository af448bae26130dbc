"""What the compiled scan of pages brings, beside a tree for each page.

Three readers find the same links and metadata on the same pages: lexbor with the scan, which is the default; turbohtml;
and lexbor's tree alone, as where nothing was compiled. Each page is read as a crawl reads it, without judging its
links. Then whole crawls of the simulated web, of 8 KB pages with 40 links each, take turns with the first two, as
`tests.bench.crawl` has them: archive and robots.txt off. Only processor time counts. A ratio is the median of those of
the rounds, so a machine that is busy for a while matters little.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from crawler.cli.run.allocator import settle_allocator
from crawler.page import Page
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lexbor_trees import LexborTrees
from crawler.read.html.turbohtml import turbohtml_extractor
from crawler.read.pages import PageReader
from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.bench.measured import UNHINDERED, setting
from tests.bench.report import Options, emit, options, spread, tell
from tests.conftest import CORPORA
from tests.unit.read.suites import page, real_pages

CRAWLER_CPU, SERVER_CPU = 0, 1
DOCS = Path("/usr/share/doc/python3-doc/html/library")
READERS = {
    "scan": lexbor_extractor().extract,
    "turbohtml": turbohtml_extractor().extract,
    "tree": PageReader(LexborTrees().read).extract,
}
MEANINGS = {
    "ratio_turbohtml_small": "processor time of reading by turbohtml, over that with the scan: pages of 8 KB",
    "ratio_turbohtml_docs": "the same for python3-doc, 95 KB a page",
    "ratio_turbohtml_real": "the same for real pages, 150 KB a page",
    "ratio_tree_small": "lexbor's tree over the scan: pages of 8 KB",
    "ratio_turbohtml_crawl": "the same for whole crawls of pages of 8 KB",
    "scan_crawl_us": "microseconds of processor time for each page of a whole crawl, with the scan",
}


def small_pages(count: int) -> list[Page]:
    """Pages of the simulated web, as a crawl gets them."""
    world = World(bench_params(250))
    urls = UrlReader()
    made = []
    for number in range(count):
        url = world.url(0, number)
        target = urls.seed(url).url.partition("://")[2]
        authority, _, path = target.partition("/")
        reply = world.respond(authority, f"/{path}", attempt=1, accept_encoding="", now=0.0)
        made.append(page(reply.body, url=url, headers=(("Content-Type", reply.header("Content-Type")),)))
    return made


def time_readers(kind: str, pages: Sequence[Page], *, rounds: int) -> dict[str, float]:
    """The figures of one kind of pages."""
    samples: dict[str, list[float]] = {name: [] for name in READERS}
    for number in range(rounds + 1):
        for name, extract in READERS.items():
            started = time.process_time()
            for each in pages:
                extract(each)
            # The first round warms up.
            if number:
                samples[name].append((time.process_time() - started) / len(pages) * 1e6)
    size = sum(len(each.body) for each in pages) / len(pages) / 1000
    figures = {}
    for name, spent in samples.items():
        tell(f"{kind}, {len(pages)} pages of {size:.1f} KB: {name:>9} {spread(spent)} µs a page")
        figures[f"{name}_{kind}_us"] = statistics.median(spent)
        if name != "scan":
            pairs = zip(spent, samples["scan"], strict=True)
            figures[f"ratio_{name}_{kind}"] = statistics.median(other / scan for other, scan in pairs)
    return figures


def time_crawls(asked: Options) -> dict[str, float]:
    """The figures of whole crawls."""
    pages = 1000 if asked.quick else 4000
    rounds = 1 if asked.quick else 5
    samples: dict[str, list[float]] = {"lexbor": [], "turbohtml": []}
    with tempfile.TemporaryDirectory() as name, running(bench_params(pages), cpu=SERVER_CPU) as port:
        for number in range(rounds):
            for extractor, spent in samples.items():
                place = Path(name) / f"{extractor}{number}"
                spent.append(_crawl(f"http://h00000.sim.test:{port}/", extractor, place, pages) / pages * 1e6)
    for extractor, spent in samples.items():
        tell(f"crawl of {pages} pages, {extractor}: {spread(spent)} µs a page, with the start")
    pairs = zip(samples["turbohtml"], samples["lexbor"], strict=True)
    return {
        "scan_crawl_us": statistics.median(samples["lexbor"]),
        "ratio_turbohtml_crawl": statistics.median(other / scan for other, scan in pairs),
    }


def _crawl(seed: str, extractor: str, place: Path, pages: int) -> float:
    """Processor seconds of one crawl."""
    command = [sys.executable, "-c", "from crawler.cli import main; main()", "crawl", "--seed", seed, "--json"]
    command += ["--dir", str(place), *setting(*UNHINDERED, f'fetch.extractor="{extractor}"')]
    pin: Callable[[], None] = lambda: os.sched_setaffinity(0, {CRAWLER_CPU})  # noqa: E731
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pin)  # noqa: PLW1509
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    crawled = sum(record.status == 200 for record in read_records(place / "records"))
    if process.returncode or crawled < pages:
        raise RuntimeError(f"expected {pages} pages, crawled {crawled}; the crawl ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    asked = options(__doc__ or "")
    settle_allocator()
    rounds = 3 if asked.quick else 9
    figures = time_readers("small", small_pages(100), rounds=rounds)
    if DOCS.is_dir():
        docs = [page(file.read_bytes()) for file in sorted(DOCS.glob("*.html"))[:100]]
        figures |= time_readers("docs", docs, rounds=rounds)
    else:
        tell("python3-doc is not installed: apt-get install python3-doc; its figures are left out")
    if CORPORA.is_dir():
        real = [each for _, each in real_pages(CORPORA)]
        figures |= time_readers("real", real[:: 8 if asked.quick else 1], rounds=rounds // 3)
    else:
        tell(f"no corpora at {CORPORA}: the figures of real pages are left out")
    figures |= time_crawls(asked)
    emit(figures, asked=asked, packages=("selectolax", "turbohtml"), meanings=MEANINGS)


if __name__ == "__main__":
    main()
