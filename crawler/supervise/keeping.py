"""Runs the processes of one part, one after the other."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.codes.scarce import SCARCE
from crawler.disk.directory import DirectoryRefused
from crawler.files.content import last_lines
from crawler.parts.line.messages import Begin, Ended, Failed, FromPart
from crawler.status import number_of
from crawler.supervise.process import WITHOUT_LEASE, PartProcess, check_still_there, start

log = logging.getLogger(__name__)

KILL_AFTER_S: Final = 30.0
"""How long a part may take to drop what is in flight."""
_LAST_LINES: Final = 10
FIRST_S: Final = 0.5
MAX_DEATHS: Final = 5
WITHIN_S: Final = 600.0
"""A part may die so often within this time."""


class Restarts:
    """The deaths of one part."""

    def __init__(self) -> None:
        self._deaths: list[float] = []

    @property
    def deaths(self) -> int:
        """Lately."""
        return len(self._deaths)

    def wait_s(self, now: float) -> float | None:
        """The part has died. Returns how long to wait before it starts again: twice as long each time. None if it has
        died too often."""
        self._deaths = [each for each in self._deaths if each > now - WITHIN_S] + [now]
        if len(self._deaths) > MAX_DEATHS:
            return None
        return FIRST_S * 2.0 ** (len(self._deaths) - 1)


class PartFailed(Exception):
    """A part can't go on. The message says why, and what to do."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Watch(Protocol):
    """Who watches over the processes of parts."""

    async def prepare(self, number: int, /) -> Begin | None:
        """Wait until the part may be opened. Returns what to tell its process first; `end` follows. None if the part
        gets no process any more."""
        ...

    def begin(self, number: int, process: PartProcess, /) -> None:
        """A process has started."""
        ...

    def take(self, number: int, message: FromPart, /) -> None:
        """It has said something."""
        ...

    def end(self, number: int, /) -> None:
        """It has ended, or will as soon as its line does."""
        ...

    def is_replaced(self, number: int, /) -> bool:
        """Whether the process was told to end so that another one follows."""
        ...


class PartKeeper:
    """Starts a part again whenever its process dies."""

    def __init__(
        self,
        number: int,
        log_file: Path,
        watch: Watch,
        *,
        tell: Callable[[str], object],
        inherit: Sequence[int] = (),
    ) -> None:
        """`tell` gets what people should know. Processes get the descriptors `inherit`."""
        self._number = number
        self._log_file = log_file
        self._watch = watch
        self._restarts = Restarts()
        self._tell = tell
        self._inherit = inherit
        self._process: PartProcess | None = None
        self._last: Ended | Failed | None = None
        """The last word of the process."""

    async def keep(self, ends: asyncio.Event) -> PartFailed | None:
        """Run processes until the crawl ends. Returns why the part can't go on, if it can't."""
        while not ends.is_set():
            begin = await self._watch.prepare(self._number)
            if begin is None:
                return None
            try:
                how = await self._run_process(begin)
            except DirectoryRefused as error:
                return PartFailed(f"part {self._number}: {error}", REFUSED)
            if isinstance(self._last, Failed):
                return PartFailed(f"part {self._number}: {self._last.message}", self._last.exit_code)
            if not ends.is_set() and (failure := await self._wait_to_restart(how, ends)) is not None:
                return failure
        return None

    def kill(self) -> None:
        """End the process at once. What it has stored is kept."""
        if self._process is not None:
            self._process.kill()

    async def _run_process(self, begin: Begin) -> str:
        """Returns how it has ended. Raises `DirectoryRefused` if its directory is gone, and `OSError` if it can't be
        started, as on a full disk, and no time mends that."""
        number, self._last = self._number, None
        try:
            check_still_there(begin)
            try:
                process = self._process = await start(self._log_file, inherit=self._inherit)
            except OSError as error:
                if error.errno not in SCARCE:
                    raise
                return f"because its process can't be started: {error.strerror}"
            self._watch.begin(number, process)
            fields: dict[str, object] = {"of_part": number, "pid": process.pid}
            log.info("part %d runs in process %d", number, process.pid, extra={"fields": fields})
            process.line.send(begin)
            while (message := await process.line.receive()) is not None:
                if isinstance(message, Ended | Failed):
                    self._last = message
                self._watch.take(number, message)
        finally:
            self._watch.end(number)
            if self._process is not None:
                await self._process.line.aclose()
        how = await process.wait()
        self._process = None
        fields["how"] = how
        log.info("part %d: process %d has ended, %s", number, process.pid, how, extra={"fields": fields})
        return how

    async def _wait_to_restart(self, how: str, ends: asyncio.Event) -> PartFailed | None:
        number = self._number
        if isinstance(self._last, Ended):
            if self._watch.is_replaced(number):
                return None
            self._tell(f"part {number} was stopped from outside; it starts again. `onceover stop` stops the crawl.")
            return None
        wait_s = self._restarts.wait_s(time.monotonic())
        if wait_s is None:
            lines = "".join(f"\n    {line}" for line in last_lines(self._log_file, _LAST_LINES))
            return PartFailed(
                f"part {number} has died {number_of(self._restarts.deaths, 'time')}, the last time {how}. What was "
                f"stored is kept; the same command goes on. The end of {self._log_file}:{lines}",
                FAILED,
            )
        if how != WITHOUT_LEASE:  # the machine tells that the lease was lost
            self._tell(f"part {number} has died ({how}); it starts again in {wait_s:g} s.")
        log.info("part %d has died (%s); it starts again in %g s", number, how, wait_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(ends.wait(), wait_s)
        return None
