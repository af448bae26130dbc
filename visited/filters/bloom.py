"""The classic Bloom filter, bit-compatible with Guava's 64-bit murmur scheme."""

from collections.abc import Sequence
from typing import Annotated, BinaryIO, Final, NoReturn

from msgspec import Meta

from visited import sizing
from visited.batch import add_in_pieces
from visited.bits.kernel import (
    ADD,
    TEST,
    Kernel,
    best_kernel,
)
from visited.descriptor import Cost, Descriptor, Parameters, Seed, SizeOptions
from visited.filters.cells import CANNOT_FORGET, FilterCells, filter_cost, optimal_cost
from visited.protocol import CannotForget, VisitedStats

BACKEND = "bloom"

_MAX_PIECE = 8192
_HIGHEST_RATE = 0.99


class BloomOptions(SizeOptions, frozen=True, kw_only=True):
    """The options of the classic Bloom filter."""

    hashes: Annotated[
        Annotated[int, Meta(ge=1, le=sizing.MAX_HASHES, extra={"unit": "hash functions"})] | None,
        Meta(description="Hash functions, with bits or bits_per_url. Unset means the best number for that size."),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.hashes is not None and self.bits is None and self.bits_per_url is None:
            raise ValueError(f"expected bits or bits_per_url beside hashes = {self.hashes}, found neither")


class BloomSet:
    """m bits, of which each URL sets k: m = -n·ln e/(ln 2)², k = log2(1/e).

    With the same seed, size and URLs (as UTF-8) it sets the same bits as Guava's `BloomFilter` with MURMUR128_MITZ_64:
    the positions are (h1 + i·h2 without its sign bit) mod m, where (h1, h2) is MurmurHash3 x64 128. With equal steps
    some URLs visit the same few bits repeatedly. That adds 0.1/m to 0.2/m to the rate, as measured: a few thousandths
    of a URL for all URLs within the capacity.
    """

    is_prompt: Final = True

    def __init__(
        self,
        *,
        capacity: int,
        error_rate: float,
        seed: int = 0,
        bits: int | None = None,
        hashes: int | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        """`bits` overrides the formula's m, and `hashes` the best k for these bits.

        Raises ValueError if the filter's rate with `capacity` URLs would be too high, or for `hashes` without `bits`.
        """
        sizing.check(capacity, error_rate, seed)
        if bits is not None:
            sizing.check_bits(bits, capacity, error_rate, hashes=hashes)
        elif hashes is not None:
            raise ValueError(f"hashes needs bits: expected both, found hashes={hashes!r} alone")
        wanted = sizing.bits_for(capacity, error_rate) if bits is None else bits
        words = max(1, -(-wanted // 64))
        self._bits = words * 64
        self._hashes = hashes or (
            sizing.hashes_for(error_rate) if bits is None else sizing.hashes_for_bits(bits, capacity)
        )
        # A huge batch changes the rate while it fills the filter, so the rate is computed for each piece.
        self._piece = min(_MAX_PIECE, max(1, words // 8))
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._cells = FilterCells(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=self._bits,
            hashes=self._hashes,
            parameters={"hash": "murmur3_x64_128", "positions": "guava_mitz_64", "seed": seed},
        )

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget(CANNOT_FORGET)

    def describe(self) -> VisitedStats:
        return self._cells.describe({"bits": self._bits, "bits_set": self._cells.ones, "kernel": self._kernel.name})

    def dump(self, file: BinaryIO, /) -> None:
        self._cells.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._cells.restore(self._cells.read(file))

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int]:
        cells = self._cells
        return self._kernel.bloom_probe(urls, cells.array, self._hashes, self._seed, mode, cells.sketch)

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh, new, ones = self._probe(urls, ADD)
        if new or self._cells.uses_sketch:
            self._cells.count_batch(new, ones)
        return fresh


def _make(parameters: Parameters, options: BloomOptions) -> BloomSet:
    capacity = parameters.capacity
    bits = options.bits_for(capacity)
    # If the options give the size, the rate follows from it, however bad it is.
    rate = _cost(capacity, parameters.error_rate, options).false_positive_rate
    return BloomSet(
        capacity=capacity,
        error_rate=parameters.error_rate if bits is None else min(max(rate, parameters.error_rate), _HIGHEST_RATE),
        seed=options.seed,
        bits=bits,
        hashes=options.hashes,
    )


def _cost(count: int, error_rate: float, options: BloomOptions) -> Cost:
    bits = options.bits_for(count)
    if bits is None:
        return optimal_cost(count, error_rate)
    return filter_cost(count, cells=bits, hashes=options.hashes or sizing.hashes_for_bits(bits, count))


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    options=BloomOptions,
    needs=frozenset({"capacity"}),
    cost=_cost,
    is_advised=True,
)
