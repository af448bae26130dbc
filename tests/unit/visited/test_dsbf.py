"""The splitting filter grows and keeps its rate, its promise and the loop's time, and can be put together again."""

import io
import math
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.visited.kernels import available_kernels
from tests.unit.visited.sets import dumped
from visited import CannotForget, SnapshotRefused
from visited.bits.memory import zeros
from visited.splitting.fingerprint_list import FingerprintList, read_range, read_runs
from visited.splitting.leaf_images import LeafImages
from visited.splitting.leaf_plan import MIN_LEAF_BITS, LeafPlan, fixed_plan
from visited.splitting.leaves import Leaves
from visited.splitting.splitting_set import SplittingSet

KERNEL = available_kernels()[0]


def urls_of(start: int, stop: int) -> list[str]:
    return [f"https://www.h{number % 997}.example/path/{number * 7919}?id={number}" for number in range(start, stop)]


def optimum_bytes(count: int, error_rate: float) -> float:
    return count * math.log2(1 / error_rate) / math.log(2) / 8


class Watched:
    """A splitting set, and what is to be watched while it grows."""

    def __init__(self, visited: SplittingSet, error_rate: float) -> None:
        self.visited = visited
        self.error_rate = error_rate
        self.accepted: list[int] = []
        self.memory_shares: list[float] = []
        self.came = 0
        self._wanted = 10_000.0

    async def grow(self, target: int) -> None:
        while self.came < target:
            numbers = range(self.came, min(self.came + 64, target))
            verdicts = await self.visited.add_many(urls_of(numbers.start, numbers.stop))
            self.accepted += [number for number, new in zip(numbers, verdicts, strict=True) if new]
            self.came = numbers.stop
            if len(self.visited) >= self._wanted:
                self._wanted *= 1.03
                stats = self.visited.describe()
                optimum = optimum_bytes(len(self.visited), self.error_rate)
                self.memory_shares.append(stats.memory_bytes / optimum)
                assert stats.false_positive_rate <= self.error_rate

    async def check_promise(self) -> None:
        """No URL that was called new is called new again."""
        for start in range(0, len(self.accepted), 50_000):
            known = [url for number in self.accepted[start : start + 50_000] for url in urls_of(number, number + 1)]
            assert all(self.visited.has_many(known))

    def check_rate(self, asked: int) -> None:
        """The rate that it tells is the one it has, and at most the bound."""
        wrong = sum(self.visited.has_many([f"http://absent.example/{number}/" for number in range(asked)]))
        rate = self.visited.describe().false_positive_rate
        assert abs(wrong - rate * asked) <= 5 * math.sqrt(asked * rate) + 1
        assert rate <= self.error_rate


async def grow_by_powers_of_two(watched: Watched, most: int, asked: int) -> None:
    power = 13
    while 2**power < most:
        power += 1
        await watched.grow(min(2**power, most))
        watched.check_rate(asked)


@pytest.mark.parametrize(("error_rate", "capacity"), [(0.01, 10_000), (1e-4, 200_000)])
async def test_from_ten_thousand_urls_on_rate_and_memory_stay_in_bounds(error_rate: float, capacity: int) -> None:
    watched = Watched(SplittingSet(capacity=capacity, error_rate=error_rate), error_rate)
    await grow_by_powers_of_two(watched, 300_000, 50_000)
    await watched.check_promise()
    assert sum(watched.memory_shares) / len(watched.memory_shares) <= 1.25
    stats = watched.visited.describe()
    assert stats.disk_bytes / len(watched.visited) == pytest.approx(8, rel=0.03)
    lost = watched.came - len(watched.visited)
    assert abs(lost - stats.expected_lost) <= 5 * math.sqrt(stats.expected_lost) + 0.1 * stats.expected_lost + 3
    await watched.visited.aclose()


