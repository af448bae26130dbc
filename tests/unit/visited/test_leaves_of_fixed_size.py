"""The splitting filter as the literature has it: leaves of m bits that split at u URLs, and lists of these URLs."""

import io
import math
import random
from pathlib import Path

import msgspec
import pytest

from tests.unit.visited.kernels import available_kernels
from tests.unit.visited.sets import PARAMETERS, dumped
from visited import CannotList, ListingSet, SnapshotRefused
from visited.backends import descriptor
from visited.baselines.raw_urls import RawUrlSet
from visited.bits.kernel import Kernel
from visited.descriptor import Cost
from visited.digests.exact import ExactSet
from visited.making import cost_of_set, make_set
from visited.splitting.splitting_set import SplittingSet
from visited.wrappers.sharded import ShardedSet

LEAF_BITS = 1 << 14
CAPACITY_AT_1_PERCENT = 1_707
"""u = -m·ln(1 - f^(1/k))/k for m = 2^14, f = 0.01, k = 7."""


def urls_of(start: int, stop: int) -> list[str]:
    return [f"https://www.h{number % 97}.example/{number * 7919}" for number in range(start, stop)]


def made(directory: Path | None = None, *, capacity: int = 1_000, kernel: Kernel | None = None) -> SplittingSet:
    return SplittingSet(
        capacity=capacity,
        error_rate=0.01,
        directory=directory,
        leaf_bits=LEAF_BITS,
        split_at="count",
        lists="urls",
        kernel=kernel,
    )


@pytest.mark.parametrize(("capacity", "leaves"), [(1, 1), (1_707, 1), (1_708, 2), (10_000, 6), (1_000_000, 586)])
def test_it_begins_with_as_many_leaves_as_the_capacity_fills(capacity: int, leaves: int) -> None:
    stats = made(capacity=capacity).describe()
    assert stats.details["leaf_capacity"] == CAPACITY_AT_1_PERCENT
    assert stats.details["leaves"] == leaves
    assert stats.details["bits"] == leaves * LEAF_BITS


@pytest.mark.parametrize("kernel", available_kernels(), ids=lambda kernel: kernel.name)
async def test_a_leaf_splits_when_it_holds_u_urls_and_not_before(kernel: Kernel) -> None:
    visited = made(kernel=kernel)
    leaves = 1
    fullest_before = 0
    for start in range(0, 20_000, 4):
        await visited.add_many(urls_of(start, start + 4))
        details = visited.describe().details
        assert details["bits"] == int(details["leaves"]) * LEAF_BITS
        # A leaf is looked at when the filter has grown by a 4096th.
        assert int(details["most_in_a_leaf"]) < CAPACITY_AT_1_PERCENT + 8
        if int(details["leaves"]) > leaves:
            assert fullest_before >= CAPACITY_AT_1_PERCENT - 4
        leaves, fullest_before = int(details["leaves"]), int(details["most_in_a_leaf"])
    assert leaves == 16
    assert visited.describe().details["growths"] == 15
    await visited.aclose()


