"""Every visited set, made small, for the tests that run over all of them."""

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from crawler.testing.visited.making import CAPACITY, ERROR_RATE, domain_of, host_of, make
from tests.unit.visited.kernels import available_kernels
from tests.unit.visited.short_hashes import short_hashes
from visited import SnapshotRefused, VisitedSet, VisitedStats, clear_set
from visited.backends import BACKENDS, descriptor
from visited.baselines.fingerprints import FingerprintSet
from visited.baselines.per_site import PerSiteSet
from visited.baselines.raw_urls import RawUrlSet
from visited.bits.kernel import Kernel, best_kernel
from visited.descriptor import Parameters
from visited.digests.exact import ExactSet
from visited.digests.exact_leveldb import LevelDBSet
from visited.filters.blocked import BlockedSet
from visited.filters.bloom import BloomSet
from visited.filters.counting import CountingSet
from visited.splitting.splitting_set import SplittingSet
from visited.wrappers.forgetting import ForgettingSet
from visited.wrappers.recent import RecentUrls
from visited.wrappers.sharded import ShardedSet
from visited.wrappers.verified import Lookup, VerifiedSet
from visited.wrappers.whitelist import WhiteListSet

Maker = Callable[[Path], VisitedSet]
"""Makes a set that keeps its files, if it has any, in a directory, which may not exist yet."""


def urls_of(start: int, stop: int) -> list[str]:
    return [f"https://h{number % 13}.example/{number}" for number in range(start, stop)]


def dumped(visited: VisitedSet) -> bytes:
    """The snapshot of a set."""
    file = BytesIO()
    visited.dump(file)
    return file.getvalue()


