"""The processes of a part, one after the other."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from crawler.parts.line.messages import Begin, FromPart
from crawler.supervise import keeping
from crawler.supervise.keeping import FIRST_S, MAX_DEATHS, PartFailed, PartKeeper
from crawler.supervise.process import WITHOUT_LEASE, PartProcess
from crawler.testing.loops import in_virtual_time


class Watch:
    """Prepares the part, and hears nothing of it."""

    def __init__(self) -> None:
        self.ended = 0

    async def prepare(self, number: int, /) -> Begin | None:
        return Begin(version="1", number=number, lineage=0, directories=["part-0"], configuration="{}", rebuild=False)

    def begin(self, number: int, process: PartProcess, /) -> None:
        raise AssertionError

    def take(self, number: int, message: FromPart, /) -> None:
        raise AssertionError

    def end(self, number: int, /) -> None:
        self.ended += 1

    def is_replaced(self, _number: int, /) -> bool:
        return False


def keeper(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, told: list[str], watch: Watch | None = None
) -> PartKeeper:
    async def start(*_: object, **__: object) -> PartProcess:
        raise error

    monkeypatch.setattr(keeping, "start", start)
    return PartKeeper(0, folder / "log", watch or Watch(), tell=told.append)


@in_virtual_time
async def test_a_process_that_the_system_can_not_start_now_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    error = OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    watch = Watch()
    failure = await keeper(tmp_path, monkeypatch, error, told, watch).keep(asyncio.Event())
    why = "because its process can't be started: Resource temporarily unavailable"
    assert told[0] == f"part 0 has died ({why}); it starts again in {FIRST_S:g} s."
    assert len(told) == MAX_DEATHS
    assert watch.ended == MAX_DEATHS + 1
    assert isinstance(failure, PartFailed)
    assert why in str(failure)


@in_virtual_time
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EISDIR, errno.EACCES])
async def test_an_error_that_no_time_mends_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    error = OSError(number, os.strerror(number), "log")
    with pytest.raises(OSError, match="log") as raised:
        await keeper(tmp_path, monkeypatch, error, []).keep(asyncio.Event())
    assert raised.value is error


class Ending:
    """A process that ends at once."""

    pid = 17

    def __init__(self, how: str) -> None:
        self._how = how
        self.line = self

    def send(self, _: object) -> None: ...

    async def receive(self) -> None: ...

    async def aclose(self) -> None: ...

    async def wait(self) -> str:
        return self._how


class Losing(Watch):
    """Prepares the part once: its lease is about to be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0

    async def prepare(self, number: int, /) -> Begin | None:
        return None if self.begun else await super().prepare(number)

    def begin(self, number: int, process: PartProcess, /) -> None:
        self.begun += 1


@pytest.mark.parametrize(("how", "is_told"), [(WITHOUT_LEASE, False), ("by SIGKILL", True)], ids=["lease", "killed"])
@in_virtual_time
async def test_a_part_whose_lease_has_ended_is_not_said_to_start_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, is_told: bool
) -> None:
    async def start(*_: object, **__: object) -> Ending:
        return Ending(how)

    monkeypatch.setattr(keeping, "start", start)
    told: list[str] = []
    assert await PartKeeper(0, tmp_path / "log", Losing(), tell=told.append).keep(asyncio.Event()) is None
    assert any("starts again" in each for each in told) == is_told
