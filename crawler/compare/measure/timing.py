"""Speed, latency and memory of a competitor on a work. Runs in a process of its own."""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crawler.compare.measure.contestant import Maker, Unsaved
from crawler.compare.measure.process import (
    forget_peak,
    grain_bytes,
    own_bytes,
    own_bytes_when_filled,
    peak_bytes,
    resident_bytes,
    settle,
)
from crawler.compare.measure.trial import Look, Timing, Trial
from crawler.compare.measure.work import (
    Work,
    batches,
    chunks,
    new_batches,
)
from crawler.compare.statistics import percentile
from visited import CannotForget, LocalSet, VisitedStats

AHEAD = 4096
"""Links that are read before they are timed. Few, as they count for the process's memory."""
_WARM_UP = 8192
"""Links that a set of its own takes before: few, as the holes that it leaves in memory would be filled, unnoticed."""
_READ_UP = 65_536
"""Links that are read to learn what reading takes."""
_FORGET = 50_000
_UNKNOWN = -1
_NOISE_BYTES = 1 << 20
"""What the process grows by that is not the set's: 0.02 to 0.55 MB were found, in room that small objects leave."""

Tell = Callable[[float], None]
"""Told the share that is done."""


async def time_it(trial: Trial, make: Maker, scratch: Path, tell: Tell) -> Timing:
    """Measure. The new URLs come first, alone, so that the growth of the process is that of the set; then known ones,
    dump and load; at last, in a fresh set, the work as it comes."""
    work, competitor = trial.work, trial.competitor
    capacity = competitor.capacity_for(work.survey.distinct)
    with _directory(scratch) as place:
        await _warm_up(make(competitor, capacity, place), work)
    settle()
    reading = _reading(work)
    meter = _Meter(work, trial.effort.looks, reading.own)
    empty = own_bytes_when_filled()
    forget_peak()
    with _directory(scratch) as place:
        contestant = make(competitor, capacity, place)
        new_per_s = (
            await _add(contestant, new_batches(work), lambda links: tell(0.4 * links / work.survey.distinct), meter)
        ).per_s
        peak = _growth(reading.resident, peak_bytes())
        known_per_s = (await _add(contestant, _first(new_batches(work), trial.effort.known))).per_s
        # By now it has done what it had to do in the background, and let go of what that took.
        stats = contestant.describe()
        steady = _growth(empty, own_bytes_when_filled())
        tell(0.5)
        snapshot_bytes, dump_s, load_s = await _snapshot(trial, contestant, make, capacity, place)
    tell(0.6)
    with _directory(scratch) as place:
        contestant = make(competitor, capacity, place)
        run = await _add(contestant, batches(work), lambda links: tell(0.6 + 0.4 * links / work.survey.links))
        forgotten_per_s = await _forget(contestant, work)
        await contestant.aclose()
    lasted = sorted(run.lasted_ns)
    return Timing(
        new_per_s=new_per_s,
        known_per_s=known_per_s,
        links_per_s=run.per_s,
        batches=len(lasted),
        p50_s=percentile(lasted, 0.5) / 1e9,
        p99_s=percentile(lasted, 0.99) / 1e9,
        p999_s=percentile(lasted, 0.999) / 1e9,
        slowest_s=lasted[-1] / 1e9,
        steady_bytes=steady,
        # They are counted from different beginnings, which noise sets apart; what remained was there at the peak too.
        peak_bytes=None if peak is None else max(peak, steady or 0),
        told_bytes=told_bytes(stats),
        noise_bytes=max(_NOISE_BYTES, grain_bytes()),
        disk_bytes=stats.disk_bytes,
        snapshot_bytes=snapshot_bytes,
        dump_s=dump_s,
        load_s=load_s,
        forgotten_per_s=forgotten_per_s,
        looks=meter.looks(),
    )


def told_bytes(stats: VisitedStats) -> int | None:
    """What a set says of its memory; None where it says nothing, as sets of other libraries."""
    return stats.memory_bytes or None


