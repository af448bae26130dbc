"""What crawls cost under the daemon, against the same crawls begun by hand.

Ten crawls at once, each of one part and of a simulated web of its own: pages of 8 KB with 40 links; LevelDB frontier,
records on, archive off, no delay. Only the processor time of the crawls and of the daemon counts, with their starts and
ends, not that of the servers. Once more, with the list of crawls asked of the API each second.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from socket import AF_UNIX, socket

import msgspec

from crawler.serve.life.facts import Record, Why
from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.report import emit, options, tell

CRAWLS = 10
MEANINGS = {
    "daemon_cost": "CPU time per page under the daemon, in that of the same crawls begun by hand",
    "polled_cost": "CPU time per page under the daemon whose API is asked each second, in that without",
    "cpu_ms_per_page": "begun by hand",
}
_COMMAND = (sys.executable, "-m", "onceover_crawler")
_LOOK_S = 1.0


def main() -> None:
    asked = options(__doc__ or "")
    pages, rounds = (200, 1) if asked.quick else (3000, 3)
    with ExitStack() as stack:
        webs = [bench_params(pages, pages_per_host=50) for _ in range(CRAWLS)]
        webs = [msgspec.structs.replace(web, domain=f"w{number}.test") for number, web in enumerate(webs)]
        texts = [_configuration(web.domain, stack.enter_context(running(web))) for web in webs]
        by_hand: list[float] = []
        in_daemon: list[float] = []
        polled: list[float] = []
        for number in range(rounds):
            for run, costs in ((_by_hand, by_hand), (_in_daemon, in_daemon), (partial(_in_daemon, asks=True), polled)):
                costs.append(_cpu_s(texts, run) / (CRAWLS * pages))
            told = ", ".join(f"{each[-1] * 1e3:.2f}" for each in (by_hand, in_daemon, polled))
            tell(f"round {number + 1}: ms of CPU per page by hand, in the daemon, asked each second: {told}")
    figures = {
        "daemon_cost": statistics.median(a / b for a, b in zip(in_daemon, by_hand, strict=True)),
        "polled_cost": statistics.median(a / b for a, b in zip(polled, in_daemon, strict=True)),
        "cpu_ms_per_page": statistics.median(by_hand) * 1e3,
    }
    emit(figures, asked=asked, packages=["aiohttp", "plyvel"], meanings=MEANINGS)


def _configuration(domain: str, port: int) -> str:
    return (
        f'crawl.seeds = ["http://h00000.{domain}/"]\n'
        'scope.within = "domain"\nscope.sitemap_paths = []\n'
        f'fetch.hosts = {{ "*.{domain}" = "127.0.0.1:{port}" }}\n'
        "politeness.min_delay_s = 0.0\npoliteness.delay_factor = 0\noutput.warc = false\n"
    )


def _cpu_s(texts: Sequence[str], run: Callable[[Path], None]) -> float:
    """The processor time of all crawls, and of what runs them."""
    with tempfile.TemporaryDirectory(prefix="onceover-bench-") as folder:
        home = Path(folder)
        for number, text in enumerate(texts):
            (home / f"c{number}.toml").write_text(text)
        before = _children_s()
        run(home)
        return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _by_hand(home: Path) -> None:
    crawls = [
        subprocess.Popen(
            [*_COMMAND, "crawl", path.name, "--dir", f"crawls/{path.stem}", "--json"],
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for path in sorted(home.glob("*.toml"))
    ]
    assert [crawl.wait() for crawl in crawls] == [0] * len(crawls)


def _in_daemon(home: Path, *, asks: bool = False) -> None:
    with subprocess.Popen([*_COMMAND, "daemon", str(home)], stderr=subprocess.DEVNULL) as daemon:
        while not _are_complete(home):
            assert daemon.poll() is None
            time.sleep(_LOOK_S)
            if asks:
                _ask(home)
        daemon.terminate()


def _are_complete(home: Path) -> bool:
    records = [msgspec.json.decode(path.read_bytes(), type=Record) for path in home.glob("daemon/crawls/*.json")]
    return sum(each.rest is not None and each.rest.why is Why.COMPLETE for each in records) == CRAWLS


def _ask(home: Path) -> None:
    connection = HTTPConnection("localhost")
    connection.sock = socket(AF_UNIX)
    connection.sock.connect(str(home / "daemon" / "api"))
    connection.request("GET", "/api/v1/crawls")
    assert len(msgspec.json.decode(connection.getresponse().read())["crawls"]) == CRAWLS
    connection.close()


if __name__ == "__main__":
    main()
