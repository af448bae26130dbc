"""That counts are judged as the laws of chance say."""

import math
import random

import pytest

from crawler.compare.statistics import clustering, deviation, percentile, spread, upper_bound


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


def test_a_wider_spread_makes_a_deviation_smaller() -> None:
    assert deviation(1100, 1000, variance=4000.0) == pytest.approx(deviation(1100, 1000) / 2)
    assert deviation(0, 0.0, variance=0.0) == 0.0


def test_sums_over_places_with_chances_of_their_own_lie_within_three_deviations_as_often_as_they_should() -> None:
    chance = random.Random(1)
    tries, places, turns = 400, 500, 20
    outside = outside_if_independent = 0
    for _ in range(tries):
        rates = [0.9 if chance.random() < 0.2 else 0.02 for _ in range(places)]
        hits = [sum(chance.random() < rate for _ in range(turns)) for rate in rates]
        expected = (0.2 * 0.9 + 0.8 * 0.02) * places * turns
        by_chance = expected * (1 - expected / (places * turns))
        found = clustering(hits, places * turns)
        outside += abs(deviation(sum(hits), expected, variance=by_chance * found)) > 3
        outside_if_independent += abs(deviation(sum(hits), expected, variance=by_chance)) > 3
    assert outside <= 0.01 * tries
    assert outside_if_independent > 0.3 * tries


@pytest.mark.parametrize("hits", [[], [0, 0, 0], [4, 4, 4], [1, 0, 0, 0, 1, 0]])
def test_hits_that_are_even_or_rare_are_not_clustered(hits: list[int]) -> None:
    assert clustering(hits, 4 * len(hits)) == pytest.approx(1.0, abs=0.1)


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
