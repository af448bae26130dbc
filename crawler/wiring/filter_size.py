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


def filter_warnings(loaded: Loaded) -> Iterator[Problem]:
    """A warning if the options give a filter a size at which its rate would exceed `visited.error_rate`."""
    visited = loaded.config.visited
    if visited.backend == "auto":
        return
    cost = cost_of_set(descriptor(VISITED, visited.backend), visited.capacity, visited.error_rate, visited.options)
    bloom = cost_of_set(descriptor(VISITED, "bloom"), visited.capacity, visited.error_rate, {})
    assert bloom is not None
    # The formulas round bits, too: for a few URLs, a filter of the right size may err much more often.
    right = max(visited.error_rate, bloom.false_positive_rate)
    if cost is None or cost.false_positive_rate <= right * _TOLERANCE:
        return
    first = next((f"visited.options.{name}" for name in visited.options), "visited.capacity")
    yield loaded.problem(first, _message(loaded, cost, bloom))


def _message(loaded: Loaded, cost: Cost, bloom: Cost) -> str:
    visited = loaded.config.visited
    rescue = (
        "visited.verify rescues these, which takes time"
        if visited.verify
        else "their pages are lost, because visited.verify is false"
    )
    return (
        f"{visited.backend} with {round(cost.memory_bytes * 8):,} bits is too small for {visited.capacity:,} URLs: its "
        f"false-positive rate will reach {cost.false_positive_rate:.3g}, not {visited.error_rate:g}, and it will take "
        f"about {cost.expected_lost:,.0f} new URLs for known ones; {rescue}. A Bloom filter for this capacity and rate "
        f"has {round(bloom.memory_bytes * 8):,} bits ({size(bloom.memory_bytes)})"
    )
