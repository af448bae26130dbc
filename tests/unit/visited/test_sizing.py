"""The formulas give the numbers of the literature."""

import asyncio
import math

import pytest

from visited import sizing
from visited.advice import options
from visited.backends import descriptors
from visited.filters.bloom import BloomSet


@pytest.mark.parametrize(
    ("error_rate", "bits", "hashes"),
    [
        (0.1, 4_792_529, 3),
        (0.03, 7_298_440, 5),
        (0.01, 9_585_058, 7),
        (0.001, 14_377_587, 10),
        (1e-4, 19_170_116, 13),
        (1e-6, 28_755_175, 20),
    ],
)
def test_a_million_urls_need_what_the_formula_says(error_rate: float, bits: int, hashes: int) -> None:
    assert sizing.bits_for(1_000_000, error_rate) == bits
    assert sizing.hashes_for(error_rate) == hashes


def test_guavas_extreme_of_bits_comes_out() -> None:
    # Of its own test: optimalNumOfBits(Integer.MAX_VALUE, Double.MIN_VALUE).
    assert sizing.bits_for(2**31 - 1, 5e-324) == 3_327_428_144_502


@pytest.mark.parametrize(
    ("bits_per_url", "hashes", "rate"),
    [
        (4, 3, 0.147),
        (8, 6, 0.0216),
        (10, 7, 0.00819),
        (13, 8, 0.00199),
        (16, 11, 4.59e-4),
        (24, 17, 9.8e-6),
        (32, 6, 2.5e-5),
    ],
)
def test_rates_by_bits_per_url(bits_per_url: int, hashes: int, rate: float) -> None:
    assert sizing.rate_after(bits_per_url * 10**6, hashes, 10**6) == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize(
    ("count", "rate"),
    [(1e6, 1.9e-5), (1.36e6, 1e-4), (2.13e6, 1e-3), (3.49e6, 0.01), (5e6, 0.043), (10e6, 0.33), (50e6, 0.9992)],
)
def test_the_saturation_of_the_six_seed_filter(count: float, rate: float) -> None:
    assert sizing.rate_after(2 << 24, 6, count) == pytest.approx(rate, rel=0.03)


@pytest.mark.parametrize(
    ("bits", "capacity"), [(2**18, 27_327), (2**16, 6_832), (2**20, 109_307), (2**30, 111_930_000)]
)
def test_capacity_for_an_integer_number_of_hashes(bits: int, capacity: int) -> None:
    assert sizing.count_for(bits, 7, 0.01) == pytest.approx(capacity, rel=1e-4, abs=1)


def test_capacity_and_rate_are_each_others_inverse() -> None:
    for hashes in (1, 3, 7, 13, 20):
        for rate in (0.2, 0.01, 1e-4):
            count = sizing.count_for(10**7, hashes, rate)
            assert sizing.rate_after(10**7, hashes, count) <= rate < sizing.rate_after(10**7, hashes, count + 2)


def test_what_is_lost_on_the_way_to_a_full_filter() -> None:
    # Filled from empty to its capacity, a filter loses 0.163·f of the URLs for k = 7, 0.122·f for k = 10.
    bits = sizing.bits_for(10**6, 0.01)
    assert sizing.expected_lost(bits, 7, 10**6) == pytest.approx(0.163 * 0.01 * 10**6, rel=0.03)


def test_the_mean_rate_of_a_filling_filter_is_the_integral_of_its_rate() -> None:
    steps = 10_000
    fills = [200 + 600 * (step + 0.5) / steps for step in range(steps)]
    numeric = sum((fill / 1000) ** 7 for fill in fills) / steps
    assert sizing.mean_rate_between(200, 800, 1000, 7) == pytest.approx(numeric, rel=1e-6)
    assert sizing.mean_rate_between(300, 300, 1000, 7) == 0.3**7


@pytest.mark.parametrize(("error_rate", "bits_per_url"), [(0.01, 9.90), (0.001, 15.49), (1e-4, 21.91)])
def test_blocked_filters_need_a_little_more(error_rate: float, bits_per_url: float) -> None:
    bits, hashes = sizing.blocked_for(10**6, error_rate)
    assert bits / 10**6 == pytest.approx(bits_per_url, rel=0.03)
    assert sizing.blocked_rate_after(bits, hashes, 10**6) <= error_rate


@pytest.mark.parametrize(
    ("count", "error_rate", "hashes", "capacity", "leaves"),
    [
        (10**6, 0.01, 7, 109_306, 10),
        (10**6, 1e-4, 13, 54_690, 19),
        (10**8, 0.01, 7, 109_306, 915),
        (10**8, 1e-4, 13, 54_690, 1_829),
    ],
)
def test_the_shape_of_a_splitting_filter(
    count: int, error_rate: float, hashes: int, capacity: int, leaves: int
) -> None:
    shape = sizing.leaf_shape(count, 1 << 20, error_rate)
    assert (shape.hashes, shape.leaf_capacity, shape.first_leaves) == (hashes, capacity, leaves)
    assert shape.split_fill**hashes == pytest.approx(error_rate)


@pytest.mark.parametrize("error_rate", [0.0, 1.0, -0.1, 1.5, math.nan, 1e-20])
def test_a_rate_that_can_not_be_is_refused(error_rate: float) -> None:
    with pytest.raises(ValueError, match="error_rate"):
        sizing.check_error_rate(error_rate)


def test_too_few_bits_are_refused_with_the_number_that_would_do() -> None:
    with pytest.raises(ValueError, match=r"need 19,170,116 bits, found 8,388,608.*rate of 0\.0178,.*hold 437,522"):
        sizing.check_bits(2**23, 10**6, 1e-4)
    sizing.check_bits(sizing.bits_for(10**6, 1e-4), 10**6, 1e-4)


def test_the_number_of_hash_functions_can_be_given_and_is_held_to_the_rate() -> None:
    bits = 16 * 10**6
    sizing.check_bits(bits, 10**6, 5.74e-4, hashes=8)
    sizing.check_bits(bits, 10**6, 4.59e-4)
    with pytest.raises(ValueError, match=r"would have a rate of 0\.000574"):
        sizing.check_bits(bits, 10**6, 4.59e-4, hashes=8)
    with pytest.raises(ValueError, match="hashes must be a number from 1 to 48, found 0"):
        sizing.check_bits(bits, 10**6, 4.59e-4, hashes=0)


def test_a_filter_takes_the_hash_functions_it_is_given_beside_its_bits() -> None:
    visited = BloomSet(capacity=1000, error_rate=0.5, bits=16_000, hashes=8)
    asyncio.run(visited.add_many(["https://a.test/"]))
    assert visited.describe().details["bits_set"] == 8
    with pytest.raises(ValueError, match="hashes needs bits"):
        BloomSet(capacity=1000, error_rate=0.5, hashes=8)


def test_the_adviser_names_every_cost() -> None:
    found = {option.backend: option for option in options(10**6, 0.01, among=descriptors())}
    assert found["exact"].expected_lost == 0
    assert found["bloom"].memory_bytes == 1_198_132
    assert found["dsbf"].disk_bytes == 8_000_000
    assert found["bloom"].memory_bytes < found["blocked"].memory_bytes < found["counting"].memory_bytes
