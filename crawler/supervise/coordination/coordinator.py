"""Hears all parts of a crawl, and decides what concerns all of them."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from crawler.engine import Ending
from crawler.operate.parts.sums import sum_frontiers
from crawler.parts.line.messages import (
    Answered,
    Ask,
    Connected,
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
from crawler.supervise.coordination.ending import EndSearch
from crawler.supervise.coordination.given import GivenConfiguration
from crawler.supervise.coordination.reporter import Reporter
from crawler.supervise.coordination.watched_part import SendToPart, WatchedPart, status_of_all
from crawler.supervise.preparing import Plan
from frontier import FrontierStats

log = logging.getLogger(__name__)

_NO_WAVE: Final = -1
"""An answer to this counts for nothing."""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """What a coordinator must know of the run if another one has decided before."""

    pages_before: int | None = None
    """Pages of earlier runs; None until whoever shares a limit of pages knows them."""
    elapsed_s: float = 0.0
    """Since all parts were open first."""


async def _always(_: Ending) -> bool:
    return True


class Coordinator:
    """Finds the end of a crawl and its limits, and works for its services, while `run` runs.

    Whoever has the line to a part calls `begin` or `attach`, then `take` for each message, and `end` when its process
    has ended. If the line may be lost while the process goes on, `lose` says so.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        tell: Callable[[str], object],
        on_all_open: Callable[[], object] = lambda: None,
        on_begun: Callable[[], object] = lambda: None,
        confirm_end: Callable[[Ending], Awaitable[bool]] = _always,
    ) -> None:
        """`tell` gets what people should know while the crawl runs. For `on_begun`, see `GivenConfiguration`.
        `confirm_end` returns whether a crawl in which nothing waits may end so."""
        self.given = GivenConfiguration(plan, self.stop, on_begun)
        self._on_all_open = on_all_open
        self._confirm_end = confirm_end
        self._parts = [WatchedPart() for _ in range(plan.parts)]
        self._search = EndSearch(plan.parts, self._ask)
        self._began = time.monotonic()
        self._has_begun = False
        """Whether all parts have been open in this run. Perhaps only another coordinator has seen it."""
        self._is_complete = False
        self._reporter = Reporter(tell)
        self.ending: Ending | None = None
        """Why the crawl ends, once that is known."""
        self.ends = asyncio.Event()
        """Set when `ending` is known."""
        self.drops = asyncio.Event()
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

    @property
    def first_frontier(self) -> FrontierStats:
        """What the crawl had when it began: each part as it was opened first. The others fetch meanwhile. Known once
        all parts were open."""
        found = {number: part.opened for number, part in enumerate(self._parts) if part.opened is not None}
        return sum_frontiers({number: opened.status.frontier for number, opened in found.items()})

    def status(self, latest: Mapping[int, Status] = MappingProxyType({})) -> Status | None:
        """The crawl at this moment; None before all parts were open once. `latest` is as for `status_of_all`."""
        return status_of_all(dict(enumerate(self._parts)), time.monotonic() - self._began, latest)

    def stop(self, ending: Ending, *, now: bool = False) -> None:
        """Let all parts finish what is in flight, or drop it."""
        self._end(ending)
        if now:
            self.drops.set()
        for part in self._parts:
            part.send(Stop(now=self.drops.is_set()))

    async def run(self) -> None:
        """Decide, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._find_end())
            group.create_task(self._stop_in_time())

    # a run that another coordinator has begun

    @property
    def run_state(self) -> RunState:
        elapsed_s = time.monotonic() - self._began if self._has_begun else 0.0
        return RunState(pages_before=self.given.pages_before, elapsed_s=elapsed_s)

    def go_on(self, run: RunState) -> None:
        """Another coordinator has decided so far."""
        self.given.go_on(run.pages_before)
        if run.elapsed_s:
            self._begin(run.elapsed_s)

    # the lines to parts

    def begin(self, number: int, send: SendToPart, *, pid: int | None = None) -> None:
        """The line to a part is there. `pid` is the process of the part, if it runs on this machine."""
        self._parts[number].begin(send, pid)

    def attach(self, number: int, send: SendToPart, opened: Opened, status: Status, *, agent: str) -> None:
        """The line to a part is there, which `agent` has opened some time ago. `status` is that of all its processes
        there."""
        part = self._parts[number]
        part.begin(send, None)
        part.attach(opened, status, agent)
        self.given.services.connect(number, part.send)
        # Another coordinator may have closed its gate.
        part.send(Ask(wave=_NO_WAVE, close_gate=self._is_complete))
        self._check_all_open()

    def lose(self, number: int) -> None:
        """The line to a part has ended. Nobody knows whether its process has."""
        self._parts[number].lose()
        self.given.services.lose(number)
        self._search.lose(number)

    def take(self, number: int, message: FromPart) -> None:
        """A part has said something."""
        part = self._parts[number]
        self._reporter.take(number, part, message)
        match message:
            case Opened():
                self._open(number, part, message)
            case Progress(is_idle=is_idle):
                self._search.note(number, is_idle=is_idle)
                self._check_limits()
            case Answered(wave=wave, answer=answer):
                self._search.take(number, wave, answer)
            case Ended(ending=Ending.LIMIT):
                self.stop(Ending.LIMIT)
            case ToService():
                self.given.services.receive(number, message)
            case Rebuilding() | Connected() | Warned() | Ended() | Failed():
                pass

    def end(self, number: int) -> None:
        """The process of a part has ended."""
        self._parts[number].end()
        self.given.openings.end(number)
        self.given.services.disconnect(number)
        self._search.lose(number)

    def _open(self, number: int, part: WatchedPart, opened: Opened) -> None:
        part.open(opened)
        self.given.openings.end(number)
        self.given.services.connect(number, part.send)
        if self.is_stopping:
            part.send(Stop(now=self.drops.is_set()))
        self._check_all_open()

    def _check_all_open(self) -> None:
        if all(each.opened is not None for each in self._parts) and not self.all_open.is_set():
            self._on_all_open()
            self._begin()
            self.all_open.set()

    def _begin(self, elapsed_s: float = 0.0) -> None:
        """The run has lasted for so long, at least."""
        began = time.monotonic() - elapsed_s
        self._began = min(self._began, began) if self._has_begun else began
        self._has_begun = True
        self.given.limits.begin(elapsed_s)

    def _ask(self, number: int, ask: Ask) -> bool:
        part = self._parts[number]
        if not part.is_open:
            return False
        part.send(ask)
        return True

    # the end

    def _end(self, ending: Ending) -> None:
        self.ending = self.ending or ending
        self.ends.set()

    async def _find_end(self) -> None:
        await self._search.find()
        self._is_complete = True
        statuses = (part.status() for part in self._parts)
        lacks_urls = any(each.frontier.is_incomplete for each in statuses if each is not None)
        ending = Ending.INCOMPLETE if lacks_urls else Ending.COMPLETE
        log.info("all parts are idle, and no link is on its way: the crawl is %s", ending)
        if not await self._confirm_end(ending):
            return
        self._end(ending)
        for part in self._parts:
            part.send(End())

    async def _stop_in_time(self) -> None:
        await self.given.limits.wait_for_seconds()
        self.stop(Ending.LIMIT)

    def _check_limits(self) -> None:
        statuses = (part.status() for part in self._parts)
        received = sum(each.bytes_received for each in statuses if each is not None)
        if not self.is_stopping and self.given.limits.is_reached(received):
            self.stop(Ending.LIMIT)
