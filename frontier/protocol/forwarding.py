"""A frontier around another, for what changes only some of its calls."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

from frontier.pauses import Pauses
from frontier.protocol.serving import Frontier
from frontier.values import CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome


class ForwardingFrontier:
    """Passes every call on to another frontier. A subclass overrides the calls that it changes."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    @property
    def pauses(self) -> Pauses:
        return self._frontier.pauses

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        return await self._frontier.add(urls, force=force)

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        return await anext(self._frontier)

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        return self._frontier.begin_fetch(lease, address=address, prerequisite=prerequisite)

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        self._frontier.relocate(lease, address=address, prerequisite=prerequisite)

    async def done(self, lease: Lease, /, *, cooldown_s: float, outcome: Outcome, **how: Any) -> None:
        await self._frontier.done(lease, cooldown_s=cooldown_s, outcome=outcome, **how)

    async def retry(self, lease: Lease, /, *, cooldown_s: float, **how: Any) -> None:
        await self._frontier.retry(lease, cooldown_s=cooldown_s, **how)

    def release(self, lease: Lease, /, *, cooldown_s: float = 0.0, **how: Any) -> None:
        self._frontier.release(lease, cooldown_s=cooldown_s, **how)

    async def forget(self, canonicals: Iterable[str], /) -> int:
        return await self._frontier.forget(canonicals)

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        return await self._frontier.status_of(canonical)

    async def skip_numbers(self, upto: int, /) -> bool:
        return await self._frontier.skip_numbers(upto)

    def describe(self) -> FrontierStats:
        return self._frontier.describe()

    def stop(self) -> None:
        self._frontier.stop()

    async def aclose(self) -> None:
        await self._frontier.aclose()
