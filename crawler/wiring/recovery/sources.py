"""Where a recovery reads."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from crawler.disk.directory import CrawlDirectory


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """The output from which the state of a crawl, or of one of its parts, is recovered."""

    own: CrawlDirectory
    """The directory whose state is recovered. It may lack links to other parts of the crawl, too."""
    others: Sequence[CrawlDirectory] = ()
    """Other directories with output of the crawl: of its other parts, or from before it was divided."""
    lineages: Mapping[Path, int] = {}
    """Those of the output from before the crawl was divided, by directory, as far as they are known."""
    owns: Callable[[str], bool] = lambda _: True
    """Whether a queue belongs to the state that is recovered, by its key. Of others, nothing else is taken."""

    @property
    def newest_first(self) -> list[CrawlDirectory]:
        return [self.own, *reversed(self.others)]
