"""One Bloom filter of fixed size for each site, as early crawlers had; a baseline for comparison."""

import logging
from collections.abc import Callable, Sequence
from typing import Annotated, BinaryIO, Final, Literal, NoReturn

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from visited import sizing
from visited.baselines.site_filters import SiteFilters
from visited.batch import check_batch
from visited.bits.kernel import Kernel, best_kernel
from visited.descriptor import Descriptor, Parameters, Seed
from visited.protocol import CannotForget, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "per-site"
INTERNET_ARCHIVE_BYTES = 32 * 1024

_SEED_OF_SITES = 0x517E
_LOG = logging.getLogger("visited")


class PerSiteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of per-site."""

    by: Annotated[
        Literal["host", "domain"],
        Meta(description="What a site is: a host, or all hosts of a registered domain."),
    ] = "host"
    site_bytes: Annotated[
        int,
        Meta(ge=64, le=1 << 30, multiple_of=8, description="Size of each filter.", extra={"unit": "bytes"}),
    ] = INTERNET_ARCHIVE_BYTES
    filters: Annotated[
        Annotated[int, Meta(ge=1, le=10**9, extra={"unit": "filters"})] | None,
        Meta(description="Number of filters; the hash of the site chooses one. Unset means one for each site."),
    ] = None
    seed: Seed = 0


class PerSiteSet:
    """A Bloom filter of the same size for every site: too large for small sites, too small for large ones.

    The Internet Archive had 32 KB for each host (Burner, "Crawling towards Eternity", 1997), Apoidea 8 KB, chosen by
    the hash of the domain (Singh, Srivatsa, Liu and Miller 2003). With `filters` there is this number of filters, and
    the hash of the site chooses one. Otherwise each site has its own. The rate is the mean over the new URLs, most of
    which belong to large sites with full filters. `SiteFilters` estimates how many each filter was given.
    """

    is_prompt: Final = True

    def __init__(
        self,
        *,
        key: Callable[[str], str],
        by: str = "host",
        bytes_per_site: int = INTERNET_ARCHIVE_BYTES,
        error_rate: float = 0.01,
        filters: int | None = None,
        seed: int = 0,
        kernel: Kernel | None = None,
    ) -> None:
        """`key` returns the site of a URL; `by` names it in snapshots.

        The rate holds for `sizing.count_for` URLs of a site: 27,327 in 32 KB.
        """
        sizing.check_error_rate(error_rate)
        sizing.check_seed(seed)
        if bytes_per_site < 64 or bytes_per_site % 8:
            raise ValueError(f"bytes_per_site must be a multiple of 8 from 64 on, found {bytes_per_site!r}")
        if filters is not None and filters < 1:
            raise ValueError(f"filters must be at least 1, found {filters!r}; None gives each site its own")
        self._key = key
        self._by = by
        self._bytes = bytes_per_site
        self._hashes = sizing.hashes_for(error_rate)
        self._error_rate = error_rate
        self._capacity_of_one = sizing.count_for(bytes_per_site * 8, self._hashes, error_rate)
        self._has_warned = False
        self._filter_count = filters
        self._seed = seed
        self._kernel = kernel or best_kernel()
        self._filters = self._new_filters()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = [False] * len(urls)
        numbers = [0] * len(urls)
        for name, places in self._group_by_filter(urls).items():
            number = self._filters.find_or_add(name)
            absent = self._filters.add(number, [urls[place] for place in places])
            if self._filters.counts[number] > self._capacity_of_one and not self._has_warned:
                self._warn(name, number)
            for place, is_new in zip(places, absent, strict=True):
                verdicts[place] = is_new
                numbers[place] = number
        self._filters.sample.add(urls, numbers)
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        known = [False] * len(urls)
        for name, places in self._group_by_filter(urls).items():
            number = self._filters.numbers.get(name)
            if number is not None:
                answers = self._filters.has(number, [urls[place] for place in places])
                for place, is_known in zip(places, answers, strict=True):
                    known[place] = is_known
        return known

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget("Bloom filters can't forget: their bits are shared; use counting or exact")

    def describe(self) -> VisitedStats:
        fills, rates = self._filters.fills(), self._filters.rates()
        given, variances = self._filters.estimate_given()
        rate, rate_sigma = _mean_rate(rates, given, variances)
        sites = len(rates)
        return VisitedStats(
            backend=BACKEND,
            count=len(self),
            capacity=None,
            memory_bytes=self._filters.memory_bytes(),
            fill=float(fills.mean()) if sites else 0.0,
            false_positive_rate=rate,
            rate_sigma=rate_sigma,
            expected_lost=max(0.0, float(given.sum()) - len(self)),
            lost_sigma=float(np.sqrt(variances.sum())),
            details={
                "filters": sites,
                "filters_over_rate": int((rates > self._error_rate).sum()),
                "filters_full": int((fills == 1.0).sum()),
                "worst_rate": float(rates.max()) if sites else 0.0,
                "bytes_per_filter": self._bytes,
                "capacity_per_filter": self._capacity_of_one,
                "hashes": self._hashes,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state={}, parts=self._filters.dump())

    def load(self, file: BinaryIO, /) -> None:
        self._filters = self._new_filters()
        snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
        self._filters.load(snapshot.parts)

    def __len__(self) -> int:
        return int(self._filters.counts.sum())

    async def aclose(self) -> None:
        """Nothing to close."""

    def _new_filters(self) -> SiteFilters:
        return SiteFilters(size_bytes=self._bytes, hashes=self._hashes, seed=self._seed, kernel=self._kernel)

    def _group_by_filter(self, urls: Sequence[str]) -> dict[str, list[int]]:
        """Return the places of each filter's URLs in the batch, by the filter's name."""
        sites: dict[str, list[int]] = {}
        for place, url in enumerate(urls):
            sites.setdefault(self._key(url), []).append(place)
        if self._filter_count is None:
            return sites
        hashes = np.empty((len(sites), 2), dtype=np.uint64)
        self._kernel.hash_many(list(sites), _SEED_OF_SITES, hashes)
        chosen: dict[str, list[int]] = {}
        numbers = (hashes[:, 0] % np.uint64(self._filter_count)).tolist()
        for number, places in zip(numbers, sites.values(), strict=True):
            chosen.setdefault(str(number), []).extend(places)
        return {name: sorted(places) for name, places in chosen.items()}

    def _warn(self, name: str, number: int) -> None:
        self._has_warned = True
        count = int(self._filters.counts[number])
        _LOG.warning(
            "visited set %r: the filter of %r has taken %s URLs and was made for %s: its rate is %.3g now and rises;"
            " for twice as many it needs %s bytes. Other sites may exceed their filters too; this warning is not"
            " repeated",
            BACKEND,
            name,
            f"{count:,}",
            f"{self._capacity_of_one:,}",
            float(self._filters.rates()[number]),
            f"{sizing.bits_for(2 * count, self._error_rate) // 8:,}",
        )

    def _parameters(self) -> dict[str, Value]:
        return {
            "bytes_per_site": self._bytes,
            "error_rate": self._error_rate,
            "hashes": self._hashes,
            "filters": self._filter_count,
            "by": self._by,
            "hash": "murmur3_x64_128",
            "positions": "guava_mitz_64",
            "seed": self._seed,
        }


def _mean_rate(
    rates: NDArray[np.float64], given: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """The rate for new URLs with the same distribution over the filters as so far, and its standard deviation."""
    total = float(given.sum())
    if total == 0.0:
        return 0.0, 0.0
    mean = float(rates @ given) / total
    return mean, float(np.sqrt((rates - mean) ** 2 @ variances)) / total


def _make(parameters: Parameters, options: PerSiteOptions) -> PerSiteSet:
    return PerSiteSet(
        key=parameters.site_of if options.by == "host" else parameters.domain_of,
        by=options.by,
        bytes_per_site=options.site_bytes,
        error_rate=parameters.error_rate,
        filters=options.filters,
        seed=options.seed,
    )


DESCRIPTOR = Descriptor(name=BACKEND, make=_make, options=PerSiteOptions)
