"""That counts are judged as the laws of chance say."""

import math
import random

import pytest

from crawler.compare.statistics import deviation, percentile, spread, upper_bound


def test_the_median_stands_between_the_extremes() -> None:
    found = spread([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.median, found.low, found.high, found.samples, found.share) == (2.0, 1.0, 3.0, 3, 0.5)
    assert spread([]) is None


def test_percentiles_are_values_that_occur() -> None:
    ordered = list(range(100))
    assert [percentile(ordered, share) for share in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 99]


@pytest.mark.parametrize("mean", [0.1, 1.0, 30.0, 1000.0])
def test_counts_lie_within_three_deviations_as_often_as_they_should(mean: float) -> None:
    chance = random.Random(1)
    tries = 2000
    outside = sum(abs(deviation(_poisson(mean, chance), mean)) > 3 for _ in range(tries))
    assert outside <= 0.008 * tries


def test_what_is_twice_as_much_as_expected_is_far_off() -> None:
    assert deviation(2000, 1000) > 20
    assert deviation(0, 1000) < -20


@pytest.mark.parametrize(("count", "quantile"), [(0, 2.996), (1, 4.744), (10, 16.96), (100, 118.08)])
def test_the_upper_bound_is_that_of_the_tables(count: int, quantile: float) -> None:
    assert upper_bound(count) == pytest.approx(quantile, rel=0.02)


def _poisson(mean: float, chance: random.Random) -> int:
    if mean > 100:
        return round(chance.gauss(mean, math.sqrt(mean)))
    count, product, limit = 0, chance.random(), math.exp(-mean)
    while product > limit:
        count += 1
        product *= chance.random()
    return count
