"""Whether the descriptor of a visited set says what the set does."""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from crawler.testing.loops import in_event_loop
from crawler.testing.visited.suite import Make, VisitedSetSuite, urls_of
from visited import CannotForget
from visited.descriptor import Descriptor

_URLS: Final = 5_000


class DescriptionTests(VisitedSetSuite):
    """Configuration, comparison and advice believe the descriptor."""

    @pytest.fixture
    def described(self) -> Descriptor:
        if self.descriptor is None:
            pytest.skip("this set has no descriptor")
        return self.descriptor

    def test_its_options_have_defaults(self, described: Descriptor) -> None:
        assert msgspec.convert({}, described.options) == described.options()

    @in_event_loop
    async def test_it_can_forget_if_its_descriptor_says_so(self, make: Make, described: Descriptor) -> None:
        visited = make()
        await visited.add_many(urls_of(0, 100))
        if described.can_forget:
            assert await visited.forget_many(urls_of(0, 10)) == 10
        else:
            with pytest.raises(CannotForget):
                await visited.forget_many(urls_of(0, 10))
        await visited.aclose()

    @in_event_loop
    async def test_it_is_exact_if_its_descriptor_says_so(self, make: Make, described: Descriptor) -> None:
        visited = make()
        await visited.add_many(urls_of(0, _URLS))
        assert (visited.describe().false_positive_rate == 0) == described.is_exact
        await visited.aclose()

    @in_event_loop
    async def test_it_writes_files_only_if_it_has_a_folder(
        self, make: Make, described: Descriptor, tmp_path: Path
    ) -> None:
        visited = make()
        await visited.add_many(urls_of(0, _URLS))
        await visited.aclose()
        assert bool(list(tmp_path.iterdir())) == (described.folder is not None)
