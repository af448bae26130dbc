"""What the frontier does in a second, how that changes as it grows, and what it takes of memory, disk and loop.

URLs come by pages of 40 links, each one `add`, with ledger, journal and visited set. Rates are of one process with an
event loop of its own: LevelDB's compaction runs beside it, in a thread. The visited set is exact and in memory, as it
is by default, so that nothing is lost in it; sizes are of the full run, and a tenth of that with `--quick`.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import msgspec
import psutil
import uvloop

from frontier import CrawlUrl, Outcome, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from tests.bench.report import Options, emit, options, spread, tell
from visited.digests.exact import ExactSet

LINKS = 40
DONE = Outcome(state=UrlState.DONE, status=200, fetched_at=1.7e9, digest=b"0" * 20)
MEANINGS = {
    "admit_new_per_s": "URLs admitted, all new (goal 75,000)",
    "admit_90_repeat_per_s": "links added, nine of ten of them known (goal 250,000)",
    "lease_done_per_s": "URLs leased and settled (goal 25,000)",
    "growth_ratio": "worst rate over best as pending URLs grow, the lesser of admitting and leasing (goal 0.8)",
    "hosts_ratio": "the same, from 10 to 10^6 hosts",
    "open_10m_s": "to open 10^7 pending URLs on 10^5 hosts (goal 5)",
    "rss_1m_hosts_mb": "resident memory with 10^6 hosts, of which some were fetched from (goal 400)",
    "bytes_per_url": "on disk, ledger and pending entry",
    "stall_p99_ms": "how late a timer of the loop fires under load (goal 20)",
    "stall_max_ms": "the latest",
}


class Admission(msgspec.Struct):
    """What it took to admit URLs."""

    rates: list[float] = []
    """URLs per second, of ten equal parts."""
    loop_s: float = 0.0
    """Processor time of the thread that admits."""
    beside_s: float = 0.0
    """That of all others, which compact."""


class Rates(msgspec.Struct, frozen=True):
    """Of one frontier: URLs per second, microseconds of processor time and bytes per URL, seconds and megabytes."""

    admit: float
    admit_worst: float
    """Of ten equal parts of the admission, the slowest."""
    loop_us: float
    beside_us: float
    lease_done: float
    lease_us: float
    bytes_per_url: float
    open_s: float
    rss_mb: float


def pages(urls: int, hosts: int, seed: int) -> Iterator[list[CrawlUrl]]:
    """Pages of links, all new: a page links to three hosts, as pages do, so that all hosts come up again and again."""
    chance = random.Random(seed)
    number = 0
    while number < urls:
        near = [number // LINKS % hosts, chance.randrange(hosts), chance.randrange(hosts)]
        if urls < hosts * 3:
            near = list(range(number, number + LINKS))
        via = f"https://www.host{near[0]}.example/section/{number // 1000}/index.html"
        found = []
        for place in range(min(LINKS, urls - number)):
            host = near[place % len(near)] % hosts
            url = f"https://www.host{host}.example/section/{number // 1000}/page-{number}.html"
            found.append(
                CrawlUrl(
                    url=url,
                    canonical=url,
                    queue_key=f"example,host{host},www",
                    depth=3,
                    via=via,
                    anchor="Read more about it",
                    precedence=3,
                )
            )
            number += 1
        yield found


async def opened(directory: Path) -> QueueFrontier:
    store = LevelDBStore(directory / "frontier", Terms(identity={}))
    return await QueueFrontier.open(store, ExactSet(), snapshots=Snapshots(directory / "visited", every=250_000))


async def filled(frontier: QueueFrontier, urls: int, hosts: int, seed: int) -> Admission:
    """Admit the URLs. Making the links is not counted."""
    took = Admission()
    beside_s = time.process_time() - time.thread_time()
    coming = pages(urls, hosts, seed)
    for _ in range(10):
        spent_s, count = 0.0, 0
        while count < urls // 10:
            made = [page for page, _ in zip(coming, range(250), strict=False)]
            if not made:
                break
            began, began_loop = time.perf_counter(), time.thread_time()
            for page in made:
                await frontier.add(page)
            spent_s += time.perf_counter() - began
            took.loop_s += time.thread_time() - began_loop
            count += sum(map(len, made))
        took.rates.append(count / spent_s)
    took.beside_s = time.process_time() - time.thread_time() - beside_s
    return took


async def worked_off(frontier: QueueFrontier, urls: int) -> float:
    """Lease and settle, 64 at a time, at no delay: URLs per second."""
    began = time.perf_counter()
    for _ in range(urls // 64):
        leases = [await anext(frontier) for _ in range(64)]
        for lease in leases:
            await frontier.done(lease, cooldown_s=0.0, outcome=DONE)
    return urls // 64 * 64 / (time.perf_counter() - began)


async def _rates(name: str, urls: int, hosts: int, seed: int, *, quick: bool) -> Rates:
    directory = Path(name)
    frontier = await opened(directory)
    admit = await filled(frontier, urls, hosts, seed)
    size = sum(path.stat().st_size for path in (directory / "frontier").iterdir())
    await frontier.aclose()
    began = time.perf_counter()
    frontier = await opened(directory)
    open_s = time.perf_counter() - began
    count = min(urls // 2, 100_000)
    began_loop = time.thread_time()
    rate = await worked_off(frontier, count) if hosts >= 64 else await _few_hosts(frontier, count)
    lease_us = (time.thread_time() - began_loop) / count * 1e6
    if hosts >= 1_000_000 and not quick:
        await worked_off(frontier, urls // 2 - count)
    rss = psutil.Process().memory_info().rss / 1e6
    await frontier.aclose()
    return Rates(
        admit=urls / sum(urls / 10 / each for each in admit.rates),
        admit_worst=min(admit.rates),
        loop_us=admit.loop_s / urls * 1e6,
        beside_us=admit.beside_s / urls * 1e6,
        lease_done=rate,
        lease_us=lease_us,
        bytes_per_url=size / urls,
        open_s=open_s,
        rss_mb=rss,
    )


async def _few_hosts(frontier: QueueFrontier, urls: int) -> float:
    began = time.perf_counter()
    for _ in range(urls):
        lease = await anext(frontier)
        await frontier.done(lease, cooldown_s=0.0, outcome=DONE)
    return urls / (time.perf_counter() - began)


def rates(urls: int, hosts: int, seed: int, *, quick: bool = False) -> Rates:
    """In a process of its own, whose memory is not anybody else's."""
    with tempfile.TemporaryDirectory() as name, get_context("spawn").Pool(1) as pool:
        found = pool.apply(_rates_in_this_process, (name, urls, hosts, seed, quick))
    tell(
        f"{urls:>10,} URLs on {hosts:>9,} hosts: {found.admit:>9,.0f} admitted/s (slowest tenth "
        f"{found.admit_worst:,.0f}; {found.loop_us:.1f} µs and {found.beside_us:.1f} beside it of processor time), "
        f"{found.lease_done:>8,.0f} leased and settled/s ({found.lease_us:.1f} µs each), "
        f"{found.bytes_per_url:.0f} bytes/URL, opened in {found.open_s:.2f} s, {found.rss_mb:,.0f} MB"
    )
    return found


