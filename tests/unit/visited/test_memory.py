"""The memory that a set tells is the memory that a process takes for it."""

import os
import subprocess
import sys
import tempfile
import weakref

import pytest

from tests.conftest import REPOSITORY
from visited.baselines import site_filters
from visited.baselines.per_site import PerSiteSet
from visited.baselines.site_filters import SiteFilters
from visited.bits.kernel import best_kernel
from visited.bits.memory import Memory

PROCESS = """
import asyncio, gc, itertools, sys
from pathlib import Path

import plyvel

from crawler.cli.run.allocator import settle_allocator
from visited.filters.bloom import BloomSet
from visited.filters.blocked import BlockedSet
from visited.filters.counting import CountingSet
from visited.splitting.splitting_set import SplittingSet
from visited.digests.exact import ExactSet
from visited.digests.exact_leveldb import LevelDBSet
from visited.baselines.fingerprints import FingerprintSet
from visited.bits.memory import trim_heap
from visited.baselines.per_site import PerSiteSet
from visited.baselines.raw_urls import RawUrlSet
from visited.wrappers.recent import RecentUrls
from visited.baselines.salted_md5 import salted_md5
from visited.wrappers.sharded import ShardedSet
from visited.baselines.six_seeds import six_seeds
from visited.wrappers.whitelist import WhiteListSet

directory = Path(sys.argv[4])
places = (directory / str(number) for number in itertools.count())

def taken():
    # Counted page by page; what statm says may lag behind by some pages for each processor.
    with open("/proc/self/smaps_rollup") as file:
        kilobytes = dict(line.split()[:2] for line in file if line.endswith("kB\\n"))
    return (int(kilobytes["Anonymous:"]) + int(kilobytes["Swap:"])) * 1024

def take_all_maps():
    # LevelDB maps a thousand tables.
    store = plyvel.DB(str(directory / "large"), create_if_missing=True, compression=None, write_buffer_size=1 << 16)
    for number in range(2_200):
        store.put(b"%08d" % number, bytes(70_000))
    for number in range(2_200):
        store.get(b"%08d" % number)
    return store

async def fill(visited, count):
    for start in range(0, count, 256):
        await visited.add_many([f"https://h{number % 50}/{number}" for number in range(start, start + 256)])
    gc.collect()

async def run(make, count, history):
    if history == "told":
        settle_allocator()
    if history in ("told", "long"):
        # Unless it was told otherwise, glibc takes from now on whatever is smaller than this from its heap, and keeps
        # it there.
        large = bytearray(31 << 20)
        del large
    other = take_all_maps() if history == "crowded" else None
    small = make(1000)
    await fill(small, 5_120)
    await small.aclose()
    del small
    gc.collect()
    if history == "tidy":
        trim_heap()
    before = taken()
    visited = make(count)
    await fill(visited, count)
    told = visited.describe().memory_bytes
    print(taken() - before, told)
    await visited.aclose()

asyncio.run(run(eval(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
"""


# So large that a tenth is more than an arena of CPython's, of which it may keep one that nobody needs.
GROWING = [
    ("lambda n: ExactSet()", 700_000),
    ("lambda n: FingerprintSet()", 600_000),
    ("lambda n: SplittingSet(capacity=10_000, error_rate=1e-14)", 1_200_000),
]
FIXED = [
    ("lambda n: BloomSet(capacity=n * 100, error_rate=1e-6)", 45_000),
    ("lambda n: BlockedSet(capacity=n * 100, error_rate=1e-6)", 45_000),
    ("lambda n: CountingSet(capacity=n * 20, error_rate=1e-6)", 45_000),
    ("lambda n: ShardedSet([ExactSet(), ExactSet()])", 700_000),
    ("lambda n: SplittingSet(capacity=n, error_rate=1e-14, leaf_bits=1 << 21)", 1_200_000),
    ("lambda n: SplittingSet(capacity=n, error_rate=1e-14, split_at='count', lists='urls')", 1_200_000),
    ("lambda n: PerSiteSet(key=lambda url: url[-2:], bytes_per_site=131_072)", 20_000),
    ("lambda n: six_seeds(bits=1 << 27)", 60_000),
    ("lambda n: salted_md5(capacity=n * 10, error_rate=1e-2)", 45_000),
]
# Larger still: what their tables have outgrown, up to a megabyte, may stay as well.
OF_STRINGS = [
    ("lambda n: RawUrlSet()", 250_000),
    ("lambda n: PerSiteSet(key=lambda url: url, bytes_per_site=64)", 250_000),
    ("lambda n: RecentUrls(six_seeds(bits=64), size=n)", 300_000),
    (
        "lambda n: WhiteListSet(six_seeds(bits=64), (f'https://h{number % 50}/{number}' for number in range(n)))",
        300_000,
    ),
]


