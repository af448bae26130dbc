"""Visited sets, beside those of others: test-and-add per second, memory, and the splitting filter's growth.

All get the same stream of links with the same share of repeats, and answer for each whether it was new. Filters are
made for as many URLs as come, at the same error rate. The figures are for 10^6 URLs, batches of 64 and 50 % repeats
(with `--quick` for 2·10^5); the full run prints a table of all other cases on the way.
"""

import asyncio
import math
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import psutil

from crawler.url.urls import domain_of, host_of
from tests.bench import report
from tests.bench.urls import Stream, real_urls
from visited import LocalSet, Unavailable
from visited.backends import PEERS, descriptor, descriptors
from visited.descriptor import Parameters
from visited.making import make_set
from visited.peers import ForeignSet
from visited.plain import PlainSet

ERROR_RATE = 1e-4

OURS = tuple(each.name for each in descriptors() if each.is_advised and "directory" not in each.needs)
"""The sets in memory that `--advise` knows; the others are the literature's."""


def made(name: str, count: int) -> LocalSet:
    """A set of ours or of another library."""
    # pybloom-live refuses to go beyond its capacity, and counts a little more than comes.
    capacity = count + 1000 if name in PEERS else count
    parameters = Parameters(capacity=capacity, error_rate=ERROR_RATE, site_of=host_of, domain_of=domain_of)
    return make_set(descriptor(name), parameters, {})


def made_peer(name: str, count: int) -> Callable[[Sequence[str]], object]:
    """The library's own call, without our coroutine around it."""
    peer = made(name, count)
    assert isinstance(peer, ForeignSet)
    return peer.add


def peers_here() -> list[str]:
    """The peers that are installed; tells of those that are not."""
    found = []
    for name in PEERS:
        try:
            made(name, 10)
        except Unavailable as error:
            report.tell(f"{name} is not measured: {error}")
        else:
            found.append(name)
    return found


def rates(stream: Stream, count: int, batch: int, *, rounds: int, peers: list[str]) -> dict[str, float]:
    """Median links per second of each over the rounds.

    All get the same links a few thousand at a time, in turns that change: so whatever disturbs the machine disturbs all
    of them, and none has the links warm in the cache more often than the others.
    """
    samples: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, rate in asyncio.run(one_round(stream, count, batch, peers)).items():
            samples.setdefault(name, []).append(rate)
    return {name: statistics.median(each) for name, each in samples.items()}


async def one_round(stream: Stream, count: int, batch: int, peers: list[str]) -> dict[str, float]:
    """Links per second of each."""
    ours = {name: made(name, count) for name in OURS}
    others = {name: made_peer(name, count) for name in peers}
    others["bloom, as PlainSet"] = PlainSet(made("bloom", count)).add_many
    spent_s = dict.fromkeys([*ours, *others], 0.0)
    turns = list(spent_s)
    links = 0
    for batches in stream.batches(batch, at_once=16_384):
        for name in turns:
            if name in ours:
                add_many = ours[name].add_many
                began = time.perf_counter()
                for urls in batches:
                    await add_many(urls)
            else:
                add = others[name]
                began = time.perf_counter()
                for urls in batches:
                    add(urls)
            spent_s[name] += time.perf_counter() - began
        turns = [*turns[1:], turns[0]]
        links += sum(map(len, batches))
    for visited in ours.values():
        await visited.aclose()
    return {name: links / each for name, each in spent_s.items()}


