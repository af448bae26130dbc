"""The history of a crawl, in a folder of its own. All of this blocks, so an event loop calls it in a thread."""

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from crawler.control.replies import CrawlStatus
from crawler.serve.machine import Taken
from crawler.serve.measure.ring import Ring, Values
from crawler.serve.measure.tiers import PART_TIERS, TIERS, Window, is_gap, thin
from crawler.serve.measure.values import (
    Counts,
    Levels,
    Machine,
    Total,
    advance,
    machine_of,
    samples,
    sum_counts,
    sum_levels,
)

_Form = TypeVar("_Form", bound=msgspec.Struct)
_COUNTS: Final = Counts.__struct_fields__
COLUMNS: Final = (*_COUNTS, *Levels.__struct_fields__, *Machine.__struct_fields__)
_OF_PROCESS: Final = ("pid", "elapsed_s", *(f"run_{name}" for name in _COUNTS))
_WHOLE: Final = "crawl.samples"
_PART: Final = "part-{}.samples"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl, or a part of one, stood when it was seen last."""

    at: float
    counts: Counts
    """Over all of its processes."""
    levels: Levels
    machine: Machine
    failures: Mapping[str, int] = {}
    """Failures by reason, since its process began."""


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl and its parts."""

    whole: Reading | None = None
    """None if it was never seen."""
    parts: Mapping[int, Reading] = {}


class History:
    """The history of a crawl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._whole = Ring(folder / _WHOLE, COLUMNS, TIERS)
        self._parts: dict[int, Ring] = {}
        self._totals: dict[int, Total] = {}
        self.readings = Readings()

    def open(self, now: float) -> None:
        """Find out how the crawl stood when it was seen last. Raises `OSError`."""
        parts = {}
        for path in self._folder.glob(_PART.format("*")):
            number = path.name.removeprefix("part-").partition(".")[0]
            last = self._ring(int(number)).last(now) if number.isdigit() else None
            if last is not None:
                self._totals[int(number)], parts[int(number)] = _remembered_part(*last)
        whole = self._whole.last(now)
        if whole is not None:
            at, values = whole
            seen_last = {number: each for number, each in parts.items() if each.at == at}
            self.readings = Readings(whole=_remembered(at, values), parts=seen_last)

    def keep(
        self,
        status: CrawlStatus,
        *,
        at: float,
        taken: Taken,
        taken_by_parts: Mapping[int, Taken],
        free_disk_bytes: int | None,
    ) -> None:
        """Add a sample of a running crawl. `taken` is what all of its processes take, and `taken_by_parts` what that of
        each part does, by its pid. Raises `OSError`, and the sample then counts in `readings` alone."""
        found = samples(status)
        if not found:
            return
        for number, sample in found.items():
            self._totals[number] = advance(self._totals.get(number, Total()), sample)
        is_one = status.parts is msgspec.UNSET
        alone = {sample.pid: taken for sample in found.values()} if is_one else taken_by_parts
        parts = {
            number: Reading(
                at=at,
                counts=self._totals[number].total,
                levels=sample.levels,
                machine=machine_of(alone.get(sample.pid, Taken()), free_disk_bytes),
                failures=sample.failures,
            )
            for number, sample in found.items()
        }
        # A part that does not answer is taken to be as it was.
        silent = {number: self.readings.parts[number] for number in _silent(status) & self.readings.parts.keys()}
        parts.update(silent)
        whole = Reading(
            at=at,
            counts=sum_counts(total.total for total in self._totals.values()),
            levels=sum_levels(each.levels for each in parts.values()),
            machine=machine_of(taken, free_disk_bytes),
        )
        self.readings = Readings(whole=whole, parts=parts)
        self._write(whole, {number: parts[number] for number in found})

    def _write(self, whole: Reading, parts: Mapping[int, Reading]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number, part in parts.items():
            total = self._totals[number]
            of_process = (total.pid, total.elapsed_s, *(getattr(total.run, name) for name in _COUNTS))
            self._ring(number).write(part.at, (*_values(part), *of_process))
        self._whole.write(whole.at, _values(whole))

    def show(self, window: Window, now: float, part: int | None) -> list[dict[str, float | None]]:
        """The samples in a window, by time, with their moments as `time`. Where samples are missing, one stands without
        values. Raises `OSError`."""
        if part is not None and not (self._folder / _PART.format(part)).exists():
            return []
        ring, tiers = (self._whole, TIERS) if part is None else (self._ring(part), PART_TIERS)
        shown: list[dict[str, float | None]] = []
        before: float | None = None
        for moment, values in thin(ring.read(window.begin, min(now, window.end)), window):
            if before is not None and is_gap(before, moment, window, now, tiers):
                shown.append({"time": (before + moment) / 2})
            shown.append({"time": moment, **_named(values)})
            before = moment
        return shown

    def forget(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ring(self, number: int) -> Ring:
        ring = self._parts.get(number)
        if ring is None:
            path = self._folder / _PART.format(number)
            ring = self._parts[number] = Ring(path, (*COLUMNS, *_OF_PROCESS), PART_TIERS)
        return ring


def _silent(status: CrawlStatus) -> set[int]:
    """The parts that do not tell how they stand."""
    parts = status.parts
    return set() if isinstance(parts, msgspec.UnsetType) else {each.part for each in parts if each.status is None}


def pids_of_parts(status: CrawlStatus) -> Iterable[int]:
    """The processes of the parts of a crawl in parts."""
    parts = status.parts
    told = [] if isinstance(parts, msgspec.UnsetType) else [each.status for each in parts if each.status is not None]
    return [each.pid for each in told if each.pid is not None]


def _values(reading: Reading) -> Values:
    structs = (reading.counts, reading.levels, reading.machine)
    found = [getattr(each, name) for each in structs for name in each.__struct_fields__]
    return tuple(math.nan if value is None else float(value) for value in found)


def _named(values: Sequence[float]) -> dict[str, float | None]:
    return {
        name: None if math.isnan(value) else value for name, value in zip(COLUMNS, values[: len(COLUMNS)], strict=True)
    }


def _remembered(at: float, values: Sequence[float]) -> Reading:
    named = _named(values)
    return Reading(at=at, counts=_form(named, Counts), levels=_form(named, Levels), machine=_form(named, Machine))


def _remembered_part(at: float, values: Sequence[float]) -> tuple[Total, Reading]:
    reading = _remembered(at, values)
    pid, elapsed_s, *run = (0.0 if math.isnan(value) else value for value in values[len(COLUMNS) :])
    counted = Counts(**{name: int(value) for name, value in zip(_COUNTS, run, strict=True)})
    return Total(total=reading.counts, run=counted, pid=int(pid), elapsed_s=elapsed_s), reading


def _form(named: Mapping[str, float | None], kind: type[_Form]) -> _Form:
    """Values of a file. Those that are not known are 0 where a number is needed."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        value = named[field.name]
        if value is None:
            found[field.name] = None if isinstance(None, field.type) else 0
        else:
            found[field.name] = int(value) if value.is_integer() else value
    return msgspec.convert(found, kind, strict=False)
