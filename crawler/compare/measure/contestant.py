"""How a competitor is made."""

from collections.abc import Callable
from pathlib import Path

from crawler.compare.measure.competitor import Competitor
from visited import LocalSet


class Unavailable(Exception):
    """A competitor can't be had here; the message says why, and what would help."""


class Full(Exception):
    """Raised by `add_many` of a competitor that refuses to go beyond its capacity; the message says so."""


class Unsaved(Exception):
    """Raised by `dump` of a competitor that has no snapshots."""


Maker = Callable[[Competitor, int, Path], LocalSet]
"""Makes a competitor for so many URLs; what it keeps on disk goes to the directory, which is its own. Raises
`Unavailable`, and ValueError for parameters that do not go together."""
