"""Starts the parts of a crawl, watches them, and ends them together."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from crawler.disk.directory import CrawlDirectory
from crawler.engine import Ending
from crawler.library.result import EXIT_CODES, CrawlResult
from crawler.parts.line.messages import (
    Answered,
    Ask,
    End,
    Ended,
    Failed,
    FromPart,
    Opened,
    Progress,
    Rebuilding,
    Stop,
    ToService,
    Warned,
)
from crawler.status import Status
from crawler.supervise.ending import EndSearch
from crawler.supervise.given import GivenConfiguration
from crawler.supervise.part_log import Warnings
from crawler.supervise.preparing import Plan
from crawler.supervise.process import last_lines, start
from crawler.supervise.restarts import Restarts
from crawler.supervise.watched_part import WatchedPart, status_of_all
from crawler.wiring.parts import check_exchange

log = logging.getLogger(__name__)

KILL_AFTER_S: Final = 30.0
"""How long a part may take to drop what is in flight."""


class PartFailed(Exception):
    """A part can't go on, so the crawl has ended. The message says why, and what to do."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Supervisor:
    """Runs a crawl in parts. `run` ends when all processes have ended."""

    def __init__(
        self,
        plan: Plan,
        *,
        tell: Callable[[str], object] = lambda _: None,
        restarts: Callable[[], Restarts] = Restarts,
    ) -> None:
        """`tell` gets what people should know while the crawl runs."""
        self.given = GivenConfiguration(plan, self.stop)
        self._tell = tell
        self._parts = [WatchedPart(restarts()) for _ in range(plan.parts)]
        self._search = EndSearch(plan.parts, self._ask)
        self._began = time.monotonic()
        self._warnings = Warnings(tell)
        self.ending: Ending | None = None
        """Why the crawl ends, once that is known."""
        self._failure: PartFailed | None = None
        self._ends = asyncio.Event()
        self._drops = asyncio.Event()
        """Set when the parts are to drop what is in flight."""
        self.all_open = asyncio.Event()

    # what others ask

    @property
    def plan(self) -> Plan:
        return self.given.plan

    @property
    def parts(self) -> Sequence[WatchedPart]:
        return self._parts

    @property
    def is_stopping(self) -> bool:
        return self.ending is not None

    @property
    def is_resumed(self) -> bool:
        """Whether the crawl had URLs before this run. Known once all parts were open."""
        return any(part.opened.resumed for part in self._parts if part.opened is not None)

    @property
    def choices(self) -> list[str]:
        """What `auto` has chosen, for people."""
        found = (part.opened.choice for part in self._parts if part.opened is not None)
        return list(dict.fromkeys(choice for choice in found if choice is not None))

    def status(self) -> Status | None:
        """The crawl at this moment; None before all parts were open once."""
        return status_of_all(self._parts, time.monotonic() - self._began)

    def stop(self, ending: Ending, *, now: bool = False) -> None:
        """Let all parts finish what is in flight, or drop it."""
        self.ending = self.ending or ending
        self._ends.set()
        if now and self._drops.is_set():
            self.kill()
        if now:
            self._drops.set()
        for part in self._parts:
            part.send(Stop(now=self._drops.is_set()))

    def kill(self) -> None:
        """End all processes at once. What they have stored is kept."""
        for part in self._parts:
            part.kill()

    # the run

    async def run(self) -> CrawlResult:
        """Run the crawl until it is complete, stopped, or a part fails. Raises `PartFailed` and `ConfigError`."""
        await check_exchange(self.plan.loaded)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = [group.create_task(self._keep(number)) for number in range(self.plan.parts)]
                beside = [
                    group.create_task(self._find_end()),
                    group.create_task(self._stop_in_time()),
                    group.create_task(self._kill_in_time()),
                ]
                await asyncio.wait(keeping)
                for each in beside:
                    each.cancel()
        finally:
            self.kill()
        if self._failure is not None:
            raise self._failure
        return self._result()

    def _result(self) -> CrawlResult:
        ending = self.ending or Ending.STOPPED
        lasts = [part.last for part in self._parts if isinstance(part.last, Ended)]
        if ending is Ending.COMPLETE and any(last.ending == Ending.INCOMPLETE for last in lasts):
            ending = Ending.INCOMPLETE
        status = self.status()
        if status is None:
            raise asyncio.CancelledError  # by a signal, before the crawl began
        opened = [part.opened for part in self._parts if part.opened is not None]
        fields = {"ending": ending, "pages": status.pages}
        log.info("ended: %s, %d pages in this run", ending, status.pages, extra={"fields": fields})
        return CrawlResult(
            ending=ending,
            exit_code=EXIT_CODES[ending],
            directory=str(self.plan.directory.path),
            new_seeds=sum(each.new_seeds for each in opened),
            resumed=self.is_resumed,
            status=status,
        )

    async def _find_end(self) -> None:
        await self._search.find()
        log.info("all parts are idle, and no link is on its way: the crawl is complete")
        self.ending = self.ending or Ending.COMPLETE
        self._ends.set()
        for part in self._parts:
            part.send(End())

    async def _stop_in_time(self) -> None:
        await self.all_open.wait()
        await self.given.limits.wait_for_seconds()
        self.stop(Ending.LIMIT)

    async def _kill_in_time(self) -> None:
        """A part that does not even drop what is in flight, such as one that is stopped by SIGSTOP, must not hold the
        others' end for ever."""
        await self._drops.wait()
        await asyncio.sleep(KILL_AFTER_S)
        self.kill()

    # one part

    async def _keep(self, number: int) -> None:
        """Run processes of a part, one after the other, until the crawl ends."""
        while not self.is_stopping:
            how = await self._run_process(number)
            part = self._parts[number]
            if isinstance(part.last, Failed):
                self._fail(PartFailed(f"part {number}: {part.last.message}", part.last.exit_code))
            elif not self.is_stopping:
                await self._wait_to_restart(number, how)

    async def _run_process(self, number: int) -> str:
        """Run a process of a part. Returns how it has ended."""
        part = self._parts[number]
        await self.given.openings.begin(number)
        try:
            process = await start(self._log_of(number))
            part.begin(process)
            fields: dict[str, object] = {"of_part": number, "pid": process.pid}
            log.info("part %d runs in process %d", number, process.pid, extra={"fields": fields})
            process.line.send(self.plan.begin(number, again=part.opened is not None))
            while (message := await process.line.receive()) is not None:
                self._take(number, part, message)
        finally:
            await part.end()
            self.given.openings.end(number)
            self.given.services.disconnect(number)
            self._search.lose(number)
        how = await process.wait()
        fields["how"] = how
        log.info("part %d: process %d has ended, %s", number, process.pid, how, extra={"fields": fields})
        return how

    def _take(self, number: int, part: WatchedPart, message: FromPart) -> None:
        match message:
            case Rebuilding(what=what, urls=urls):
                self._tell(f"part {number}: rebuilding {what}: {urls:,} URLs so far.")
            case Opened():
                self._open(number, part, message)
            case Progress(status=status, is_idle=is_idle):
                if (change := part.note(status)) is not None:
                    self._tell(f"part {number} {change}")
                self._search.note(number, is_idle=is_idle)
                self._check_limits()
            case Answered(wave=wave, answer=answer):
                self._search.take(number, wave, answer)
            case Warned(kind=kind, text=text):
                self._warnings.take(number, kind, text)
            case Ended(status=status):
                part.last_status, part.last = status, message
                if message.ending == Ending.LIMIT:
                    self.stop(Ending.LIMIT)
            case Failed():
                part.last = message
            case ToService():
                self.given.services.receive(number, message)

    def _open(self, number: int, part: WatchedPart, opened: Opened) -> None:
        part.open(opened)
        self.given.openings.end(number)
        if part.process is not None:
            self.given.services.connect(number, part.process.line.send)
            if self.is_stopping:
                part.process.line.send(Stop(now=self._drops.is_set()))
        if all(each.opened is not None for each in self._parts) and not self.all_open.is_set():
            self.plan.write_configuration()
            self._began = time.monotonic()
            self.all_open.set()

    def _check_limits(self) -> None:
        if (status := self.status()) is not None and not self.is_stopping and self.given.limits.is_reached(status):
            self.stop(Ending.LIMIT)

    def _ask(self, number: int, ask: Ask) -> bool:
        part = self._parts[number]
        if part.process is None or not part.is_open:
            return False
        part.process.line.send(ask)
        return True

    # when a part has ended

    def _fail(self, failure: PartFailed) -> None:
        """The crawl can't go on. The other parts finish what is in flight."""
        log.info("%s", failure)
        self._failure = self._failure or failure
        self.stop(Ending.STOPPED)

    async def _wait_to_restart(self, number: int, how: str) -> None:
        part = self._parts[number]
        if isinstance(part.last, Ended):
            self._tell(f"part {number} was stopped from outside; it starts again. `onceover stop` stops the crawl.")
            return
        wait_s = part.restarts.wait_s(time.monotonic())
        if wait_s is None:
            path = self._log_of(number)
            lines = "".join(f"\n    {line}" for line in last_lines(path))
            self._fail(
                PartFailed(
                    f"part {number} has died {part.restarts.deaths} times, the last time {how}. What was "
                    f"stored is kept; the same command goes on. The end of {path}:{lines}",
                    1,
                )
            )
            return
        self._tell(f"part {number} has died ({how}); it starts again in {wait_s:g} s.")
        log.info("part %d has died (%s); it starts again in %g s", number, how, wait_s)
        try:
            await asyncio.wait_for(self._ends.wait(), wait_s)
        except TimeoutError:
            return

    def _log_of(self, number: int) -> Path:
        return CrawlDirectory(self.plan.directories[number]).log
