"""The visited sets that are compared."""

from collections.abc import Iterable, Sequence
from itertools import chain, count

import msgspec

from config import CompareSet
from crawler.compare.measure.competitor import Competitor
from crawler.wiring.plugins.catalog import find
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.loading import load

DEFAULT_SETS = (
    CompareSet(backend="exact"),
    CompareSet(backend="dsbf"),
    CompareSet(backend="bloom"),
    CompareSet(backend="blocked"),
    CompareSet(backend="counting"),
    CompareSet(backend="python-set"),
    CompareSet(backend="rbloom"),
    CompareSet(backend="fastbloom-rs"),
)
"""The sets that are compared by default."""


def competitors(sets: Sequence[CompareSet]) -> list[Competitor]:
    """The competitors, each with a unique name."""
    names = unique_names([each.name or each.backend for each in sets])
    return [_competitor(each, name) for each, name in zip(sets, names, strict=True)]


def _competitor(each: CompareSet, name: str) -> Competitor:
    found = find(VISITED, each.backend)
    return Competitor(
        **{**msgspec.structs.asdict(each), "name": name},
        package="" if found.package is None else str(found.package),
        has_estimates=load(found).has_estimates,
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """The names; a number is appended to those that occurred before."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name} {number}" for number in count(2))
        found.append(next(each for each in chain([name], numbered) if each not in found))
    return found
