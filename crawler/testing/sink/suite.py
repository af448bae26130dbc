"""What the parts of the suite have in common: how a sink is opened, and how its output is read."""

from pathlib import Path

import pytest

from crawler.protocols import Sink


class SinkSuite:
    """Opens sinks for the tests. Override its methods."""

    has_files: bool = True
    """Whether the output is in files of this machine, whose disk may be full."""

    def open_sink(self, directory: Path) -> Sink:
        """A sink whose output is in a directory, which may not exist yet. It may hold the output of an earlier sink."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `open_sink`")

    def read_numbers(self, directory: Path) -> list[int]:
        """The numbers of the pages in the output, in their order. Called also while a sink is open."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `read_numbers`")

    def need_files(self) -> None:
        """Skip the rest of the test if the sink has no files."""
        if not self.has_files:
            pytest.skip("its output is not in files of this machine")
