"""A growing number of Bloom filters of one size, and an estimate of how many URLs each was given."""

import json
import sys
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.bits.kernel import ADD, TEST, Kernel
from visited.bits.memory import Memory, allocated_bytes, object_bytes, zeros
from visited.filters.bottom_k import BottomKSample
from visited.protocol import SnapshotRefused

_HIGH_RATE = 0.9
"""At higher rates a filter accepts too few URLs to infer much from them."""
_SLAB_BYTES = 1 << 16
"""Small filters share blocks of this size. An object for each would take more than its bits, and the list of them would
leave holes in the heap as it grows."""
_COUNT, _ONES, _GIVEN, _VARIANCE = range(4)
"""Of a filter: URLs accepted, bits set, the estimated number of new URLs that it was given, and its variance."""


class SiteFilters:
    """The filters by name, each with its fill, its count and its estimate.

    A filter can't count the new URLs that it is given, because those that it loses leave no trace. So the number is
    inferred from the accepted URLs: at a rate p each stands for 1/(1 - p), with a variance of p/(1 - p)². A filter that
    is nearly full accepts almost no URL; its number is inferred from a sample of all URLs (`BottomKSample`).
    """

    def __init__(self, *, size_bytes: int, hashes: int, seed: int, kernel: Kernel) -> None:
        self._bytes = size_bytes
        self._hashes = hashes
        self._seed = seed
        self._kernel = kernel
        self.numbers: dict[str, int] = {}
        """The number of each filter by its name."""
        self._names_bytes = 0
        self._per_slab = max(1, _SLAB_BYTES // size_bytes)
        self._slabs: list[Memory] = []
        self._table: NDArray[np.float64] = np.zeros((16, 4))
        """A row for each filter, and room for more."""
        self.sample = BottomKSample(kernel)

    def find_or_add(self, name: str) -> int:
        """Return the number of a filter, which is created when needed."""
        count = len(self.numbers)
        number = self.numbers.setdefault(name, count)
        if number == count:
            if number == len(self._slabs) * self._per_slab:
                self._slabs.append(zeros(self._per_slab * self._bytes))
            self._names_bytes += object_bytes(name) + object_bytes(number)
            if number == len(self._table):
                # A large table has a memory map of its own, so the old one leaves no hole.
                table = np.frombuffer(zeros(2 * self._table.nbytes)).reshape(-1, 4)
                table[:number] = self._table
                self._table = table
        return number

    def add(self, number: int, urls: Sequence[str]) -> list[bool]:
        """Add URLs to a filter, and return for each whether it is new."""
        row = self._table[number]
        before = int(row[_ONES])
        absent, new, ones = self._kernel.bloom_probe(urls, self._bits(number), self._hashes, self._seed, ADD)
        row[_ONES] += ones
        row[_COUNT] += new
        rate = sizing.mean_rate_between(before, before + ones, self._bytes * 8, self._hashes)
        if new:
            row[_GIVEN] += new / (1 - rate)
            row[_VARIANCE] += new * rate / (1 - rate) ** 2
        return absent

    def has(self, number: int, urls: Sequence[str]) -> list[bool]:
        """Return for each URL whether the filter knows it."""
        absent, _, _ = self._kernel.bloom_probe(urls, self._bits(number), self._hashes, self._seed, TEST)
        return [not each for each in absent]

    @property
    def counts(self) -> NDArray[np.float64]:
        """URLs that each filter has accepted."""
        return self._rows[:, _COUNT]

    def fills(self) -> NDArray[np.float64]:
        """The share of set bits of each filter."""
        fills: NDArray[np.float64] = self._rows[:, _ONES] / (self._bytes * 8)
        return fills

    def rates(self) -> NDArray[np.float64]:
        """The false-positive rate of each filter."""
        rates: NDArray[np.float64] = self.fills() ** self._hashes
        return rates

    def estimate_given(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate how many new URLs each filter was given, and the variances of these numbers."""
        rates = self.rates()
        chance = self.sample.probability()
        seen = self.sample.count_by_filter(len(rates))
        # For each URL the variance of the one estimate grows by p/(1 - p), of the other by (1 - c)/c.
        is_sampled = rates > min(1 - chance, _HIGH_RATE)
        given = np.where(is_sampled, seen / chance, self._rows[:, _GIVEN])
        variances = np.where(is_sampled, seen * (1 - chance) / chance**2, self._rows[:, _VARIANCE])
        return given, variances

    def memory_bytes(self) -> int:
        lists = sys.getsizeof(self.numbers) + sys.getsizeof(self._slabs)
        bits = len(self._slabs) * allocated_bytes(self._per_slab * self._bytes)
        return bits + lists + self._names_bytes + self._table.nbytes + self.sample.memory_bytes()

    def dump(self) -> list[bytes | Memory | memoryview]:
        """Return the parts of a snapshot."""
        return [
            # msgspec can't encode lone surrogates, which a host may contain like any URL.
            json.dumps(list(self.numbers)).encode(),
            self._rows.tobytes(),
            *self.sample.dump(),
            *map(self._bits, range(len(self.numbers))),
        ]

    def load(self, parts: list[Memory]) -> None:
        """Fill new filters from the parts of a snapshot, and empty the list, so that memory need not hold the filters
        twice. Raises SnapshotRefused, and changes nothing then."""
        try:
            names = msgspec.convert(json.loads(bytes(parts[0])), list[str])
            table = np.frombuffer(parts[1], dtype=np.float64).reshape(len(names), 4).copy()
            hashes, filters, *bits = parts[2:]
            sample = BottomKSample(self._kernel)
            sample.load(hashes, filters, filter_count=len(names))
        except (IndexError, RecursionError, ValueError) as error:
            raise SnapshotRefused(f"the snapshot's table of filters can't be read: {error}") from error
        if len(bits) != len(names) or any(len(each) != self._bytes for each in bits):
            raise SnapshotRefused(f"expected {len(names)} filters of {self._bytes} bytes, found {len(bits)} parts")
        self.sample = sample
        self.numbers = {name: number for number, name in enumerate(names)}
        self._names_bytes = sum(object_bytes(name) + object_bytes(number) for name, number in self.numbers.items())
        self._slabs = []
        parts.clear()
        bits.reverse()
        for number in range(len(bits)):
            if number % self._per_slab == 0:
                self._slabs.append(zeros(self._per_slab * self._bytes))
            self._bits(number)[:] = bits.pop()
        if names:
            self._table = table

    def _bits(self, number: int) -> memoryview:
        slab, place = divmod(number, self._per_slab)
        return memoryview(self._slabs[slab])[place * self._bytes : (place + 1) * self._bytes]

    @property
    def _rows(self) -> NDArray[np.float64]:
        return self._table[: len(self.numbers)]
