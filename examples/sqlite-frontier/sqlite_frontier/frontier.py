"""What the crawl asks: the changes, with their waits."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from frontier import CrawlUrl, FrontierStats, Lease, LedgerEntry, Outcome, Pauses, StoreFailed, UrlState
from frontier.descriptor import Parameters
from frontier.queues.lease_end import LeaseEnd
from sqlite_frontier.changes import Changes, OpenLease
from sqlite_frontier.database import Database
from sqlite_frontier.served import Served
from visited import CannotForget, VisitedSet

_OPERATOR = "operator"
_Result = TypeVar("_Result")


class SqliteFrontier:
    """A `Frontier` over a database. It also is a `Pausing` and a `Recovering`."""

    def __init__(self, database: Database, visited: VisitedSet, parameters: Parameters, counts: Counter[str]) -> None:
        self._database = database
        self._visited = visited
        self._served = Served(database, parameters)
        self._changes = Changes(database, self._served, counts, wake=self._wake)
        self._lock = asyncio.Lock()
        """Held between asking the visited set and writing."""
        self._changed = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._stopped = self._closed = False
        self.pauses = Pauses(on_end=self._wake)
        if self.paused is not None:
            self.pauses.pause(self.paused, by=_OPERATOR)
        self._served.load()

    # URLs come in

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        return await self._admit(list(urls), force=force, validators=True)

    async def add_anew(self, urls: Iterable[CrawlUrl], /) -> int:
        return await self._admit(list(urls), force=True, validators=False)

    async def _admit(self, urls: list[CrawlUrl], *, force: bool, validators: bool) -> int:
        for url in urls:
            if not 0 <= url.precedence <= 255:
                raise ValueError(f"precedence must be 0 to 255, got {url.precedence} for {url.url}")
            (url.canonical + url.queue_key).encode()  # raises a ValueError for what SQLite can't store

        async def admit() -> int:
            new = await self._ask(self._visited.add_many([url.canonical for url in urls]))
            return self._changes.admit(urls, new, force=force, validators=validators)

        return await self._carry_out(admit) if urls else 0

    async def record(self, entries: Iterable[LedgerEntry], /) -> int:
        batch: dict[str, LedgerEntry] = {}
        for entry in entries:
            if entry.state is UrlState.PENDING:
                raise ValueError(f"{entry.canonical} waits; `add` it")
            batch.setdefault(entry.canonical, entry)

        async def record() -> int:
            verdicts = await self._ask(self._visited.add_many(list(batch)))
            new = [entry for entry, is_new in zip(batch.values(), verdicts, strict=True) if is_new]
            self._changes.record(new)
            return len(new)

        return await self._carry_out(record)

    async def forget(self, canonicals: Iterable[str], /) -> int:
        async def forget() -> int:
            entries = [self._database.entry(canonical) for canonical in dict.fromkeys(canonicals)]
            settled = [each for each in entries if each is not None and each.state is not UrlState.PENDING]
            if settled:
                await self._ask(self._visited.forget_many([entry.canonical for entry in settled]))
                self._changes.forget(settled)
            return len(settled)

        return await self._carry_out(forget)

    async def _ask(self, answer: Awaitable[_Result]) -> _Result:
        """The answer of the visited set. If it fails, it may know URLs that the ledger lacks: the crawl ends."""
        try:
            return await answer
        except CannotForget:
            raise
        except BaseException as error:
            self._changes.fail(error)
            raise

    async def _carry_out(self, change: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Make a change to its end, even if the caller is cancelled."""

        async def alone() -> _Result:
            async with self._lock:
                self._check()
                return await change()

        task = asyncio.ensure_future(alone())
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            while not task.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([task])
            task.exception()  # or asyncio would complain that nobody has asked for it
            raise
        return task.result()

    # leases go out

    def __aiter__(self) -> AsyncIterator[Lease]:
        return self

    async def __anext__(self) -> Lease:
        while True:
            self._changes.check()
            if self._stopped:
                raise StopAsyncIteration
            changed = self._changed
            if not self.pauses:
                lease = self._changes.next_lease()
                if lease is not None:
                    return lease
                times = [at for at in (self._served.deadline(), self._changes.next_due) if at is not None]
                if not times and not len(self._served.schedule):
                    self._wake()
                    raise StopAsyncIteration
                self._set_alarm(min(times, default=None))
            await changed.wait()

    def _set_alarm(self, at: float | None) -> None:
        """Wake those who wait at that time."""
        if self._alarm is not None:
            self._alarm.cancel()
        loop, wait_s = asyncio.get_running_loop(), 0.0 if at is None else max(0.0, at - self._served.now())
        self._alarm = None if at is None else loop.call_later(wait_s, self._wake)

    def _wake(self) -> None:
        """Let all who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def begin_fetch(self, lease: Lease, /, *, address: str | None, prerequisite: str | None = None) -> bool:
        rest_s = self._changes.begin_fetch(self._open(lease), address, prerequisite)
        if rest_s is not None:
            self.release(lease, cooldown_s=rest_s, reason="another host" if rest_s else None)
        return rest_s is None

    def relocate(self, lease: Lease, /, *, address: str, prerequisite: str | None = None) -> None:
        self._changes.relocate(self._open(lease), address, prerequisite)

    # leases come back

    async def done(
        self, lease: Lease, /, *, cooldown_s: float, group_cooldown_s: float | None = None, outcome: Outcome
    ) -> None:
        self._check()
        held = self._open(lease)
        _check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s or 0.0, dead_for_s=outcome.dead_for_s)
        if outcome.state is UrlState.PENDING:
            raise ValueError(f"{lease.url.url} can't be settled as pending; `retry` or `release` it")
        ending = LeaseEnd(
            removes_url=not held.superseded,
            cooldown_s=cooldown_s,
            group_cooldown_s=group_cooldown_s,
            cost=self._cost(held, outcome),
            asked=outcome.asked,
            ends_prerequisite=outcome.asked and held.for_prerequisite,
        )
        self._changes.settle(held, ending, outcome)

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
        server_ok: bool = False,
    ) -> None:
        self._check()
        held = self._open(lease)
        _check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s or 0.0, after_s=after_s or 0.0)
        outcome = Outcome(
            state=UrlState.PENDING, reason=reason, server_ok=server_ok, answered=answered, pressure=pressure
        )
        ending = LeaseEnd(
            removes_url=after_s is not None and not held.superseded,
            cooldown_s=cooldown_s,
            group_cooldown_s=group_cooldown_s,
            cost=self._cost(held, outcome),
            ends_prerequisite=held.for_prerequisite,
        )
        self._changes.retry(held, ending, outcome, after_s=after_s)

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
        held = self._open(lease)
        _check_seconds(cooldown_s=cooldown_s, group_cooldown_s=group_cooldown_s or 0.0)
        if self._changes.failure is not None or self._closed:
            return  # its URL still waits
        ending = LeaseEnd(
            removes_url=False,
            cooldown_s=cooldown_s,
            group_cooldown_s=group_cooldown_s,
            asked=asked,
            ends_prerequisite=asked and held.for_prerequisite,
        )
        self._changes.release(held, ending, reason)

    def _open(self, lease: Lease) -> OpenLease:
        held = self._changes.leases.get(lease.number)
        if held is None or held.lease is not lease:
            raise ValueError(f"the lease of {lease.url.url} (number {lease.number}) is not out")
        return held

    def _cost(self, held: OpenLease, outcome: Outcome) -> int:
        return held.lease.url.cost + (0 if outcome.server_ok else self._served.settings.budgets.error_penalty)

    # what is known

    async def status_of(self, canonical: str, /) -> LedgerEntry | None:
        return self._database.entry(canonical)

    def describe(self) -> FrontierStats:
        return self._served.stats(self._changes.counts, self._changes.next_due, paused=self.pauses.reason)

    async def skip_numbers(self, upto: int, /) -> bool:
        with self._changes.transaction():
            return self._database.skip("next_number", upto)

    async def set_lost(self, count: int, /) -> None:
        with self._changes.transaction():
            self._database.set(lost=count)
        self._changes.counts["lost"] = count

    # an operator acts

    @property
    def paused(self) -> str | None:
        paused: str | None = self._database.meta("paused")
        return paused

    async def pause(self, reason: str, /) -> None:
        with self._changes.transaction():
            self._database.set(paused=reason)
        self.pauses.pause(reason, by=_OPERATOR)

    async def resume(self) -> None:
        if self.paused is None:
            raise ValueError("no operator has paused the crawl")
        with self._changes.transaction():
            self._database.set(paused=None)
        self.pauses.resume(by=_OPERATOR)

    # the end

    def _check(self) -> None:
        self._changes.check()
        if self._closed:
            raise StoreFailed("the frontier is closed")

    def stop(self) -> None:
        self._stopped = True
        self._wake()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.stop()
        self._set_alarm(None)
        async with self._lock:
            pass  # a running admission has reached the ledger now
        try:
            if self._changes.failure is None and not self._changes.leases:
                with self._changes.transaction():
                    self._database.set(in_use=None)
        finally:
            self._database.close()


def _check_seconds(**spans: float) -> None:
    for name, span_s in spans.items():
        if not 0 <= span_s <= 1e9:
            raise ValueError(f"{name} must be 0 to 1000000000, got {span_s}")
