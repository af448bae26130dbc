"""The 6-seed filter of the crawling literature: 2<<24 bits, and six multiplicative hashes of the URL's characters."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from visited.baselines.numpy_filter import NumpyFilter
from visited.batch import check_batch
from visited.bits.numpy_kernel import Words
from visited.descriptor import Cost, Descriptor, Parameters, SizeOptions
from visited.filters.cells import FilterCells, filter_cost

BACKEND = "six-seeds"
BITS = 2 << 24
"""33,554,432 bits, 4 MiB, for any number of URLs: at 3.49 million it loses 1 % of new URLs, at 10 million a third."""
SEEDS = (7, 11, 13, 31, 37, 61)

_CAPACITY = 3_490_000
_PIECE = 4096


class SixSeedOptions(SizeOptions, frozen=True, kw_only=True):
    """The options of the 6-seed filter."""

    def __post_init__(self) -> None:
        if self.bits is not None and self.bits_per_url is None:
            _check_bits(self.bits)


def six_seeds(*, bits: int = BITS) -> NumpyFilter:
    """A baseline for comparison: result = seed·result + character over the UTF-16 units, in 32 bits; & (bits - 1).

    `bits` must be a power of two from 64 to 2^31.
    """
    _check_bits(bits)
    cells = FilterCells(
        backend=BACKEND,
        capacity=_CAPACITY * bits // BITS,
        error_rate=0.01,
        cells=bits,
        hashes=len(SEEDS),
        parameters={"hash": "six seeds"},
    )
    return NumpyFilter(cells, partial(_positions, bits=bits), piece=_PIECE)


def _positions(urls: Sequence[str], *, bits: int) -> Words:
    check_batch(urls)
    texts = [url.encode("utf-16-le", "surrogatepass") for url in urls]
    lengths = np.array([len(text) // 2 for text in texts])
    # Processes all URLs one character at a time. The longest come first, so those that have ended are at the back.
    order = np.argsort(-lengths, kind="stable")
    longest = int(lengths.max(initial=0))
    units = np.zeros((longest, len(urls)), dtype=np.uint32)
    for column, row in enumerate(order.tolist()):
        units[: lengths[row], column] = np.frombuffer(texts[row], dtype="<u2")
    results = np.zeros((len(SEEDS), len(urls)), dtype=np.uint32)
    seeds = np.array(SEEDS, dtype=np.uint32)[:, None]
    remaining = np.searchsorted(-lengths[order], -np.arange(longest), side="left").tolist()
    for place, width in enumerate(remaining):
        results[:, :width] = results[:, :width] * seeds + units[place, :width]
    positions = np.empty((len(urls), len(SEEDS)), dtype=np.uint64)
    positions[order] = (results & np.uint32(bits - 1)).T
    return positions


def _check_bits(bits: int) -> None:
    if not 64 <= bits <= 1 << 31 or bits & bits - 1:
        raise ValueError(f"bits must be a power of two from 64 to 2^31, found {bits:,}")


def _bits(count: int, options: SixSeedOptions) -> int:
    bits = options.bits_for(count)
    return BITS if bits is None else bits


def _make(parameters: Parameters, options: SixSeedOptions) -> NumpyFilter:
    return six_seeds(bits=_bits(parameters.capacity, options))


def _cost(count: int, _error_rate: float, options: SixSeedOptions) -> Cost:
    return filter_cost(count, cells=_bits(count, options), hashes=len(SEEDS))


DESCRIPTOR = Descriptor(name=BACKEND, make=_make, options=SixSeedOptions, cost=_cost)
