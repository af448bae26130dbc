"""What a program adds to the components of a crawl."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.seams import LinkExtractor, Sink
from frontier import Frontier
from visited import VisitedSet


class Additions(msgspec.Struct, frozen=True, kw_only=True):
    """Components in addition to those of the configuration, or instead of them."""

    sinks: Sequence[Sink] = ()
    """Before those of the configuration, in this order."""
    extractor: Callable[[LinkExtractor], LinkExtractor] = lambda configured: configured
    """Returns the extractor to use, given that of the configuration."""
    visited: VisitedSet | None = None
    """An empty set, instead of that of the configuration."""
    frontier: Callable[[Frontier], Frontier] = lambda opened: opened
    """Returns the frontier to use, given that of the configuration."""
    check: Callable[[], object] | None = None
    """Called right before each request is written, and before each write to the frontier and to a sink. It ends the
    process where the crawl may not go on. None costs nothing."""


NO_ADDITIONS: Final = Additions()
