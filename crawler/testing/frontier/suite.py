"""What the parts of the suite have in common: how a frontier is opened."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import Crawl, Opening
from crawler.testing.visited.making import make_own
from frontier import Frontier
from frontier.descriptor import Descriptor, Parameters, checked_options
from frontier.state import FrontierState
from frontier.terms import Terms
from visited import VisitedSet


class FrontierSuite:
    """Opens frontiers for the tests. Override what differs."""

    descriptor: Descriptor
    options: Mapping[str, object] = {}
    """Of the backend."""

    @property
    def is_persistent(self) -> bool:
        """Whether a crawl can be resumed from its state after the process has ended."""
        return self.descriptor.is_persistent

    @property
    def can_reopen(self) -> bool:
        """Whether this process can open the state again once it is closed."""
        return self.is_persistent

    async def open(self, opening: Opening) -> Frontier:
        """Open a frontier over the state in a directory, or over an empty one."""
        state = self.open_state(opening)
        try:
            return await state.open_frontier(opening.visited)
        except BaseException:
            state.close()
            raise

    def open_state(self, opening: Opening) -> FrontierState:
        """Open the state alone."""
        opening.directory.mkdir(parents=True, exist_ok=True)
        parameters = Parameters(
            terms=Terms(identity={"canonicalization": "tests"}),
            directory=opening.directory / "frontier" if "directory" in self.descriptor.needs else None,
            settings=opening.settings,
            rest_after_crash_s=opening.rest_after_crash_s,
            snapshot_directory=opening.directory / "visited" if self.is_persistent else None,
            clock=opening.clock,
        )
        return self.descriptor.make(parameters, checked_options(self.descriptor, self.options))

    def make_visited(self) -> VisitedSet:
        """An empty visited set for the frontier."""
        return make_own("exact")

    async def check(self, directory: Path) -> None:
        """Check that the closed state agrees with itself."""

    @pytest.fixture
    def crawl(self, tmp_path: Path) -> Crawl:
        return Crawl(self, tmp_path / "crawl")
