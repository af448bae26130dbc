"""What the frontier says about URLs."""

import asyncio

import pytest
from msgspec import structs

from crawler.testing.frontier.crawls import START, Crawl, drain, entry_of, next_lease, page, pages, settle, urls_of
from crawler.testing.loops import in_virtual_time
from crawler.testing.visited.making import make_own
from frontier import CrawlUrl, FrontierStats, Outcome, UrlBatch, UrlState
from visited import CannotForget


class LedgerTests:
    """`status_of`, `forget` and `describe`."""

    @in_virtual_time
    async def test_a_forgotten_url_is_new_again_and_one_that_waits_is_kept(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("a", "3")])
            first = await next_lease(frontier)
            await settle(frontier, first)
            second = await next_lease(frontier)
            names = [f"http://a.test/{number}" for number in (1, 1, 2, 3, 4)]
            assert await frontier.forget(names) == 1
            assert await frontier.forget(names) == 0
            assert await frontier.status_of("http://a.test/1") is None
            stats = frontier.describe()
            assert (stats.admitted, stats.done, stats.pending) == (2, 0, 2)
            assert await frontier.add([page("a", "1"), page("a", "2")]) == 1
            await settle(frontier, second)
            assert await drain(frontier) == ["http://a.test/3", "http://a.test/1"]

    @in_virtual_time
    async def test_urls_that_are_made_when_they_are_needed_are_urls_like_others(self, crawl: Crawl) -> None:
        urls = [page("a", str(number)) for number in range(4)]

        def make(place: int, count: int) -> CrawlUrl:
            return structs.replace(urls[place], link_count=count)

        batch = UrlBatch(urls_of(urls), [1, 2, 4, 8], make)
        async with crawl.opened() as frontier:
            assert await frontier.add(urls[:1]) == 1
            assert await frontier.add(batch[:3]) == 2
            assert await frontier.add(batch[1:]) == 1
            assert await frontier.add(batch) == 0
            counts = [entry.hit_count for url in urls if (entry := await frontier.status_of(url.canonical))]
            assert counts in ([3, 6, 12, 16], [1, 2, 4, 8])
            assert await drain(frontier) == urls_of(urls)

    @in_virtual_time
    async def test_a_set_that_cannot_forget_says_so_and_nothing_is_changed(self, crawl: Crawl) -> None:
        async with crawl.opened(visited=make_own("bloom")) as frontier:
            await frontier.add(pages(1, 2))
            await drain(frontier)
            before = frontier.describe()
            with pytest.raises(CannotForget):
                await frontier.forget(urls_of(pages(1, 2)))
            assert frontier.describe() == before
            assert await frontier.add([page("b")]) == 1

    @in_virtual_time
    async def test_the_ledger_tells_what_became_of_each_url(self, crawl: Crawl) -> None:
        outcomes = {
            "1": Outcome(
                state=UrlState.DONE,
                status=200,
                fetched_at=START + 1.5,
                digest=b"\x00\xff",
                etag='"x"',
                last_modified="Mon, 01 Jan 2024 00:00:00 GMT",
            ),
            "2": Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False),
            "3": Outcome(state=UrlState.EXCLUDED, reason="robots"),
        }
        async with crawl.opened() as frontier:
            await frontier.add([page("a", path, via="http://seed.test/") for path in ("1", "2", "3", "4", "5", "6")])
            for path, outcome in outcomes.items():
                await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
                entry = await entry_of(frontier, f"http://a.test/{path}")
                for name in ("state", "status", "reason", "fetched_at", "digest", "etag", "last_modified"):
                    assert getattr(entry, name) == getattr(outcome, name)
                assert (entry.via, entry.found_at, entry.number) == ("http://seed.test/", START, int(path))
            await frontier.retry(await next_lease(frontier), after_s=9, cooldown_s=0, reason="503")
            await next_lease(frontier)
            for path, reason in (("4", "503"), ("5", None), ("6", None)):
                entry = await entry_of(frontier, f"http://a.test/{path}")
                assert (entry.state, entry.via, entry.number, entry.reason) == (
                    UrlState.PENDING,
                    "http://seed.test/",
                    int(path),
                    reason,
                )
            assert await frontier.status_of("http://a.test/7") is None

    @in_virtual_time
    async def test_describe_tells_where_the_urls_are(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(4, 2))
            first = await next_lease(frontier)
            second = await next_lease(frontier)
            await next_lease(frontier)
            await settle(frontier, first, 30)
            await frontier.retry(second, after_s=60, cooldown_s=40)
            await asyncio.sleep(10)
            assert frontier.describe() == FrontierStats(
                admitted=8,
                pending=6,
                in_process=1,
                retrying=1,
                done=1,
                failed=0,
                excluded=0,
                ready_queues=1,
                in_process_queues=1,
                snoozed_queues=2,
                next_wake_s=20,
                next_wake_key="test,h0",
                troubled_queues=1,
            )