def memory_of(name: str, count: int, seed: int) -> tuple[float, float]:
    """Bytes per URL of a process that holds the set: steady, and at the peak."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_memory_in_this_process, (name, count, seed))


def _memory_in_this_process(name: str, count: int, seed: int) -> tuple[float, float]:
    page = [f"https://www.example.org/a/page/{seed}/of/the/site.html"]
    process = psutil.Process()

    async def fill(distinct: int) -> tuple[int, int, int]:
        """Resident bytes before, after, and at the peak."""
        before = peak = process.memory_info().rss
        visited = made(name, distinct) if name in OURS else None
        add = made_peer(name, distinct) if visited is None else None
        for batches in Stream(page, distinct=distinct, repeats=0.0, seed=seed).batches(64, at_once=4096):
            for urls in batches:
                if visited is not None:
                    await visited.add_many(urls)
                elif add is not None:
                    add(urls)
            peak = max(peak, process.memory_info().rss)
        after = process.memory_info().rss
        if visited is not None:
            await visited.aclose()
        return before, after, peak

    # A first, small one takes what the process itself grows by.
    asyncio.run(fill(10_000))
    before, after, peak = asyncio.run(fill(count))
    return (after - before) / count, (peak - before) / count


def growth_of_dsbf(stream: Stream, runs: int) -> tuple[float, float]:
    """(mean memory over the optimum, ms of the slowest batch of 64) while it grows from 10^4 URLs on.

    The milliseconds are the process's own, the system's work for it included: on a machine that does other things too
    a clock on the wall tells of these. The same batch costs the same in each run; of each batch the fastest run counts.
    """
    times: list[list[float]] = []
    shares: list[float] = []
    for _ in range(runs):
        found = asyncio.run(_grow(stream))
        times.append(found[0])
        shares = found[1]
    return statistics.fmean(shares), max(map(min, zip(*times, strict=True))) * 1000


async def _grow(stream: Stream) -> tuple[list[float], list[float]]:
    visited = made("dsbf", 10_000)
    times, shares, wanted = [], [], 10_000.0
    for batches in stream.batches(64):
        for urls in batches:
            began = time.process_time()
            await visited.add_many(urls)
            times.append(time.process_time() - began)
            if len(visited) >= wanted:
                optimum = len(visited) * math.log2(1 / ERROR_RATE) / math.log(2) / 8
                shares.append(visited.describe().memory_bytes / optimum)
                wanted *= 1.02
    await visited.aclose()
    return times, shares


def main() -> None:
    asked = report.options(sys.modules[__name__].__doc__ or "")
    real = real_urls()
    peers = peers_here()
    count = 200_000 if asked.quick else 1_000_000
    usual = Stream(real, distinct=count, repeats=0.5, seed=asked.seed)
    if not asked.quick:
        tell_all_cases(real, peers, asked.seed)
    found = rates(usual, count, 64, rounds=3, peers=peers)
    for name, rate in found.items():
        report.tell(f"{count:>10,} URLs, batches of 64, 50 % repeats: {name:>20} {rate:>14,.0f} per s")
    exact_memory = tell_memory(peers, count, asked.seed)
    growing = Stream(real, distinct=count if asked.quick else 10_000_000, repeats=0.0, seed=asked.seed)
    over, worst_ms = growth_of_dsbf(growing, runs=2 if asked.quick else 3)
    best_peer = max((found[name] for name in peers), default=math.nan)
    figures = {
        **{f"{name}_per_s": found[name] for name in OURS},
        "best_peer_per_s": best_peer,
        "ratio_best_peer": max(found["bloom"], found["blocked"]) / best_peer,
        "exact_bytes_per_url": exact_memory,
        "dsbf_mean_over_optimum": over,
        "dsbf_worst_batch_ms": worst_ms,
    }
    packages = ("numpy", "mmh3", "rbloom", "fastbloom-rs", "pybloom-live")
    report.emit(figures, asked=asked, packages=packages, meanings=MEANINGS)


MEANINGS = {
    **{f"{name}_per_s": "links per second, test and add" for name in OURS},
    "best_peer_per_s": "the fastest of the others",
    "ratio_best_peer": "the faster of bloom and blocked, over it",
    "exact_bytes_per_url": "by its own account; beside the process's growth above",
    "dsbf_mean_over_optimum": "memory over that of a Bloom filter made for the count, mean",
    "dsbf_worst_batch_ms": "slowest batch of 64 while it grows, CPU time",
}


def tell_memory(peers: list[str], count: int, seed: int) -> float:
    """Print what each costs a process; return what the exact set says of itself."""
    for name in [*OURS, *peers]:
        steady, peak = memory_of(name, count, seed)
        report.tell(f"{count:>10,} URLs: {name:>20} {steady:>8.1f} bytes per URL, {peak:>8.1f} at the peak")

    async def exact() -> float:
        visited = made("exact", count)
        for start in range(0, count, 4096):
            await visited.add_many([f"https://h/{number}" for number in range(start, min(start + 4096, count))])
        return visited.describe().memory_bytes / count

    return asyncio.run(exact())


def tell_all_cases(real: list[str], peers: list[str], seed: int) -> None:
    """Print every size, share of repeats and batch size; of 10^7 URLs, which take minutes, two batch sizes."""
    cases = [
        (count, repeats, batch)
        for count in (100_000, 1_000_000, 10_000_000)
        for repeats in (0.0, 0.5, 0.9)
        for batch in (BATCHES if count < 10_000_000 else (64, 4096))
    ]
    for count, repeats, batch in cases:
        stream = Stream(real, distinct=count if repeats < 0.9 else count // 5, repeats=repeats, seed=seed)
        found = rates(stream, count, batch, rounds=1, peers=peers)
        row = "  ".join(f"{name} {rate / 1e6:.2f}" for name, rate in found.items())
        report.tell(f"{count:>10,} URLs, batches of {batch:>4}, {repeats:.0%} repeats, million per s: {row}")


BATCHES = (1, 40, 64, 512, 4096)

if __name__ == "__main__":
    main()
