"""Counts what a competitor loses, and compares its rate with its own estimate. Runs in its own process, with an exact
set.

To measure false positives it needs URLs that are certainly absent. It adds a fragment to URLs of the work, `url#n`,
because no canonical URL has one. So the absent URLs are on the same hosts in the same proportions, which matters for a
set with a filter for each host.
"""

import random
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crawler.compare.measure.meter import reported_bytes
from crawler.compare.measure.timing import READ_AHEAD
from crawler.compare.measure.trial import Check, Effort, Look, Maker, ReportProgress, Trial
from crawler.compare.measure.work import Work, batches, chunks, new_batches
from crawler.compare.statistics import clustering
from crawler.url.urls import host_of
from visited import CannotForget, Full, LocalSet

_FORGET = 20_000
_EXACT_BYTES = 24
"""The most that an exact set takes for a URL."""
_TEXT_BYTES = 100
"""What a URL takes beside its characters, in a list."""
_LISTS_OF_PROBES = 6
"""Lists that are as long as the probes are many, and exist at once."""


async def check(
    trial: Trial, make: Maker, scratch: Path, report: ReportProgress, *, exact: Callable[[], LocalSet]
) -> Check:
    """Run the work once on the competitor and on exact sets, and continue beyond its capacity."""
    capacity = trial.competitor.capacity_for(trial.work.survey.distinct)
    with TemporaryDirectory(dir=scratch) as directory:
        found = await _compare_with_exact(
            make(trial.competitor, capacity, Path(directory) / "set"), exact, trial, report
        )
        forgotten = await _measure_forgetting(make(trial.competitor, capacity, Path(directory) / "other"), trial.work)
    return msgspec.structs.replace(found, **forgotten)


def check_bytes(trial: Trial, set_bytes: int) -> int:
    """The most memory of a check if the set takes `set_bytes` for the work: with what it takes beyond, with the exact
    sets, and with URLs at hand."""
    urls_at_hand = _LISTS_OF_PROBES * trial.effort.probes + _FORGET
    return round(
        set_bytes * trial.effort.past_capacity
        + 2 * _EXACT_BYTES * _last_url(trial)
        + urls_at_hand * (trial.work.survey.mean_length + _TEXT_BYTES)
    )


def _last_url(trial: Trial) -> int:
    """The number of URLs up to which a check goes on."""
    distinct = trial.work.survey.distinct
    return round(max(trial.competitor.capacity_for(distinct), distinct) * trial.effort.past_capacity)


