"""The 6-seed filter of the crawling literature: 2<<24 bits, and six multiplicative hashes of the URL's characters."""

from collections.abc import Sequence
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import check_batch
from visited.kernel import ADD, TEST
from visited.memory import held_bytes, zeros
from visited.numpy_kernel import Words, test_and_set
from visited.protocol import CannotForget, SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.tally import Tally

BACKEND = "six-seeds"
BITS = 2 << 24
"""33,554,432 bits, 4 MiB, whatever comes: 1 % of new URLs are lost at 3.49 million, a third at 10 million."""
SEEDS = (7, 11, 13, 31, 37, 61)

_CAPACITY = 3_490_000
_PIECE = 4096


class SixSeedSet:
    """A baseline for comparison: result = seed·result + character over the UTF-16 units, in 32 bits; & (bits - 1)."""

    def __init__(self, *, bits: int = BITS) -> None:
        """`bits` must be a power of two from 64 to 2^31."""
        if not 64 <= bits <= 1 << 31 or bits & bits - 1:
            raise ValueError(f"bits must be a power of two from 64 to 2^31, found {bits:,}")
        self._bits = bits
        self._capacity = _CAPACITY * bits // BITS
        self._tally = Tally(backend=BACKEND, capacity=self._capacity, error_rate=0.01)
        self._array: NDArray[np.uint8]
        self._ones: int
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts: list[bool] = []
        for start in range(0, len(urls), _PIECE):
            absent, ones = test_and_set(self._array, self._positions(urls[start : start + _PIECE]), ADD)
            before, self._ones = self._ones, self._ones + ones
            mean_rate = sizing.mean_rate_between(before, self._ones, self._bits, len(SEEDS))
            self._tally.accept(int(absent.sum()), mean_rate)
            verdicts += absent.tolist()
        if self._tally.count > self._tally.limit:
            self._tally.warn(self._rate())
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        known: list[bool] = (~test_and_set(self._array, self._positions(urls), TEST)[0]).tolist()
        return known

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("a Bloom filter can't forget: its bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=self._tally.count,
            capacity=self._capacity,
            memory_bytes=held_bytes(self._array.nbytes),
            fill=self._ones / self._bits,
            false_positive_rate=self._rate(),
            expected_lost=self._tally.expected_lost,
            lost_sigma=self._tally.lost_sigma,
            details={"bits": self._bits, "bits_set": self._ones, "hashes": len(SEEDS)},
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {**self._tally.state(), "ones": self._ones}
        parts = [self._array.data]
        write_snapshot(file, backend=BACKEND, parameters={"bits": self._bits}, state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"bits": self._bits})
        if [len(part) for part in snapshot.parts] != [self._bits // 8]:
            raise SnapshotRefused(f"expected {self._bits // 8:,} bytes of bits")
        ones = snapshot.integer("ones")
        self._tally.load(snapshot)
        self._array = np.frombuffer(snapshot.parts[0], dtype=np.uint8)
        self._ones = ones

    def __len__(self) -> int:
        return self._tally.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._array = np.frombuffer(zeros(self._bits // 8), dtype=np.uint8)
        self._ones = 0
        self._tally.empty()

    def _rate(self) -> float:
        return sizing.rate_from_fill(self._ones, self._bits, len(SEEDS))

    def _positions(self, urls: Sequence[str]) -> Words:
        check_batch(urls)
        texts = [url.encode("utf-16-le", "surrogatepass") for url in urls]
        lengths = np.array([len(text) // 2 for text in texts])
        # All URLs a character at a time, the longest first, so that those that are at their end drop out behind.
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        units = np.zeros((longest, len(urls)), dtype=np.uint32)
        for column, row in enumerate(order.tolist()):
            units[: lengths[row], column] = np.frombuffer(texts[row], dtype="<u2")
        results = np.zeros((len(SEEDS), len(urls)), dtype=np.uint32)
        seeds = np.array(SEEDS, dtype=np.uint32)[:, None]
        still = np.searchsorted(-lengths[order], -np.arange(longest), side="left").tolist()
        for place, width in enumerate(still):
            results[:, :width] = results[:, :width] * seeds + units[place, :width]
        positions = np.empty((len(urls), len(SEEDS)), dtype=np.uint64)
        positions[order] = (results & np.uint32(self._bits - 1)).T
        return positions
