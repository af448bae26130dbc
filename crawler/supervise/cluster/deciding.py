"""The server of the coordinator, while this machine holds its lease. It hears which parts have no process."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from typing import Final

from crawler.cluster.boottime import boottime
from crawler.cluster.keeper import LeaseKeeper
from crawler.cluster.leases import Leases
from crawler.cluster.values import COORDINATOR, Cluster, EndingMark
from crawler.codes.exit_codes import FAILED
from crawler.engine import Ending
from crawler.parts.exchange.redis import RedisExchange
from crawler.redis.client import FAILURES, reason_of
from crawler.supervise.cluster.coordinator_server import CoordinatorServer
from crawler.supervise.cluster.joining import Joined
from crawler.supervise.cluster.messages import COORDINATOR as ADDRESS
from crawler.supervise.cluster.messages import WIRE
from crawler.supervise.coordination.coordinator import RunState
from crawler.supervise.keeping import PartFailed

log = logging.getLogger(__name__)

_AGAIN_S: Final = 0.5


class Unheld:
    """Parts that nobody holds in Redis, and since when.

    A lease that Redis does not have any more may still last for its holder: Redis ends it early when its clock is set
    forward, or when a server with another clock takes over. So this trusts only the clock of this machine.
    """

    def __init__(self, *, lease_s: float) -> None:
        self._wait_s = lease_s + Leases(lease_s=lease_s).margin_s
        self._since: dict[int, float] = {}

    def see(self, parts: Iterable[int], now: float) -> list[int]:
        """Nobody holds these parts now, and somebody holds all others. Returns those without a process: even a lease
        that was renewed right before has ended for its holder."""
        self._since = {part: self._since.get(part, now) for part in parts}
        return [part for part, since in self._since.items() if now >= since + self._wait_s]


class Deciding:
    """Whether this machine decides for the crawl, and what it needs for that."""

    def __init__(self, joined: Joined, leases: LeaseKeeper, *, on_failure: Callable[[PartFailed], object]) -> None:
        """Calls `on_failure` if a bug keeps it from deciding."""
        self._joined = joined
        self._leases = leases
        self._on_failure = on_failure
        self._unheld = self._nothing_seen()
        self._server: CoordinatorServer | None = None
        self._working: asyncio.Task[None] | None = None

    def look(self, cluster: Cluster) -> None:
        """The register was read."""
        claim = self._leases.claim_of(COORDINATOR)
        if self._server is not None and claim is not None:
            self._server.look(self._unheld.see(cluster.unheld(claim), boottime()))

    def begin(self, *, run: RunState, after: str) -> None:
        """The lease is held. `run` is how far the run is, and `after` the ending mark of the one before."""
        log.info("this machine decides for the crawl from now on")
        self._unheld = self._nothing_seen()
        self._working = asyncio.create_task(self._work(run, after))

    def _nothing_seen(self) -> Unheld:
        """Nobody has looked yet since another machine may have decided."""
        return Unheld(lease_s=self._joined.cluster.identity.lease_s)

    async def end(self) -> None:
        """Another machine may decide from now on. Ending twice is harmless."""
        working, self._server, self._working = self._working, None, None
        if working is not None:
            log.info("this machine does not decide for the crawl any more")
            working.cancel()
            await asyncio.wait({working})

    async def _work(self, run: RunState, after: str) -> None:
        try:
            # Redis may take long to answer, and the agent has leases to follow.
            prefix = self._joined.exchange_prefix
            exchange = await RedisExchange.begin(self._joined.server, ADDRESS, prefix=prefix, wire=WIRE)
            try:
                self._server = CoordinatorServer(self._joined, exchange, run=run, after=after, end=self._end_for_all)
                await self._server.run()
            finally:
                await exchange.aclose()
        except Exception as error:
            log.exception("this machine can't decide for the crawl any more; another one may")
            self._on_failure(PartFailed(f"this machine can't decide for the crawl any more: {error!r}", FAILED))

    async def _end_for_all(self, ending: Ending) -> bool:
        """Write the ending mark, unless another machine decides by now."""
        mark = EndingMark(mark=os.urandom(8).hex(), ending=ending)
        while (claim := self._leases.claim_of(COORDINATOR)) is not None:
            try:
                return await self._joined.register.end(mark, claim=claim)
            except FAILURES as error:
                log.warning("the crawl can't end yet, because Redis can't be used: %s", reason_of(error))
                await asyncio.sleep(_AGAIN_S)
        return False
