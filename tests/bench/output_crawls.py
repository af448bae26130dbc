"""What output costs a whole crawl: pages per second with records, archive and its index, against a crawl without them.

The simulated web with pages of 8 KB and 40 links, no delay. A second start of each crawl, which finds nothing to do,
tells what starting and ending cost; that is subtracted. Crawls with and without output follow each other directly, and
a share compares two such neighbours.
"""

import statistics
import tempfile
from pathlib import Path

import msgspec

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.measured import UNHINDERED, measured, setting
from tests.bench.report import Options, spread, tell

MEANINGS = {
    "share_with_warc": "of the rate without output, with records, archive and its index",
    "cpu_share_with_warc": "the same by processor time",
    "share_with_records": "of the rate without output, with records alone",
    "cpu_share_with_records": "the same by processor time",
}
_OUTPUTS = {
    "none": ("output.records=false", "output.warc=false"),
    "records": ("output.records=true", "output.warc=false"),
    "warc": ("output.records=true", "output.warc=true", "output.warc_index=true"),
}


class _Crawl(msgspec.Struct, frozen=True):
    rate: float
    """Pages per second, by the crawl's own clock."""
    cpu_rate: float
    """Pages per second of processor time."""


def shares(asked: Options) -> dict[str, float]:
    """The figures in `MEANINGS`."""
    pages, rounds = (1_000, 3) if asked.quick else (6_000, 5)
    params = msgspec.structs.replace(bench_params(pages), seed=asked.seed)
    found: dict[str, list[_Crawl]] = {name: [] for name in _OUTPUTS}
    with running(params) as port, tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for name, output in _OUTPUTS.items():
                found[name].append(_crawl(Path(folder) / f"{turn}-{name}", port, output, pages))
    for name, crawls in found.items():
        tell(f"output {name}: {spread([each.rate for each in crawls])} pages/s")
    figures = {}
    for name in ("warc", "records"):
        pairs = list(zip(found[name], found["none"], strict=True))
        figures[f"share_with_{name}"] = statistics.median(some.rate / none.rate for some, none in pairs)
        figures[f"cpu_share_with_{name}"] = statistics.median(some.cpu_rate / none.cpu_rate for some, none in pairs)
    return figures


def _crawl(directory: Path, port: int, output: tuple[str, ...], pages: int) -> _Crawl:
    command = ["crawl", "--seed", f"http://h00000.sim.test:{port}/", "--dir", str(directory), "--json"]
    command += setting(*UNHINDERED, *output)
    out, cpu_s, _ = measured(command)
    status = msgspec.json.decode(out)["status"]
    if status["pages"] != pages:
        raise AssertionError(f"{output}: expected {pages} pages, found {status['pages']}")
    _, start_cpu_s, _ = measured(command)
    return _Crawl(rate=pages / status["elapsed_s"], cpu_rate=pages / (cpu_s - start_cpu_s))
