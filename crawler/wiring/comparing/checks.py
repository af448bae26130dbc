"""Checks that the blocks of a comparison fit together."""

from collections.abc import Sequence

from config import Loaded
from crawler.wiring.comparing.competitors import competitors
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import VISITED
from visited.descriptor import checked_options


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
