"""The promises of every sink, kept by ours."""

import errno
from pathlib import Path

import pytest

from crawler.seams import Sink
from crawler.testing import SinkContract
from crawler.testing.loops import in_event_loop
from crawler.testing.sink.pages import write
from crawler.testing.sink.suite import SinkSuite
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


class Locking(Connecting):
    """Lets no other one begin in its directory while it is open."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._lock = directory / "lock"
        self._lock.touch(exist_ok=False)

    async def begin(self) -> None:
        if not (self._lock.parent / "space").exists():
            raise OSError(errno.ENOSPC, "no space left on device")
        await super().begin()

    async def aclose(self) -> None:
        self._lock.unlink(missing_ok=True)
        await super().aclose()


class LockingSuite(SinkSuite):
    def open_sink(self, directory: Path) -> Sink:
        return Locking(directory)


async def test_the_suite_closes_a_sink_that_can_not_begin(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space"):
        await LockingSuite().begin_sink(tmp_path)
    (tmp_path / "space").touch()
    sink = await LockingSuite().begin_sink(tmp_path)
    await sink.aclose()
