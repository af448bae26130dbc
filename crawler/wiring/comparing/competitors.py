"""The visited sets that are compared, and whether the blocks of a comparison fit together."""

from collections.abc import Iterable, Sequence
from itertools import chain, count

import msgspec

from config import CompareSet, Loaded
from crawler.compare.measure.trial import Competitor
from crawler.wiring.plugins.catalog import descriptor, find
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.loading import load
from visited.descriptor import checked_options

DEFAULT_SETS = tuple(
    CompareSet(backend=each) for each in "exact dsbf bloom blocked counting python-set rbloom fastbloom-rs".split()
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


def check_comparison(loaded: Loaded) -> None:
    """Check that the blocks fit together. Raises `ConfigError` for the first that do not."""
    compare = loaded.config.compare
    works = [work.name for work in compare.work]
    sets = [each.name for each in competitors(compare.set)]
    for number, work in enumerate(compare.work, start=1):
        sources = [work.urls, work.crawl, work.distinct, None if work.live == "no" else work.live]
        found = sum(source is not None for source in sources)
        if found != 1:
            raise loaded.refuse(
                f"compare.work[{number}]",
                f"expected one of urls, crawl, distinct and live, found {found or 'none'} of them",
            )
        if works.index(work.name) + 1 != number:
            raise loaded.refuse(f"compare.work[{number}]", f'expected a unique name, found "{work.name}" again')
    for number, each in enumerate(competitors(compare.set), start=1):
        for name in each.works:
            _check_known(loaded, f"compare.set[{number}]", name, works, "compare.work")
        with loaded.refusing(f"compare.set[{number}]"):
            checked_options(descriptor(VISITED, each.backend), each.all_options)
    for number, expected in enumerate(compare.expect, start=1):
        key = f"compare.expect[{number}]"
        _check_known(loaded, key, expected.work, works, "compare.work")
        for name in (expected.set, *([expected.over] if expected.over else [])):
            _check_known(loaded, key, name, sets, "compare.set")


def _check_known(loaded: Loaded, key: str, name: str, names: Sequence[str], kind: str) -> None:
    if name not in names:
        there_are = ", ".join(f'"{each}"' for each in names) or "none"
        raise loaded.refuse(key, f'expected the name of a [[{kind}]], found "{name}"; there are {there_are}')
