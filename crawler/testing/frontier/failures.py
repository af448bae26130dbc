"""Calls that are cancelled, and visited sets that fail."""

import asyncio

import pytest

from crawler.testing.frontier.crawls import Crawl, SlowSet, drain, next_lease, page, pages, settle, turns, urls_of
from crawler.testing.loops import in_virtual_time
from frontier import StoreFailed


class FailureTests:
    """A transition happens, or it does not."""

    @pytest.mark.parametrize("cancelled_after", range(8))
    @in_virtual_time
    async def test_a_cancelled_add_is_carried_out_or_not_begun(self, crawl: Crawl, cancelled_after: int) -> None:
        visited = SlowSet()
        async with crawl.opened(visited=visited) as frontier:
            visited.answer.clear()
            adding = [asyncio.ensure_future(frontier.add([page("a", f"{number}")])) for number in range(2)]
            await turns(cancelled_after)
            for each in adding:
                each.cancel()
            await turns()
            for each in adding:
                each.cancel()  # also those who cancel twice must wait
            await turns()
            visited.answer.set()
            await asyncio.wait(adding)
            assert len(visited) == frontier.describe().admitted
            fetched = await drain(frontier)
            assert await frontier.add([page("a", "0"), page("a", "1")]) + len(fetched) == 2

    @in_virtual_time
    async def test_a_cancelled_forget_is_carried_out(self, crawl: Crawl) -> None:
        visited = SlowSet()
        async with crawl.opened(visited=visited) as frontier:
            await frontier.add(pages(1, 2))
            await drain(frontier)
            visited.answer.clear()
            forgetting = asyncio.ensure_future(frontier.forget(urls_of(pages(1, 2))))
            await turns()
            forgetting.cancel()
            await turns()
            visited.answer.set()
            await asyncio.wait([forgetting])
            assert forgetting.cancelled()
            assert len(visited) == frontier.describe().admitted == 0
            assert await frontier.add(pages(1, 2)) == 2

    @pytest.mark.parametrize("call", ["add", "forget"])
    @in_virtual_time
    async def test_a_visited_set_that_fails_ends_the_crawl_for_all_and_a_restart_repairs_it(
        self, crawl: Crawl, call: str
    ) -> None:
        visited = SlowSet()
        async with crawl.opened(visited=visited) as frontier:
            await frontier.add(pages(1, 2))
            await settle(frontier, await next_lease(frontier))
            lease = await next_lease(frontier)
            wait = asyncio.ensure_future(anext(frontier))
            await turns()
            visited.failure = RuntimeError("connection lost")
            with pytest.raises(RuntimeError, match="connection lost"):
                await (frontier.add([page("b")]) if call == "add" else frontier.forget(urls_of(pages(1, 2))))
            with pytest.raises(StoreFailed, match="connection lost"):
                await wait
            visited.failure = None
            with pytest.raises(StoreFailed, match="connection lost"):
                await frontier.add([page("b")])
            for change in (
                settle(frontier, lease),
                frontier.retry(lease, after_s=1, cooldown_s=0),
                frontier.forget(["http://h0.test/p0"]),
                frontier.skip_numbers(1_000),
                anext(frontier),
            ):
                with pytest.raises(StoreFailed, match="connection lost"):
                    await change
            frontier.release(lease)
        async with crawl.opened() as frontier:
            assert len(crawl.visited) == frontier.describe().admitted == 2
            assert await frontier.add([*pages(1, 2), page("b")]) == 1
            assert await drain(frontier) == ["http://h0.test/p1", "http://b.test/"]
