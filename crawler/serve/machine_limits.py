"""Keeps crawls within what they may take of the machine: one waits for what the machine lacks, and one that takes too
much ends."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from crawler.serve.keeper import Keeper
from crawler.serve.machine import Limits, Taken, excess, free_bytes, shortage


def check_shortage(keeper: Keeper, limits: Limits, system_files: float) -> None:
    """Tell the keeper of a crawl whether the machine lacks what it needs. `system_files`: the share of all open files
    that the system may have."""
    directory = keeper.facts.directory
    if directory is None:
        return
    was = keeper.facts.shortage
    lacks = shortage(limits, free_bytes(Path(directory)), system_files, is_short=was is not None)
    if (lacks is None) != (was is None):
        keeper.change(lambda facts: msgspec.structs.replace(facts, shortage=lacks))


def check_excess(keepers: Mapping[str, Keeper], limits: Limits, taken: Mapping[str, Taken]) -> None:
    """Tell the keeper of a crawl that it takes too much, if all together do. `taken`: the crawls that run."""
    if any((each := keepers[name].facts.process) is None or each.draining for name in taken):
        return  # what they take may be free in a moment
    found = excess(limits, taken)
    if found is not None:
        name, why = found
        keepers[name].change(lambda facts: msgspec.structs.replace(facts, excess=why))
