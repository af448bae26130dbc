"""A frontier that begins no more pages than its part may have."""

from typing import Any

import msgspec

from crawler.parts.sharing.page_allowance import PageAllowance
from frontier import ForwardingFrontier, Frontier, FrontierStats, Lease, Outcome


class LimitedFrontier(ForwardingFrontier):
    """Hands out a lease when its URL may begin. Until then the URL is leased, so that its part does not count as
    idle."""

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
