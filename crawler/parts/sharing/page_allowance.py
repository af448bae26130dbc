"""How many pages a part may begin: it asks the supervisor, stores the answers, and lets its workers wait."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec

from crawler.parts.allowances import Instruction, Order, Purse
from crawler.parts.line.services import Send
from frontier import Allowance, ForwardingFrontier, Frontier, FrontierStats, Lease, Outcome, PartPages, StoreFailed

NAME: Final = "pages"


class PageAllowance:
    """The pages of a part in a run with a limit. It obeys the supervisor while `run` runs."""

    name = NAME
    messages = Instruction

    def __init__(self, pages: PartPages, *, is_idle: Callable[[], bool]) -> None:
        """`is_idle` says whether the part has no URL to fetch."""
        stored = pages.allowance
        self._purse = Purse(
            order=Order(stored.epoch, stored.number), allowed=stored.allowed or 0, settled=pages.settled
        )
        self._pages = pages
        self._is_idle = is_idle
        self._send: Send | None = None
        self._instructions: asyncio.Queue[Instruction] = asyncio.Queue()
        """At most one of each connection, as the supervisor waits for the answer."""
        self._told: tuple[bool, bool, bool] | None = None
        """What the supervisor knows that may make it act."""
        self._waiting: set[asyncio.Future[None]] = set()
        self._is_stopped = False

    @property
    def waiting(self) -> int:
        """URLs that wait until they may begin."""
        return len(self._waiting)

    def owe(self, numbers: Iterable[int]) -> None:
        """The pages with these numbers are in the output but not settled, as after a crash."""
        self._purse.owe(numbers)

    # the supervisor

    def connect(self, send: Send, /) -> None:
        self._send = send

    def receive(self, message: Instruction, /) -> None:
        self._instructions.put_nowait(message)

    def disconnect(self) -> None:
        self._send = None

    async def run(self) -> None:
        """Obey the supervisor, and answer it, until the frontier fails."""
        with suppress(StoreFailed):  # whoever uses the frontier next hears of it
            while True:
                await self._obey(await self._instructions.get())

    async def _obey(self, instruction: Instruction) -> None:
        purse = self._purse
        if purse.obey(instruction):
            order = purse.order
            # It is written before anything else happens, so no page is settled that is not allowed by the store.
            await self._pages.set_allowance(
                Allowance(epoch=order.epoch, number=order.number, allowed=purse.allowed, total=purse.total)
            )
        self._state()
        self._wake()

    # URLs

    async def begin(self, number: int) -> bool:
        """Begin a URL as soon as that is allowed. Returns False once the crawl is stopped."""
        while not self._is_stopped:
            if self._purse.begin(number):
                self._tell_changes()
                return True
            self._tell_changes()
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.add(waiter)
            try:
                await waiter
            finally:
                self._waiting.discard(waiter)
        return False

    def settle(self, number: int, *, is_page: bool) -> None:
        """The URL is settled; a page is counted in the store."""
        self._purse.settle(number, is_page=is_page)
        self._have_changed()

    def release(self, number: int) -> None:
        """The URL is to be fetched later."""
        self._purse.release(number)
        self._have_changed()

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_stopped = True
        self._wake()

    def _have_changed(self) -> None:
        if self._waiting and self._purse.used < self._purse.allowed:
            self._wake()
        self._tell_changes()

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _tell_changes(self) -> None:
        if self._news() != self._told:
            self._state()

    def _news(self) -> tuple[bool, bool, bool]:
        return self._purse.wants, self._is_idle(), self._purse.pages >= self._purse.allowed

    def _state(self) -> None:
        if self._send is not None:
            self._told = self._news()
            self._send(self._purse.state(is_idle=self._told[1]))


class LimitedFrontier(ForwardingFrontier):
    """A frontier that begins no more pages than its part may have: it hands out a lease when its URL may begin. Until
    then the URL is leased, so that its part does not count as idle."""

    def __init__(self, frontier: Frontier, allowance: PageAllowance) -> None:
        super().__init__(frontier)
        self._allowance = allowance

    async def __anext__(self) -> Lease:
        while True:
            lease = await super().__anext__()
            may_begin = False
            try:
                may_begin = await self._allowance.begin(lease.number)
            finally:
                if not may_begin:
                    super().release(lease)
            if not may_begin:
                raise StopAsyncIteration
            if not self.pauses:
                return lease
            self.release(lease)  # it has waited, and the part was paused meanwhile

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        may_fetch = super().begin_fetch(lease, address=address, prerequisite=prerequisite)
        if not may_fetch:
            self._allowance.release(lease.number)
        return may_fetch

    async def done(self, lease: Lease, /, *, outcome: Outcome, **how: Any) -> None:
        await super().done(lease, outcome=outcome, **how)
        self._allowance.settle(lease.number, is_page=outcome.is_page)

    async def retry(self, lease: Lease, /, **how: Any) -> None:
        await super().retry(lease, **how)
        self._allowance.release(lease.number)

    def release(self, lease: Lease, /, **how: Any) -> None:
        super().release(lease, **how)
        self._allowance.release(lease.number)

    def describe(self) -> FrontierStats:
        return msgspec.structs.replace(super().describe(), awaits_limit=self._allowance.waiting)

    def stop(self) -> None:
        super().stop()
        self._allowance.stop()
