"""What the parts of the suite have in common: how a frontier is opened."""

from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import Crawl, Opening
from crawler.testing.visited.making import make_own
from frontier import Frontier
from visited import VisitedSet


class FrontierSuite:
    """Opens frontiers for the tests. Override what differs."""

    is_persistent: bool = True
    """Whether a crawl can be resumed from its state after the process has ended."""

    @property
    def can_reopen(self) -> bool:
        """Whether this process can open the state again once it is closed."""
        return self.is_persistent

    async def open(self, opening: Opening) -> Frontier:
        """Open a frontier over the state in a directory, or over an empty one."""
        raise NotImplementedError

    def make_visited(self) -> VisitedSet:
        """An empty visited set for the frontier."""
        return make_own("exact")

    async def check(self, directory: Path) -> None:
        """Check that the closed state agrees with itself."""

    @pytest.fixture
    def crawl(self, tmp_path: Path) -> Crawl:
        return Crawl(self, tmp_path / "crawl")