async def _compare_with_exact(
    visited: LocalSet, exact: Callable[[], LocalSet], trial: Trial, report: ReportProgress
) -> Check:
    """Closes the set."""
    work, effort = trial.work, trial.effort
    witness = _Witness(visited, exact, trial)
    step = max(1, work.survey.distinct // effort.looks)
    looks: list[Look] = []
    for ahead in chunks(batches(work), READ_AHEAD):
        for urls in ahead:
            await witness.add(urls)
        if witness.distinct >= step * (len(looks) + 1):
            looks.append(witness.look())
        report(0.6 * witness.links / max(1, work.survey.links))
    if not looks or looks[-1].distinct < witness.distinct:
        looks.append(witness.look())
    found = await witness.check()
    past = [look async for look in _beyond(witness, work, _last_url(trial), effort, report)]
    await visited.aclose()
    return msgspec.structs.replace(found, looks=tuple(looks), past=tuple(past))


class _Witness:
    """Adds URLs to the competitor and to exact sets, and counts where their answers differ."""

    def __init__(self, visited: LocalSet, exact: Callable[[], LocalSet], trial: Trial) -> None:
        effort = trial.effort
        self._visited = visited
        self._has_estimates = trial.competitor.has_estimates
        self._met, self._claimed = exact(), exact()
        self._sample = _Sample(effort.probes, effort.seed)
        self._portal = trial.work.survey.largest_host
        self._of_portal = _Sample(effort.probes, effort.seed)
        self.links = self.distinct = 0
        self._lost = self._recovered = self._twice = 0
        self._probes = 0
        self._hits_by_place = [0] * effort.probes

    async def add(self, urls: list[str]) -> None:
        answers = await self._visited.add_many(urls)
        truth = await self._met.add_many(urls)
        await self._count_twice(urls, answers)
        self._recovered += sum(new and not true for new, true in zip(answers, truth, strict=True))
        self._lost += sum(true and not new for new, true in zip(answers, truth, strict=True))
        fresh = [url for url, true in zip(urls, truth, strict=True) if true]
        self._sample.offer(fresh)
        self._of_portal.offer([url for url in fresh if host_of(url) == self._portal])
        self.links += len(urls)
        self.distinct += len(fresh)

    async def _count_twice(self, urls: list[str], answers: list[bool]) -> None:
        claimed = [url for url, new in zip(urls, answers, strict=True) if new]
        self._twice += (await self._claimed.add_many(claimed)).count(False)

    def look(self) -> Look:
        """Memory and rate now. It measures the rate by looking up absent URLs."""
        stats = self._visited.describe()
        absent = self._sample.absent(self.distinct)
        answers = self._visited.has_many(absent)
        self._probes += len(answers)
        for place, hit in enumerate(answers):
            self._hits_by_place[place % self._sample.places] += hit
        return Look(
            distinct=self.distinct,
            reported_bytes=reported_bytes(stats),
            disk_bytes=stats.disk_bytes,
            fill=stats.fill,
            estimated_rate=stats.false_positive_rate if self._has_estimates else None,
            rate_sigma=stats.rate_sigma,
            probes=len(answers),
            hits=sum(answers),
            estimated_lost=stats.expected_lost if self._has_estimates else None,
            lost=self._lost,
            leaves=_number(stats.details.get("leaves")),
            splits=_number(stats.details.get("splits")),
        )

    async def check(self) -> Check:
        stats = self._visited.describe()
        recovered = self._recovered - self._twice
        # In a work without repeats, no URL would ever be added again.
        again = self._sample.urls
        await self._count_twice(again, await self._visited.add_many(again))
        absent = self._of_portal.absent(0)
        return Check(
            links=self.links,
            distinct=self.distinct,
            lost=self._lost,
            estimated_lost=stats.expected_lost if self._has_estimates else None,
            lost_sigma=stats.lost_sigma if self._has_estimates else None,
            recovered=recovered,
            twice=self._twice,
            clustering=clustering(self._hits_by_place[: self._sample.places], self._probes),
            portal_probes=len(absent),
            portal_hits=sum(self._visited.has_many(absent)),
        )


class _Sample:
    """A uniform sample of the distinct URLs so far, by reservoir sampling."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._chance = random.Random(seed)
        self.urls: list[str] = []
        self._offered = 0

    def offer(self, urls: list[str]) -> None:
        for url in urls:
            self._offered += 1
            if len(self.urls) < self._size:
                self.urls.append(url)
            elif (place := int(self._chance.random() * self._offered)) < self._size:
                self.urls[place] = url

    @property
    def places(self) -> int:
        """The number of URLs in it."""
        return len(self.urls)

    def absent(self, salt: int) -> list[str]:
        """Absent URLs on the hosts of the sample, in the order of its places. Another salt gives other URLs."""
        times = -(-self._size // max(1, len(self.urls)))
        return [f"{url}#{salt}.{turn}" for turn in range(times) for url in self.urls][: self._size]


async def _beyond(
    witness: _Witness, work: Work, until: int, effort: Effort, report: ReportProgress
) -> AsyncIterator[Look]:
    """Looks at the competitor while it gets more new URLs than the work has."""
    begun_at = witness.distinct
    step = max(work.batch, (until - begun_at) // max(1, effort.looks // 2))
    next_look = begun_at + step
    for batch in _more_urls(work):
        if witness.distinct >= until:
            return
        try:
            await witness.add(batch[: until - witness.distinct])
        except Full:
            return
        if witness.distinct >= min(next_look, until):
            yield witness.look()
            next_look += step
            report(0.6 + 0.4 * (witness.distinct - begun_at) / (until - begun_at))


def _more_urls(work: Work) -> Iterator[list[str]]:
    """New URLs on the hosts of the work, without end."""
    turn = 0
    while work.survey.distinct:
        turn += 1
        for batch in new_batches(work):
            yield [f"{url}#more-{turn}" for url in batch]


async def _measure_forgetting(visited: LocalSet, work: Work) -> dict[str, int]:
    """Add URLs, forget half of them, and count which are known after that."""
    kept: list[str] = []
    dropped: list[str] = []
    try:
        for number, batch in enumerate(islice(new_batches(work), max(2, _FORGET // work.batch))):
            answers = await visited.add_many(batch)
            (kept if number % 2 else dropped).extend(url for url, new in zip(batch, answers, strict=True) if new)
        forgotten = await visited.forget_many(dropped)
        return {
            "forgotten": forgotten,
            "forget_asked": len(dropped),
            "still_known": sum(visited.has_many(dropped)),
            "wrongly_forgotten": len(kept) - sum(visited.has_many(kept)),
        }
    except CannotForget:
        return {}
    finally:
        await visited.aclose()


def _number(value: float | str | None) -> int | None:
    return int(value) if isinstance(value, int | float) else None
