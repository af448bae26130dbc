"""What crawls cost under the daemon, against the same crawls begun by hand.

Ten crawls at once, each of one part and of a simulated web of its own: pages of 8 KB with 40 links; LevelDB frontier,
records on, archive off, no delay. Only the processor time of the crawls and of the daemon counts, not that of the
servers. What starts and ends cost is measured on crawls of five pages, and subtracted: it comes once, and is as much as
a thousand pages cost. Once more, with a client that listens to the events of the API and asks for the list of crawls
each second. The three kinds take turns, because the machine may be busy, and those of one round are compared.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from socket import AF_UNIX, SHUT_RDWR, socket
from threading import Event

import msgspec

from crawler.serve.life.facts import Record, Why
from crawler.simweb.params import bench_params
from crawler.simweb.process import running
from tests.bench.report import emit, options, tell

CRAWLS = 10
MEANINGS = {
    "daemon_cost": "CPU time per page under the daemon, in that of the same crawls begun by hand",
    "polled_cost": "CPU time per page under the daemon with a client of its API, in that without",
    "own_share": "what the daemon itself takes of it, without a client",
    "own_share_polled": "the same, with a client",
    "cpu_ms_per_page": "begun by hand",
    "start_cost": "CPU time of a start and an end of ten crawls and the daemon, in that of the crawls begun by hand",
}
_COMMAND = (sys.executable, "-m", "onceover_crawler")
_LOOK_S = 0.1
_FEW = 5
"""Pages of a crawl that does little but start and end."""


class Cost(msgspec.Struct, frozen=True):
    """Processor time of crawls."""

    all_s: float
    own_s: float = 0.0
    """Of the daemon alone."""

    def minus(self, other: "Cost") -> "Cost":
        return Cost(self.all_s - other.all_s, self.own_s - other.own_s)


def main() -> None:
    asked = options(__doc__ or "")
    pages, rounds = (200, 1) if asked.quick else (3000, 5)
    kinds: dict[str, Callable[[Path], float]] = {
        "by hand": _by_hand,
        "daemon": _in_daemon,
        "asked": partial(_in_daemon, asks=True),
    }
    each_ms = 1e3 / (CRAWLS * (pages - _FEW))
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    starts: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        short, long = (
            [stack.enter_context(_served(number, size)) for number in range(CRAWLS)] for size in (_FEW, pages)
        )
        for number in range(rounds):
            for kind, run in kinds.items():
                start = _cost(short, run)
                cost = _cost(long, run).minus(start)
                starts[kind].append(start)
                costs[kind].append(cost)
                of_daemon = f", {cost.own_s * each_ms:.3f} of them the daemon's own" if kind != "by hand" else ""
                tell(f"round {number + 1}, {kind}: {cost.all_s * each_ms:.2f} ms of CPU per page{of_daemon}")
    figures = {
        "daemon_cost": _ratio(costs["daemon"], costs["by hand"]),
        "polled_cost": _ratio(costs["asked"], costs["daemon"]),
        "own_share": statistics.median(cost.own_s / cost.all_s for cost in costs["daemon"]),
        "own_share_polled": statistics.median(cost.own_s / cost.all_s for cost in costs["asked"]),
        "cpu_ms_per_page": statistics.median(cost.all_s for cost in costs["by hand"]) * each_ms,
        "start_cost": _ratio(starts["daemon"], starts["by hand"]),
    }
    emit(figures, asked=asked, packages=["aiohttp", "plyvel"], meanings=MEANINGS)


def _ratio(these: Sequence[Cost], those: Sequence[Cost]) -> float:
    return statistics.median(this.all_s / that.all_s for this, that in zip(these, those, strict=True))


@contextmanager
def _served(number: int, pages: int) -> Iterator[str]:
    """Serves a web of its own, and returns the configuration of a crawl of it."""
    web = msgspec.structs.replace(bench_params(pages, pages_per_host=50), domain=f"w{number}.test")
    with running(web) as port:
        yield _configuration(web.domain, port)


def _configuration(domain: str, port: int) -> str:
    return (
        f'crawl.seeds = ["http://h00000.{domain}/"]\n'
        'scope.within = "domain"\nscope.sitemap_paths = []\n'
        f'fetch.hosts = {{ "*.{domain}" = "127.0.0.1:{port}" }}\n'
        "politeness.min_delay_s = 0.0\npoliteness.delay_factor = 0\noutput.warc = false\n"
    )


def _cost(texts: Sequence[str], run: Callable[[Path], float]) -> Cost:
    """The processor time of all crawls, and of what runs them."""
    with tempfile.TemporaryDirectory(prefix="onceover-bench-") as folder:
        home = Path(folder)
        for number, text in enumerate(texts):
            (home / f"c{number}.toml").write_text(text)
        before = _children_s()
        own_s = run(home)
        return Cost(_children_s() - before, own_s)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _by_hand(home: Path) -> float:
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
    return 0.0


def _in_daemon(home: Path, *, asks: bool = False) -> float:
    """Returns the processor time of the daemon without its crawls."""
    crawls = len(list(home.glob("*.toml")))
    with subprocess.Popen([*_COMMAND, "daemon", str(home)], stderr=subprocess.DEVNULL) as daemon:
        try:
            _wait_until(lambda: _answers(home), daemon)
            with _client(home, crawls) if asks else nullcontext():
                _wait_until(lambda: _complete(home) == crawls, daemon)
            own_s = _own_s(daemon.pid)
        finally:
            daemon.terminate()
    return own_s


def _wait_until(holds: Callable[[], bool], daemon: subprocess.Popen[bytes]) -> None:
    while not holds():
        assert daemon.poll() is None, "the daemon has ended"
        time.sleep(_LOOK_S)


def _own_s(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _complete(home: Path) -> int:
    """How many crawls are complete."""
    records = [msgspec.json.decode(path.read_bytes(), type=Record) for path in home.glob("daemon/crawls/*.json")]
    return sum(each.rest is not None and each.rest.why is Why.COMPLETE for each in records)


@contextmanager
def _client(home: Path, crawls: int) -> Iterator[None]:
    """Listens to events, and asks for the list of crawls each second."""
    ended = Event()
    with _connection(home) as events, ThreadPoolExecutor(2) as threads:
        events.request("GET", "/api/v1/events")
        threads.submit(events.getresponse().read)
        asking = threads.submit(_ask_each_second, home, crawls, ended)
        try:
            yield
        finally:
            ended.set()
            events.sock.shutdown(SHUT_RDWR)
            asking.result()


def _ask_each_second(home: Path, crawls: int, ended: Event) -> None:
    while not ended.wait(1.0):
        # The daemon closes a connection that is idle for long, as it may seem on a busy machine.
        with _connection(home) as connection:
            connection.request("GET", "/api/v1/crawls")
            assert len(msgspec.json.decode(connection.getresponse().read())["crawls"]) == crawls


def _answers(home: Path) -> bool:
    try:
        with _connection(home):
            return True
    except OSError:
        return False


@contextmanager
def _connection(home: Path) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection("localhost")) as connection:
        connection.sock = socket(AF_UNIX)
        connection.sock.connect(str(home / "daemon" / "api"))
        yield connection


if __name__ == "__main__":
    main()
