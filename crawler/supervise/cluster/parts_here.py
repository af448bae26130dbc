"""The processes of the parts on this machine."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from crawler.cluster.boottime import boottime
from crawler.cluster.shared_lease import SharedLease
from crawler.disk.directory import CrawlDirectory
from crawler.parts.line.messages import Begin, End, FromPart, Opened, Stop
from crawler.parts.sharing.configuration_giver import ANSWER_S
from crawler.status import Status, number_of
from crawler.supervise.cluster.coordinator_client import CoordinatorClient
from crawler.supervise.coordination.reporter import Reporter
from crawler.supervise.coordination.watched_part import WatchedPart
from crawler.supervise.keeping import PartFailed, PartKeeper
from crawler.supervise.preparing import Plan
from crawler.supervise.process import PartProcess

log = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
"""Between two looks at a lease that has ended."""
MISSED_S: Final = ANSWER_S
"""A part that has not taken over a configuration so long after the machine has read of it has missed it: the machine
that decides died, or could not reach it. It may also be slow."""


class Versions:
    """Which configuration each process of a part works with."""

    def __init__(self) -> None:
        self._has: dict[int, int] = {}
        self._holds = 0
        self._since = 0.0

    def begin(self, part: int, version: int) -> None:
        """A process begins with a configuration."""
        self._has[part] = version

    def adopt(self, part: int, version: int) -> None:
        """A part has taken over a configuration."""
        if part in self._has:
            self._has[part] = max(version, self._has[part])

    def hold(self, version: int, now: float) -> None:
        """This machine has read which configuration holds."""
        if version > self._holds:
            self._holds, self._since = version, now

    def missed(self, now: float) -> list[int]:
        """The parts that have missed the configuration that holds."""
        if now < self._since + MISSED_S:
            return []
        return [part for part, version in self._has.items() if version < self._holds]


class _Here(NamedTuple):
    """A part whose lease this machine holds."""

    keeper: PartKeeper
    lease: SharedLease
    task: "asyncio.Task[PartFailed | None]"
    ends: asyncio.Event


class PartsHere:
    """Runs a process for each part that it is told to `run`."""

    def __init__(
        self,
        plan: Callable[[], Plan],
        client: CoordinatorClient,
        *,
        until: Callable[[int], float],
        version: Callable[[], int],
        options: Mapping[str, str | None],
        tell: Callable[[str], object],
    ) -> None:
        """`plan` and `version` are those of the configuration that holds now, `until` says when the lease of a part
        ends, and `options` are settings of this machine alone. `tell` gets what people should know."""
        self._plan = plan
        self._client = client
        self._until = until
        self._version = version
        self._options = options
        self._tell = tell
        self._reporter = Reporter(tell)
        self._running: dict[int, _Here] = {}
        self._lost: dict[int, asyncio.Task[PartFailed | None]] = {}
        """What ran parts whose leases were lost."""
        self.watched: dict[int, WatchedPart] = {}
        """All that were here in this run."""
        self.versions = Versions()
        self._replaced: set[int] = set()
        """Parts whose process was told to end, so that another one begins with a newer configuration."""
        self._ending: End | Stop | None = None
        self.first_open = asyncio.Event()
        """Set when a part was open here."""
        self._done: asyncio.Queue[tuple[int, _Here] | None] = asyncio.Queue()

    @property
    def numbers(self) -> list[int]:
        return list(self._running)

    def words(self) -> dict[int, str]:
        """How each part is that was here in this run."""
        return {
            number: _words(part.status()) if number in self._running else part.held_back or "has ended"
            for number, part in self.watched.items()
        }

    def run(self, number: int) -> None:
        """Run processes of a part from now on. Its lease is held."""
        if self._ending is not None:
            return
        ends = asyncio.Event()
        self.watched.setdefault(number, WatchedPart())
        log_file = CrawlDirectory(self._plan().directories[number]).log
        lease = SharedLease.made(self._until(number))
        keeper = PartKeeper(number, log_file, self, tell=self._tell, inherit=[lease.descriptor])
        here = self._running[number] = _Here(keeper, lease, asyncio.create_task(keeper.keep(ends)), ends)
        here.task.add_done_callback(lambda _: self._ended(number, here))

    def renew(self, number: int, until: float) -> None:
        """The lease of a part is longer."""
        here = self._running.get(number)
        if here is not None and not here.task.done():
            here.lease.renew(until)

    def lose(self, number: int, why: str) -> None:
        """The lease of a part was lost. Its process stores nothing any more, and is killed. It may take long to die, as
        one that waits for a disk, so nobody waits for that but the next process of the part."""
        here = self._running.pop(number, None)
        if here is not None:
            here.ends.set()
            if not here.task.done():
                here.lease.renew(0.0)
            here.keeper.kill()
            self.watched[number].end(f"its lease was lost: {why}")
            self._client.end(number)  # who decides for the crawl must not wait for its answers
            if not self._dies(number):
                self._lost[number] = here.task
            self._done.put_nowait(None)

    def refuse(self, number: int, why: str) -> None:
        """The lease of a part can't be had now."""
        if number in self.watched and number not in self._running:
            self.watched[number].end(why)

    def _dies(self, number: int) -> bool:
        lost = self._lost.get(number)
        return lost is not None and not lost.done()

    async def next_end(self) -> tuple[int, PartFailed | None] | None:
        """Wait until a part has no process any more, and gets none. Returns also why it can't go on, if it can't. None
        if something else has changed."""
        done = await self._done.get()
        if done is None or self._running.get(done[0]) is not done[1]:
            return None
        number, here = done
        del self._running[number]
        return number, here.task.result()

    def _ended(self, number: int, here: _Here) -> None:
        here.lease.close()
        self._done.put_nowait((number, here))

    def finish(self, message: End | Stop) -> None:
        """Let all processes end."""
        self._ending = message
        for number, here in self._running.items():
            here.ends.set()
            self.watched[number].send(message)
        self._done.put_nowait(None)

    def kill(self) -> None:
        for here in self._running.values():
            here.keeper.kill()

    # the configuration

    def restart_those_before(self, version: int, *, now: float) -> None:
        """The configuration of this version holds. Parts that have missed it get another process, which begins with
        it."""
        self.versions.hold(version, now)
        for number in self.versions.missed(now):
            self.versions.adopt(number, version)
            if number in self._running:
                log.info("part %d gets another process, for the configuration that holds now", number)
                self._replaced.add(number)
                self.watched[number].send(Stop(now=False))

    # the processes

    def is_replaced(self, number: int, /) -> bool:
        return number in self._replaced

    async def prepare(self, number: int, /) -> Begin | None:
        here = self._running[number]
        if self._dies(number):
            self._tell(
                f"part {number} waits until its process from before has died: it was killed, and hangs in the system."
            )
        while self._until(number) <= boottime() or self._dies(number):
            # The lease has ended, and the part is about to be lost: its directory may be on another machine by now. Or
            # the lease was lost before, and the process that had it then has not died yet.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await here.ends.wait()
            if here.ends.is_set():
                return None
        self._replaced.discard(number)
        self.versions.begin(number, self._version())
        begin = self._plan().begin(number, again=self.watched[number].opened is not None)
        lease = here.lease.descriptor
        return msgspec.structs.replace(begin, options=self._options, lease=lease)

    def begin(self, number: int, process: PartProcess, /) -> None:
        self.watched[number].begin(process.line.send, process.pid)

    def take(self, number: int, message: FromPart, /) -> None:
        part = self.watched[number]
        self._reporter.take(number, part, message)
        if isinstance(message, Opened):
            part.open(message)
            self.first_open.set()
            self._client.open(number, part)
            if self._ending is not None:
                part.send(self._ending)
        self._client.take(number, message)

    def end(self, number: int, /) -> None:
        self.watched[number].end()
        self._client.end(number)


def _words(status: Status | None) -> str:
    if status is None:
        return "opens"
    if status.frontier.paused is not None:
        return f"is paused: {status.frontier.paused}"
    waiting = "" if status.waiting is None else f", {status.waiting}"
    return f"{number_of(status.pages, 'page')} in this run{waiting}"