async def test_from_one_leaf_to_hundreds_rate_and_memory_stay_in_bounds() -> None:
    visited = made()
    shares: list[float] = []
    start = 0
    while start < 200_000:
        size = max(64, start // 50)
        await visited.add_many(urls_of(start, start + size))
        start += size
        stats = visited.describe()
        assert stats.false_positive_rate <= 0.0105
        if start > CAPACITY_AT_1_PERCENT:
            shares.append(int(stats.details["bits"]) / (len(visited) * math.log2(100) / math.log(2)))
    # Evenly over log n. A leaf that doubles has (2 - 1)/ln 2 on average.
    assert sum(shares) / len(shares) == pytest.approx(1.443, rel=0.05)
    assert max(shares) < 2.1
    absent = [f"https://absent.example/{number}" for number in range(100_000)]
    expected = visited.describe().false_positive_rate * len(absent)
    assert abs(sum(visited.has_many(absent)) - expected) < 5 * math.sqrt(expected)
    lost, stats = start - len(visited), visited.describe()
    assert abs(lost - stats.expected_lost) <= 5 * stats.lost_sigma
    await visited.aclose()


async def test_it_costs_and_loses_what_the_formulas_say() -> None:

    def cost(count: int) -> Cost:
        options = {"leaf_bits": LEAF_BITS, "split_at": "count", "lists": "urls"}
        found = cost_of_set(descriptor("dsbf"), count, 0.01, options)
        assert found is not None
        return found

    visited = made()
    shares: list[float] = []
    start = 0
    while start < 100_000:
        size = max(64, start // 50)
        await visited.add_many(urls_of(start, start + size))
        start += size
        if start > 10_000:
            shares.append(int(visited.describe().details["bits"]) / 8 / cost(start).memory_bytes)
    stats, expected = visited.describe(), cost(start)
    assert sum(shares) / len(shares) == pytest.approx(1, rel=0.1)
    assert stats.expected_lost == pytest.approx(expected.expected_lost, rel=0.3)
    text = sum(map(len, visited.urls())) / len(visited)
    assert stats.disk_bytes / len(visited) == pytest.approx(8 + 4 + text, rel=0.03)
    assert expected.disk_bytes == start * (8 + 4 + 77)  # by URLs of 77 characters, which is usual
    await visited.aclose()


@pytest.mark.parametrize("has_directory", [True, False])
async def test_it_lists_what_it_called_new_in_this_order(tmp_path: Path, has_directory: bool) -> None:
    visited = made(tmp_path if has_directory else None)
    assert list(visited.urls()) == []
    chance = random.Random(3)
    accepted: list[str] = []
    strange = ["", "a\nb", "é", "\ud800", "😀" * 50_000, "\0"]
    for start in range(0, 9_000, 300):
        batch = [*urls_of(start, start + 300), *chance.sample(urls_of(0, start + 1), 1), *strange]
        answers = await visited.add_many(batch)
        accepted += [url for url, new in zip(batch, answers, strict=True) if new]
    assert list(visited.urls()) == accepted
    data = dumped(visited)
    assert list(visited.urls()) == accepted
    await visited.add_many(urls_of(9_000, 10_000))
    await visited.aclose()
    again = made(tmp_path if has_directory else None)
    again.load(io.BytesIO(data))
    assert list(again.urls()) == accepted
    assert int(again.describe().details["leaves"]) > 4
    await again.aclose()


async def test_what_is_listed_after_a_crash_is_what_the_snapshot_knew(tmp_path: Path) -> None:
    visited = made(tmp_path)
    await visited.add_many(urls_of(0, 3_000))
    before = list(visited.urls())
    data = dumped(visited)
    await visited.add_many(urls_of(3_000, 9_000))
    del visited
    again = made(tmp_path)
    again.load(io.BytesIO(data))
    assert list(again.urls()) == before
    assert len(again) == len(before)
    assert sum(await again.add_many(urls_of(3_000, 9_000))) > 5_000
    assert list(again.urls())[: len(before)] == before
    assert len(list(again.urls())) == len(again)
    await again.aclose()


@pytest.mark.parametrize("damage", ["missing", "short", "flipped", "another", "fewer", "zeros"])
async def test_a_damaged_list_of_urls_is_refused(tmp_path: Path, damage: str) -> None:
    visited = made(tmp_path)
    await visited.add_many(urls_of(0, 5_000))
    data = dumped(visited)
    await visited.aclose()
    path = tmp_path / "urls"
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(content[:-9])
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "another":
        other = made(tmp_path)
        await other.add_many(urls_of(0, 5_000))
        dumped(other)
        await other.aclose()
        content[:32] = path.read_bytes()[:32]
        path.write_bytes(content)
    elif damage == "zeros":
        # Data that the system has not written before the power failed. Zeros look like blocks without URLs.
        path.write_bytes(content[:32] + bytes(len(content) - 32))
    else:
        # All checksums hold, but a block has gone: the list was that of another time.
        first = 40 + int.from_bytes(content[32:36], "little")
        path.write_bytes(content[:first] + content[32:first] + bytes(len(content) - 2 * first + 32))
    again = made(tmp_path)
    with pytest.raises(SnapshotRefused, match=r"list of URLs|lists of URLs|list of fingerprints"):
        again.load(io.BytesIO(data))
    assert len(again) == 0
    assert list(again.urls()) == []
    assert await again.add_many(["http://a/"]) == [True]
    await again.aclose()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split_at": "fill", "lists": "urls"}, "made with split_at = 'count'"),
        ({"split_at": "count", "lists": "fingerprints"}, "made with lists = 'urls'"),
        ({"split_at": "count", "lists": "urls", "leaf_bits": 1 << 15}, "made with leaf_bits = 16384"),
    ],
)
async def test_the_snapshot_of_another_form_is_refused(options: dict[str, object], words: str) -> None:
    visited = made()
    await visited.add_many(urls_of(0, 2_000))
    parameters = msgspec.structs.replace(PARAMETERS, capacity=1_000, error_rate=0.01)
    other = make_set(descriptor("dsbf"), parameters, {"leaf_bits": LEAF_BITS, **options})
    with pytest.raises(SnapshotRefused, match=words):
        other.load(io.BytesIO(dumped(visited)))
    await visited.aclose()
    await other.aclose()


async def test_a_set_that_keeps_no_urls_says_so() -> None:
    with pytest.raises(CannotList, match='with the option lists = "urls" it keeps the URLs'):
        list(SplittingSet(capacity=1_000, error_rate=0.01).urls())
    with pytest.raises(CannotList, match="exact does not keep its URLs"):
        list(ShardedSet([ExactSet(), ExactSet()]).urls())
    assert not isinstance(ExactSet(), ListingSet)


async def test_shards_and_raw_urls_are_listed_too() -> None:
    urls = urls_of(0, 2_000)
    for visited in (RawUrlSet(), ShardedSet([made(), made()])):
        assert isinstance(visited, ListingSet)
        accepted = {url for url, new in zip(urls, await visited.add_many(urls), strict=True) if new}
        assert set(visited.urls()) == accepted
        assert len(list(visited.urls())) == len(visited)
        await visited.aclose()
