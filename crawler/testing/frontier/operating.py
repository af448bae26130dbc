"""What an operator does, and what is recovered. Tests of small protocols that a frontier lacks are skipped."""

import msgspec
import pytest

from crawler.testing.frontier.crawls import (
    DONE,
    START,
    Crawl,
    drain,
    entry_of,
    hosts_of,
    next_lease,
    no_lease_for,
    page,
    pages,
    settle,
    urls_of,
)
from crawler.testing.frontier.suite import FrontierSuite
from crawler.testing.loops import in_virtual_time
from frontier import Budgeted, Budgets, Frontier, LedgerEntry, Pausing, QueueControl, QueueReads, Recovering, UrlState


class OperatingTests(FrontierSuite):
    """Pauses, numbers, `Pausing`, `QueueControl`, `Budgeted` and `Recovering`."""

    @in_virtual_time
    async def test_while_there_is_a_pause_nothing_is_leased_and_what_is_leased_can_be_settled(
        self, crawl: Crawl
    ) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 2))
            lease = await next_lease(frontier)
            frontier.pauses.pause("the night", by="clock")
            frontier.pauses.pause("no space", by="disk")
            await settle(frontier, lease)
            assert await no_lease_for(frontier, 1000)
            frontier.pauses.resume(by="clock")
            assert frontier.describe().paused == "no space"
            assert await no_lease_for(frontier, 1000)
            frontier.pauses.resume(by="disk")
            assert frontier.describe().paused is None
            assert len(await drain(frontier)) == 3

    @in_virtual_time
    async def test_numbers_that_are_skipped_are_given_to_no_url(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a")])
            assert await frontier.skip_numbers(7)
            assert not await frontier.skip_numbers(7)
            assert not await frontier.skip_numbers(1)
            await settle(frontier, await next_lease(frontier))
        async with crawl.opened() as frontier:
            await frontier.add([page("b")])
            assert (await next_lease(frontier)).number == 8

    @in_virtual_time
    async def test_an_operator_pauses_the_crawl_also_over_a_restart(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            if not isinstance(frontier, Pausing):
                pytest.skip("it can't be paused by an operator")
            await frontier.add(pages(2, 2))
            with pytest.raises(ValueError, match="paused"):
                await frontier.resume()
            await frontier.pause("the site moves")
            assert frontier.paused == frontier.describe().paused == "the site moves"
            assert await no_lease_for(frontier, 1000)
        async with crawl.opened() as frontier:
            assert isinstance(frontier, Pausing)
            assert frontier.describe().paused == "the site moves"
            assert await no_lease_for(frontier, 1000)
            await frontier.pause("and moves again")
            await frontier.resume()
            assert len(await drain(frontier)) == 4
        with crawl.state() as state:
            assert isinstance(state, Pausing)
            assert state.paused is None
            await state.pause("it is night")
        async with crawl.opened() as frontier:
            assert isinstance(frontier, Pausing)
            assert frontier.paused == "it is night"
            await frontier.resume()
            assert await drain(frontier) == []

    @in_virtual_time
    async def test_an_operator_retires_a_queue_and_serves_it_again(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            if not isinstance(frontier, QueueControl):
                pytest.skip("its queues can't be retired")
            await frontier.add(pages(2, 4))
            first, second = await next_lease(frontier), await next_lease(frontier)
            await frontier.retire("test,h0")
            with pytest.raises(ValueError, match="retired"):
                await frontier.retire("test,h0")
            with pytest.raises(ValueError, match="retired"):
                await frontier.unretire("test,h1")
            await settle(frontier, first)
            await settle(frontier, second)
            assert set(hosts_of(await drain(frontier))) == {"h1"}
            stats = frontier.describe()
            assert (stats.pending, stats.retired, stats.retired_queues) == (0, 3, 1)
            await frontier.retire("test,unknown")
            assert await frontier.add([page("unknown", "1"), page("h0", "new")]) == 2
        with crawl.state() as state:
            assert isinstance(state, QueueControl)
            await state.unretire("test,unknown")
            if isinstance(state, QueueReads):
                found = [(queue.key, queue.retired, queue.served) for queue in state.queues()]
                assert found == [("test,h0", True, False), ("test,h1", False, False), ("test,unknown", False, True)]
        async with crawl.opened() as frontier:
            assert isinstance(frontier, QueueControl)
            assert hosts_of(await drain(frontier)) == ["unknown"]
            await frontier.unretire("test,h0")
            assert hosts_of(await drain(frontier)) == ["h0"] * 4
            assert frontier.describe().retired_queues == 0
        await crawl.check()

    @in_virtual_time
    async def test_an_operator_gives_a_queue_a_budget(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            if not isinstance(frontier, QueueControl):
                pytest.skip("its queues have no budgets")
            await frontier.add(pages(1, 4))
            await frontier.set_budget("test,h0", 1)
            assert len(await drain(frontier)) == 1
            assert frontier.describe().retired == 3
            await frontier.set_budget("test,h0", 3)
            assert len(await drain(frontier)) == 2
            await frontier.set_budget("test,h0", None)
            assert len(await drain(frontier)) == 1

    @in_virtual_time
    async def test_the_budgets_of_all_queues_may_change_while_they_are_served(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            if not isinstance(frontier, Budgeted):
                pytest.skip("its budgets are those with which it was opened")
            await frontier.add(pages(2, 4))
            held = [await next_lease(frontier), await next_lease(frontier)]
            await frontier.set_budgets(Budgets(total=1))
            for lease in held:
                await settle(frontier, lease)
            assert await drain(frontier) == []
            stats = frontier.describe()
            assert (stats.pending, stats.retired, stats.retired_queues) == (0, 6, 2)
            await frontier.set_budgets(Budgets(total=2, error_penalty=7))
            assert len(await drain(frontier)) == 2
            # What has spent the smaller budget already is retired at once.
            await frontier.set_budgets(Budgets(total=1))
            assert await drain(frontier) == []
            await frontier.set_budgets(Budgets())
            assert len(await drain(frontier)) == 4
            assert frontier.describe().retired == 0
        await crawl.check()

    @in_virtual_time
    async def test_what_was_settled_elsewhere_is_not_fetched(self, crawl: Crawl) -> None:
        entries = [
            LedgerEntry(canonical=f"http://a.test/{number}", state=state, number=0, found_at=START, status=200)
            for number, state in enumerate([UrlState.DONE, UrlState.FAILED, UrlState.EXCLUDED])
        ]
        async with crawl.opened() as frontier:
            if not isinstance(frontier, Recovering):
                pytest.skip("it can't be recovered from the output")
            await frontier.add([page("a", "0")])
            waiting = msgspec.structs.replace(entries[1], state=UrlState.PENDING)
            for wrong in [waiting], [*entries, waiting]:
                with pytest.raises(ValueError, match=r"http://a\.test/1"):
                    await frontier.record(wrong)
            assert await frontier.record([*entries, msgspec.structs.replace(entries[1], status=404)]) == 2
            assert await frontier.record(entries) == 0
            assert await frontier.add([page("a", f"{number}") for number in range(4)]) == 1
            assert await drain(frontier) == ["http://a.test/0", "http://a.test/3"]
            stats = frontier.describe()
            assert (stats.admitted, stats.done, stats.failed, stats.excluded) == (4, 2, 1, 1)
            entry = await entry_of(frontier, "http://a.test/1")
            assert (entry.state, entry.status, entry.number) == (UrlState.FAILED, 200, 2)
        await crawl.check()
        async with crawl.opened() as frontier:
            assert await frontier.add([page("a", f"{number}") for number in range(4)]) == 0

    @pytest.mark.parametrize("is_reopened", [False, True])
    @in_virtual_time
    async def test_a_url_that_waits_with_validators_loses_these_when_its_copy_is_lost_and_keeps_its_turn(
        self, crawl: Crawl, *, is_reopened: bool
    ) -> None:
        urls = [page("a", str(number)) for number in range(3)]
        async with crawl.opened() as frontier:
            if not isinstance(frontier, Recovering):
                pytest.skip("it can't be recovered from the output")
            await frontier.add(urls)
            for _ in urls:
                outcome = msgspec.structs.replace(DONE, etag='"1"', last_modified="yesterday")
                await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            await frontier.add(urls, force=True)
            await frontier.retry(await next_lease(frontier), after_s=5, cooldown_s=0)
            before = frontier.describe()
            assert await frontier.add_anew([urls[0], urls[2], urls[2]]) == 0
            assert frontier.describe() == before
            if not is_reopened:
                assert await _validators_of_all(frontier) == [("1", '"1"'), ("2", None), ("0", None)]
        if is_reopened:
            async with crawl.opened() as frontier:
                assert await _validators_of_all(frontier) == [("1", '"1"'), ("2", None), ("0", None)]

    @in_virtual_time
    async def test_a_page_whose_copy_is_lost_is_fetched_again_without_validators(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            if not isinstance(frontier, Recovering):
                pytest.skip("it can't be recovered from the output")
            await frontier.add([page("a")])
            outcome = msgspec.structs.replace(DONE, etag='"1"')
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            assert await frontier.add_anew([page("a")]) == 1
            lease = await next_lease(frontier)
            assert (urls_of([lease.url]), lease.url.had_etag) == (["http://a.test/"], None)
            await settle(frontier, lease)
            await frontier.set_lost(5)
        with crawl.state() as state:
            assert state.describe().lost == 5


async def _validators_of_all(frontier: Frontier) -> list[tuple[str, str | None]]:
    """The paths of all URLs that wait, as they come, with their validators. Settles them."""
    found = []
    async for lease in frontier:
        found.append((lease.url.url.rpartition("/")[2], lease.url.had_etag or lease.url.had_last_modified))
        await settle(frontier, lease)
    return found
