"""That the sample of what came is even, and holds each URL once."""

import numpy as np
import pytest

from visited.bits.kernel import best_kernel
from visited.filters.bottom_k import SAMPLE_SIZE, BottomKSample


def sample_of(count: int, *, repeats: int = 1) -> BottomKSample:
    """What is left of so many URLs, a fourth of them for each filter, in batches of 50."""
    sample = BottomKSample(best_kernel())
    for start in range(0, count, 50):
        numbers = range(start, start + 50)
        for _ in range(repeats):
            sample.add([f"https://h/{number}" for number in numbers], [number % 4 for number in numbers])
    return sample


def test_few_urls_are_all_in_it_once() -> None:
    sample = sample_of(1000, repeats=3)
    assert sample.probability() == 1.0
    assert sample.count_by_filter(4).tolist() == [250] * 4
    assert BottomKSample(best_kernel()).count_by_filter(2).tolist() == [0, 0]


@pytest.mark.parametrize("repeats", [1, 2])
def test_of_many_each_has_the_same_chance_however_often_it_came(repeats: int) -> None:
    sample = sample_of(60_000, repeats=repeats)
    seen = sample.count_by_filter(4)
    assert seen.sum() == SAMPLE_SIZE - 1
    assert sample.probability() == pytest.approx(SAMPLE_SIZE / 60_000, rel=0.06)
    assert np.abs(seen - SAMPLE_SIZE / 4).max() < 4 * (SAMPLE_SIZE * 0.25 * 0.75) ** 0.5


def test_a_batch_may_hold_a_url_twice_or_nothing() -> None:
    sample = BottomKSample(best_kernel())
    sample.add([], [])
    sample.add(["a", "b", "a"], [0, 1, 0])
    assert sample.count_by_filter(3).tolist() == [1, 1, 0]
    assert sample.memory_bytes() == 24


def test_it_is_taken_up_as_it_was_left_and_what_is_none_is_refused() -> None:
    sample, again = sample_of(9000), BottomKSample(best_kernel())
    hashes, filters = map(bytearray, sample.dump())
    again.load(hashes, filters, filter_count=4)
    assert again.dump() == sample.dump()
    for wrong in ((hashes, filters[:-4]), (hashes[:8] * 2, filters[:8]), (hashes[:7], filters[:4])):
        with pytest.raises(ValueError, match=r"expected ascending|multiple"):
            again.load(*wrong, filter_count=4)
    with pytest.raises(ValueError, match="expected ascending"):
        again.load(hashes, filters, filter_count=3)
    assert again.dump() == sample.dump()
