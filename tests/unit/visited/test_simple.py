"""A visited set that is made of a filter for one URL at a time. The contract suite runs over it, too."""

import io
from typing import Any

import pytest

from tests.unit.visited.short_hashes import ShortHashes, short_hashes
from visited import SnapshotRefused
from visited.wrappers.simple import SimpleSet


async def test_its_losses_are_estimated_from_the_rate() -> None:
    visited = short_hashes(2)
    offered = 20_000
    for start in range(0, offered, 64):
        await visited.add_many([f"https://e.org/{number}" for number in range(start, min(offered, start + 64))])
    stats = visited.describe()
    lost = offered - len(visited)
    assert stats.count == len(visited)
    assert stats.false_positive_rate == len(visited) / 65_536
    assert lost > 2000
    assert abs(lost - stats.expected_lost) < 4 * stats.lost_sigma


async def test_a_set_with_other_parameters_refuses_its_snapshot() -> None:
    file = io.BytesIO()
    short_hashes(8).dump(file)
    file.seek(0)
    with pytest.raises(SnapshotRefused, match="size_bytes = 8, this set has 4"):
        short_hashes(4).load(file)


async def test_what_the_filter_itself_refuses_leaves_the_set_empty() -> None:
    class Refusing(ShortHashes):
        def dump(self) -> bytes:
            return super().dump() + b"x"

    visited = SimpleSet("short-hashes", lambda: Refusing(8), parameters={})
    await visited.add_many(["a", "b"])
    file = io.BytesIO()
    visited.dump(file)
    file.seek(0)
    with pytest.raises(SnapshotRefused, match="expected hashes of 8 bytes, found 17 in all"):
        visited.load(file)
    assert len(visited) == 0
    assert not any(visited.has_many(["a", "b"]))


async def test_a_filter_may_answer_by_numbers_that_are_equal_to_truth_values() -> None:
    class Counting(ShortHashes):
        def add(self, url: str, /) -> bool:
            new: Any = int(super().add(url))
            answer: bool = new
            return answer

    visited = SimpleSet("short-hashes", lambda: Counting(8), parameters={})
    assert await visited.add_many(["a", "b", "a"]) == [True, True, False]
    assert len(visited) == 2
