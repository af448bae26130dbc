"""What dead and slow hosts cost the others: a crawl of many hosts, of which a part does not answer, beside one without.

The healthy hosts are the simulated web. Of the others a third refuses connections, a third accepts them and says
nothing, and a third does not even answer to SYN. Figures are from the web's own log: how long the healthy hosts took,
and the gaps between the requests of each.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec

from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from tests.bench.report import Options, emit, options, tell

URLS_PER_DEAD_HOST = 5
TIMEOUT_S = 300.0
MEANINGS = {
    "share_of_rate": "rate of the healthy hosts beside the dead, of that without them; medians of paired runs",
    "alone_pages_per_s": "healthy hosts without dead ones",
    "beside_pages_per_s": "healthy hosts beside dead ones",
    "alone_gap_max_s": "longest gap between two requests of a healthy host, beyond the rest it is given",
    "beside_gap_max_s": "the same, beside dead ones",
    "beside_gap_p99_s": "the 99th percentile of these",
}


class Scale(msgspec.Struct, frozen=True):
    """How many of what."""

    healthy: int
    dead: int
    pages_per_host: int
    delay_s: float
    rounds: int


class Seen(msgspec.Struct, frozen=True):
    """What the healthy hosts saw of one crawl."""

    pages_per_s: float
    over_s: list[float]
    """How much longer than its rest each host waited for each next request."""


def main() -> None:
    asked = options(__doc__ or "")
    scale = Scale(140, 60, 6, 1.0, 1) if asked.quick else Scale(700, 300, 10, 4.0, 3)
    alone, beside = [], []
    with _dead() as places, tempfile.TemporaryDirectory() as name:
        for number in range(scale.rounds):
            alone.append(_crawl(scale, Path(name) / f"alone{number}", None, asked))
            beside.append(_crawl(scale, Path(name) / f"beside{number}", places, asked))
            tell(
                f"round {number + 1} of {scale.rounds}: {alone[-1].pages_per_s:,.1f} pages/s alone, "
                f"{beside[-1].pages_per_s:,.1f} beside dead hosts; longest gaps {max(alone[-1].over_s):.2f} s "
                f"and {max(beside[-1].over_s):.2f} s beyond the rest"
            )
    figures = {
        "share_of_rate": statistics.median(b.pages_per_s / a.pages_per_s for a, b in zip(alone, beside, strict=True)),
        "alone_pages_per_s": statistics.median(each.pages_per_s for each in alone),
        "beside_pages_per_s": statistics.median(each.pages_per_s for each in beside),
        "alone_gap_max_s": statistics.median(max(each.over_s) for each in alone),
        "beside_gap_max_s": statistics.median(max(each.over_s) for each in beside),
        "beside_gap_p99_s": statistics.median(statistics.quantiles(each.over_s, n=100)[98] for each in beside),
    }
    emit(figures, asked=asked, packages=("onceover-crawler", "aiohttp", "uvloop"), meanings=MEANINGS)


@contextmanager
def _dead() -> Iterator[dict[str, str]]:
    """Places that do not answer, by the names of the hosts that lie there."""
    with socket.socket() as refusing, socket.socket() as silent, socket.socket() as deaf:
        refusing.bind(("127.0.0.2", 0))  # and does not listen
        silent.bind(("127.0.0.3", 0))
        silent.listen(4096)  # what is in its line is connected, and hears nothing
        deaf.bind(("127.0.0.4", 0))
        deaf.listen(0)
        crowd = []
        try:
            for _ in range(2):  # its line is full then, and no SYN is answered any more
                waiting = socket.socket()
                waiting.setblocking(False)
                waiting.connect_ex(deaf.getsockname())
                crowd.append(waiting)
            yield {
                f"*.{name}.test": f"{made.getsockname()[0]}:{made.getsockname()[1]}"
                for name, made in (("refusing", refusing), ("silent", silent), ("deaf", deaf))
            }
        finally:
            for waiting in crowd:
                waiting.close()


def _crawl(scale: Scale, directory: Path, places: dict[str, str] | None, asked: Options) -> Seen:
    directory.mkdir()
    params = WorldParams(
        seed=asked.seed,
        hosts=scale.healthy,
        pages_per_host=scale.pages_per_host,
        page_bytes=2_000,
        links_per_page=10,
    )
    log = directory / "log"
    with running(params, log_path=log) as port:
        hosts = {f"*.{params.domain}": f"127.0.0.1:{port}", **(places or {})}
        seeds = [f"http://h{number:05}.{params.domain}/" for number in range(scale.healthy)]
        for number in range(scale.dead if places else 0):
            name = list(places or {})[number % 3].removeprefix("*.")
            seeds += [f"http://d{number}.{name}/{page}" for page in range(URLS_PER_DEAD_HOST)]
        Random(asked.seed).shuffle(seeds)
        (directory / "seeds").write_text("\n".join(seeds))
        pairs = ", ".join(f'"{name}" = "{place}"' for name, place in hosts.items())
        (directory / "crawl.toml").write_text(
            f"""
            [crawl]
            seed_files = ["seeds"]
            [scope]
            within = "domain"
            [politeness]
            min_delay_s = {scale.delay_s}
            max_delay_s = {scale.delay_s}
            [fetch]
            hosts = {{ {pairs} }}
            [output]
            warc = false
            """
        )
        requests = _requests_of_crawl(directory, log, scale.healthy * scale.pages_per_host)
    times: dict[str, list[float]] = {}
    for each in requests:
        times.setdefault(each.host, []).append(each.at_s)
    took_s = max(each.at_s for each in requests) - min(each.at_s for each in requests)
    over_s = [after - before - scale.delay_s for at_s in times.values() for before, after in pairwise(at_s)]
    return Seen(len(requests) / took_s, over_s)


def _requests_of_crawl(directory: Path, log: Path, pages: int) -> list[LogEntry]:
    """Crawl until the healthy hosts have given all their pages: the dead ones would take an hour."""
    command: list[str | Path] = [Path(sys.executable).with_name("onceover"), "crawl", "crawl.toml", "--dir", "crawl"]
    give_up_at = time.monotonic() + TIMEOUT_S
    requests: list[LogEntry] = []
    with (directory / "err").open("wb") as err:
        crawl = subprocess.Popen(command, cwd=directory, stdout=err, stderr=err)
        try:
            while crawl.poll() is None and time.monotonic() < give_up_at:
                time.sleep(0.5)
                requests = [each for each in read_json_lines(log) if each.target != "/robots.txt"]
                if len(requests) >= pages:
                    return requests
        finally:
            crawl.kill()
            crawl.wait()
    raise RuntimeError(f"the healthy hosts gave {len(requests)} of {pages} pages: {(directory / 'err').read_text()}")


if __name__ == "__main__":
    main()
