"""The counting Bloom filter, which can forget."""

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import in_pieces
from visited.kernel import ADD, FORGET, TEST, Kernel, best_kernel
from visited.memory import held_bytes, zeros
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.tally import Tally

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
        self._capacity = capacity
        self._error_rate = error_rate
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._tally = Tally(backend=BACKEND, capacity=capacity, error_rate=error_rate)
        self._array: NDArray[np.uint32]
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        return [not verdict for verdict in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        rate = self._rate()
        _, refused, ones, _ = self._probe(urls, FORGET)
        forgotten = len(urls) - refused
        self._ones += ones
        self._tally.count -= forgotten
        self._refused += refused
        # Of those never added, a share `rate` passes; `refused` tells how many there were that did not.
        self._wrongly_forgotten += refused * rate / (1 - rate) if rate < 1 else forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._tally.count,
            capacity=self._capacity,
            memory_bytes=held_bytes(self._array.nbytes),
            fill=self._ones / self._counters,
            false_positive_rate=self._rate(),
            expected_lost=self._tally.expected_lost,
            lost_sigma=self._tally.lost_sigma,
            details={
                "counters": self._counters,
                "counters_in_use": self._ones,
                "counters_saturated": self._saturated,
                "counter_bits": self._width,
                "hashes": self._hashes,
                "refused_to_forget": self._refused,
                "expected_wrongly_forgotten": self._wrongly_forgotten,
                "kernel": self._kernel.name,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {
            **self._tally.state(),
            "ones": self._ones,
            "saturated": self._saturated,
            "refused": self._refused,
            "wrongly_forgotten": self._wrongly_forgotten,
        }
        parts = [self._array.data]
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        if [len(part) for part in snapshot.parts] != [self._array.nbytes]:
            raise SnapshotRefused(f"expected {self._array.nbytes:,} bytes of counters")
        ones, saturated = snapshot.integer("ones"), snapshot.integer("saturated")
        refused, wrongly = snapshot.integer("refused"), snapshot.number("wrongly_forgotten")
        self._tally.load(snapshot)
        self._array = np.frombuffer(snapshot.parts[0], dtype=np.uint32)
        self._ones, self._saturated, self._refused, self._wrongly_forgotten = ones, saturated, refused, wrongly

    def __len__(self) -> int:
        return self._tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._array = np.frombuffer(zeros(self._counters * self._width // 8), dtype=np.uint32)
        self._ones = 0
        self._saturated = 0
        self._refused = 0
        self._wrongly_forgotten = 0.0
        self._tally.empty()

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int, int, int]:
        return self._kernel.counting_probe(urls, self._array, self._width, self._hashes, self._seed, mode)

    def _rate(self) -> float:
        return sizing.rate_from_fill(self._ones, self._counters, self._hashes)

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        fresh, new, ones, saturated = self._probe(urls, ADD)
        if new:
            tally = self._tally
            tally.accept(new, float(((self._ones + ones / 2) / self._counters) ** self._hashes))
            self._ones += ones
            self._saturated += saturated
            if tally.count > tally.limit:
                tally.warn(self._rate())
        return fresh

    def _parameters(self) -> dict[str, Value]:
        return {
            "capacity": self._capacity,
            "error_rate": self._error_rate,
            "counters": self._counters,
            "width": self._width,
            "hashes": self._hashes,
            "hash": "murmur3_x64_128",
            "positions": "guava_mitz_64",
            "seed": self._seed,
        }
