"""One fixed Bloom filter for each site: what crawlers did before there was one filter for all; to compare against."""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from visited import sizing
from visited.batch import check_batch
from visited.bits.kernel import (
    ADD,
    TEST,
    Kernel,
    best_kernel,
)
from visited.bits.memory import (
    Memory,
    allocated_bytes,
    object_bytes,
    zeros,
)
from visited.filters.bottom_k import BottomKSample
from visited.protocol import CannotForget, SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "per-site"
INTERNET_ARCHIVE_BYTES = 32 * 1024
"""A filter for each site (Burner, "Crawling towards Eternity", 1997)."""
APOIDEA_BYTES = 8 * 1024
"""A filter chosen by the hash of the domain (Singh, Srivatsa, Liu and Miller 2003)."""

_SEED_OF_SITES = 0x517E
_OVERRUN_RATE = 0.9
"""From here on too little is accepted to infer much from it."""
_LOG = logging.getLogger("visited")


class PerSiteSet:
    """A Bloom filter of fixed size for each site, whatever the site's size: small ones waste it, large ones overrun it.

    With `filters` there are so many, and the hash of the site chooses one; else each site has its own.

    Its rate is the mean over the new URLs that come, and what comes to a filter it can't count, for what it swallows
    leaves no trace. It is inferred from what is accepted: at a rate p each stands for 1/(1 - p), which is right in the
    mean, with a variance of p/(1 - p)² for each accepted. A filter that is overrun accepts next to nothing any more:
    there it is inferred from an even sample of all that came (`BottomKSample`).
    """

    def __init__(
        self,
        *,
        key: Callable[[str], str],
        bytes_per_site: int = INTERNET_ARCHIVE_BYTES,
        error_rate: float = 0.01,
        filters: int | None = None,
        seed: int = 0,
        kernel: Kernel | None = None,
    ) -> None:
        """`key` tells the site of a URL. The rate holds for `sizing.count_for` URLs of a site: 27,327 in 32 KB."""
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if bytes_per_site < 64 or bytes_per_site % 8:
            raise ValueError(f"bytes_per_site must be a multiple of 8 from 64 on, found {bytes_per_site!r}")
        if filters is not None and filters < 1:
            raise ValueError(f"filters must be at least 1, found {filters!r}; None gives each site its own")
        self._key = key
        self._bytes = bytes_per_site
        self._hashes = sizing.hashes_for(error_rate)
        self._error_rate = error_rate
        self._capacity_of_one = sizing.count_for(bytes_per_site * 8, self._hashes, error_rate)
        self._has_warned = False
        self._filters = filters
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._numbers: dict[str, int]
        self._bits: list[Memory]
        self._ones: NDArray[np.int64]
        self._counts: NDArray[np.int64]
        self._arrived: NDArray[np.float64]
        """New URLs that probably came to each filter."""
        self._variances: NDArray[np.float64]
        """Of these."""
        self._sample: BottomKSample
        self._empty()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = [False] * len(urls)
        filters = [0] * len(urls)
        for name, places in self._by_filter(urls).items():
            number = self._number_of(name)
            before = int(self._ones[number])
            absent, new, ones = self._kernel.bloom_probe(
                [urls[place] for place in places], self._bits[number], self._hashes, self._seed, ADD
            )
            self._ones[number] += ones
            self._counts[number] += new
            if self._counts[number] > self._capacity_of_one and not self._has_warned:
                self._warn(name, number)
            rate = sizing.mean_rate_between(before, before + ones, self._bytes * 8, self._hashes)
            if new:
                self._arrived[number] += new / (1 - rate)
                self._variances[number] += new * rate / (1 - rate) ** 2
            for place, fresh in zip(places, absent, strict=True):
                verdicts[place] = fresh
                filters[place] = number
        self._sample.add(urls, filters)
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Tell for each URL whether it is known, without remembering it; for inspection and comparison."""
        check_batch(urls)
        known = [False] * len(urls)
        for name, places in self._by_filter(urls).items():
            number = self._numbers.get(name)
            if number is not None:
                absent, _, _ = self._kernel.bloom_probe(
                    [urls[place] for place in places], self._bits[number], self._hashes, self._seed, TEST
                )
                for place, fresh in zip(places, absent, strict=True):
                    known[place] = not fresh
        return known

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("Bloom filters can't forget: their bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        sites = len(self._bits)
        fills = self._ones[:sites] / (self._bytes * 8)
        rates = fills**self._hashes
        over = int((rates > self._error_rate).sum())
        arrived, variances = self._what_came(rates)
        rate, rate_sigma = _mean(rates, arrived, variances)
        count = len(self)
        return VisitedStats(
            backend=BACKEND,
            count=count,
            capacity=None,
            memory_bytes=sites * allocated_bytes(self._bytes) + self._table_bytes() + self._sample.memory_bytes(),
            fill=float(fills.mean()) if sites else 0.0,
            false_positive_rate=rate,
            rate_sigma=rate_sigma,
            expected_lost=max(0.0, float(arrived.sum()) - count),
            lost_sigma=float(np.sqrt(variances.sum())),
            details={
                "filters": sites,
                "filters_over_rate": over,
                "filters_full": int((fills == 1.0).sum()),
                "worst_rate": float(rates.max()) if sites else 0.0,
                "bytes_per_filter": self._bytes,
                "capacity_per_filter": self._capacity_of_one,
                "hashes": self._hashes,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        sites = len(self._bits)
        parts: list[bytes | Memory] = [
            # Not by msgspec: a host may hold a lone surrogate, as any URL may, for which it has no form.
            json.dumps(list(self._numbers)).encode(),
            np.column_stack([each[:sites] for each in self._columns]).tobytes(),
            *self._sample.dump(),
            *self._bits,
        ]
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state={}, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._empty()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        try:
            names = msgspec.convert(json.loads(bytes(snapshot.parts[0])), list[str])
            table = np.frombuffer(snapshot.parts[1], dtype=np.float64).reshape(len(names), len(self._columns))
            hashes, filters, *bits = snapshot.parts[2:]
            sample = BottomKSample(self._kernel)
            sample.load(hashes, filters, filter_count=len(names))
        except (IndexError, ValueError) as error:
            raise SnapshotRefused(f"the snapshot's table of filters can't be read: {error}") from error
        if len(bits) != len(names) or any(len(each) != self._bytes for each in bits):
            raise SnapshotRefused(f"expected {len(names)} filters of {self._bytes} bytes, found {len(bits)} parts")
        self._sample = sample
        self._numbers = {name: number for number, name in enumerate(names)}
        self._names_bytes = sum(object_bytes(name) + object_bytes(number) for name, number in self._numbers.items())
        self._bits = bits
        if names:
            self._counts, self._ones = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
            self._arrived, self._variances = table[:, 2].copy(), table[:, 3].copy()

    def __len__(self) -> int:
        return int(self._counts.sum())

    async def aclose(self) -> None:
        """Nothing to close."""

    def _empty(self) -> None:
        self._numbers = {}
        self._names_bytes = 0
        self._bits = []
        self._ones = np.zeros(16, dtype=np.int64)
        self._counts = np.zeros(16, dtype=np.int64)
        self._arrived = np.zeros(16)
        self._variances = np.zeros(16)
        self._sample = BottomKSample(self._kernel)

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        """What is known of each filter beside its bits."""
        return self._counts, self._ones, self._arrived, self._variances

    def _what_came(self, rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many new URLs came to each filter, and the variances of these numbers."""
        chance = self._sample.probability()
        seen = self._sample.count_by_filter(len(rates))
        # Where the sample is the surer: what comes adds p/(1 - p) to the one variance, and (1 - c)/c to the other.
        is_overrun = rates > min(1 - chance, _OVERRUN_RATE)
        arrived = np.where(is_overrun, seen / chance, self._arrived[: len(rates)])
        variances = np.where(is_overrun, seen * (1 - chance) / chance**2, self._variances[: len(rates)])
        return arrived, variances

    def _table_bytes(self) -> int:
        lists = sys.getsizeof(self._numbers) + sys.getsizeof(self._bits)
        return lists + self._names_bytes + sum(each.nbytes for each in self._columns)

    def _by_filter(self, urls: Sequence[str]) -> dict[str, list[int]]:
        """The places of the batch that belong to each filter."""
        sites: dict[str, list[int]] = {}
        for place, url in enumerate(urls):
            sites.setdefault(self._key(url), []).append(place)
        if self._filters is None:
            return sites
        hashes = np.empty((len(sites), 2), dtype=np.uint64)
        self._kernel.hash_many(list(sites), _SEED_OF_SITES, hashes)
        chosen: dict[str, list[int]] = {}
        numbers = (hashes[:, 0] % np.uint64(self._filters)).tolist()
        for number, places in zip(numbers, sites.values(), strict=True):
            chosen.setdefault(str(number), []).extend(places)
        return {name: sorted(places) for name, places in chosen.items()}

    def _number_of(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self._bits))
        if number == len(self._bits):
            self._bits.append(zeros(self._bytes))
            self._names_bytes += object_bytes(name) + object_bytes(number)
            if number == len(self._ones):
                self._counts, self._ones, self._arrived, self._variances = (
                    np.concatenate([each, np.zeros_like(each)]) for each in self._columns
                )
        return number

    def _warn(self, name: str, number: int) -> None:
        self._has_warned = True
        count = int(self._counts[number])
        _LOG.warning(
            "visited set %r: the filter of %r has taken %s URLs and was made for %s: its rate is %.3g now"
            " and rises; for twice as many it needs %s bytes. Others may follow; this is said once",
            BACKEND,
            name,
            f"{count:,}",
            f"{self._capacity_of_one:,}",
            sizing.rate_from_fill(int(self._ones[number]), self._bytes * 8, self._hashes),
            f"{sizing.bits_for(2 * count, self._error_rate) // 8:,}",
        )

    def _parameters(self) -> dict[str, Value]:
        return {
            "bytes_per_site": self._bytes,
            "error_rate": self._error_rate,
            "hashes": self._hashes,
            "filters": self._filters,
            "hash": "murmur3_x64_128",
            "positions": "guava_mitz_64",
            "seed": self._seed,
        }


def _mean(
    rates: NDArray[np.float64], arrived: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """The rate for new URLs that come as they came so far, and its standard deviation. Most come from the large sites,
    whose filters are the fullest."""
    total = float(arrived.sum())
    if total == 0.0:
        return 0.0, 0.0
    mean = float(rates @ arrived) / total
    return mean, float(np.sqrt((rates - mean) ** 2 @ variances)) / total
