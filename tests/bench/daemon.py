"""What crawls cost under the daemon, against the same crawls begun by hand.

Ten crawls at once, each of one part and of a simulated web of its own: pages of 8 KB with 40 links; LevelDB frontier,
records on, archive off, no delay. Only the processor time of the crawls and of the daemon counts, not that of the
servers. It includes the starts and ends of the crawls. That of the daemon is measured with an empty folder, and
subtracted, because it comes once in months. Once more, with a client that listens to the events of the API and asks for
the list of crawls each second. The three kinds take turns, because the machine may be busy.
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
    "start_s": "CPU time of a start and an end of the daemon",
}
_COMMAND = (sys.executable, "-m", "onceover_crawler")
_LOOK_S = 0.1


class Cost(msgspec.Struct, frozen=True):
    """Processor time of crawls."""

    all_s: float
    own_s: float = 0.0
    """Of the daemon alone."""


def main() -> None:
    asked = options(__doc__ or "")
    pages, rounds = (200, 1) if asked.quick else (1000, 3)
    kinds: dict[str, Callable[[Path], float]] = {
        "by hand": _by_hand,
        "daemon": _in_daemon,
        "asked": partial(_in_daemon, asks=True),
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        webs = [bench_params(pages, pages_per_host=50) for _ in range(CRAWLS)]
        webs = [msgspec.structs.replace(web, domain=f"w{number}.test") for number, web in enumerate(webs)]
        texts = [_configuration(web.domain, stack.enter_context(running(web))) for web in webs]
        starts = [_cost([], _in_daemon) for _ in range(rounds + 2)]
        start_s = statistics.median(each.all_s for each in starts)
        own_start_s = statistics.median(each.own_s for each in starts)
        for number in range(rounds):
            for kind, run in kinds.items():
                cost = _cost(texts, run)
                if kind != "by hand":
                    cost = Cost(cost.all_s - start_s, cost.own_s - own_start_s)
                costs[kind].append(cost)
                each_ms = 1e3 / (CRAWLS * pages)
                of_daemon = f", {cost.own_s * each_ms:.3f} of them the daemon's own" if kind != "by hand" else ""
                tell(f"round {number + 1}, {kind}: {cost.all_s * each_ms:.2f} ms of CPU per page{of_daemon}")
    by_hand, daemon, polled = ([cost.all_s for cost in of] for of in costs.values())
    figures = {
        "daemon_cost": statistics.median(daemon) / statistics.median(by_hand),
        "polled_cost": statistics.median(polled) / statistics.median(daemon),
        "own_share": statistics.median(cost.own_s / cost.all_s for cost in costs["daemon"]),
        "own_share_polled": statistics.median(cost.own_s / cost.all_s for cost in costs["asked"]),
        "cpu_ms_per_page": statistics.median(by_hand) / (CRAWLS * pages) * 1e3,
        "start_s": start_s,
    }
    emit(figures, asked=asked, packages=["aiohttp", "plyvel"], meanings=MEANINGS)


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
        _wait_until(lambda: _answers(home), daemon)
        with _client(home, crawls) if asks else nullcontext():
            _wait_until(lambda: _complete(home) == crawls, daemon)
        own_s = _own_s(daemon.pid)
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
    with _connection(home) as connection:
        while not ended.wait(1.0):
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
