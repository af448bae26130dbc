"""What makes the visited set of a competitor, and how it may refuse."""

from collections.abc import Callable
from pathlib import Path

from crawler.compare.measure.competitor import Competitor
from visited import LocalSet


class Unavailable(Exception):
    """A competitor is not available here. The message says why, and what to do."""


class Full(Exception):
    """`add_many` of a competitor raises this if it refuses to go beyond its capacity."""


class Unsaved(Exception):
    """`dump` of a competitor raises this if it has no snapshots."""


Maker = Callable[[Competitor, int, Path], LocalSet]
"""Makes the visited set of a competitor for a number of distinct URLs. It may use the directory, which belongs to it
alone. Raises `Unavailable`, and ValueError for parameters that do not fit together."""
