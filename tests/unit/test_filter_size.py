"""That a filter too small for its capacity is told before the crawl and at its start, with numbers."""

from pathlib import Path

import pytest

from config import Loaded, load
from crawler.wiring.auto_backend import filter_warnings
from tests.unit.test_config_loader import MINIMAL, written


def loaded(*overrides: str) -> Loaded:
    return load(None, overrides=[f"visited.{each}" for each in overrides], environ={}, require_seeds=False)


def test_a_filter_of_64_bits_for_a_million_urls_is_told_with_its_rate_and_the_right_size(tmp_path: Path) -> None:
    path = written(tmp_path, f"{MINIMAL}[visited]\nbackend = 'bloom'\n[visited.options]\nbits = 64\n")
    [warning] = filter_warnings(load(path))
    assert str(warning) == (
        f"{path}:6: visited.options.bits: bloom with 64 bits is too small for 1,000,000 URLs: its false-positive rate "
        "will reach 1, not 0.0001, and it will take about 1,000,000 new URLs for known ones; visited.verify rescues "
        "these, which takes time. A Bloom filter for this capacity and rate has 19,170,116 bits (2.4 MB)"
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("backend=bloom", "options.bits_per_url=8"), "rate will reach 0.0216, not 0.0001"),
        (("backend=bloom", "options.bits_per_url=20", "options.hashes=1"), "rate will reach 0.0488, not 0.0001"),
        (("backend=bloom", "options.bits=5000000", "options.shards=2"), "bloom with 10,000,000 bits is too small"),
        (
            ("backend=bloom", "capacity=1000", "error_rate=0.000001", "options.bits=15000"),
            "bloom with 15,000 bits is too small",
        ),
        (("backend=six-seeds", "capacity=10000000"), "six-seeds with 33,554,432 bits is too small for 10,000,000 URLs"),
        (("backend=six-seeds", "capacity=10000000"), "rate will reach 0.333, not 0.0001"),
        (("backend=bloom", "options.bits=64", "verify=false"), "their pages are lost, because visited.verify is false"),
    ],
)
def test_the_rate_follows_from_the_size_and_the_options(settings: tuple[str, ...], words: str) -> None:
    [warning] = filter_warnings(loaded(*settings))
    assert words in warning.message


@pytest.mark.parametrize(
    "settings",
    [
        ("backend=auto",),
        ("backend=exact",),
        ("backend=dsbf",),
        ("backend=bloom",),
        ("backend=bloom", "capacity=1", "error_rate=0.001"),
        ("backend=bloom", "options.bits=19170116"),
        ("backend=bloom", "options.bits_per_url=8", "error_rate=0.0216"),
        ("backend=bloom", "options.shards=7"),
        ("backend=blocked",),
        ("backend=counting-32",),
        ("backend=mitz-32",),
        ("backend=per-site",),
        ("backend=six-seeds",),
    ],
)
def test_a_filter_that_keeps_its_rate_is_not_told(settings: tuple[str, ...]) -> None:
    assert list(filter_warnings(loaded(*settings))) == []
