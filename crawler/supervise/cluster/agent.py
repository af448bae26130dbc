"""Holds the leases of a machine, runs its parts, and decides for all while it is the one to do so."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from config import ConfigError
from crawler.cluster.keeper import LeaseKeeper
from crawler.cluster.leases import Held, Lost, Refused, Renewed
from crawler.cluster.register import Register
from crawler.cluster.values import COORDINATOR, Agent, Cluster, EndingMark, Wanted
from crawler.engine import Ending
from crawler.library.result import CrawlResult
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.line.messages import End, Stop
from crawler.redis.client import FAILURES, reason_of
from crawler.status import Status, number_of
from crawler.supervise.cluster.choosing import choose
from crawler.supervise.cluster.coordinator_client import CoordinatorClient
from crawler.supervise.cluster.deciding import Deciding
from crawler.supervise.cluster.joining import Joined
from crawler.supervise.cluster.parts_here import PartsHere
from crawler.supervise.coordination.watched_part import result_of_all, status_of_all
from crawler.supervise.keeping import KILL_AFTER_S, PartFailed
from crawler.supervise.preparing import Plan

_RELEASE_S: Final = 2.0
_RELEASE_AGAIN_S: Final = 0.2
"""So long it waits for Redis once that has not answered."""

log = logging.getLogger(__name__)


class CrawlAgent:
    """Works from `run` until the crawl or this machine's work in it ends."""

    def __init__(
        self, joined: Joined, exchange: RedisExchange[Any], *, max_parts: int, tell: Callable[[str], object]
    ) -> None:
        """`tell` gets what people should know."""
        self._joined = joined
        self._register: Register = joined.register
        self._max_parts = max_parts
        self._tell = tell
        self._began = time.monotonic()
        self._cluster = joined.cluster
        self._after: str = "" if joined.cluster.ending is None else joined.cluster.ending.mark
        lease_s = joined.cluster.identity.lease_s
        self._leases = LeaseKeeper(self._register, joined.home, joined.name, choose=self._choose, lease_s=lease_s)
        self.client = CoordinatorClient(
            self._leases.holder, exchange, look_again=self._leases.look_again, adopted=self._hear_adopted
        )
        self.client.after = self._after
        self.here = PartsHere(
            lambda: joined.plan,
            self.client,
            until=self._leases.until,
            version=lambda: joined.version,
            options=joined.options,
            tell=tell,
        )
        self._deciding = Deciding(joined, self._leases, on_failure=self._fail)
        self.ending: Ending | None = None
        """Why this machine's work ends, once that is known."""
        self._failure: PartFailed | None = None
        self._unusable = ""
        """Why the settings that hold now can't be used here."""
        self._hears_releases = True
        """Whether Redis has answered so far when leases were given back."""
        self._surplus: set[int] = set()
        """Parts that have directories here, beyond those that this machine may run."""
        self._replaced: set[int] = set()
        """Parts that were adopted, and have older directories here."""
        self._leaves = asyncio.Event()
        self._drops = asyncio.Event()

    # what others ask

    @property
    def plan(self) -> Plan:
        return self._joined.plan

    @property
    def name(self) -> str:
        return self._leases.holder

    def status(self, latest: Mapping[int, Status] = MappingProxyType({})) -> Status | None:
        """The parts that were here in this run; None before one was open. `latest` is as for `status_of_all`."""
        parts = {number: each for number, each in self.here.watched.items() if each.status() is not None}
        return status_of_all(parts, time.monotonic() - self._began, latest) if parts else None

    def words(self) -> dict[int, str]:
        """How each part is that has a directory here, or was here in this run."""
        here = self._joined.parts_here().keys() - self._joined.home.replaced().keys()
        waiting = dict.fromkeys(sorted(here), "waits for its lease")
        return waiting | dict.fromkeys(self._surplus, self._no_room) | self.here.words()

    def stop(self, ending: Ending, *, now: bool = False) -> None:
        """Leave: let the parts of this machine finish what is in flight, or drop it; the second time, kill them. Other
        machines go on."""
        self.ending = self.ending or ending
        if now and self._drops.is_set():
            self.here.kill()
        if now:
            self._drops.set()
        self._leaves.set()
        self.here.finish(Stop(now=self._drops.is_set()))

    # the run

    async def run(self) -> CrawlResult | None:
        """Returns how the run has ended here; None if no part was here. Raises `PartFailed`."""
        log.info("%s runs parts of the crawl here, in %s", self.name, self.plan.directory.path)
        try:
            async with asyncio.TaskGroup() as group:
                beside = [
                    group.create_task(each)
                    for each in (
                        self._leases.run(),
                        self._follow_leases(),
                        self.client.run(),
                        self._tell_others(),
                        self._kill_in_time(),
                    )
                ]
                await self._keep_parts()
                for each in beside:
                    each.cancel()
        finally:
            self.here.kill()
            await self._deciding.end()
            await self._release(self._leases.aclose())
        if self._failure is not None:
            raise self._failure
        return self._result()

    async def _keep_parts(self) -> None:
        """Return when this machine leaves and none of its parts has a process."""
        while self.here.numbers or not self._leaves.is_set():
            if (ended := await self.here.next_end()) is not None:
                await self._finish(*ended)

    async def _finish(self, part: int, failure: PartFailed | None) -> None:
        """A part has no process any more."""
        if failure is not None:
            self._fail(failure)
        await self._release(self._leases.release(part))

    async def _release(self, release: Awaitable[None]) -> None:
        """Wait while leases are given back. They end by themselves, so that may fail, and must not take long."""
        try:
            async with asyncio.timeout(_RELEASE_S if self._hears_releases else _RELEASE_AGAIN_S):
                await release
        except FAILURES as error:
            if self._hears_releases:
                self._hears_releases = False
                self._tell(
                    f"Redis can't be told that this machine leaves ({reason_of(error, _RELEASE_S)}): others can have "
                    f"its parts when its leases have ended, in up to {self._cluster.identity.lease_s:g} s."
                )

    def _fail(self, failure: PartFailed) -> None:
        log.info("%s", failure)
        self._failure = self._failure or failure
        self.stop(Ending.STOPPED)

    def _result(self) -> CrawlResult | None:
        status = self.status()
        if status is None:
            return None
        return result_of_all(
            self.here.watched.values(),
            self.ending or Ending.STOPPED,
            status,
            directory=self.plan.directory.path,
            is_whole=False,
            where="in this run on this machine",
        )

    async def _kill_in_time(self) -> None:
        await self._drops.wait()
        await asyncio.sleep(KILL_AFTER_S)
        self.here.kill()

    # leases

    def _choose(self, cluster: Cluster, here: Mapping[int, int]) -> Iterable[Wanted]:
        """The register was read."""
        self._hear(cluster)
        for number, watched in self.here.watched.items():
            is_newer_elsewhere = cluster.parts[number].opened > here.get(number, 0)
            watched.is_elsewhere = is_newer_elsewhere and number not in self.here.numbers
        if self._leaves.is_set():
            return []
        wanted = list(choose(cluster, here, max_parts=self._max_parts, name=self._leases.holder))
        surplus = here.keys() - {each.part for each in wanted}
        for part in sorted(surplus - self._surplus):
            self._tell(f"part {part} waits: {self._no_room}.")
        self._surplus = surplus
        return wanted

    @property
    def _no_room(self) -> str:
        return f"this machine runs no more than {number_of(self._max_parts, 'part')} (--max-parts)"

    def _hear(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._learn(cluster)
        replaced = self._joined.home.replaced()
        for part in sorted(replaced.keys() - self._replaced):
            self._tell(f"part {part} was adopted: {replaced[part]} can't be opened any more, only read.")
        self._replaced = {*replaced}
        mark = cluster.ending
        if mark is not None and mark.mark != self._after:
            self._obey(mark)
        self._deciding.look(cluster)

    def _learn(self, cluster: Cluster) -> None:
        """Take over a newer configuration. One that this machine can't use, as when a package is missing here, may be
        followed by one that it can."""
        try:
            self._joined.learn(cluster)
        except ConfigError as error:
            why = str(error)
        else:
            why = ""
        if why and why != self._unusable:
            self._tell(
                f"this machine can't use the settings that hold now, and goes on with those before: {why}. Mend that, "
                f"or change them by `onceover set {self.plan.directory.path} KEY=VALUE`."
            )
            log.warning("settings can't be used: %s", why)
        self._unusable = why
        self.here.restart_those_before(self._joined.version, now=time.monotonic())

    def _obey(self, mark: EndingMark) -> None:
        """The run ends for all machines."""
        if self._leaves.is_set() and not mark.now:
            return
        log.info("the run ends on all machines: %s", mark.ending)
        if mark.ending in (Ending.COMPLETE, Ending.INCOMPLETE):
            self.ending = self.ending or Ending(mark.ending)
            self._leaves.set()
            self.here.finish(End())
        elif not (mark.now and self._drops.is_set()):
            self.stop(Ending(mark.ending), now=mark.now)

    async def _follow_leases(self) -> None:
        while True:
            match await self._leases.next_change():
                case Held(part=part) if part == COORDINATOR:
                    if not self._leaves.is_set():
                        self._deciding.begin(run=self.client.run_state, after=self._after)
                case Held(part=part):
                    self.here.run(part)
                case Renewed(part=part, until=until) if part != COORDINATOR:
                    self.here.renew(part, until)
                case Lost(part=part) if part == COORDINATOR:
                    await self._deciding.end()
                case Lost(part=part, why=why):
                    self._tell(f"part {part} ends, because its lease was lost: {why}.")
                    self.here.lose(part, why)
                case Refused(part=part, why=why) if part != COORDINATOR and part in self._joined.parts_here():
                    self._tell(f"part {part} waits: {why}.")
                    self.here.refuse(part, why)

    # what people see

    async def _tell_others(self) -> None:
        """Say in the register how this machine is."""
        why = ""
        while True:
            before, why = why, ""
            for tell in (self._tell_status, self._register.keep_name):
                try:
                    await tell()
                except FAILURES as error:
                    why = reason_of(error)
            if why and not before:
                log.info("Redis can't be told how this machine is: %s", why)
            await asyncio.sleep(max(1.0, self._cluster.identity.lease_s / 4))

    async def _tell_status(self) -> None:
        path = str(self.plan.directory.path.absolute())
        agent = Agent(host=socket.gethostname(), pid=os.getpid(), directory=path, parts=self.words())
        await self._register.tell(self._leases.holder, agent)

    def _hear_adopted(self, version: int, part: int) -> None:
        self.here.versions.adopt(part, version)
        self._leases.look_again()
