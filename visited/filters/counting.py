"""The counting Bloom filter, which can forget."""

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from visited import sizing
from visited.batch import in_pieces
from visited.bits.kernel import (
    ADD,
    FORGET,
    TEST,
    Kernel,
    best_kernel,
)
from visited.filters.fixed_size import FixedSize
from visited.protocol import VisitedStats
from visited.snapshot import Value

BACKEND = "counting"
WIDTHS = (4, 8, 32)

_MOST_AT_ONCE = 8192


class CountingSet:
    """A Bloom filter with a counter in place of each bit, stepped up by a new URL and down by a forgotten one.

    Four bits are enough: a counter overflows with a chance of 1.37e-15·m (Fan, Cao, Almeida and Broder 2000). A full
    counter stays full for ever, so that nothing but memory is lost by it. 32 bits are as in the literature.

    Forgetting a URL that is not known is refused, and counted. One that the filter only takes for known, by a false
    positive, can't be told from a real one: forgetting it steps down counters of others, which may then be called
    new again. That happens at the false-positive rate of what is forgotten without ever having been added; the sum of
    it is `expected_wrongly_forgotten`.
    """

    def __init__(
        self, *, capacity: int, error_rate: float, width: int = 4, seed: int = 0, kernel: Kernel | None = None
    ) -> None:
        """`width` is the bits of a counter: 4, 8 or 32."""
        sizing.check_capacity(capacity)
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if width not in WIDTHS:
            raise ValueError(f"width must be 4, 8 or 32 bits for each counter, found {width!r}")
        self._counters = -(-sizing.bits_for(capacity, error_rate) // 64) * 64 or 64
        self._hashes = sizing.hashes_for(error_rate)
        # The rate is taken once for each piece, so that a huge batch is accounted for as it fills the filter.
        self._piece = min(_MOST_AT_ONCE, max(64, self._counters // 512))
        self._width = width
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._filling = FixedSize(
            backend=BACKEND,
            capacity=capacity,
            error_rate=error_rate,
            cells=self._counters,
            hashes=self._hashes,
            size_bytes=self._counters * width // 8,
            dtype=np.uint32,
            parameters={"width": width, "hash": "murmur3_x64_128", "positions": "guava_mitz_64", "seed": seed},
        )
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        return [not verdict for verdict in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        rate = self._filling.rate()
        _, refused, ones, _ = self._probe(urls, FORGET)
        forgotten = len(urls) - refused
        self._filling.ones += ones
        self._filling.tally.count -= forgotten
        self._refused += refused
        # Of those never added, a share `rate` passes; `refused` tells how many there were that did not.
        self._wrongly_forgotten += refused * rate / (1 - rate) if rate < 1 else forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        return self._filling.describe(
            {
                "counters": self._counters,
                "counters_in_use": self._filling.ones,
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
        self._filling.dump(file, state=state)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = self._filling.read(file)
        saturated, refused = snapshot.integer("saturated"), snapshot.integer("refused")
        wrongly = snapshot.number("wrongly_forgotten")
        self._filling.take(snapshot)
        self._saturated, self._refused, self._wrongly_forgotten = saturated, refused, wrongly

    def __len__(self) -> int:
        return self._filling.tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._saturated = 0
        self._refused = 0
        self._wrongly_forgotten = 0.0

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int, int]:
        filling = self._filling
        return self._kernel.counting_probe(
            urls, filling.array, self._width, self._hashes, self._seed, mode, filling.sketch
        )

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh, new, ones, saturated = self._probe(urls, ADD)
        if new or self._filling.is_sampled:
            self._filling.accept(new, ones)
            self._saturated += saturated
        return fresh
