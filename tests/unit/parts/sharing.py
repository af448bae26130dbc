"""Parts that share a limit of pages and addresses: real frontiers and services, in one event loop of virtual time. The
line between them takes a while, and what is on it is lost with a process."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from crawler.parts.line.messages import ToService
from crawler.parts.line.services import PartService, PartServices, SupervisorService, SupervisorServices
from crawler.parts.sharing.address_authority import AddressAuthority
from crawler.parts.sharing.address_holder import AddressHolder
from crawler.parts.sharing.page_allowance import LimitedFrontier, PageAllowance
from crawler.parts.sharing.page_bank import PageBank
from crawler.testing.frontier.crawls import START, copy_of_one_moment
from frontier import CrawlUrl, Frontier, Lease, Outcome, Part, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.memory.store import MemoryStore
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.store import Store
from frontier.terms import Terms
from visited.digests.exact import ExactSet

LATENCY_S = 0.01
WORKERS = 4
IDENTITY = {"canonicalization": "tests"}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl is like."""

    hosts: Sequence[int]
    """URLs of each host. Host i belongs to part i modulo `parts`, and is at address i modulo `addresses`."""
    parts: int = 3
    limit: int | None = None
    addresses: int = 0
    rest_s: float = 2.0
    request_s: float = 1.0

    def owner(self, queue_key: str) -> int:
        return int(queue_key.removeprefix("test,h")) % self.parts

    def address(self, queue_key: str) -> str | None:
        return f"192.0.2.{int(queue_key.removeprefix('test,h')) % self.addresses}" if self.addresses else None

    def urls_of(self, part: int) -> list[CrawlUrl]:
        return [
            CrawlUrl(url=url, canonical=url, queue_key=f"test,h{host}")
            for host, urls in enumerate(self.hosts)
            if host % self.parts == part
            for number in range(urls)
            for url in [f"http://h{host}.test/{number}"]
        ]


class Request(msgspec.Struct):
    """A request, as the server sees it."""

    address: str | None
    part: int
    began: float
    ended: float | None = None


class Wire:
    """One line, while the process of its part lives."""

    def __init__(self, number: int, services: Sequence[PartService], supervisor: SupervisorServices) -> None:
        self._number = number
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._part = PartServices(services, self._later(lambda message: supervisor.receive(number, message)))
        self._supervisor = supervisor
        self._part.connect()
        supervisor.connect(number, self._later(self._part.receive))

    def _later(self, receive: Callable[[ToService], Any]) -> Callable[[ToService], None]:
        on_its_way: deque[ToService] = deque()  # timers of one moment come in any order

        def deliver() -> None:
            message = on_its_way.popleft()
            if self._is_open:
                receive(message)

        def send(message: ToService) -> None:
            on_its_way.append(message)
            self._loop.call_later(LATENCY_S, deliver)

        return send

    def close(self) -> None:
        self._is_open = False
        self._supervisor.disconnect(self._number)


