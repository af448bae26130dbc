"""A frontier that begins no more pages than its part may have."""

from collections.abc import AsyncIterator, Iterable

import msgspec

from crawler.parts.sharing.page_allowance import PageAllowance
from frontier import CrawlUrl, Frontier, FrontierStats, Lease, LedgerEntry, Outcome, Pauses


class LimitedFrontier:
    """Hands out a lease when its URL may begin. Until then the URL is leased, so that its part does not count as
    idle."""

    def __init__(self, frontier: Frontier, allowance: PageAllowance) -> None:
        self._frontier = frontier
        self._allowance = allowance

    @property
    def pauses(self) -> Pauses:
        return self._frontier.pauses

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        return await self._frontier.add(urls, force=force)

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        while True:
            lease = await anext(self._frontier)
            may_begin = False
            try:
                may_begin = await self._allowance.begin(lease.number)
            finally:
                if not may_begin:
                    self._frontier.release(lease)
            if not may_begin:
                raise StopAsyncIteration
            if not self.pauses:
                return lease
            self.release(lease)  # it has waited, and the part was paused meanwhile

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        may_fetch = self._frontier.begin_fetch(lease, address=address, prerequisite=prerequisite)
        if not may_fetch:
            self._allowance.release(lease.number)
        return may_fetch

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        self._frontier.relocate(lease, address=address, prerequisite=prerequisite)

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        await self._frontier.done(lease, cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, outcome=outcome)
        self._allowance.settle(lease.number, is_page=outcome.is_page)

    async def retry(
        self,
        lease: Lease,
        /,
        *,
        after_s: float | None,
        cooldown_s: float,
        group_cooldown_s: float | None = None,
        reason: str | None = None,
        pressure: int = 0,
        answered: bool = False,
    ) -> None:
        await self._frontier.retry(
            lease,
            after_s=after_s,
            cooldown_s=cooldown_s,
            group_cooldown_s=group_cooldown_s,
            reason=reason,
            pressure=pressure,
            answered=answered,
        )
        self._allowance.release(lease.number)

    def release(
        self,
        lease: Lease,
        /,
        *,
        cooldown_s: float = 0.0,
        group_cooldown_s: float | None = None,
        asked: bool = False,
        reason: str | None = None,
    ) -> None:
        self._frontier.release(
            lease, cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s, asked=asked, reason=reason
        )
        self._allowance.release(lease.number)

    async def forget(self, canonicals: Iterable[str], /) -> int:
        return await self._frontier.forget(canonicals)

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        return await self._frontier.status_of(canonical)

    async def skip_numbers(self, upto: int, /) -> bool:
        return await self._frontier.skip_numbers(upto)

    def describe(self) -> FrontierStats:
        return msgspec.structs.replace(self._frontier.describe(), awaits_limit=self._allowance.waiting)

    def stop(self) -> None:
        self._frontier.stop()
        self._allowance.stop()

    async def aclose(self) -> None:
        await self._frontier.aclose()