def exact(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return ExactSet(kernel=kernel)


def bloom(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return BloomSet(capacity=CAPACITY, error_rate=ERROR_RATE, kernel=kernel)


def blocked(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return BlockedSet(capacity=CAPACITY, error_rate=ERROR_RATE, kernel=kernel)


def counting4(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return CountingSet(capacity=CAPACITY, error_rate=ERROR_RATE, kernel=kernel)


def counting8(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return CountingSet(capacity=CAPACITY, error_rate=ERROR_RATE, width=8, kernel=kernel)


def counting32(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return CountingSet(capacity=CAPACITY, error_rate=ERROR_RATE, width=32, kernel=kernel)


def dsbf(directory: Path, *, kernel: Kernel) -> VisitedSet:
    return SplittingSet(
        capacity=300, error_rate=ERROR_RATE, directory=directory / "dsbf", leaf_bits=1 << 13, kernel=kernel
    )


def splitting_at_count(directory: Path, *, kernel: Kernel) -> VisitedSet:
    """As the literature has it: leaves of one size, and lists of URLs."""
    return SplittingSet(
        capacity=300,
        error_rate=ERROR_RATE,
        directory=directory / "dsbf",
        leaf_bits=1 << 13,
        split_at="count",
        lists="urls",
        kernel=kernel,
    )


def dsbf_in_temporary_file(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return SplittingSet(capacity=1_000, error_rate=ERROR_RATE, leaf_bits=1 << 13, kernel=kernel)


def persite(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return PerSiteSet(key=host_of, error_rate=ERROR_RATE, bytes_per_site=65_536, kernel=kernel)


def persite_hashed(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return PerSiteSet(key=host_of, error_rate=ERROR_RATE, bytes_per_site=131_072, filters=5, kernel=kernel)


def sharded(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return ShardedSet([ExactSet(kernel=kernel) for _ in range(3)], kernel=kernel)


def fingerprints(_directory: Path, *, kernel: Kernel) -> VisitedSet:
    return FingerprintSet(kernel=kernel)


def exact_leveldb(directory: Path, *, kernel: Kernel) -> VisitedSet:
    return LevelDBSet(directory / "exact", spill=150, kernel=kernel)


def recent(_directory: Path) -> VisitedSet:
    return RecentUrls(BloomSet(capacity=CAPACITY, error_rate=ERROR_RATE, seed=7), size=100)


def white_listed(_directory: Path) -> VisitedSet:
    listed = [f"https://h{number % 17}.example/päge/{number}?q={number * 7}" for number in range(0, 2_000, 3)]
    return WhiteListSet(CountingSet(capacity=CAPACITY, error_rate=ERROR_RATE), listed)


def verified(_directory: Path) -> VisitedSet:
    return WithLedger(lambda lookup: VerifiedSet(CountingSet(capacity=300, error_rate=0.2), lookup))


def verified_bloom(_directory: Path) -> VisitedSet:
    return WithLedger(lambda lookup: VerifiedSet(BloomSet(capacity=300, error_rate=0.2), lookup))


def forgetting(directory: Path) -> VisitedSet:
    leaves = SplittingSet(
        capacity=300, error_rate=ERROR_RATE, directory=directory / "dsbf", leaf_bits=1 << 13, lists="urls"
    )
    return RecentUrls(ForgettingSet(leaves), size=50)


def stacked(directory: Path) -> VisitedSet:
    """As a crawl has it: the cache before the check before the filter."""

    def made(lookup: Lookup) -> VisitedSet:
        leaves = SplittingSet(capacity=300, error_rate=0.2, directory=directory / "stacked", leaf_bits=1 << 13)
        return RecentUrls(VerifiedSet(leaves, lookup), size=50)

    return WithLedger(made)


class WithLedger:
    """What a frontier does: it writes down what was new before it asks again, and takes out what was forgotten."""

    def __init__(self, make: Callable[[Lookup], VisitedSet]) -> None:
        self._ledger = RawUrlSet()
        self._inner = make(self._lookup)

    def _lookup(self, urls: Sequence[str]) -> Sequence[bool]:
        return self._ledger.has_many(urls)

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        verdicts = await self._inner.add_many(urls)
        await self._ledger.add_many([url for url, new in zip(urls, verdicts, strict=True) if new])
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        count = await self._inner.forget_many(urls)
        await self._ledger.forget_many(urls)
        return count

    def describe(self) -> VisitedStats:
        return self._inner.describe()

    def dump(self, file: BinaryIO, /) -> None:
        self._inner.dump(file)
        self._ledger.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._inner.load(file)
        try:
            self._ledger.load(file)
        except SnapshotRefused:
            clear_set(self._inner)
            raise

    def __len__(self) -> int:
        return len(self._inner)

    async def aclose(self) -> None:
        await self._inner.aclose()


def simple(_directory: Path) -> VisitedSet:
    return short_hashes()


PARAMETERS = Parameters(capacity=CAPACITY, error_rate=ERROR_RATE, site_of=host_of, domain_of=domain_of)
FORMS: dict[str, tuple[str, dict[str, object]]] = {
    "bloom by bits": ("bloom", {"bits": 1 << 20}),
    "dsbf by count": ("dsbf", {"split_at": "count", "leaf_bits": 1 << 13}),
    "dsbf with URLs": ("dsbf", {"lists": "urls", "seed": 9}),
    "per-site by domain": ("per-site", {"by": "domain", "filters": 5, "site_bytes": 1 << 17}),
    "six-seeds by bits per URL": ("six-seeds", {"bits_per_url": 2**22 / CAPACITY}),
    "shards of dsbf": ("dsbf", {"split_at": "count", "lists": "urls", "leaf_bits": 1 << 13, "shards": 3}),
}
"""Sets with options, as a configuration gives them."""
_AS_DESCRIBED = (exact, bloom, blocked, counting4, counting8, counting32, persite, sharded, fingerprints)
"""With the best kernel, `DESCRIBED` and `WITH_OPTIONS` have these."""
_SMALL = (dsbf, dsbf_in_temporary_file, splitting_at_count, persite_hashed, exact_leveldb)
_PLAIN = (simple, recent, white_listed, verified, verified_bloom, forgetting, stacked)


DESCRIBED: dict[str, Maker] = {name: partial(make, descriptor(name)) for name in BACKENDS}
WITH_OPTIONS: dict[str, Maker] = {
    form: partial(make, descriptor(name), options=options) for form, (name, options) in FORMS.items()
}
STACKED: dict[str, Maker] = {each.__name__: each for each in _PLAIN}
"""Wrappers around sets."""
BY_KERNEL: dict[str, Maker] = {
    f"{each.__name__}-{kernel.name}": partial(each, kernel=kernel)
    for kernel in available_kernels()
    for each in (_SMALL if kernel.name == best_kernel().name else (*_SMALL, *_AS_DESCRIBED))
}
SETS: dict[str, Maker] = DESCRIBED | WITH_OPTIONS | STACKED | BY_KERNEL
