"""The formulas of Bloom filters: bits, hash functions and leaves for a number of URLs at a rate, and back.

n URLs, m bits, k hash functions, e the false-positive rate:

    m = -n·ln e / (ln 2)²        k = log2(1/e), rounded        e(n) = (1 - exp(-k·n/m))^k
    n = -m·ln(1 - e^(1/k)) / k   for the integer k             e(fill) = (ones/m)^k

Sources: Bloom 1970; Broder and Mitzenmacher 2004; for blocked filters Putze, Sanders and Singler 2007.
"""

import math

import msgspec

BLOCK_BITS = 512
"""One cache line: the block of a blocked filter."""

MAX_HASHES = 48
"""More hash functions mean a rate below 2^-48. There fingerprints start to collide, so an exact set is better."""


class LeafShape(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a tree of splitting leaves."""

    hashes: int
    leaf_bits: int
    leaf_capacity: int
    """URLs in a leaf of full size when its rate reaches the bound."""
    first_leaves: int
    split_fill: float
    """Share of set bits at which a leaf's rate reaches the bound."""


def check(capacity: int, error_rate: float, seed: int = 0) -> None:
    """Raise ValueError unless a filter can be built for so many URLs, at this rate and with this seed."""
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1 URL, found {capacity!r}")
    check_error_rate(error_rate)
    check_seed(seed)


def check_error_rate(error_rate: float) -> None:
    """Raise ValueError unless a filter can be built for this rate."""
    if not 0.0 < error_rate < 1.0:
        raise ValueError(f"error_rate must lie between 0 and 1, as 0.0001 for 0.01 %; found {error_rate!r}")
    if error_rate < 2.0**-MAX_HASHES:
        raise ValueError(
            f"error_rate {error_rate!r} needs {round(-math.log2(error_rate))} hash functions, and {MAX_HASHES} are the"
            f" most (a rate of {2.0**-MAX_HASHES:.1e}); use an exact set"
        )


def check_seed(seed: int) -> None:
    """Raise ValueError unless the seed is one of MurmurHash3's."""
    if not 0 <= seed < 1 << 32:
        raise ValueError(f"seed must be a number from 0 to 2^32 - 1, found {seed!r}")


def bits_for(count: int, error_rate: float) -> int:
    """Bits for `count` URLs (m), rounded down like Guava."""
    return int(-count * math.log(error_rate) / math.log(2) ** 2)


def hashes_for(error_rate: float) -> int:
    """Hash functions for a rate: k = log2(1/e), rounded, at least 1."""
    return max(1, round(-math.log2(error_rate)))


def hashes_for_bits(bits: int, count: int) -> int:
    """The best number of hash functions when m is given: k = (m/n)·ln 2, rounded, from 1 to `MAX_HASHES`."""
    return min(max(1, round(bits / count * math.log(2))), MAX_HASHES)


def rate_after(bits: int, hashes: int, count: float) -> float:
    """The expected false-positive rate of a filter of `bits` bits after `count` URLs."""
    return float((-math.expm1(-hashes * count / bits)) ** hashes)


def rate_from_fill(ones: int, bits: int, hashes: int) -> float:
    """The false-positive rate of a filter in which `ones` of `bits` bits are set."""
    return float((ones / bits) ** hashes)


def mean_rate_between(ones_before: int, ones_after: int, bits: int, hashes: int) -> float:
    """The mean of the rate while the fill rises evenly from one count of set bits to another."""
    if ones_after <= ones_before:
        return rate_from_fill(ones_before, bits, hashes)
    low, high = ones_before / bits, ones_after / bits
    return float((high ** (hashes + 1) - low ** (hashes + 1)) / ((hashes + 1) * (high - low)))


def count_for(bits: int, hashes: int, error_rate: float) -> int:
    """How many URLs a filter can hold before its rate exceeds `error_rate`; exact for the integer k."""
    return max(1, int(-bits * math.log1p(-(error_rate ** (1 / hashes))) / hashes))


def expected_lost(bits: int, hashes: int, count: int) -> float:
    """New URLs that a filter loses while `count` URLs are added: the sum of the rate over all additions."""
    steps = 200
    width = count / steps
    return sum(rate_after(bits, hashes, (step + 0.5) * width) for step in range(steps)) * width


def blocked_rate_after(bits: int, hashes: int, count: float) -> float:
    """The expected rate of a filter of 512-bit blocks, whose fill has a Poisson distribution."""
    blocks = bits / BLOCK_BITS
    mean = count / blocks
    if mean == 0:
        return 0.0
    spread = 12 * math.sqrt(mean) + 12
    rate = 0.0
    for load in range(max(0, int(mean - spread)), int(mean + spread) + 1):
        chance = math.exp(load * math.log(mean) - mean - math.lgamma(load + 1))
        rate += chance * _mean_power_of_fill(load * hashes, hashes)
    return rate


def _mean_power_of_fill(throws: int, hashes: int) -> float:
    """E[(ones/512)^k] after `throws` random bits, to second order in the variance of ones."""
    fill = -math.expm1(throws * math.log1p(-1 / BLOCK_BITS))
    if fill <= 0.0:
        return 0.0
    empty = 1 - fill
    both_empty = math.exp(throws * math.log1p(-2 / BLOCK_BITS))
    variance = max(0.0, empty / BLOCK_BITS + (1 - 1 / BLOCK_BITS) * both_empty - empty * empty)
    return float(fill**hashes * (1 + hashes * (hashes - 1) / 2 * variance / fill**2))


def blocked_for(count: int, error_rate: float) -> tuple[int, int]:
    """(bits, hashes) of the smallest blocked filter that keeps the rate for `count` URLs."""
    most = min(MAX_HASHES, hashes_for(error_rate) + 2)
    return min((_blocked_bits(count, error_rate, hashes), hashes) for hashes in range(max(1, most // 2), most + 1))


def _blocked_bits(count: int, error_rate: float, hashes: int) -> int:
    low = max(BLOCK_BITS, bits_for(count, error_rate) // 2)
    high = low
    while blocked_rate_after(high, hashes, count) > error_rate:
        high *= 2
    while high - low > max(BLOCK_BITS // 2, low // 2000):
        middle = (low + high) // 2
        if blocked_rate_after(middle, hashes, count) > error_rate:
            low = middle
        else:
            high = middle
    return -(-high // BLOCK_BITS) * BLOCK_BITS


def leaf_shape(count: int, leaf_bits: int, error_rate: float) -> LeafShape:
    """The parameters of a splitting filter from (n, m, f).

    k = round(log2(1/f)), leaf capacity u = -m·ln(1 - f^(1/k))/k, first level c = ceil(n/u) leaves; a leaf's rate
    reaches f when its fill reaches f^(1/k).
    """
    hashes = hashes_for(error_rate)
    capacity = count_for(leaf_bits, hashes, error_rate)
    return LeafShape(
        hashes=hashes,
        leaf_bits=leaf_bits,
        leaf_capacity=capacity,
        first_leaves=-(-count // capacity),
        split_fill=float(error_rate ** (1 / hashes)),
    )


def doubling_rate(leaf_bits: int, error_rate: float) -> float:
    """The mean rate of leaves of one size that split when they are full: they are half full to full."""
    shape = leaf_shape(1, leaf_bits, error_rate)
    half = shape.leaf_capacity // 2
    lost = [expected_lost(leaf_bits, shape.hashes, count) for count in (half, 2 * half)]
    return (lost[1] - lost[0]) / half


def check_bits(bits: int, count: int, error_rate: float, *, hashes: int | None = None) -> None:
    """Raise ValueError, with the right size, if `bits` can't hold `count` URLs at the rate.

    `hashes` is the number of hash functions; None takes the best for these bits.
    """
    if hashes is None:
        hashes = hashes_for_bits(bits, count)
    elif not 1 <= hashes <= MAX_HASHES:
        raise ValueError(f"hashes must be a number from 1 to {MAX_HASHES}, found {hashes!r}")
    rate = rate_after(bits, hashes, count)
    if rate > error_rate * 1.02:
        fitting = count_for(bits, hashes_for(error_rate), error_rate)
        raise ValueError(
            f"{count:,} URLs at a rate of {error_rate:g} need {bits_for(count, error_rate):,} bits, found {bits:,},"
            f" which would have a rate of {rate:.3g}, or hold {fitting:,} URLs"
        )
