"""A stream of links that is computed, not stored. The same parameters give the same stream on every machine."""

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]

_CHUNK = 8192
_HOSTS_SALT, _LENGTHS_SALT, _PATHS_SALT = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_SHORTEST = 30
_LENGTH_SPREAD = 0.45
"""Standard deviation of the logarithm of a length; lengths of real URLs: mean 77, deviation 37."""
_PATHS = (
    "archive/2019/research/notes/products/catalogue/garden-tools/index/reviews/page/the-history-of-the-town/people/"
    "articles/why-we-measure/download/manual/english/version-3/library/overview/summer/photographs/album/events/"
) * 12


class Synthetic(msgspec.Struct, frozen=True, kw_only=True, tag="synthetic"):
    """Links on hosts whose sizes follow Zipf's law. A given share of them occurred before."""

    distinct: int
    repeats: float = 0.0
    """Share of links that occurred before; which links do is random."""
    hosts: int = 1000
    skew: float = 1.0
    """Zipf's exponent: the share of the host of rank r is proportional to 1/r^skew. With 0, all are equal."""
    length: int = 77
    """Mean characters of a URL."""
    seed: int = 1

    def batches(self, size: int) -> Iterator[list[str]]:
        """All links, `size` at a time, until each distinct URL has occurred."""
        chance = np.random.Generator(np.random.PCG64(self.seed))
        shares = self._host_shares()
        met = 0
        waiting: list[str] = []
        while met < self.distinct:
            # Two random numbers are drawn for each link, used or not, so that they do not depend on earlier ones.
            is_new = chance.random(_CHUNK) >= self.repeats
            is_new[0] |= met == 0
            which = chance.random(_CHUNK)
            before = met + np.cumsum(is_new) - is_new
            numbers = np.where(is_new, before, (which * before).astype(np.int64))
            end = int(np.searchsorted(before + is_new, self.distinct)) + 1
            numbers = numbers[:end]
            met = min(self.distinct, int(before[-1] + is_new[-1]))
            waiting += self._urls(numbers.astype(np.uint64), shares)
            whole = len(waiting) - len(waiting) % size
            for start in range(0, whole, size):
                yield waiting[start : start + size]
            waiting = waiting[whole:]
        if waiting:
            yield waiting

    def new_batches(self, size: int) -> Iterator[list[str]]:
        """The distinct URLs in the order of their first occurrence, `size` at a time."""
        shares = self._host_shares()
        per_chunk = max(size, _CHUNK - _CHUNK % size)
        for start in range(0, self.distinct, per_chunk):
            urls = self._urls(np.arange(start, min(start + per_chunk, self.distinct), dtype=np.uint64), shares)
            for at in range(0, len(urls), size):
                yield urls[at : at + size]

    def _host_shares(self) -> NDArray[np.float64]:
        """For each rank, the share of URLs on hosts up to that rank."""
        weights = 1.0 / np.arange(1, self.hosts + 1) ** self.skew
        shares: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
        return shares

    def _urls(self, numbers: Numbers, shares: NDArray[np.float64]) -> list[str]:
        hosts = np.searchsorted(shares, _uniform(numbers, self.seed ^ _HOSTS_SALT), side="right")
        hosts = np.minimum(hosts, self.hosts - 1)
        spread = _normal(numbers, self.seed ^ _LENGTHS_SALT)
        mean = max(1.0, self.length - _SHORTEST)
        lengths = np.exp(np.log(mean) - _LENGTH_SPREAD**2 / 2 + _LENGTH_SPREAD * spread).astype(np.int64)
        lengths = np.minimum(lengths, 1000)
        starts = (_mix(numbers, self.seed ^ _PATHS_SALT) % np.uint64(len(_PATHS) // 2)).astype(np.int64)
        return [
            f"https://h{host:06}.example/{_PATHS[start : start + length]}/{number:x}"
            for host, start, length, number in zip(
                hosts.tolist(), starts.tolist(), lengths.tolist(), numbers.tolist(), strict=True
            )
        ]


def _mix(numbers: Numbers, salt: int) -> Numbers:
    """SplitMix64 of each number."""
    words = (numbers + np.uint64(salt % 2**64)) * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Numbers = words ^ (words >> np.uint64(31))
    return mixed


def _uniform(numbers: Numbers, salt: int) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = (_mix(numbers, salt) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return shares


def _normal(numbers: Numbers, salt: int) -> NDArray[np.float64]:
    """Approximately normal numbers: the sum of twelve uniform numbers, minus six. Each word gives four of them."""
    total = np.full(len(numbers), -6.0)
    for turn in range(3):
        words = _mix(numbers, salt + turn)
        for shift in (0, 16, 32, 48):
            total += ((words >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64) / 2.0**16
    return total