@pytest.mark.long
@pytest.mark.parametrize(("error_rate", "capacity"), [(0.01, 10_000), (1e-4, 1_000_000)])
async def test_up_to_ten_million_urls_rate_and_memory_stay_in_bounds(error_rate: float, capacity: int) -> None:
    watched = Watched(SplittingSet(capacity=capacity, error_rate=error_rate), error_rate)
    await grow_by_powers_of_two(watched, 10_000_000, 1_000_000)
    await watched.check_promise()
    assert sum(watched.memory_shares) / len(watched.memory_shares) <= 1.25
    assert watched.visited.describe().disk_bytes / len(watched.visited) == pytest.approx(8, rel=0.03)
    await watched.visited.aclose()


async def test_no_batch_of_64_does_much_more_than_its_share() -> None:
    """Bounded is what is inserted, as a clock has no place here; tests/bench/visited.py has the times."""
    visited = SplittingSet(capacity=300_000, error_rate=0.01, kernel=KERNEL)
    inserted = 0
    fill = KERNEL.leaves_fill

    class Counting:
        """The kernel, counting what rebuilding inserts."""

        def __getattr__(self, name: str) -> object:
            return getattr(KERNEL, name)

        def leaves_fill(self, runs: Iterable[NDArray[np.uint64]], *others: object) -> None:
            nonlocal inserted
            arrays = list(runs)
            inserted += sum(map(len, arrays))
            fill(arrays, *others)  # type: ignore[arg-type]

    visited._kernel = Counting()  # type: ignore[assignment]
    worst = total = 0
    for start in range(0, 250_000, 64):
        await visited.add_many(urls_of(start, start + 64))
        worst, total, inserted = max(worst, inserted), total + inserted, 0
    assert visited.describe().details["splits"] == 0
    assert worst <= KERNEL.fill_budget * 1.5
    # 26/4 in theory, for steps of 5/8 to 8/8, and what is read beside it.
    assert total < 250_000 * 10
    await visited.aclose()