class _Meter:
    """Looks at memory a stated number of times, evenly over the work.

    It takes room for them at once: an object that is made at each look would hold the memory that lies around it, which
    would then count as the set's.
    """

    def __init__(self, work: Work, looks: int, empty: int | None) -> None:
        """`empty` is the memory of a process that reads the work, and has no set."""
        self._empty = empty
        self._distinct = work.survey.distinct
        self._step = max(1, self._distinct // looks)
        self._most = looks
        self._found = 0
        self._numbers = array("q", bytes(8 * 4 * looks))
        self._fills = array("d", bytes(8 * looks))

    def look(self, distinct: int, contestant: LocalSet) -> None:
        if distinct < self._step * (self._found + 1) or self._found == self._most:
            return
        stats = contestant.describe()
        # The end is read in a shorter piece, and takes less than the pieces of which the empty process was full.
        is_end = distinct >= self._distinct
        resident = None if is_end else _growth(self._empty, own_bytes())
        for at, value in enumerate((distinct, told_bytes(stats), resident, stats.disk_bytes)):
            self._numbers[4 * self._found + at] = _UNKNOWN if value is None else value
        self._fills[self._found] = _UNKNOWN if stats.fill is None else stats.fill
        self._found += 1

    def looks(self) -> tuple[Look, ...]:
        """All so far."""
        return tuple(map(self._look, range(self._found)))

    def _look(self, number: int) -> Look:
        distinct, told, resident, disk = self._numbers[4 * number : 4 * number + 4]
        fill = self._fills[number]
        return Look(
            distinct=distinct,
            told_bytes=None if told == _UNKNOWN else told,
            resident_bytes=None if resident == _UNKNOWN else resident,
            disk_bytes=disk,
            fill=None if fill == _UNKNOWN else fill,
        )


class _Run(msgspec.Struct, frozen=True):
    """Batches that were added."""

    links: int
    lasted_ns: Sequence[int]
    """Each of them."""

    @property
    def per_s(self) -> float:
        """URLs per second."""
        return self.links / max(1, sum(self.lasted_ns)) * 1e9


async def _add(
    contestant: LocalSet,
    parts: Iterable[list[str]],
    tell: Callable[[int], None] = lambda _links: None,
    meter: _Meter | None = None,
) -> _Run:
    """Add all; `tell` is told the links so far."""
    clock, lasted_ns, links = time.perf_counter_ns, array("Q"), 0
    for ahead in chunks(parts, AHEAD):
        for urls in ahead:
            began = clock()
            await contestant.add_many(urls)
            lasted_ns.append(clock() - began)
        links += sum(map(len, ahead))
        if meter is not None:
            meter.look(links, contestant)
        tell(links)
    return _Run(links, lasted_ns)


class _Reading(msgspec.Struct, frozen=True):
    """The most memory of this process while it reads the work, and does nothing with it."""

    own: int | None
    resident: int | None


def _reading(work: Work) -> _Reading:
    found = [(own_bytes(), resident_bytes()) for _ in chunks(_first(new_batches(work), _READ_UP), AHEAD)]
    own, resident = zip(*found, strict=True)
    return _Reading(_most(own), _most(resident))


def _most(found: Iterable[int | None]) -> int | None:
    return max((each for each in found if each is not None), default=None)


async def _warm_up(contestant: LocalSet, work: Work) -> None:
    """What is made once in a process, by the first batches, is not the set's."""
    await _add(contestant, _first(new_batches(work), _WARM_UP))
    contestant.describe()
    await contestant.aclose()


async def _snapshot(
    trial: Trial, contestant: LocalSet, make: Maker, capacity: int, place: Path
) -> tuple[int | None, float | None, float | None]:
    """Size of a snapshot, and how long it takes to write and to load; the set is closed."""
    path = place.with_name(f"{place.name}.snapshot")
    try:
        with path.open("wb") as file:
            began = time.perf_counter()
            contestant.dump(file)
            file.flush()
            dump_s = time.perf_counter() - began
            size = file.tell()
        await contestant.aclose()
        again = make(trial.competitor, capacity, place)
        with path.open("rb") as file:
            began = time.perf_counter()
            again.load(file)
            load_s = time.perf_counter() - began
        await again.aclose()
    except Unsaved:
        await contestant.aclose()
        return None, None, None
    finally:
        path.unlink(missing_ok=True)
    return size, dump_s, load_s


async def _forget(contestant: LocalSet, work: Work) -> float | None:
    urls = [url for batch in _first(new_batches(work), _FORGET) for url in batch]
    began = time.perf_counter()
    try:
        for start in range(0, len(urls), work.batch):
            await contestant.forget_many(urls[start : start + work.batch])
    except CannotForget:
        return None
    return len(urls) / max(1e-9, time.perf_counter() - began)


def _first(parts: Iterable[list[str]], links: int) -> Iterator[list[str]]:
    """The first batches, up to so many links."""
    taken = 0
    for part in parts:
        if taken >= links:
            return
        yield list(islice(part, links - taken))
        taken += len(part)


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


@contextmanager
def _directory(scratch: Path) -> Iterator[Path]:
    """A place of its own for what a set keeps on disk. It is not made: a set that keeps nothing needs none."""
    with TemporaryDirectory(dir=scratch) as parent:
        yield Path(parent) / "set"
