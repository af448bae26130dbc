"""Chooses a visited set by the number of URLs and the memory."""

import msgspec

from visited import sizing

_EXACT_BYTES = 20.3
"""The table's mean size between two growths, as tests/bench/visited.py measures."""
_DSBF_SHARE = 1.2
_DSBF_LOSS = 0.55
"""Mean ratio of its rate to its bound, as `onceover compare` measures at any size: its leaves are always nearly
full."""
_DSBF_LIST_BYTES = 8
_LEVELDB_BYTES = 9 << 20
"""At most: two write buffers and what LevelDB needs beside them. More if it can't map its tables."""
_LEVELDB_DISK_BYTES = 40
"""A digest, its share of blocks and index, and what compaction has not removed yet."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend would cost for a number of URLs."""

    backend: str
    memory_bytes: int
    disk_bytes: int
    false_positive_rate: float
    """After all URLs were added."""
    expected_lost: float
    """New URLs that it loses until then without verification."""


def options(count: int, error_rate: float) -> list[Option]:
    """Compute what each backend would cost for `count` URLs at the rate, in the order of preference."""
    sizing.check_capacity(count)
    sizing.check_error_rate(error_rate)
    bits, hashes = sizing.bits_for(count, error_rate), sizing.hashes_for(error_rate)
    blocked_bits, blocked_hashes = sizing.blocked_for(count, error_rate)
    lost = sizing.expected_lost(bits, hashes, count)
    return [
        _option("exact", count * _EXACT_BYTES),
        _option(
            "dsbf",
            bits / 8 * _DSBF_SHARE,
            count * _DSBF_LIST_BYTES,
            rate=error_rate,
            lost=_DSBF_LOSS * error_rate * count,
        ),
        _option("bloom", bits / 8, rate=sizing.rate_after(bits, hashes, count), lost=lost),
        _option(
            "blocked", blocked_bits / 8, rate=sizing.blocked_rate_after(blocked_bits, blocked_hashes, count), lost=lost
        ),
        _option("counting", bits / 2, rate=sizing.rate_after(bits, hashes, count), lost=lost),
        _option("exact-leveldb", _LEVELDB_BYTES, count * _LEVELDB_DISK_BYTES),
    ]


def advise(count: int, *, memory_bytes: int, error_rate: float = 1e-4) -> Option:
    """Choose the set that loses least in this memory: exact if it fits, else dsbf, else bloom.

    If none fits, raises ValueError with the rate that would fit, and with what an exact set on disk needs.
    """
    by_name = {option.backend: option for option in options(count, error_rate)}
    for name in ("exact", "dsbf", "bloom"):
        if by_name[name].memory_bytes <= memory_bytes:
            return by_name[name]
    bits = memory_bytes * 8
    hashes = sizing.hashes_for_bits(bits, count) if bits else 1
    reachable = sizing.rate_after(bits, hashes, count) if bits else 1.0
    needed = by_name["bloom"].memory_bytes
    raise ValueError(
        f"{count:,} URLs at a rate of {error_rate:g} need {needed:,} bytes in a Bloom filter, found"
        f" {memory_bytes:,}; which is enough for a rate of {reachable:.2g}, and exact with store = leveldb needs"
        f" {_LEVELDB_BYTES:,} bytes and {by_name['exact-leveldb'].disk_bytes:,} on disk"
    )


def _option(name: str, memory: float, disk: float = 0, *, rate: float = 0.0, lost: float = 0.0) -> Option:
    return Option(
        backend=name,
        memory_bytes=int(memory),
        disk_bytes=int(disk),
        false_positive_rate=rate,
        expected_lost=lost,
    )