async def test_leaves_grow_by_quarters_and_then_split_in_two() -> None:
    visited = SplittingSet(capacity=1_000, error_rate=0.01, leaf_bits=1 << 15)
    seen: dict[int, set[int]] = {}
    for start in range(0, 30_000, 64):
        await visited.add_many(urls_of(start, start + 64))
        leaves = visited._leaves
        seen.setdefault(len(leaves.bits), set()).update(leaves.sizes.tolist())
        assert sorted(leaves.order) == list(range(len(leaves.bits)))
        assert leaves.ones.tolist() == [int.from_bytes(bits, "little").bit_count() for bits in leaves.bits]
        assert leaves.sizes.tolist() == [len(bits) * 8 for bits in leaves.bits]
    full = 1 << 15
    assert {full * eighths // 8 for eighths in (5, 6, 7, 8)} <= set().union(*seen.values())
    assert 1 in seen
    stats = visited.describe()
    assert stats.details["splits"] == len(visited._leaves.bits) - 1 >= 7
    await visited.aclose()


async def test_bits_depend_on_the_list_alone() -> None:
    """However the batches were cut and whenever the leaves split, each leaf holds just the bits of its list."""
    visited = SplittingSet(capacity=1_000, error_rate=0.01, leaf_bits=1 << 14)
    chance = random.Random(8)
    came = 0
    while came < 20_000:
        size = chance.choice([1, 7, 64, 900])
        await visited.add_many(urls_of(came, came + size))
        came += size
    leaves = visited._leaves
    fingerprints = visited._lists.fingerprints
    fingerprints.flush()
    everything = np.sort(np.concatenate(list(read_runs(fingerprints.file))))
    assert len(everything) == len(visited)
    for leaf in leaves.order:
        low, high = leaves.span(leaf)
        own = everything[(everything >= low) & (everything <= np.uint64(high - 1))]
        again, counts = [zeros(len(leaves.bits[leaf]))], np.zeros((1, 2), np.int64)
        KERNEL.leaves_fill([own], np.array([low], np.uint64), high - 1, again, counts, visited._shape.hashes)
        assert again[0] == leaves.bits[leaf]
        assert counts[0].tolist() == leaves.counts[leaf].tolist() == [leaves.ones[leaf], len(own)]
    await visited.aclose()


async def test_a_swallowed_url_may_be_new_later_but_none_is_new_twice() -> None:
    visited = SplittingSet(capacity=1_000, error_rate=0.1, leaf_bits=1 << 14)
    urls = urls_of(0, 40_000)
    times_new = dict.fromkeys(urls, 0)
    met: set[str] = set()
    chance = random.Random(2)
    for _ in range(3_000):
        start = chance.randrange(len(urls) - 64)
        batch = urls[start : start + 64]
        met.update(batch)
        for url, new in zip(batch, await visited.add_many(batch), strict=True):
            times_new[url] += new
    assert max(times_new.values()) == 1
    assert sum(times_new.values()) == len(visited)
    swallowed = [url for url in met if not times_new[url]]
    assert 0 < len(swallowed) < 0.05 * len(met)
    await visited.aclose()


async def test_the_promise_holds_across_splits_snapshots_crashes_and_reloads(tmp_path: Path) -> None:
    """What was called new before a snapshot stays known; what came after it, in a crash, is as if it had not been."""
    chance = random.Random(5)
    accepted: set[str] = set()
    saved: tuple[bytes, set[str]] | None = None
    visited = SplittingSet(capacity=500, error_rate=0.01, directory=tmp_path, leaf_bits=1 << 13)
    came = 0
    reloads = 0
    for _ in range(250):
        batch = urls_of(came, came + chance.randrange(200))
        came += len(batch)
        batch += chance.sample(sorted(accepted), min(20, len(accepted)))
        for url, new in zip(batch, await visited.add_many(batch), strict=True):
            assert not (new and url in accepted)
            if new:
                accepted.add(url)
        event = chance.random()
        if event < 0.1:
            file = io.BytesIO()
            visited.dump(file)
            saved = file.getvalue(), set(accepted)
        elif event < 0.16 and saved is not None:
            # Killed: the set is gone as it stood, its files are there as they were.
            visited = SplittingSet(capacity=500, error_rate=0.01, directory=tmp_path, leaf_bits=1 << 13)
            visited.load(io.BytesIO(saved[0]))
            accepted = set(saved[1])
            reloads += 1
            assert len(visited) == len(accepted)
        assert len(visited) == len(accepted)
    assert reloads > 5
    assert all(visited.has_many(sorted(accepted)))
    assert len(visited._leaves.bits) > 20
    await visited.aclose()


async def grown(directory: Path | None, count: int) -> SplittingSet:
    visited = SplittingSet(capacity=500, error_rate=0.01, directory=directory, leaf_bits=1 << 13)
    await visited.add_many(urls_of(0, count))
    return visited


def empty(directory: Path | None) -> SplittingSet:
    return SplittingSet(capacity=500, error_rate=0.01, directory=directory, leaf_bits=1 << 13)


@pytest.mark.parametrize("has_directory", [True, False])
async def test_a_reloaded_set_is_the_same_to_the_bit(tmp_path: Path, has_directory: bool) -> None:
    directory = tmp_path if has_directory else None
    first = await grown(directory, 9_000)
    data = dumped(first)
    growths = first.describe().details["growths"]
    await first.aclose()
    second = empty(directory)
    second.load(io.BytesIO(data))
    assert second._leaves.bits == first._leaves.bits
    assert second._leaves.ones.tolist() == first._leaves.ones.tolist()
    assert second._leaves.routes.tolist() == first._leaves.routes.tolist()
    known = [url for url, there in zip(urls_of(0, 9_000), second.has_many(urls_of(0, 9_000)), strict=True) if there]
    assert len(known) >= len(second)
    assert second.describe().details["growths"] == growths
    await second.aclose()


async def test_a_snapshot_writes_only_the_leaves_that_have_changed(tmp_path: Path) -> None:
    visited = await grown(tmp_path, 9_000)
    data = dumped(visited)
    images = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "images").iterdir()}
    assert len(images) == visited.describe().details["leaves"]
    # The snapshot itself holds no bits: they are in the images, and what these lack in the list.
    assert len(data) < 40 * len(images) + 2_000
    await visited.add_many(urls_of(9_000, 9_100))
    dumped(visited)
    again = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "images").iterdir()}
    assert len([name for name, written in again.items() if images.get(name) == written]) > 0.9 * len(images)
    await visited.aclose()


