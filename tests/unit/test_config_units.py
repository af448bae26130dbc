"""Sizes and durations as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import duration_text, parse_duration, parse_size, size_text


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("17", 17),
        ("512 B", 512),
        ("1 kB", 1000),
        ("1KB", 1000),
        ("20 MB", 20_000_000),
        ("10 GB", 10**10),
        (" 1.5 gb ", 1_500_000_000),
        ("2 TB", 2 * 10**12),
        ("512 KiB", 524_288),
        ("1.5 MiB", 1_572_864),
        ("1 GiB", 2**30),
        ("1 TiB", 2**40),
        ("10_000 kB", 10_000_000),
        ("0.001 kB", 1),
    ],
)
def test_sizes_are_decimal_with_kb_and_binary_with_kib(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text", ["", "MB", "-1 MB", "1 MB 2", "1 s", "1e6", "0.3 B", "1,5 MB", "٣ MB", "1 K", "nan", "1__0"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|whole number"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("500 ms", 0.5),
        ("5 s", 5.0),
        ("5s", 5.0),
        ("7", 7.0),
        ("10 min", 600.0),
        ("1.5 h", 5400.0),
        ("2 d", 172_800.0),
        ("1w", 604_800.0),
    ],
)
def test_durations_have_a_unit_or_are_seconds(text: str, duration_s: float) -> None:
    assert parse_duration(text) == duration_s


@pytest.mark.parametrize("text", ["", "s", "-1 s", "1 m", "1 kB", "inf", "1 h 5 min", "5 seconds"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        parse_duration(text)


@given(
    st.integers(0, 2**70) | st.integers(0, 2000).map(lambda n: n * 10**9) | st.integers(0, 2000).map(lambda n: n << 30)
)
def test_a_size_that_is_written_reads_as_the_same_size(size_bytes: int) -> None:
    assert parse_size(size_text(size_bytes)) == size_bytes


@given(st.integers(0, 10**7).map(float) | st.floats(0.001, 10**9, allow_subnormal=False).map(lambda s: round(s, 3)))
def test_a_duration_that_is_written_reads_as_the_same_duration(duration_s: float) -> None:
    assert math.isclose(parse_duration(duration_text(duration_s)), duration_s)


def test_the_largest_unit_that_fits_exactly_is_written() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 1024, 2**20, 10**9, 10**9 + 1)] == [
        "0",
        "999",
        "1 kB",
        "1 KiB",
        "1 MiB",
        "1 GB",
        "1000000001",
    ]
    assert [duration_text(s) for s in (0, 0.5, 90, 60, 3600, 7200, 86_400)] == [
        "0 s",
        "0.5 s",
        "90 s",
        "1 min",
        "1 h",
        "2 h",
        "1 d",
    ]