class Life:
    """A process of a part."""

    def __init__(self, crawl: "SharedCrawl", number: int) -> None:
        self._crawl = crawl
        self._plan = crawl.plan
        self.number = number
        self.allowance: PageAllowance | None = None
        self.holder: AddressHolder | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        plan, number = self._plan, self.number
        self.store = self._crawl.store(number)
        self._copy_syncs()
        grouping = Grouping(limits={"ip": GroupLimit(at_once=1, rest_s=plan.rest_s)}) if plan.addresses else Grouping()
        directory = self._crawl.directories[number]
        frontier = await QueueFrontier.open(
            self.store,
            ExactSet(),
            snapshots=None if directory is None else Snapshots(directory / "visited"),
            settings=QueueSettings(grouping=grouping),
            owner=plan.owner,
            now=self._crawl.now,
        )
        self.inner = frontier
        self.frontier: Frontier = frontier
        links = frontier.part_links
        assert links is not None
        services: list[PartService] = []
        if plan.addresses:
            self.holder = AddressHolder()
            links.reserve(self.holder)
            services.append(self.holder)
        if plan.limit is not None:
            self.allowance = PageAllowance(links.pages, is_idle=lambda: links.is_idle)
            self.allowance.owe(await self._owed())
            services.append(self.allowance)
            self.frontier = LimitedFrontier(frontier, self.allowance)
            self._tasks.append(asyncio.create_task(self.allowance.run()))
        await frontier.add(plan.urls_of(number))
        self._wire = Wire(number, services, self._crawl.supervisor)
        self._tasks += [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    def _copy_syncs(self) -> None:
        """Keep what is on the disk at each sync: a power failure leaves it."""
        store, crawl, number = self.store, self._crawl, self.number
        directory = crawl.directories[number]
        if directory is None or not crawl.may_lose_power:
            return
        make_safe = store.make_safe

        async def make_safe_and_copy() -> None:
            await make_safe()
            copy = directory.with_name(f"{directory.name}-sync-{store.counters.batches}")
            if not copy.exists():
                copy_of_one_moment(directory, copy)
            crawl.synced[number] = copy

        store.make_safe = make_safe_and_copy  # type: ignore[method-assign]

    async def _owed(self) -> list[int]:
        owed = []
        for page, url in self._crawl.output[self.number].items():
            entry = await self.inner.status_of(url)
            if entry is not None and entry.state is UrlState.PENDING and entry.number == page:
                owed.append(page)
        await self.inner.skip_numbers(max(self._crawl.output[self.number], default=0))
        return owed

    async def _work(self) -> None:
        async for lease in self.frontier:
            await self._process(lease)

    async def _process(self, lease: Lease) -> None:
        plan, crawl, queue_key = self._plan, self._crawl, lease.url.queue_key
        address = plan.address(queue_key)
        if not self.frontier.begin_fetch(lease, address=address):
            return
        request = Request(address, self.number, crawl.now())
        crawl.requests.append(request)
        try:
            await asyncio.sleep(plan.request_s)
        finally:
            request.ended = crawl.now()
        if not lease.url.attempt and int(lease.url.url.rpartition("/")[2]) % 5 == 4:
            await self.frontier.retry(lease, after_s=1.0, cooldown_s=0.0)
            return
        is_page = crawl.is_page(lease.url.url)
        if is_page:
            crawl.write(self.number, lease.number, lease.url.url)
        await asyncio.sleep(0.05)
        outcome = Outcome(state=UrlState.DONE, status=200, is_page=is_page)
        await self.frontier.done(lease, cooldown_s=0.5, outcome=outcome)

    async def end(self) -> None:
        """The process ends now, whatever it was doing."""
        self._wire.close()
        if self.holder is not None:
            self.holder.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.inner.aclose()


class SharedCrawl:
    """All parts and their supervisor."""

    def __init__(self, plan: Plan, base: Path | None = None) -> None:
        """Without `base` the parts are kept in memory, and can't be killed."""
        self.plan = plan
        self.requests: list[Request] = []
        self.output: list[dict[int, str]] = [{} for _ in range(plan.parts)]
        self.directories = [None if base is None else base / f"{number}-0" for number in range(plan.parts)]
        self.may_lose_power = False
        self.synced: dict[int, Path] = {}
        """What is on the disks since the last sync, if power `may_lose_power`."""
        self.lives: dict[int, Life] = {}
        self.written_before = 0
        self.is_over = asyncio.Event()
        self._count = 0
        self.begin_run()

    def now(self) -> float:
        return START + asyncio.get_running_loop().time()

    @staticmethod
    def is_page(url: str) -> bool:
        return int(url.rpartition("/")[2]) % 4 != 0

    @property
    def pages(self) -> int:
        return sum(len(numbers) for numbers in self.output)

    def write(self, part: int, number: int, url: str) -> None:
        self.output[part][number] = url
        if self.plan.limit is not None:
            assert self.pages - self.written_before <= self.plan.limit

    def store(self, number: int) -> Store:
        part = Part(number=number, parts=self.plan.parts, lineage=number + 1)
        terms = Terms(identity=IDENTITY, part=part)
        directory = self.directories[number]
        return MemoryStore(part=part) if directory is None else LevelDBStore(directory / "frontier", terms)

    def begin_run(self) -> None:
        """A supervisor begins."""
        services: list[SupervisorService] = []
        if self.plan.limit is not None:
            services.append(PageBank(limit=self.plan.limit, parts=self.plan.parts, on_reached=self.is_over.set))
        if self.plan.addresses:
            self._authority = AddressAuthority(parts=self.plan.parts, at_once=1, rest_s=self.plan.rest_s)
            services.append(self._authority)
        self.supervisor = SupervisorServices(services)
        self.written_before = self.pages
        self.is_over.clear()

    async def begin(self, number: int) -> None:
        if (directory := self.directories[number]) is not None:
            directory.mkdir(parents=True, exist_ok=True)
        life = Life(self, number)
        await life.begin()
        self.lives[number] = life

    async def kill(self, number: int) -> None:
        life, before = self.lives.pop(number), self.directories[number]
        assert before is not None
        self._count += 1
        after = before.with_name(f"{number}-{self._count}")
        copy_of_one_moment(before, after)
        await life.end()
        self.directories[number] = after

    async def lose_power(self) -> None:
        """All processes end at once, and their stores are as they were at their last syncs."""
        await self.end()
        for number, directory in enumerate(self.directories):
            assert directory is not None
            self._count += 1
            self.directories[number] = after = directory.with_name(f"{number}-{self._count}")
            if number in self.synced:
                copy_of_one_moment(self.synced[number], after)
            else:
                after.mkdir()

    def stores(self) -> list[LevelDBStore]:
        """What is on the disks, while nobody uses it."""
        stores = [self.store(number) for number in range(self.plan.parts)]
        return [store for store in stores if isinstance(store, LevelDBStore)]

    async def end(self) -> None:
        for number in list(self.lives):
            await self.lives.pop(number).end()
        if self.plan.addresses:
            self._authority.close()

    @property
    def is_complete(self) -> bool:
        links = [life.inner.part_links for life in self.lives.values()]
        return len(links) == self.plan.parts and all(each is not None and each.is_idle for each in links)

    async def run(self, dice: Random | None = None, *, kills: int = 0) -> None:
        """Crawl until the limit is reached or nothing is left. Parts die at random times, and begin again."""
        for number in range(self.plan.parts):
            await self.begin(number)
        ends_by = self.now() + 10_000
        while not self.is_over.is_set() and not self.is_complete:
            assert self.now() < ends_by, "the crawl hangs"
            await asyncio.sleep(0.5 if dice is None else dice.random() * 8)
            if dice is not None and kills and not self.is_over.is_set():
                kills -= 1
                number = dice.randrange(self.plan.parts)
                await self.kill(number)
                await asyncio.sleep(dice.random() * 3)
                await self.begin(number)
        await asyncio.sleep(1.0)  # what was begun ends
        assert (
            not any(life.allowance and life.allowance.waiting for life in self.lives.values()) or self.is_over.is_set()
        )
