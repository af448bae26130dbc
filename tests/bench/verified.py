"""What `visited.verify` takes of a crawl: the processor time with it over that without it, less 1.

Crawls of the simulated web (pages of 8 KB with 40 links, Bloom visited set, LevelDB frontier, records on) come in
pairs, one with and one without, each first in turn; medians of the pairs are told. Once with the cache of recent URLs
as it is by default, and once without it: then every link to a known page is looked up, as in a crawl of very many
pages whose links go anywhere. The time is that of the whole process, compaction included, less that of a crawl of one
page; it depends little on what else the machine does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.measured import UNHINDERED, setting
from tests.bench.report import emit, options, spread, tell

MEANINGS = {
    "cost_by_default": "of a crawl's processor time, behind the cache of recent URLs (limit 0.1)",
    "cost_without_cache": "the same without that cache",
}


def main() -> None:
    asked = options(__doc__ or "")
    pages, pairs = (1000, 3) if asked.quick else (4000, 7)
    figures = {}
    with running(bench_params(pages)) as port:
        for name, settings in (("cost_by_default", ()), ("cost_without_cache", ("visited.recent=0",))):
            start_s = crawled_s(port, (*settings, "limits.pages=1"))
            costs = []
            for number in range(pairs):
                spent_s = {}
                for verify in ("true", "false") if number % 2 else ("false", "true"):
                    spent_s[verify] = crawled_s(port, (*settings, f"visited.verify={verify}")) - start_s
                costs.append(spent_s["true"] / spent_s["false"] - 1)
                tell(
                    f"{name}, pair {number + 1} of {pairs}: {spent_s['false']:.2f} s, verified {spent_s['true']:.2f} s"
                )
            tell(f"{name}: {spread([100 * cost for cost in costs])} %")
            figures[name] = statistics.median(costs)
    emit(figures, asked=asked, packages=("onceover-crawler", "plyvel"), meanings=MEANINGS)


def crawled_s(port: int, settings: tuple[str, ...]) -> float:
    """Seconds of processor time that a crawl took."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", "from crawler.cli import main; main()", "crawl"]
        command += ["--seed", f"http://h00000.sim.test:{port}/", "--dir", str(Path(name) / "crawl")]
        command += setting(*UNHINDERED, *settings)
        with (Path(name) / "printed").open("wb") as printed:
            process = subprocess.Popen(command, stdout=printed, stderr=printed)
            _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        if process.returncode not in (0, 3):
            raise RuntimeError(
                f"a crawl failed with {process.returncode}: {(Path(name) / 'printed').read_text()[-2000:]}"
            )
        return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
