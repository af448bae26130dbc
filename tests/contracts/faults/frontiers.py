"""Frontiers with one fault each, around one that has none."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from crawler.testing import FrontierContract
from crawler.testing.frontier.crawls import Opening
from frontier import CrawlUrl, Frontier, Lease, Outcome
from frontier.backends import descriptor


class Passing:
    """Passes all calls on."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    def __aiter__(self) -> "Passing":
        return self

    async def __anext__(self) -> Lease:
        return await anext(self.frontier)


def passing(fault: type[Passing], frontier: Frontier) -> Any:
    """The frontier with that fault. It has each name in its class, because since Python 3.12 `isinstance` does not ask
    `__getattr__` what a protocol names."""

    def passed(name: str) -> property:
        return property(lambda this: getattr(this.frontier, name))

    names = [name for name in dir(frontier) if not (name.startswith("_") or hasattr(fault, name))]
    return type(fault.__name__, (fault,), {name: passed(name) for name in names})(frontier)


class OnDisk(FrontierContract):
    descriptor = descriptor("leveldb")
    fault: type[Passing] = Passing

    async def open(self, opening: Opening) -> Frontier:
        return passing(self.fault, await super().open(opening))  # type: ignore[no-any-return]


class TestGood(OnDisk):
    FAILS = ()


class LosesLeases(Passing):
    """A lease that is handed back is forgotten."""

    def release(self, lease: Lease, /, **_: object) -> None: ...


class TestLosesLeases(OnDisk):
    FAILS = ("test_a_wait_ends_at_once_when_a_queue_gets_free", "test_a_released_url_is_first_in_its_queue_again[1]")
    fault = LosesLeases


class LosesRetries(Passing):
    async def retry(self, lease: Lease, /, *, cooldown_s: float, **_: object) -> None:
        await self.frontier.done(lease, cooldown_s=cooldown_s, outcome=Outcome(state=2, server_ok=False))  # type: ignore[arg-type]


class TestLosesRetries(OnDisk):
    FAILS = (
        "test_iteration_does_not_end_while_a_retry_is_due_later",
        "test_a_retry_stands_behind_those_that_wait_and_counts_its_attempts",
        "test_kill_9_loses_nothing_that_was_acknowledged",
    )
    fault = LosesRetries


class TestTwoLeasesAtOnce(OnDisk):
    FAILS = (
        "test_a_queue_gives_no_more_leases_than_it_may[1]",
        "test_workers_share_the_queues_and_no_host_is_fetched_twice_at_once",
    )

    async def open(self, opening: Opening) -> Frontier:
        twice = msgspec.structs.replace(opening.settings, per_queue=opening.settings.per_queue + 1)
        return await super().open(msgspec.structs.replace(opening, settings=twice))


class Restless(Passing):
    """No queue rests."""

    async def done(self, lease: Lease, /, *, outcome: Outcome, **_: object) -> None:
        await self.frontier.done(lease, cooldown_s=0.0, outcome=outcome)


class TestRestless(OnDisk):
    FAILS = (
        "test_a_queue_rests_after_a_fetch_also_while_other_urls_of_it_are_leased[1]",
        "test_a_wait_ends_when_the_first_of_many_rests_is_over",
        "test_a_queue_that_was_exhausted_still_rests_after_a_restart",
        "test_the_ports_of_a_host_take_turns_and_rest_as_one[ports0]",
    )
    fault = Restless


class Lazy(Passing):
    """Answers before the URLs are stored: it stores them at a later call, and the first only when nothing else is left.
    However far a process has come when it is killed, some are missing."""

    def __init__(self, frontier: Frontier) -> None:
        super().__init__(frontier)
        self.batches: list[list[CrawlUrl]] = []

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        batch = list(urls)
        if force:
            return await self.frontier.add(batch, force=True)
        self.batches.append(batch)
        if len(self.batches) > 3:
            await self.store(but=1)
        return len(batch)

    async def store(self, *, but: int = 0) -> None:
        for batch in self.batches[but:]:
            await self.frontier.add(batch)
        self.batches = self.batches[:but]

    async def __anext__(self) -> Lease:
        if not self.frontier.describe().pending:
            await self.store()
        return await anext(self.frontier)


class TestLazy(OnDisk):
    FAILS = ("test_kill_9_loses_nothing_that_was_acknowledged", "test_adding_again_changes_nothing")
    fault = Lazy


class Polling(Passing):
    """Looks for a lease every five seconds."""

    async def __anext__(self) -> Lease:
        while True:
            try:
                async with asyncio.timeout(0.001):
                    return await anext(self.frontier)
            except TimeoutError:
                await asyncio.sleep(5)


class TestPolling(OnDisk):
    FAILS = ("test_a_wait_ends_when_the_first_of_many_rests_is_over",)
    fault = Polling


class Greedy(Passing):
    """Takes a lease for a wait that is cancelled."""

    async def __anext__(self) -> Lease:
        return await asyncio.shield(asyncio.ensure_future(anext(self.frontier)))


class TestGreedy(OnDisk):
    FAILS = ("test_a_cancelled_wait_takes_no_lease_and_loses_no_wake_up[0]",)
    fault = Greedy


class Impolite(Passing):
    """Any number of requests may go to one address."""

    def begin_fetch(self, lease: Lease, /, **_: object) -> bool:
        return self.frontier.begin_fetch(lease, address=None)


class TestImpolite(OnDisk):
    FAILS = (
        "test_an_address_bears_no_more_fetches_at_once_than_it_may_whichever_hosts_it_has",
        "test_an_address_rests_after_each_fetch_and_hosts_elsewhere_do_not",
        "test_a_prerequisite_waits_for_the_host_that_is_asked_and_makes_it_rest",
    )
    fault = Impolite


class TestForgetsAll(OnDisk):
    """Each frontier begins anew."""

    FAILS = (
        "test_a_crawl_goes_on_where_it_ended",
        "test_kill_9_loses_nothing_that_was_acknowledged",
        "test_a_disk_that_is_full_at_any_write_loses_nothing",
        "test_an_operator_pauses_the_crawl_also_over_a_restart",
        "test_notes_are_kept",
    )

    def open_state(self, opening: Opening) -> Any:
        number = len(list(opening.directory.parent.iterdir()))
        return super().open_state(msgspec.structs.replace(opening, directory=Path(f"{opening.directory}-{number}")))


class Undecided(Passing):
    """The second half of a batch is added later, if nobody cancels."""

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        batch = list(urls)
        half = len(batch) // 2
        count = await self.frontier.add(batch[:half], force=force)
        return count + await self.frontier.add(batch[half:], force=force)


class TestUndecided(OnDisk):
    FAILS = ("test_a_crawl_url_that_cannot_be_stored_is_refused_before_anything_is_changed",)
    fault = Undecided
