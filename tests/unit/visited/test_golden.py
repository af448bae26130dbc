"""What others have published comes out to the bit."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.visited.kernels import available_kernels
from visited.baselines.mitz_32 import mitz_32
from visited.baselines.numpy_filter import NumpyFilter
from visited.baselines.salted_md5 import salted_hashes
from visited.baselines.six_seeds import SEEDS, six_seeds
from visited.bits.kernel import ADD, TEST, Kernel
from visited.filters.bloom import BloomSet


def as_utf_16(text: str) -> str:
    """A string whose UTF-8 is the UTF-16LE of the digits: Guava's funnel of unencoded characters."""
    return "".join(f"{digit}\0" for digit in text)


@pytest.mark.parametrize(
    "kernel",
    # The others agree with the fastest bit for bit (test_kernels.py), and take longer.
    [pytest.param(each, marks=[pytest.mark.long] * bool(number)) for number, each in enumerate(available_kernels())],
    ids=lambda kernel: kernel.name,
)
@pytest.mark.parametrize(
    ("funnel", "false_positives", "ones", "below_900"),
    [
        (str, 29_763, 3_619_915, [89, 129, 471, 723, 751, 835, 871]),
        (as_utf_16, 30_104, 3_619_118, [15, 25, 287, 319, 381, 399, 421, 465, 529, 697, 767, 857]),
    ],
)
def test_guavas_filter_of_64_bits(
    kernel: Kernel, funnel: Callable[[str], str], false_positives: int, ones: int, below_900: list[int]
) -> None:
    visited = BloomSet(capacity=1_000_000, error_rate=0.03, kernel=kernel)
    assert_is_guavas(visited, funnel, false_positives, ones, below_900)


@pytest.mark.parametrize("asked", [900, pytest.param(2_000_000, marks=pytest.mark.long)])
def test_guavas_filter_of_32_bits(asked: int) -> None:
    below_900 = [49, 51, 59, 163, 199, 321, 325, 363, 367, 469, 545, 561, 727, 769, 773, 781]
    found = len(below_900) if asked == 900 else 29_824
    visited = mitz_32(capacity=1_000_000, error_rate=0.03)
    assert_is_guavas(visited, as_utf_16, found, 3_618_540, below_900, asked=asked)


def assert_is_guavas(
    visited: BloomSet | NumpyFilter,
    funnel: Callable[[str], str],
    false_positives: int,
    ones: int,
    below_900: list[int],
    *,
    asked: int = 2_000_000,
) -> None:
    # BloomFilterTest of Guava: a million even numbers at 3 %, then the odd ones, here below `asked`.
    asyncio.run(visited.add_many([funnel(str(number)) for number in range(0, 2_000_000, 2)]))
    odd = range(1, asked, 2)
    known: list[int] = []
    for start in range(0, len(odd), 50_000):
        part = odd[start : start + 50_000]
        known += [
            number
            for number, there in zip(part, visited.has_many([funnel(str(number)) for number in part]), strict=True)
            if there
        ]
    stats = visited.describe()
    assert stats.details["bits"] == 7_298_496
    assert stats.details["hashes"] == 5
    assert stats.details["bits_set"] == ones
    assert len(known) == false_positives
    assert [number for number in known if number < 900] == below_900
    if len(odd) == 1_000_000:
        assert stats.false_positive_rate == pytest.approx(len(known) / len(odd), abs=0.0003)


def test_a_few_urls_set_the_bits_that_guavas_scheme_gives(kernel: Kernel) -> None:
    # By hand from the published hash of "foo": (h1 + i·h2 without its sign bit) mod 128.
    h1, h2 = 0xE271865701F54561, 0x7EAF87E42BBA7D87
    expected = {((h1 + step * h2) % 2**64 & 2**63 - 1) % 128 for step in range(5)}
    bits = np.zeros(2, np.uint64)
    assert kernel.bloom_probe(["foo"], bits, 5, 0, ADD) == ([True], 1, len(expected))
    assert {place for place in range(128) if int(bits[place // 64]) >> place % 64 & 1} == expected
    assert kernel.bloom_probe(["foo"], bits, 5, 0, TEST) == ([False], 0, 0)


def test_the_six_seed_hash_is_javas() -> None:
    # result = seed * result + char in Java's int, & (cap - 1), cap = 2 << 24.
    def java(text: str, seed: int) -> int:
        result = 0
        units = text.encode("utf-16-le")
        for place in range(0, len(units), 2):
            result = (seed * result + units[place] + 256 * units[place + 1]) % 2**32
        return result & (2 << 24) - 1

    urls = ["http://www.163.com", "http://example.com/ä", "", "http://example.com/" + "x" * 300 + "\U0001f600"]
    for url in urls:
        visited = six_seeds()
        asyncio.run(visited.add_many([url]))
        assert visited.describe().details["bits_set"] == len({java(url, seed) for seed in SEEDS})
        assert visited.has_many([url]) == [True]
    assert java("abc", 31) == 96_354  # "abc".hashCode()


def test_salted_md5_takes_four_numbers_from_each_digest() -> None:
    # The digests of "\0abc" and "\1abc", read as big-endian words.
    first = [0x7A3949EA, 0xB1A4B360, 0x9FB05F26, 0x99EBEB8F]
    second = [0x10832419, 0x50B0AE7A, 0x1BBC0BAC, 0x319DACCA]
    assert salted_hashes(b"abc", 4) == first
    assert salted_hashes(b"abc", 7) == [*first, *second[:3]]
