"""What makes the visited set of a competitor."""

from collections.abc import Callable
from pathlib import Path

from crawler.compare.measure.competitor import Competitor
from visited import LocalSet

Maker = Callable[[Competitor, int, Path], LocalSet]
"""Makes the visited set of a competitor for a number of distinct URLs. It may use the directory, which belongs to it
alone. Raises `Unavailable`, and ValueError for parameters that do not fit together."""
