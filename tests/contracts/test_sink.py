"""The promises of every sink, kept by ours."""

from pathlib import Path

import pytest

from crawler.seams import Sink
from crawler.testing import SinkContract
from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import write
from tests.contracts.faults.sinks import LineContract, LineSink
from tests.unit.write.formats import FORMATS


class TestSinks(SinkContract):
    @pytest.fixture(autouse=True, params=FORMATS)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name: str = request.param

    def open_sink(self, directory: Path) -> Sink:
        return FORMATS[self.name].open(directory)

    def read_numbers(self, directory: Path) -> list[int]:
        return FORMATS[self.name].read(directory)

    @in_event_loop
    async def test_a_page_written_again_is_there_twice_under_one_number(self, tmp_path: Path) -> None:
        sink = self.open_sink(tmp_path)
        for number in (1, 2, 1):
            await write(sink, number)
        await sink.aclose()
        assert self.read_numbers(tmp_path) == [1, 2, 1]

    @in_event_loop
    async def test_writing_to_a_closed_sink_is_a_wrong_use(self, tmp_path: Path) -> None:
        sink = self.open_sink(tmp_path)
        await sink.aclose()
        with pytest.raises(ValueError, match="closed"):
            await write(sink, 1)

    def test_a_directory_that_cannot_be_made_is_refused_by_opening(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(OSError, match="file"):
            self.open_sink(tmp_path / "file" / "records")


class Connecting(LineSink):
    """Can be written to once it has begun, as a sink that connects to a server."""

    has_begun = False

    async def begin(self) -> None:
        self.has_begun = True

    async def put(self, line: bytes) -> None:
        assert self.has_begun
        await super().put(line)


class TestSinkThatBegins(LineContract):
    def open_sink(self, directory: Path) -> Sink:
        return Connecting(directory)