def _rates_in_this_process(name: str, urls: int, hosts: int, seed: int, quick: bool) -> Rates:
    return uvloop.run(_rates(name, urls, hosts, seed, quick=quick))


async def repeats(urls: int, seed: int) -> float:
    """Links per second where nine of ten are known already, drawn evenly from all that came before."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        frontier = await opened(Path(name))
        known = [url for page in pages(urls // 10, 1000, seed) for url in page]
        await frontier.add(known[: urls // 20])
        spent_s, links = 0.0, 0
        for start in range(urls // 20, urls // 10, 4):
            page = [known[chance.randrange(start)] for _ in range(LINKS - 4)] + known[start : start + 4]
            began = time.perf_counter()
            await frontier.add(page)
            spent_s += time.perf_counter() - began
            links += len(page)
        await frontier.aclose()
    return links / spent_s


async def stalls(urls: int, seed: int) -> list[float]:
    """How late a timer fires, in ms, while 64 workers lease, wait 40 ms as for a server, add 40 new links and settle:
    as many as 1,600 pages and 64,000 new URLs a second."""
    late: list[float] = []
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        frontier = await opened(Path(name))
        coming = pages(urls, 10_000, seed)
        await frontier.add(next(coming))

        async def work() -> None:
            async for lease in frontier:
                await asyncio.sleep(chance.uniform(0.02, 0.06))
                page = next(coming, None)
                if page is None:
                    frontier.stop()
                else:
                    await frontier.add(page)
                await frontier.done(lease, cooldown_s=0.0, outcome=DONE)

        async def tick() -> None:
            while True:
                due = time.perf_counter() + 0.001
                await asyncio.sleep(0.001)
                late.append((time.perf_counter() - due) * 1000)

        ticking = asyncio.create_task(tick())
        async with asyncio.TaskGroup() as group:
            for _ in range(64):
                group.create_task(work())
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        await frontier.aclose()
    return late


def main() -> None:
    asked = options(__doc__ or "")
    emit(measured(asked), asked=asked, packages=("plyvel", "msgspec", "uvloop", "mmh3"), meanings=MEANINGS)


def measured(asked: Options) -> dict[str, float]:
    """All figures."""
    seed, most = asked.seed, 1_000_000 if asked.quick else 10_000_000
    sizes = [rates(urls, 1000, seed) for urls in ((100_000, most) if asked.quick else (100_000, 1_000_000, most))]
    usual = sizes[-1] if asked.quick else sizes[-2]
    large = usual if asked.quick else rates(most, 100_000, seed)
    widths = [rates(200_000, 10, seed), usual, rates(1_000_000, 1_000_000, seed, quick=asked.quick)]
    links = [uvloop.run(repeats(most, seed)) for _ in range(1 if asked.quick else 3)]
    tell(f"nine of ten known: {spread(links)} links/s")
    late = sorted(uvloop.run(stalls(300_000 if asked.quick else 3_000_000, seed)))
    return {
        "admit_new_per_s": usual.admit,
        "admit_90_repeat_per_s": statistics.median(links),
        "lease_done_per_s": usual.lease_done,
        "growth_ratio": _worst_over_best(sizes),
        "hosts_ratio": _worst_over_best(widths),
        "open_10m_s": large.open_s,
        "rss_1m_hosts_mb": widths[-1].rss_mb,
        "bytes_per_url": usual.bytes_per_url,
        "stall_p99_ms": late[len(late) * 99 // 100],
        "stall_max_ms": late[-1],
    }


def _worst_over_best(found: list[Rates]) -> float:
    return min(
        min(each.admit for each in found) / max(each.admit for each in found),
        min(each.lease_done for each in found) / max(each.lease_done for each in found),
    )


if __name__ == "__main__":
    main()
