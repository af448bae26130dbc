"""The counting Bloom filter, which can forget."""

from collections.abc import Sequence
from typing import BinaryIO, Final

from visited import sizing
from visited.batch import add_in_pieces
from visited.bits.kernel import (
    ADD,
    FORGET,
    TEST,
    Kernel,
    best_kernel,
)
from visited.descriptor import Descriptor, SeedOption
from visited.filters.cells import FilterCells, optimal_cost
from visited.protocol import VisitedStats
from visited.snapshot import Value

BACKEND = "counting"
WIDTHS = (4, 8, 32)

_MAX_PIECE = 8192


class CountingSet:
    """A Bloom filter with counters instead of bits. A new URL steps its counters up, forgetting it steps them down.

    Four bits are enough: a counter overflows with a probability of 1.37e-15·m (Fan, Cao, Almeida and Broder 2000). A
    full counter stays full for ever, which costs a little memory and no correctness. The literature uses 32 bits.

    The filter refuses to forget a URL that it does not know, and counts this. A false positive looks like a known URL:
    forgetting it steps down counters of other URLs, which the filter may then call new again. The expected number of
    such errors is `expected_wrongly_forgotten`: the false-positive rate times the forgotten URLs that were never added.
    """

    is_prompt: Final = True

    def __init__(
        self, *, capacity: int, error_rate: float, width: int = 4, seed: int = 0, kernel: Kernel | None = None
    ) -> None:
        """`width` is the number of bits of a counter: 4, 8 or 32."""
        sizing.check(capacity, error_rate, seed)
        if width not in WIDTHS:
            raise ValueError(f"width must be 4, 8 or 32 bits for each counter, found {width!r}")
        self._counters = -(-sizing.bits_for(capacity, error_rate) // 64) * 64 or 64
        self._hashes = sizing.hashes_for(error_rate)
        # A huge batch changes the rate while it fills the filter, so the rate is computed for each piece.
        self._piece = min(_MAX_PIECE, max(1, self._counters // 512))
        self._width = width
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._cells = FilterCells(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=self._counters,
            hashes=self._hashes,
            cell_bits=width,
            parameters={"width": width, "hash": "murmur3_x64_128", "positions": "guava_mitz_64", "seed": seed},
        )
        self._reset_counts()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return [not verdict for verdict in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        rate = self._cells.rate()
        _, refused, ones, _ = self._probe(urls, FORGET)
        forgotten = len(urls) - refused
        self._cells.ones += ones
        self._cells.losses.count -= forgotten
        self._refused += refused
        # Of the URLs that were never added, the share `rate` is forgotten and the rest is refused.
        self._wrongly_forgotten += refused * rate / (1 - rate) if rate < 1 else forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        return self._cells.describe(
            {
                "counters": self._counters,
                "counters_in_use": self._cells.ones,
                "counters_saturated": self._saturated,
                "counter_bits": self._width,
                "refused_to_forget": self._refused,
                "expected_wrongly_forgotten": self._wrongly_forgotten,
                "kernel": self._kernel.name,
            }
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {
            "saturated": self._saturated,
            "refused": self._refused,
            "wrongly_forgotten": self._wrongly_forgotten,
        }
        self._cells.dump(file, state=state)

    def load(self, file: BinaryIO, /) -> None:
        self._reset_counts()
        snapshot = self._cells.read(file)
        saturated, refused = snapshot.integer("saturated"), snapshot.integer("refused")
        wrongly = snapshot.number("wrongly_forgotten")
        self._cells.restore(snapshot)
        self._saturated, self._refused, self._wrongly_forgotten = saturated, refused, wrongly

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reset_counts(self) -> None:
        self._saturated = 0
        self._refused = 0
        self._wrongly_forgotten = 0.0

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int, int]:
        cells = self._cells
        return self._kernel.counting_probe(urls, cells.array, self._width, self._hashes, self._seed, mode, cells.sketch)

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh, new, ones, saturated = self._probe(urls, ADD)
        if new or self._cells.uses_sketch:
            self._cells.count_batch(new, ones)
            self._saturated += saturated
        return fresh


def _describe(name: str, *, width: int) -> Descriptor:
    return Descriptor(
        name=name,
        make=lambda parameters, options: CountingSet(
            capacity=parameters.capacity, error_rate=parameters.error_rate, width=width, seed=options.seed
        ),
        options=SeedOption,
        needs=frozenset({"capacity"}),
        cost=lambda count, error_rate, _options: optimal_cost(count, error_rate, cell_bits=width),
        # Larger counters cost more memory and lose as much.
        is_advised=width == min(WIDTHS),
        can_forget=True,
    )


COUNTING_4 = _describe("counting", width=4)
COUNTING_8 = _describe("counting-8", width=8)
COUNTING_32 = _describe("counting-32", width=32)
