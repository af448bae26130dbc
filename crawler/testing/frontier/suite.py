"""What the parts of the suite have in common: how a frontier is opened."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import Crawl, Opening, now
from crawler.testing.visited.making import make_own
from frontier import Frontier
from frontier.descriptor import Descriptor, Parameters
from frontier.queues.settings import QueueSettings
from frontier.state import FrontierState
from frontier.terms import Terms
from visited import VisitedSet
from visited.descriptor import checked_options


class FrontierSuite:
    """Opens frontiers for the tests. Override what differs."""

    descriptor: Descriptor
    options: Mapping[str, object] = {}
    """The options of the backend."""
    ignored_settings: Collection[str] = ()
    """Names of fields of `QueueSettings` that the backend ignores. Tests that need them are skipped."""

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
        return self.descriptor.make(self.parameters(opening), checked_options(self.descriptor.options, self.options))

    def parameters(self, opening: Opening) -> Parameters:
        """What the state is opened with."""
        return Parameters(
            terms=Terms(identity={"canonicalization": "tests"}),
            directory=opening.directory / "frontier" if "directory" in self.descriptor.needs else None,
            settings=opening.settings,
            rest_after_crash_s=opening.rest_after_crash_s,
            snapshot_directory=opening.directory / "visited" if self.is_persistent else None,
            clock=opening.clock,
        )

    def make_visited(self) -> VisitedSet:
        """An empty visited set for the frontier."""
        return make_own("exact")

    async def check(self, directory: Path) -> None:
        """Check that the closed state agrees with itself, as far as its descriptor can."""
        upkeep = self.descriptor.upkeep
        if upkeep.check is None or not self.is_persistent:
            return
        visited = self.make_visited()
        state = self.open_state(Opening(directory=directory, visited=visited, settings=QueueSettings(), clock=now))
        try:
            report = upkeep.check(state)
            assert report.problems == []
            if upkeep.check_visited is not None:
                assert await upkeep.check_visited(state, visited) == []
                assert len(visited) == report.urls
        finally:
            state.close()

    @pytest.fixture
    def crawl(self, tmp_path: Path) -> Crawl:
        return Crawl(self, tmp_path / "crawl")
