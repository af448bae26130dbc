"""Measures speed, latency and memory of a competitor on a work. Runs in its own process."""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from crawler.compare.measure.meter import Meter, growth, reported_bytes
from crawler.compare.measure.process import (
    forget_peak,
    grain_bytes,
    own_bytes,
    own_bytes_when_filled,
    peak_bytes,
    resident_bytes,
    settle,
)
from crawler.compare.measure.trial import Maker, ReportProgress, Timing, Trial
from crawler.compare.measure.work import Work, batches, chunks, new_batches
from crawler.compare.statistics import percentile
from visited import CannotForget, LocalSet, SharedSet, Unsaved, clear_set

READ_AHEAD = 4096
"""Links that are read before they are timed. They are few, because they count in the memory of the process."""
_WARM_UP = 8192
"""Links for another set before the measurement. They are few, because the measured set would use the holes in memory
that the other set leaves."""
_READING_LINKS = 65_536
"""Links that are read to measure the memory of reading."""
_FORGET = 50_000
_NOISE_BYTES = 1 << 20
"""Growth of the process that does not come from the set. Between 0.02 and 0.55 MB were measured, in arenas for small
objects."""


async def measure_time(trial: Trial, make: Maker, scratch: Path, report: ReportProgress) -> Timing:
    """Measure a competitor on a work.

    It first adds only the new URLs, so that the growth of the process is that of the set. Then it adds known URLs, and
    dumps and loads the set. Finally it runs the work with its repeats on a fresh set.
    """
    work, competitor = trial.work, trial.competitor
    capacity = competitor.capacity_for(work.survey.distinct)
    with _directory(scratch) as directory:
        await _warm_up(make(competitor, capacity, directory), work)
    settle()
    filling = await _measure_filling(trial, make, capacity, scratch, lambda share: report(0.6 * share))
    with _directory(scratch) as directory:
        visited = make(competitor, capacity, directory)
        before_s = await _server_cpu_s(visited)
        run = await _add(visited, batches(work), lambda links: report(0.6 + 0.4 * links / work.survey.links))
        after_s = await _server_cpu_s(visited)
        forgotten_per_s = await _forget(visited, work)
        await visited.aclose()
    durations = sorted(run.durations_ns)
    return Timing(
        **filling,
        links_per_s=run.per_s,
        batches=len(durations),
        p50_s=percentile(durations, 0.5) / 1e9,
        p99_s=percentile(durations, 0.99) / 1e9,
        p999_s=percentile(durations, 0.999) / 1e9,
        slowest_s=durations[-1] / 1e9,
        forgotten_per_s=forgotten_per_s,
        server_cpu_s=None if before_s is None or after_s is None else (after_s - before_s) / max(1, run.links),
        noise_bytes=max(_NOISE_BYTES, grain_bytes()),
    )


async def _measure_filling(
    trial: Trial, make: Maker, capacity: int, scratch: Path, report: ReportProgress
) -> dict[str, Any]:
    """Fill a set with the new URLs of the work. Returns its speed, memory and snapshot, as fields of `Timing`."""
    work = trial.work
    own_reading, resident_reading = _reading_memory(work)
    meter = Meter(work, trial.effort.looks, own_reading)
    empty = own_bytes_when_filled()
    forget_peak()
    with _directory(scratch) as directory:
        visited = make(trial.competitor, capacity, directory)
        new = await _add(visited, new_batches(work), lambda links: report(0.65 * links / work.survey.distinct), meter)
        peak = growth(resident_reading, peak_bytes())
        known = await _add(visited, _first(new_batches(work), trial.effort.known))
        # By now the set has finished its work in the background, and has freed the memory for it.
        stats = visited.describe()
        steady = growth(empty, own_bytes_when_filled())
        report(0.85)
        snapshot_bytes, dump_s, load_s = await _snapshot(trial, visited, make, capacity, directory)
    report(1.0)
    return {
        "new_per_s": new.per_s,
        "known_per_s": known.per_s,
        "steady_bytes": None if stats.server_bytes else steady,  # this process does not hold what a server does
        # Noise separates the two, because they have different baselines. What remained was there at the peak too.
        "peak_bytes": None if peak is None else max(peak, steady or 0),
        "reported_bytes": reported_bytes(stats),
        "server_bytes": stats.server_bytes or None,
        "disk_bytes": stats.disk_bytes,
        "snapshot_bytes": snapshot_bytes,
        "dump_s": dump_s,
        "load_s": load_s,
        "looks": meter.looks(),
    }


