"""Warns of a visited set that is too small for the configured number of URLs."""

from collections.abc import Iterator

from config import Loaded, Problem
from crawler.status import size
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import VISITED
from visited.descriptor import Cost
from visited.making import cost_of_set

_TOLERANCE = 1.1
"""The formulas round the number of hash functions, so a filter of the right size may err a little more often."""
_LOST = 0.5
"""They round bits, too: a filter for a few URLs may err much more often, and loses none of them."""


def filter_warnings(loaded: Loaded) -> Iterator[Problem]:
    """A warning if the options give a filter a size at which its rate would exceed `visited.error_rate`."""
    visited = loaded.config.visited
    if visited.backend == "auto":
        return
    cost = cost_of_set(descriptor(VISITED, visited.backend), visited.capacity, visited.error_rate, visited.options)
    if cost is None or cost.false_positive_rate <= visited.error_rate * _TOLERANCE:
        return
    if cost.expected_lost < _LOST:
        return
    first = next((f"visited.options.{name}" for name in visited.options), "visited.capacity")
    yield loaded.problem(first, _message(loaded, cost))


def _message(loaded: Loaded, cost: Cost) -> str:
    visited = loaded.config.visited
    needed = cost_of_set(descriptor(VISITED, "bloom"), visited.capacity, visited.error_rate, {})
    assert needed is not None
    rescue = (
        "visited.verify rescues these, which takes time"
        if visited.verify
        else "their pages are lost, because visited.verify is false"
    )
    return (
        f"{visited.backend} with {round(cost.memory_bytes * 8):,} bits is too small for {visited.capacity:,} URLs: its "
        f"false-positive rate will reach {cost.false_positive_rate:.3g}, not {visited.error_rate:g}, and it will take "
        f"about {cost.expected_lost:,.0f} new URLs for known ones; {rescue}. A Bloom filter for this capacity and rate "
        f"has {round(needed.memory_bytes * 8):,} bits ({size(needed.memory_bytes)})"
    )
