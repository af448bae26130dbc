"""Very many hosts over TLS, each with a delay: does the crawl ask each as soon as it may?

A host is late from the moment at which it could have been asked again until it is. That is no fault while the core is
full. So a host's time is lost only if it is late while the crawl's main thread sleeps: the share is the part of the
hosts' time that is not lost. The kernel tells for each moment whether the thread ran, or waited for a core that others
had (`/proc/PID/schedstat`), so this can be measured on a machine that is busy.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec

from crawler.page import PageRecord
from crawler.simweb.params import WorldParams
from crawler.simweb.process import Connections, running
from crawler.url.urls import host_of
from crawler.write.records import read_records
from tests.bench.measured import UNHINDERED, measured, setting
from tests.bench.report import Options, tell

CASES = ((200, 1), (500, 1), (1_000, 4), (2_000, 8), (10_000, 40))
"""Hosts, and their delay in seconds."""
QUICK_CASES = ((500, 1), (2_000, 8))
_EVERY_S = 0.25
_FULL = 0.95
"""Of a moment, for which the thread ran or waited for the core: then the core is full."""
_MEANINGS = {
    "share": "of their time, in which they are not late while the core has time left",
    "pages_per_s": "pages of 8 KB, in all that time",
    "late_s": "at the median, after the delay and the last fetch",
    "load": "of a core, including the time for which others had it",
    "handshakes_per_page": "there",
    "peak_mb": "peak resident memory there",
}
MEANINGS = {
    f"hosts_{hosts}_{name}": f"{hosts:,} hosts with {delay_s} s of delay: {meaning}"
    for hosts, delay_s in CASES
    for name, meaning in _MEANINGS.items()
}


class Moment(msgspec.Struct, frozen=True):
    """A time in seconds since 1970, and for how long the thread had run, or waited for the core, until then."""

    at: float
    busy_s: float


class Fetch(msgspec.Struct, frozen=True):
    host: str
    began: float
    """Seconds since 1970."""
    ended: float


def main(asked: Options, place: Path, certificate: Path, authority: Path) -> dict[str, float]:
    """`certificate` is that of the servers, and `authority` that of who has signed it."""
    figures: dict[str, float] = {}
    for hosts, delay_s in QUICK_CASES if asked.quick else CASES:
        directory = place / f"{hosts} hosts"
        params = WorldParams(seed=asked.seed, hosts=hosts, pages_per_host=100, https=True)
        seeds = place / f"{hosts} seeds.txt"
        with running(params, connections=Connections(certificate=certificate)) as port:
            seeds.write_text("".join(f"https://h{number:05}.sim.test:{port}/\n" for number in range(1, hosts)))
            command = ["crawl", "--seed", f"https://h00000.sim.test:{port}/", "--dir", str(directory), "--json"]
            more = (
                f'fetch.authorities=["{authority}"]',
                "politeness.per_host=1",
                f"politeness.min_delay_s={delay_s}",
                "politeness.max_delay_s=60",
                "fetch.concurrency=128",
                f'crawl.seed_files=["{seeds}"]',
                f"limits.seconds={max(25, 3 * delay_s)}",
            )
            command += setting(*UNHINDERED, *more)
            moments: list[Moment] = []
            out, _, peak_mb = measured(command, ends_with=3, watch=partial(_watch, moments))
        status = msgspec.json.decode(out)["status"]
        fetches = sorted(_fetches(read_records(directory / "records")), key=lambda each: each.began)
        elapsed_s = fetches[-1].ended - fetches[0].began
        late = sorted(late_s for _, late_s in _waits(fetches, delay_s))
        found = {
            "share": share_used(fetches, moments, delay_s=delay_s),
            "pages_per_s": len(fetches) / elapsed_s,
            "late_s": late[len(late) // 2],
            "load": (moments[-1].busy_s - moments[0].busy_s) / (moments[-1].at - moments[0].at),
            "handshakes_per_page": status["connections"]["tls_handshakes"] / status["pages"],
            "peak_mb": peak_mb,
        }
        for name, value in found.items():
            figures[f"hosts_{hosts}_{name}"] = value
        tell(f"{hosts:,} hosts, {delay_s} s: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()))
    return figures


def share_used(fetches: Sequence[Fetch], moments: Sequence[Moment], *, delay_s: float) -> float:
    """The part of the hosts' time in which they were not late, or the core was full. `fetches` in the order in which
    they began."""
    times = [moment.at for moment in moments]
    spare = [0.0]  # until each moment, for how long the core was not full
    for before, after in pairwise(moments):
        span_s = after.at - before.at
        spare.append(spare[-1] + (span_s if after.busy_s - before.busy_s < _FULL * span_s else 0.0))

    def spare_until(at: float) -> float:
        number = bisect_right(times, at) - 1
        if number < 0 or number + 1 >= len(times):
            return spare[max(number, 0)]
        part = (at - times[number]) / (times[number + 1] - times[number])
        return spare[number] + part * (spare[number + 1] - spare[number])

    total_s = lost_s = 0.0
    for began, late_s in _waits(fetches, delay_s):
        total_s += late_s + delay_s
        lost_s += spare_until(began) - spare_until(began - late_s)
    return 1 - lost_s / total_s


def _waits(fetches: Iterable[Fetch], delay_s: float) -> Iterable[tuple[float, float]]:
    """When a host was asked again, and for how long it could have been asked before that."""
    ended: dict[str, float] = {}
    for fetch in fetches:
        if (before := ended.get(fetch.host)) is not None:
            yield fetch.began, max(fetch.began - before - delay_s, 0.0)
        ended[fetch.host] = fetch.ended


def _fetches(records: Iterable[PageRecord]) -> Iterable[Fetch]:
    for record in records:
        if record.fetched_at is not None:
            began = datetime.fromisoformat(record.fetched_at).timestamp()
            yield Fetch(host_of(record.url), began, began + (record.duration_s or 0.0))


def _watch(found: list[Moment], pid: int) -> None:
    def watch() -> None:
        while True:
            try:
                ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
            except OSError:
                return
            found.append(Moment(time.time(), (int(ran) + int(waited)) / 1e9))
            time.sleep(_EVERY_S)

    threading.Thread(target=watch, daemon=True).start()