class _Run(msgspec.Struct, frozen=True):
    """The batches that were added."""

    links: int
    durations_ns: Sequence[int]
    """The duration of each batch."""

    @property
    def per_s(self) -> float:
        return self.links / max(1, sum(self.durations_ns)) * 1e9


async def _add(
    visited: LocalSet,
    batches_: Iterable[list[str]],
    report: Callable[[int], None] = lambda _links: None,
    meter: Meter | None = None,
) -> _Run:
    """Add all batches. Calls `report` with the number of links so far."""
    clock, durations_ns, links = time.perf_counter_ns, array("Q"), 0
    for ahead in chunks(batches_, READ_AHEAD):
        for urls in ahead:
            began = clock()
            await visited.add_many(urls)
            durations_ns.append(clock() - began)
        links += sum(map(len, ahead))
        if meter is not None:
            meter.look(links, visited)
        report(links)
    return _Run(links, durations_ns)


def _reading_memory(work: Work) -> tuple[int | None, int | None]:
    """The most memory of this process while it only reads the work: its own, and all that is resident."""
    found = [(own_bytes(), resident_bytes()) for _ in chunks(_first(new_batches(work), _READING_LINKS), READ_AHEAD)]
    own, resident = zip(*found, strict=True)
    return _maximum(own), _maximum(resident)


def _maximum(found: Iterable[int | None]) -> int | None:
    return max((each for each in found if each is not None), default=None)


async def _warm_up(visited: LocalSet, work: Work) -> None:
    """Make what is only made once in a process, which must not count as memory of the set."""
    await _add(visited, _first(new_batches(work), _WARM_UP))
    visited.describe()
    await visited.aclose()


async def _snapshot(
    trial: Trial, visited: LocalSet, make: Maker, capacity: int, directory: Path
) -> tuple[int | None, float | None, float | None]:
    """The size of a snapshot, and the durations to write and to load it. Closes the set."""
    path = directory.with_name(f"{directory.name}.snapshot")
    try:
        with path.open("wb") as file:
            began = time.perf_counter()
            visited.dump(file)
            file.flush()
            dump_s = time.perf_counter() - began
            size = file.tell()
        clear_set(visited)  # two at once would need twice the memory
        await visited.aclose()
        again = make(trial.competitor, capacity, directory)
        with path.open("rb") as file:
            began = time.perf_counter()
            again.load(file)
            load_s = time.perf_counter() - began
        await again.aclose()
    except Unsaved:
        await visited.aclose()
        return None, None, None
    finally:
        path.unlink(missing_ok=True)
    return size, dump_s, load_s


async def _server_cpu_s(visited: LocalSet) -> float | None:
    return await visited.server_cpu_s() if isinstance(visited, SharedSet) else None


async def _forget(visited: LocalSet, work: Work) -> float | None:
    urls = [url for batch in _first(new_batches(work), _FORGET) for url in batch]
    began = time.perf_counter()
    try:
        for start in range(0, len(urls), work.batch):
            await visited.forget_many(urls[start : start + work.batch])
    except CannotForget:
        return None
    return len(urls) / max(1e-9, time.perf_counter() - began)


def _first(batches_: Iterable[list[str]], links: int) -> Iterator[list[str]]:
    """The first batches, up to this many links."""
    taken = 0
    for batch in batches_:
        if taken >= links:
            return
        yield list(islice(batch, links - taken))
        taken += len(batch)


@contextmanager
def _directory(scratch: Path) -> Iterator[Path]:
    """A path for the files of a set. The directory is not created, because most sets need none."""
    with TemporaryDirectory(dir=scratch) as parent:
        yield Path(parent) / "set"
