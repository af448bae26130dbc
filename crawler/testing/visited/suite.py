"""What the parts of the suite have in common: how a visited set is made."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from crawler.testing.visited.making import CAPACITY, ERROR_RATE, make
from visited import VisitedSet
from visited.descriptor import Descriptor

Make = Callable[[], VisitedSet]


class VisitedSetSuite:
    """Makes visited sets for the tests. Override what differs."""

    descriptor: Descriptor | None = None
    options: Mapping[str, object] = {}
    """The options of the descriptor."""
    capacity: int = CAPACITY
    error_rate: float = ERROR_RATE
    """For 20,000 URLs, so that no test sees a false positive by chance."""

    has_snapshots: bool = True
    """Whether the set can be dumped. One on a server can't (`SharedSet`)."""

    @property
    def has_files(self) -> bool:
        """Whether the set keeps anything in its directory."""
        return self.descriptor is not None and self.descriptor.folder is not None

    def make_set(self, directory: Path) -> VisitedSet:
        """An empty set, whose files are in a directory that may not exist yet. They may be those of an earlier set."""
        if self.descriptor is None:
            pytest.fail(f"expected a `descriptor` or a method `make_set` in {type(self).__name__}, found neither")
        return make(
            self.descriptor, directory, options=self.options, capacity=self.capacity, error_rate=self.error_rate
        )

    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        """Makes the set again and again over the same files, as a crawl does when it is resumed."""
        return lambda: self.make_set(tmp_path)

    def need_files(self) -> None:
        """Skip the rest of the test if the set has no files."""
        if not self.has_files:
            pytest.skip("it keeps no files beside its snapshot")


def urls_of(start: int, stop: int) -> list[str]:
    return [f"https://h{number % 17}.example/päge/{number}?q={number * 7}" for number in range(start, stop)]


def dump(visited: VisitedSet) -> io.BytesIO:
    """The snapshot of a set."""
    file = io.BytesIO()
    visited.dump(file)
    file.seek(0)
    return file


async def dump_and_close(visited: VisitedSet) -> io.BytesIO:
    file = dump(visited)
    await visited.aclose()
    return file


def load(make: Make, file: io.BytesIO) -> VisitedSet:
    """Another set with the content of a snapshot."""
    visited = make()
    visited.load(file)
    return visited