@pytest.mark.parametrize("damage", ["missing", "torn", "flipped", "all missing", "newer"])
async def test_leaf_images_are_only_a_short_cut(tmp_path: Path, damage: str) -> None:
    visited = await grown(tmp_path, 5_000)
    data = dumped(visited)
    expected = [bytes(bits) for bits in visited._leaves.bits]
    paths = sorted((tmp_path / "images").iterdir())
    if damage == "missing":
        paths[0].unlink()
    elif damage == "torn":
        paths[0].write_bytes(paths[0].read_bytes()[:-5])
    elif damage == "flipped":
        content = bytearray(paths[0].read_bytes())
        content[-5] ^= 4
        paths[0].write_bytes(content)
    elif damage == "all missing":
        for path in paths:
            path.unlink()
    else:
        # A crash between the images and the snapshot that belongs to them: they are of a later state.
        await visited.add_many(urls_of(5_000, 9_000))
        dumped(visited)
    await visited.aclose()
    again = empty(tmp_path)
    again.load(io.BytesIO(data))
    assert [bytes(bits) for bits in again._leaves.bits] == expected
    assert 4_900 < len(again) <= 5_000
    await again.aclose()


@pytest.mark.parametrize("damage", ["missing", "short", "flipped", "flipped early", "another", "count"])
async def test_a_list_that_does_not_fit_the_snapshot_is_refused(tmp_path: Path, damage: str) -> None:
    visited = await grown(tmp_path, 5_000)
    data = dumped(visited)
    await visited.aclose()
    path = tmp_path / "leaves"
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(content[:-9])
    elif damage == "flipped":
        content[-3] ^= 1
        path.write_bytes(content)
    elif damage == "flipped early":
        # All images are newer; but the next leaf that grows would read it.
        content[100] ^= 1
        path.write_bytes(content)
    elif damage == "count":
        content[33] ^= 0x10
        path.write_bytes(content)
    else:
        other = await grown(tmp_path, 5_000)
        dumped(other)
        await other.aclose()
    again = empty(tmp_path)
    with pytest.raises(SnapshotRefused, match="list of fingerprints"):
        again.load(io.BytesIO(data))
    assert len(again) == 0
    assert await again.add_many(["http://a/"]) == [True]
    await again.aclose()


async def test_a_list_that_lost_a_urls_fingerprint_is_noticed(tmp_path: Path) -> None:
    """Even where all checksums hold: the bits of a leaf are counted against the snapshot."""
    visited = await grown(tmp_path, 2_000)
    data = dumped(visited)
    await visited.aclose()
    content = bytearray((tmp_path / "leaves").read_bytes())
    swapped = FingerprintList(None)
    swapped.file.open_content(content)
    runs = [run.copy() for run in read_runs(swapped.file)]
    runs[0][5] = runs[0][6]
    other = FingerprintList(tmp_path)
    for run in runs:
        other.append(run)
        other.flush()
    rebuilt = bytearray((tmp_path / "leaves").read_bytes())
    rebuilt[16:32] = content[16:32]
    (tmp_path / "leaves").write_bytes(rebuilt)
    for image in (tmp_path / "images").iterdir():
        image.unlink()
    again = empty(tmp_path)
    with pytest.raises(SnapshotRefused, match="do not agree"):
        again.load(io.BytesIO(data))
    other.close()
    swapped.close()
    await again.aclose()


