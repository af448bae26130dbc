"""Chooses a visited set by the number of URLs and the memory."""

from collections.abc import Iterable

import msgspec

from visited import sizing
from visited.backends import descriptor, descriptors
from visited.descriptor import Descriptor


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend would cost for a number of URLs."""

    backend: str
    memory_bytes: int
    disk_bytes: int
    false_positive_rate: float
    """After all URLs were added."""
    expected_lost: float
    """New URLs that it loses until then without verification."""


def options(count: int, error_rate: float, *, among: Iterable[Descriptor] | None = None) -> list[Option]:
    """Compute what each set would cost for `count` URLs at the rate, in the order of preference. `among` are the sets,
    which need a formula for their cost; None means those of ours that advice may recommend."""
    sizing.check_capacity(count)
    sizing.check_error_rate(error_rate)
    chosen = (each for each in descriptors() if each.is_advised) if among is None else among
    found = (_option(each, count, error_rate) for each in chosen)
    return [option for option in found if option is not None]


def advise(count: int, *, memory_bytes: int, error_rate: float = 1e-4) -> Option:
    """Choose the set that loses least in this memory: exact if it fits, else dsbf, else bloom.

    If none fits, raises ValueError with the rate that would fit, and with what an exact set on disk needs.
    """
    by_name = {option.backend: option for option in options(count, error_rate)}
    for name, option in by_name.items():
        if "directory" not in descriptor(name).needs and option.memory_bytes <= memory_bytes:
            return option
    bits = memory_bytes * 8
    hashes = sizing.hashes_for_bits(bits, count) if bits else 1
    reachable = sizing.rate_after(bits, hashes, count) if bits else 1.0
    needed, on_disk = by_name["bloom"].memory_bytes, by_name["exact-leveldb"]
    raise ValueError(
        f"{count:,} URLs at a rate of {error_rate:g} need {needed:,} bytes in a Bloom filter, found"
        f" {memory_bytes:,}; which is enough for a rate of {reachable:.2g}, and exact with store = leveldb needs"
        f" {on_disk.memory_bytes:,} bytes and {on_disk.disk_bytes:,} on disk"
    )


def _option(each: Descriptor, count: int, error_rate: float) -> Option | None:
    if each.cost is None:
        return None
    cost = each.cost(count, error_rate, each.options())
    return Option(
        backend=each.name,
        memory_bytes=int(cost.memory_bytes),
        disk_bytes=int(cost.disk_bytes),
        false_positive_rate=cost.false_positive_rate,
        expected_lost=cost.expected_lost,
    )
