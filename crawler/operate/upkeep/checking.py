"""Finds what does not agree: within a state, between the parts of a crawl, and with the output."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing

import msgspec
from msgspec import UNSET

from config import Config
from crawler.control.replies import PartNumber
from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import why_list_is_lost
from crawler.operate.upkeep.places import Places, open_states, reconciliation
from crawler.wiring.backends import frontier_backend, lacks
from crawler.wiring.recovery.reconciliation import DAMAGED, REFETCH
from crawler.wiring.storage import reaching_server, visited_set
from frontier.descriptor import Problem, Report
from frontier.state import FrontierState

_ELSEWHERE = "elsewhere"
_NOTES = ("snapshot", DAMAGED, _ELSEWHERE)
"""A snapshot that does not fit is no damage: a crash has torn it, or the settings have changed since."""
_COUNTS = ("urls", "pending", "retrying", "queues", "quarantined")


class FoundProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that does not agree with something else."""

    kind: str
    where: str
    message: str
    part: PartNumber = UNSET


class FsckReport(msgspec.Struct, frozen=True, kw_only=True):
    urls: int
    pending: int
    retrying: int
    queues: int
    quarantined: int
    problems: list[FoundProblem]
    """The first of them."""
    problem_count: int
    """The number of all problems."""


class _Findings:
    """Lists the first problems, and counts all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.problems: list[FoundProblem] = []
        self.notes: list[FoundProblem] = []
        self.count = 0

    def add(self, found: Iterable[FoundProblem]) -> None:
        for each in found:
            if each.kind in _NOTES:
                self.notes.append(each)
                continue
            self.count += 1
            if len(self.problems) < self._limit:
                self.problems.append(each)


async def check(places: Places, *, output: bool, limit: int) -> tuple[FsckReport, list[FoundProblem]]:
    """Check everything, and list up to `limit` problems; the other list has what is only worth a note."""
    config = places.loaded.config
    found = _Findings(limit)
    with open_states(places) as (states, broken):
        found.add(
            FoundProblem(kind="damaged", where=str(places.directory_of(part)), message=why, part=part)
            for part, why in broken.items()
        )
        reports = {part: _check(config, state) for part, state in states.items()}
        for place in places.each:
            if (state := states.get(place.part or 0)) is not None:
                problems = reports[place.part or 0].problems
                problems += await _check_visited(config, place.directory, state)
                found.add([_found(problem, UNSET if place.part is None else place.part) for problem in problems])
        if places.is_in_parts:
            found.add(_found(problem) for problem in _check_parts(config, states, places.count))
        # What is in the output of the others may belong to a broken part.
        if output and not broken:
            found.add(_differences(places, list(states.values())))
    counts = {name: sum(getattr(report, name) for report in reports.values()) for name in _COUNTS}
    return FsckReport(**counts, problems=found.problems, problem_count=found.count), found.notes


def _found(problem: Problem, part: PartNumber = UNSET) -> FoundProblem:
    return FoundProblem(kind=problem.kind, where=problem.where, message=problem.message, part=part)


def _check(config: Config, state: FrontierState) -> Report:
    found = frontier_backend(config).upkeep.check
    if found is None:
        raise lacks(config, "check its state")
    return found(state)


async def _check_visited(config: Config, directory: CrawlDirectory, state: FrontierState) -> list[Problem]:
    found = frontier_backend(config).upkeep.check_visited
    if found is None:
        return []
    async with aclosing(visited_set(config, directory, state.knows_many)) as visited:
        with reaching_server(config):
            return await found(state, visited)


def _check_parts(config: Config, states: Mapping[int, FrontierState], count: int) -> Sequence[Problem]:
    found = frontier_backend(config).upkeep.check_parts
    return [] if found is None or len(states) < count else found([states[number] for number in range(count)])


def _differences(places: Places, states: Sequence[FrontierState]) -> Iterator[FoundProblem]:
    owner = places.owner
    others = places.other_machines()
    for directory in places.outputs:
        if (why := why_list_is_lost(directory)) is not None:
            yield _found(Problem("pruned", str(directory.pruned), why))
    for each in reconciliation(places, states, others).differences():
        if each.again is None:
            yield _found(each.problem)
        else:
            problem = msgspec.structs.replace(each.problem, message=each.problem.message + REFETCH)
            yield _found(problem, owner(each.again.queue_key) if places.is_in_parts else UNSET)
    yield from (_found(Problem(_ELSEWHERE, str(places.path), told)) for told in others.told())