async def test_a_run_that_could_not_be_written_is_an_error_and_the_next_one_overwrites_it(tmp_path: Path) -> None:
    full = FingerprintList(tmp_path)
    full.append(np.arange(128, dtype=np.uint64))
    assert (full.file.block_count, len(full)) == (1, 128)
    before = full.file.size_bytes
    descriptor = full.file._descriptor
    full.file._descriptor = 1 << 20
    with pytest.raises(OSError, match="Bad file descriptor"):
        full.append(np.arange(128, dtype=np.uint64))
    full.file._descriptor = descriptor
    assert full.file.size_bytes == before
    full.flush()
    assert [run.tolist() for run in read_runs(full.file)] == [list(range(128))] * 2
    full.close()


def test_the_list_finds_a_range_in_any_run() -> None:
    chance = np.random.default_rng(4)
    kept = FingerprintList(None)
    runs = [
        chance.integers(0, 2**64, 5_000, dtype=np.uint64),
        # An attacker's or a broken hash: all in one corner.
        chance.integers(2**63, 2**63 + 1000, 5_000, dtype=np.uint64),
        np.zeros(300, np.uint64),
        np.array([0, 2**64 - 1], np.uint64),
    ]
    for run in runs:
        kept.flush()
        kept._tail = np.empty(len(run), np.uint64)
        kept.append(run)
    for low, high in [(0, 2**64), (2**62, 2**63), (2**63 + 100, 2**63 + 200), (0, 1), (2**64 - 1, 2**64), (5, 6)]:
        for number, run in enumerate(runs):
            window = read_range(kept.file, number, low, high)
            inside = window[(window >= low) & (window <= np.uint64(high - 1))]
            assert inside.tolist() == sorted(value for value in run.tolist() if low <= value < high)
    kept.close()


def test_routes_and_ranges_agree_at_any_depth() -> None:
    leaves = Leaves([(0, 0), (0, 1), (0, 2)], [512] * 3, 3)
    chance = random.Random(6)
    for _ in range(40):
        leaf = chance.randrange(len(leaves.bits))
        leaves.split(leaf, [bytearray(64), bytearray(64)], np.zeros((2, 2), np.int64))
    assert sum(1 / (3 << depth) for depth, _ in leaves.places) == pytest.approx(1)
    lows = [leaves.span(leaf)[0] for leaf in leaves.order]
    assert lows == sorted(lows)
    assert lows[0] == 0
    for leaf in range(len(leaves.bits)):
        low, high = leaves.span(leaf)
        assert low < leaves.middle(leaf) < high
        for fingerprint in (low, high - 1, chance.randrange(low, high)):
            assert leaves.routes[fingerprint * len(leaves.routes) >> 64] == leaf
    again = Leaves(leaves.places, leaves.sizes.tolist(), 3)
    assert again.routes.tolist() == leaves.routes.tolist()
    assert again.order == leaves.order
    first = [(0, 0), (0, 1)]
    for wrong in (
        [],
        leaves.places[:-1],
        [*leaves.places, (0, 0)],
        [*first, (-1, 0)],
        [*first, (60, 0)],
        [*first, (0, -1)],
        [*first, (0, 7)],
        [*first, (1, 4), (1, 4)],
        [*first, (1, 4), (1, 5 - (1 << 63))],
    ):
        with pytest.raises(ValueError, match=r"leaf|leaves|depth"):
            Leaves(wrong, [512] * len(wrong), 3)


@pytest.mark.parametrize("leaf_bits", [0, 4096, 1 << 33, (1 << 20) + 1])
def test_leaf_sizes_that_can_not_work_are_refused(leaf_bits: int) -> None:
    with pytest.raises(ValueError, match="leaf_bits must be a multiple of 512"):
        SplittingSet(capacity=1_000, error_rate=0.01, leaf_bits=leaf_bits)


async def test_it_can_not_forget_and_says_what_can() -> None:
    visited = SplittingSet(capacity=1_000, error_rate=0.01)
    with pytest.raises(CannotForget, match="counting or exact"):
        await visited.forget_many(["http://a/"])
    await visited.aclose()


