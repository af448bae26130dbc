"""What a filter of a fixed size costs, by the formulas."""

from visited import sizing
from visited.descriptor import Cost


def filter_cost(count: int, *, cells: int, hashes: int, cell_bits: int = 1) -> Cost:
    """The cost of a filter of so many cells, each of `cell_bits`, for `count` URLs."""
    return Cost(
        memory_bytes=cells * cell_bits / 8,
        false_positive_rate=sizing.rate_after(cells, hashes, count),
        expected_lost=sizing.expected_lost(cells, hashes, count),
    )


def optimal_cost(count: int, error_rate: float, *, cell_bits: int = 1) -> Cost:
    """The cost of a filter whose size is that of the formula for this rate."""
    cells, hashes = sizing.bits_for(count, error_rate), sizing.hashes_for(error_rate)
    return filter_cost(count, cells=cells, hashes=hashes, cell_bits=cell_bits)
