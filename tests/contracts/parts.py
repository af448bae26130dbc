"""One part of a crawl in parts as a frontier of the suite. The other part never has anything to do."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from crawler.parts.allowances import Instruction, Order
from crawler.parts.ending import Answer, EndWatch, Gate, Report, Step
from crawler.parts.sharing.page_allowance import LimitedFrontier, PageAllowance
from frontier import ActiveQueue, CrawlUrl, Lease, LedgerEntry, Part, PartLinks
from frontier.shell import QueueFrontier
from frontier.values import Budgets

PART = Part(number=0, parts=2, lineage=0)
"""Numbers of URLs begin with 1 in the lineage 0, as the suite expects."""
OTHER = 1
NO_LIMIT = Instruction(order=Order(1, 0), allowed=10**9, total=10**9)
"""More pages than any test fetches."""


def owner(_: str) -> int:
    """All queues belong to this part."""
    return PART.number


class PartFrontier(LimitedFrontier):
    """What the engine and the operators of a running part use, with a supervisor that allows all pages and looks for
    the end after each change.

    The iteration over a part never ends by itself, as a link to it may be on its way. Here it ends when the supervisor
    has found the end. A real crawl is stopped then, for good; here it can go on, as the suite's crawls do.
    """

    def __init__(self, inner: QueueFrontier, links: PartLinks, allowance: PageAllowance) -> None:
        super().__init__(inner, allowance)
        self._inner = inner
        self._links = links
        self._obeying = asyncio.create_task(allowance.run())
        self._gate = Gate()
        self._waits: set[asyncio.Future[None]] = set()

    @classmethod
    async def open(cls, inner: QueueFrontier) -> "PartFrontier":
        links = inner.part_links
        assert links is not None
        allowance = PageAllowance(links.pages, is_idle=lambda: links.is_idle)
        frontier = cls(inner, links, allowance)
        has_obeyed = asyncio.Event()
        allowance.connect(lambda _: has_obeyed.set())
        allowance.receive(NO_LIMIT)
        obeyed = asyncio.create_task(has_obeyed.wait())
        # A frontier that has failed obeys nobody; whoever uses it next hears of it.
        await asyncio.wait({obeyed, frontier._obeying}, return_when=asyncio.FIRST_COMPLETED)
        obeyed.cancel()
        await asyncio.wait({obeyed})
        return frontier

    # the end

    def _has_ended(self) -> bool:
        """Ask in waves, as a supervisor does."""
        watch, step = EndWatch(PART.parts), Step.ASK_AGAIN
        while step not in (Step.END, Step.ASK_LATER):
            (self._gate.close if step is Step.CLOSE_GATES else self._gate.open)()
            wave = watch.begin_wave()
            watch.take(wave, OTHER, Answer(report=self._report_of_other(), gate_is_closed=True))
            step = watch.take(wave, PART.number, Answer(report=self._report(), gate_is_closed=self._gate.is_closed))
        self._gate.open()
        return step is Step.END

    def _report(self) -> Report:
        return Report(
            incarnation=self._links.incarnation,
            transitions=self._links.transitions,
            is_idle=self._links.is_idle and not self._links.has_counts and not self._gate.adding,
            welcomed_by={OTHER: 1},
            unconfirmed={OTHER: waiting} if (waiting := self._links.waiting(OTHER)) else {},
        )

    def _report_of_other(self) -> Report:
        welcomed_by = {PART.number: self._links.incarnation}
        return Report(incarnation=1, transitions=0, is_idle=True, welcomed_by=welcomed_by, unconfirmed={})

    @contextmanager
    def _changing(self) -> Iterator[None]:
        yield
        if self._has_ended():
            for wait in self._waits:
                if not wait.done():
                    wait.set_result(None)

    # leases

    async def __anext__(self) -> Lease:
        ended = asyncio.get_running_loop().create_future()
        self._waits.add(ended)
        taking = asyncio.ensure_future(self._take())
        has_returned = False
        try:
            await asyncio.sleep(0)  # a frontier may find only now that nothing is to be served
            if not taking.done() and self._has_ended() and not ended.done():
                ended.set_result(None)
            if not taking.done():
                await asyncio.wait({taking, ended}, return_when=asyncio.FIRST_COMPLETED)
            has_returned = taking.done()
        finally:
            self._waits.discard(ended)
            if not has_returned:
                await self._give_up(taking)
        lease = taking.result() if has_returned else None
        if lease is None:
            raise StopAsyncIteration
        return lease

    async def _take(self) -> Lease | None:
        try:
            return await super().__anext__()
        except StopAsyncIteration:
            return None

    async def _give_up(self, taking: asyncio.Future[Lease | None]) -> None:
        """Take no lease: one that has come meanwhile goes back."""
        taking.cancel()
        await asyncio.wait({taking})
        if not taking.cancelled() and taking.exception() is None and (lease := taking.result()) is not None:
            self.release(lease)

    async def done(self, lease: Lease, /, **how: Any) -> None:
        with self._changing():
            await super().done(lease, **how)

    # operators

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        assert self._gate.enter()
        try:
            return await super().add(urls, force=force)
        finally:
            self._gate.leave()

    async def add_anew(self, urls: Iterable[CrawlUrl], /) -> int:
        return await self._inner.add_anew(urls)

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        return await self._inner.record(entries)

    async def set_lost(self, count: int, /) -> None:
        await self._inner.set_lost(count)

    async def forget(self, canonicals: Iterable[str], /) -> int:
        with self._changing():
            return await super().forget(canonicals)

    @property
    def paused(self) -> str | None:
        return self._inner.paused

    async def pause(self, reason: str, /) -> None:
        await self._inner.pause(reason)

    async def resume(self) -> None:
        with self._changing():
            await self._inner.resume()

    async def retire(self, key: str, /) -> None:
        with self._changing():
            await self._inner.retire(key)

    async def unretire(self, key: str, /) -> None:
        await self._inner.unretire(key)

    async def set_budget(self, key: str, budget: int | None, /) -> None:
        with self._changing():
            await self._inner.set_budget(key, budget)

    async def set_budgets(self, budgets: Budgets, /) -> None:
        with self._changing():
            await self._inner.set_budgets(budgets)

    def active_queues(self) -> Iterator[ActiveQueue]:
        return self._inner.active_queues()

    async def aclose(self) -> None:
        self._obeying.cancel()
        await asyncio.wait({self._obeying})
        self.stop()
        await super().aclose()
