"""Crawls that keep the pace of hosts together: real frontiers and a real file, in one event loop of virtual time."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import msgspec

from crawler.shared_pace.frontier import PacedFrontier, PaceGroup
from crawler.shared_pace.table import PaceTable
from crawler.testing.frontier.crawls import DONE, Opening, now, page
from frontier import Frontier, Lease
from frontier.memory.store import MemoryStore
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings
from tests.unit.frontier.crawls import open_over
from visited.digests.exact import ExactSet

FETCH_S = 0.5
ADDRESS = "192.0.2.1"


class Request(msgspec.Struct):
    """A request, as the server sees it."""

    crawl: str
    began: float
    ended: float | None = None
    is_robots: bool = False


class Neighbour:
    """A crawl of some pages of some hosts. All hosts have the same address."""

    def __init__(
        self,
        name: str,
        pace: Path,
        log: list[Request],
        *,
        delay_s: float = 1.0,
        per_host: int = 1,
        address_rest_s: float | None = None,
        crawl_delay_s: float | None = None,
        knows_robots: bool = True,
    ) -> None:
        """`crawl_delay_s` is what it knows of the Crawl-delay of all hosts. It keeps that by itself, as crawls do.
        Unless it `knows_robots`, its first request is for the robots.txt of all hosts."""
        self.name = name
        self.delay_s = delay_s
        self.table = PaceTable(pace, clock=now)
        self._log = log
        self._per_host = per_host
        self._crawl_delay_s = crawl_delay_s
        self._knows_robots = knows_robots
        self._alone = asyncio.Lock()
        self._address_rest_s = address_rest_s
        self._directory = pace.parent
        self._tasks: list[asyncio.Task[None]] = []
        self._prerequisite: str | None = None
        self.refused = 0
        self._rests_until: dict[str, float] = {}
        """By the host that has asked for rest."""
        self.retry_after_s = 0.0
        """What the next answer asks for."""

    async def begin(self, *hosts: str, pages: int = 10, workers: int = 4, prerequisite: str | None = None) -> None:
        """The requests for all pages go to the host of the prerequisite, if there is one."""
        self._prerequisite = prerequisite
        limits = {} if self._address_rest_s is None else {"ip": GroupLimit(at_once=1, rest_s=self._address_rest_s)}
        settings = QueueSettings(per_queue=self._per_host, grouping=Grouping(limits=limits))
        opening = Opening(directory=self._directory, visited=ExactSet(), settings=settings, clock=now)
        inner = await open_over(MemoryStore(), opening)
        self.frontier: Frontier = PacedFrontier(
            inner,
            self.table,
            self.groups_of,
            prerequisite_of=lambda _: self._prerequisite and f"http://{self._prerequisite}/robots.txt",
            rest_alone_of=lambda _: self._crawl_delay_s if self._knows_robots else 0.0,
            host_rest_of=lambda key: max(self._rests_until.get(_site(key), 0.0) - now(), 0.0),
        )
        await self.frontier.add([page(host, str(number)) for host in hosts for number in range(pages)])
        self._tasks = [asyncio.create_task(self._work()) for _ in range(workers)]

    def groups_of(self, queue_key: str, _url: str, _address: str | None) -> list[PaceGroup]:
        host = PaceGroup(
            name=f"host {queue_key}",
            whole_host=f"host {_site(queue_key)}" if "#" in queue_key else None,
            at_once=self._per_host,
            delay_s=self.delay_s,
            shares_cooldown=True,
        )
        if self._address_rest_s is None:
            return [host]
        rest_s = self._address_rest_s
        return [host, PaceGroup(name=f"ip {ADDRESS}", at_once=1, delay_s=rest_s, shares_cooldown=False)]

    async def _work(self) -> None:
        async for lease in self.frontier:
            if self._crawl_delay_s is not None and self._alone.locked():
                self.frontier.release(lease, cooldown_s=self._crawl_delay_s)
            elif not self.frontier.begin_fetch(lease, address=ADDRESS, prerequisite=self._prerequisite):
                self.refused += 1
            else:
                await asyncio.sleep(0)  # to look at robots.txt; another lease of the host may come that far, too
                async with self._alone if self._crawl_delay_s is not None else nullcontext():
                    await (self._fetch(lease) if self._knows_robots else self._ask_robots(lease))

    async def _ask_robots(self, lease: Lease) -> None:
        request = Request(self.name, now(), is_robots=True)
        self._log.append(request)
        await asyncio.sleep(FETCH_S)
        request.ended = now()
        self._knows_robots = True
        if self._address_rest_s is not None:
            self.frontier.relocate(lease, address=ADDRESS)
        self.frontier.release(lease, cooldown_s=self.delay_s, asked=True)

    async def _fetch(self, lease: Lease) -> None:
        request = Request(self.name, now())
        self._log.append(request)
        await asyncio.sleep(FETCH_S)
        request.ended = now()
        asked_s, self.retry_after_s = self.retry_after_s, 0.0
        host = _site(self._prerequisite or lease.url.queue_key)
        self._rests_until[host] = max(self._rests_until.get(host, 0.0), now() + asked_s)
        rest_s = max(self.delay_s, self._crawl_delay_s or 0.0, asked_s)
        await self.frontier.done(lease, cooldown_s=rest_s, outcome=DONE)

    async def end(self) -> None:
        """Until all pages are fetched."""
        await asyncio.gather(*self._tasks)
        await self.frontier.aclose()
        self.table.close()

    async def die(self) -> None:
        """As by `kill -9`: nothing is written any more."""
        self.table.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


def _site(queue_key: str) -> str:
    return queue_key.partition("#")[0]


def least_rest_s(log: Sequence[Request]) -> float:
    """Between the end of a request and the beginning of the next, of requests that come one after the other."""
    return min(
        after.began - (before.began if before.ended is None else before.ended) for before, after in pairwise(log)
    )


def at_once(log: Sequence[Request]) -> int:
    return max(sum(each.began <= one.began < (each.ended or one.began) for each in log) for one in log)


def longest_run(log: Sequence[Request]) -> int:
    """How many requests of one crawl came without one of another, at most."""
    longest = run = 1
    for before, after in pairwise(log):
        run = run + 1 if before.crawl == after.crawl else 1
        longest = max(longest, run)
    return longest