async def test_other_parameters_are_another_set(tmp_path: Path) -> None:
    visited = await grown(tmp_path, 100)
    data = dumped(visited)
    await visited.aclose()
    other = SplittingSet(capacity=500, error_rate=0.02, directory=tmp_path, leaf_bits=1 << 13)
    with pytest.raises(SnapshotRefused, match=r"error_rate = 0\.01, this set has 0\.02"):
        other.load(io.BytesIO(data))
    await other.aclose()


def test_an_image_of_a_future_that_was_cut_off_is_not_used(tmp_path: Path) -> None:
    """After a crash the list goes on differently, and soon is as long as when the image was written."""

    def append(first: int) -> None:
        kept.append(np.arange(first, first + 100, dtype=np.uint64) << np.uint64(40))
        kept.flush()

    kept, images = FingerprintList(tmp_path), LeafImages(tmp_path / "images")
    leaves = Leaves([(0, 0)], [8192], 1)
    append(0)
    identity, size_bytes = kept.file.identity, kept.file.size_bytes
    append(1_000)
    leaves.replace(0, bytearray(b"\xff" * 1024), np.array([8192, 0]))
    assert images.write_changed(leaves, kept) == 1
    assert LeafImages(tmp_path / "images").read(0, 0, 1024, kept.file, kept.file.history_checksums()) is not None
    kept.file.open_at(identity, size_bytes)
    again = LeafImages(tmp_path / "images")
    assert again.read(0, 0, 1024, kept.file, kept.file.history_checksums()) is None
    append(5_000)
    assert again.read(0, 0, 1024, kept.file, kept.file.history_checksums()) is None
    append(9_000)
    assert again.read(0, 0, 1024, kept.file, kept.file.history_checksums()) is None
    kept.close()


async def test_a_list_is_copied_whole_though_the_system_reads_it_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux reads 2 GiB at once at most."""
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda descriptor, views, offset: read(descriptor, [views[0][:1_000]], offset))
    fingerprints = FingerprintList(None)
    fingerprints.append(np.arange(1, 5_000, dtype=np.uint64))
    fingerprints.flush()
    again = FingerprintList(None)
    again.file.open_content(fingerprints.file.content())
    assert sorted(np.concatenate(list(read_runs(again.file))).tolist()) == list(range(1, 5_000))
    again.close()
    fingerprints.close()


def test_hashes_that_share_their_first_bits_neither_fill_the_memory_nor_stop_the_growth_of_others() -> None:
    leaves = Leaves([(0, 0)], [8192], 1)
    while leaves.can_split(0):
        leaves.split(0, [zeros(1024), zeros(1024)], np.zeros((2, 2), np.int64))
    assert leaves.routes.nbytes <= 16 << 20
    plan = fixed_plan(leaf_bits=8192, leaf_capacity=10)
    leaves.urls[:2] = 1000, 20
    assert plan.next_sizes(leaves, mean_list=1, budget=1) == {1: [8192, 8192]}
    leaves.urls[1] = 0
    assert plan.next_sizes(leaves, mean_list=1, budget=1) == {}


async def test_the_many_leaves_of_a_large_estimate_are_looked_at_seldom_while_they_are_nearly_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []

    def count(kind: type, name: str) -> None:
        call = getattr(kind, name)

        def counted(*given: Any, **named: Any) -> Any:
            looks.append(name)
            return call(*given, **named)

        monkeypatch.setattr(kind, name, counted)

    count(Leaves, "rate")
    count(LeafPlan, "next_sizes")
    visited = SplittingSet(capacity=1_000_000, error_rate=0.01, leaf_bits=MIN_LEAF_BITS)
    leaves = int(visited.describe().details["leaves"])
    assert leaves > 1000
    looks.clear()
    await visited.add_many([f"http://a.test/{number}" for number in range(1000)])
    assert max(looks.count("rate"), looks.count("next_sizes")) <= 1000 / (leaves / 16) + 2
