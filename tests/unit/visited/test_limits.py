"""Sizes beyond 32 bits, little memory, overruns that are told, parameters that can't work."""

import asyncio
import io
import logging
import mmap
import tracemalloc
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from typing_extensions import Buffer

from tests.unit.visited.sets import urls_of
from visited import VisitedSet
from visited.baselines.per_site import PerSiteSet
from visited.baselines.salted_md5 import salted_md5
from visited.baselines.six_seeds import six_seeds
from visited.bits.kernel import ADD, TEST, Kernel
from visited.digests.exact import ExactSet
from visited.filters.blocked import BlockedSet
from visited.filters.bloom import BloomSet
from visited.filters.counting import CountingSet

MAP_NORESERVE = 0x4000
"""Of Linux; Python names it from 3.13 on."""


def sparse(size_bytes: int) -> mmap.mmap:
    """Memory of which only the pages that are touched exist."""
    found = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    found.madvise(mmap.MADV_NOHUGEPAGE)
    return found


@pytest.mark.parametrize("bits", [2**31, 2**32, 2**33 + 64 * 1000, 2**36])
def test_filters_of_any_size_work(kernel: Kernel, bits: int) -> None:
    array = np.frombuffer(sparse(bits // 8), dtype=np.uint64)
    urls = urls_of(0, 400)
    verdicts, new, ones = kernel.bloom_probe(urls, array, 7, 0, ADD)
    assert (all(verdicts), new) == (True, 400)
    assert 2_799 <= ones <= 2_800
    assert kernel.bloom_probe(urls, array, 7, 0, TEST)[1] == 0
    assert kernel.bloom_probe(urls_of(400, 800), array, 7, 0, TEST)[1] == 400
    hashes = np.zeros((400, 2), np.uint64)
    kernel.hash_many(urls, 0, hashes)
    first = [(int(h1) & 2**63 - 1) % bits for h1 in hashes[:, 0]]
    assert all(int(array[place // 64]) >> place % 64 & 1 for place in first)
    # Both ends are used: nothing is cut to 31 or 32 bits.
    assert min(first) < bits * 0.01
    assert max(first) > bits * 0.99


def test_blocks_beyond_32_bits_work(kernel: Kernel) -> None:
    array = np.frombuffer(sparse(2**33 // 8), dtype=np.uint64)
    table = np.zeros(513, np.int64)
    table[0] = 2**33 // 512
    urls = urls_of(0, 600)
    assert kernel.blocked_probe(urls, array, table, 8, 0, ADD)[1] == 600
    assert kernel.blocked_probe(urls, array, table, 8, 0, TEST)[1] == 0
    assert kernel.blocked_probe(urls_of(600, 1_200), array, table, 8, 0, TEST)[1] == 600


def test_counters_beyond_32_bits_work(kernel: Kernel) -> None:
    array = np.frombuffer(sparse(2**32 + 64), dtype=np.uint32)
    urls = urls_of(0, 300)
    assert kernel.counting_probe(urls, array, 4, 7, 0, ADD)[1] == 300
    assert kernel.counting_probe(urls, array, 4, 7, 0, TEST)[1] == 0
    _, refused, ones, _ = kernel.counting_probe(urls, array, 4, 7, 0, 2)
    assert refused == 0
    assert -2_100 <= ones <= -2_099


def test_a_large_leaf_uses_all_of_itself(kernel: Kernel) -> None:
    leaf = bytearray(2**29)
    counts = np.zeros((1, 2), np.int64)
    chance = np.random.default_rng(3)
    fingerprints = np.sort(chance.integers(0, 2**64, 1_000, dtype=np.uint64))
    kernel.leaves_fill([fingerprints], np.zeros(1, np.uint64), 2**64 - 1, [leaf], counts, 10)
    assert counts.tolist() == [[10_000, 1_000]]
    view = np.frombuffer(leaf, np.uint8)
    places = np.flatnonzero(view)
    assert places.min() < len(view) * 0.01
    assert places.max() > len(view) * 0.99


@pytest.mark.parametrize("count", [100, 1_000, 5_000, 20_000, 32_768, 32_769, 50_000, 100_000])
async def test_the_exact_set_takes_at_most_32_bytes_per_url(count: int) -> None:
    visited = ExactSet()
    for start in range(0, count, 1_000):
        await visited.add_many(urls_of(start, min(start + 1_000, count)))
        assert visited.describe().memory_bytes <= 32 * len(visited) + 256
    assert len(visited) == count


async def test_the_exact_set_grows_evenly(kernel: Kernel) -> None:
    """Not all of its shards at once: between 60,000 and 120,000 URLs memory is never far from the mean."""
    visited = ExactSet(kernel=kernel)
    await visited.add_many(urls_of(0, 60_000))
    shares = []
    for start in range(60_000, 120_000, 1_000):
        await visited.add_many(urls_of(start, start + 1_000))
        shares.append(visited.describe().memory_bytes / len(visited))
    mean = sum(shares) / len(shares)
    assert 17 < mean < 24
    assert max(abs(share - mean) for share in shares) < 1.6


OVERRUNNING: dict[str, Callable[[], VisitedSet]] = {
    "bloom": lambda: BloomSet(capacity=500, error_rate=0.01),
    "blocked": lambda: BlockedSet(capacity=500, error_rate=0.01),
    "counting": lambda: CountingSet(capacity=500, error_rate=0.01),
    "salted-md5": lambda: salted_md5(capacity=500, error_rate=0.01),
    "six-seeds": lambda: six_seeds(bits=1 << 13),
}


@pytest.mark.parametrize("name", OVERRUNNING)
async def test_over_capacity_it_warns_once_with_the_rate_and_the_right_size(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    visited = OVERRUNNING[name]()
    with caplog.at_level(logging.WARNING, logger="visited"):
        await visited.add_many(urls_of(0, 490))
        assert not caplog.records
        for start in range(490, 3_000, 10):
            await visited.add_many(urls_of(start, start + 10))
    [warning] = caplog.records
    message = warning.getMessage()
    assert f"visited set {name!r} has taken" in message
    assert "its false-positive rate is 0.0" in message
    assert "are lost unless the crawl verifies what the set calls known" in message
    assert "For 1,0" in message or "For 1,7" in message
    assert "bits" in message


async def test_the_first_site_over_its_size_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    visited = PerSiteSet(key=lambda url: url.split("/")[2], bytes_per_site=1024)
    with caplog.at_level(logging.WARNING, logger="visited"):
        await visited.add_many([f"http://{site}/{number}" for site in ("a", "b") for number in range(840)])
        assert not caplog.records
        await visited.add_many([f"http://{site}/{number}" for site in ("a", "b") for number in range(3_000)])
        await visited.add_many([f"http://{site}/{number}" for site in ("a", "b") for number in range(5_000)])
    [warning] = caplog.records
    assert "the filter of 'a' has taken" in warning.getMessage()
    assert "was made for 853" in warning.getMessage()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BloomSet(capacity=0, error_rate=0.1), "capacity must be at least 1 URL, found 0"),
        (lambda: BloomSet(capacity=10, error_rate=0), "between 0 and 1"),
        (lambda: BloomSet(capacity=10**6, error_rate=1e-4, bits=10**6), "need 19,170,116 bits, found 1,000,000"),
        (lambda: BlockedSet(capacity=10, error_rate=2), "between 0 and 1"),
        (lambda: BlockedSet(capacity=10, error_rate=0.1, seed=1 << 32), "seed must be a number from 0"),
        (lambda: BloomSet(capacity=10, error_rate=0.1, seed=-1), "seed must be a number from 0"),
        (lambda: CountingSet(capacity=-1, error_rate=0.1), "capacity must be at least 1 URL"),
        (lambda: six_seeds(bits=1000), "power of two"),
        (lambda: salted_md5(capacity=10**9, error_rate=0.01), "4,294,967,296 counters"),
        (lambda: PerSiteSet(key=str, bytes_per_site=3), "multiple of 8"),
        (lambda: PerSiteSet(key=str, filters=0), "filters must be at least 1"),
    ],
)
def test_parameters_that_can_not_work_are_refused_with_what_would(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


async def test_bits_may_be_given_where_they_are_enough() -> None:
    visited = BloomSet(capacity=10_000, error_rate=0.01, bits=320_000)
    await visited.add_many(urls_of(0, 10_000))
    # 32 bits for each URL: k = 22, and a rate of 2.1e-7.
    assert visited.describe().details["hashes"] == 22
    assert visited.describe().false_positive_rate < 3e-7


class Nowhere(io.BytesIO):
    """Takes what is written, and keeps only how much it was."""

    taken = 0

    def write(self, data: Buffer, /) -> int:
        self.taken += memoryview(data).nbytes
        return memoryview(data).nbytes

    def writelines(self, lines: Iterable[Buffer], /) -> None:
        for line in lines:
            self.write(line)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BloomSet(capacity=4_000_000, error_rate=0.01),
        lambda: BlockedSet(capacity=4_000_000, error_rate=0.01),
        lambda: CountingSet(capacity=1_000_000, error_rate=0.01),
        ExactSet,
    ],
)
async def test_a_dump_copies_nothing_but_into_the_file(make: Callable[[], VisitedSet]) -> None:
    visited = make()
    for start in range(0, 200_000, 4_096):
        await visited.add_many(urls_of(start, start + 4_096))
    file = Nowhere()
    visited.dump(file)
    tracemalloc.start()
    try:
        visited.dump(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert file.taken > 2 * 4_000_000
    assert peak < 100_000


def test_the_promise_is_kept_without_waiting() -> None:
    """Local sets never give way to the loop between looking and remembering."""
    call = BloomSet(capacity=10, error_rate=0.1).add_many(["a"])
    with pytest.raises(StopIteration) as stop:
        call.send(None)
    assert stop.value.value == [True]
    assert asyncio.run(ExactSet().add_many(["a", "a"])) == [True, False]