@pytest.mark.parametrize(
    ("make", "count", "history"),
    [*((*each, history) for each in GROWING for history in ("short", "long")), *((*each, "long") for each in FIXED)],
)
def test_the_memory_it_tells_is_the_memory_it_takes(make: str, count: int, history: str) -> None:
    """A process grows by what the set says, within a tenth, whatever it has done before."""
    grown, told = memory_of(make, count, history)
    assert told > 10_500_000
    assert grown == pytest.approx(told, rel=0.1)


@pytest.mark.parametrize(("make", "count"), OF_STRINGS)
def test_so_is_what_sets_of_strings_tell_in_a_crawl(make: str, count: int) -> None:
    """A crawl tells the C library to give back at once the large tables that a set has outgrown."""
    grown, told = memory_of(make, count, "told")
    assert told > 10_500_000
    assert grown == pytest.approx(told, rel=0.1)


def test_elsewhere_the_tables_that_a_set_of_strings_has_outgrown_are_a_third_more_at_most() -> None:
    grown, told = memory_of("lambda n: RawUrlSet()", 160_000, "long")
    assert 0.9 * told < grown < 1.4 * told


@pytest.mark.parametrize(
    ("make", "count"),
    [
        ("lambda n: LevelDBSet(next(places))", 55_000),
        ("lambda n: LevelDBSet(next(places))", 120_000),
        ("lambda n: LevelDBSet(next(places))", 240_000),
        ("lambda n: ShardedSet([LevelDBSet(next(places)) for _ in range(3)])", 150_000),
    ],
)
def test_so_is_what_stores_on_disk_tell_while_their_buffers_come_and_go(make: str, count: int) -> None:
    """What is free before they begin would be no growth when they take it, so it is given back."""
    grown, told = memory_of(make, count, "tidy")
    assert 2_500_000 < told < 14_000_000
    assert grown == pytest.approx(told, rel=0.1, abs=1_000_000)


@pytest.mark.long
def test_beside_another_large_store_tables_can_not_be_mapped_and_that_is_told() -> None:
    grown, told = memory_of("lambda n: LevelDBSet(next(places))", 2_000_000, "crowded")
    assert told > 20_000_000
    assert grown == pytest.approx(told, rel=0.15)


async def test_small_filters_of_sites_need_no_objects_of_their_own() -> None:
    visited = PerSiteSet(key=lambda url: url, bytes_per_site=64)
    await visited.add_many([f"https://h/{number}" for number in range(16_000)])
    assert visited.describe().memory_bytes < 16_000 * 260


class Part(bytearray):
    """A part of a snapshot. Unlike a `bytearray`, it may have weak references."""


def test_filters_of_sites_are_in_memory_once_while_a_snapshot_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def new_filters() -> SiteFilters:
        return SiteFilters(size_bytes=32_768, hashes=7, seed=0, kernel=best_kernel())

    saved, loaded = new_filters(), new_filters()
    for number in range(10):
        saved.add(saved.find_or_add(f"h{number}"), [f"https://h{number}/"])
    parts: list[Memory] = [Part(each) for each in saved.dump()]
    filters = [weakref.ref(each) for each in parts[-10:]]
    held: list[int] = []

    def zeros(size_bytes: int) -> Memory:
        held.append(sum(each() is not None for each in filters))
        return bytearray(size_bytes)

    monkeypatch.setattr(site_filters, "zeros", zeros)
    loaded.load(parts)
    assert held == [10, 8, 6, 4, 2]
    assert [loaded.has(number, [f"https://h{number}/", "https://h/"]) for number in range(10)] == [[True, False]] * 10


def memory_of(make: str, count: int, history: str) -> tuple[int, int]:
    """What a process has grown by, and what the set told, in bytes."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-c", PROCESS, make, str(count), history, place]
        # Coverage would take memory of its own.
        env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY, env=env)
    assert done.returncode == 0, done.stderr
    grown, told = map(int, done.stdout.split())
    return grown, told
