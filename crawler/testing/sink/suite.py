"""What the parts of the suite have in common: how a sink is opened, and how its output is read."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from crawler.seams import Begins, Sink
from crawler.write.descriptor import Descriptor, Parameters, Written


class SinkSuite:
    """Opens sinks for the tests. Override what differs."""

    descriptor: Descriptor | None = None
    options: Mapping[str, object] = {}
    """The options of the descriptor."""

    @property
    def has_files(self) -> bool:
        """Whether the output is in files of this machine, whose disk may be full."""
        return self.descriptor is None or "directory" in self.descriptor.needs

    def open_sink(self, directory: Path) -> Sink:
        """A sink whose output is in a directory, which may not exist yet. It may hold the output of an earlier sink."""
        if self.descriptor is None:
            pytest.fail(f"expected a `descriptor` or a method `open_sink` in {type(self).__name__}, found neither")
        if self.has_files:
            directory.mkdir(parents=True, exist_ok=True)
        return self.descriptor.make(self._parameters(directory), msgspec.convert(self.options, self.descriptor.options))

    def read_written(self, directory: Path) -> AsyncIterator[Sequence[Written]]:
        """What `read` of the descriptor finds in the output. Override it beside `open_sink`, to read with the same
        options."""
        if self.descriptor is None or self.descriptor.read is None:
            pytest.skip("its descriptor has no `read`")
        if type(self).open_sink is not SinkSuite.open_sink:
            pytest.skip("`open_sink` is overridden, and `read_written` is not")
        return self.descriptor.read(self._parameters(directory), msgspec.convert(self.options, self.descriptor.options))

    def _parameters(self, directory: Path) -> Parameters:
        return Parameters(directory=directory if self.has_files else None)

    async def begin_sink(self, directory: Path) -> Sink:
        """A sink that `open_sink` has opened, ready to be written to as in a crawl. One that can't begin is closed."""
        sink = self.open_sink(directory)
        if isinstance(sink, Begins):
            try:
                await sink.begin()
            except BaseException:
                await sink.aclose()
                raise
        return sink

    def read_numbers(self, directory: Path) -> list[int]:
        """The numbers of the pages in the output, in the order of writing or of numbers. Called also while a sink is
        open."""
        pytest.fail(f"{type(self).__name__} needs a method `read_numbers`, which reads the output")

    def need_files(self) -> None:
        """Skip the rest of the test if the sink has no files."""
        if not self.has_files:
            pytest.skip("its output is not in files of this machine")
