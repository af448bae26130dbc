"""What is kept between runs, and what can be asked of it. Tests of small protocols that a state lacks are skipped."""

import pytest

from crawler.testing.frontier.crawls import START, Crawl, next_lease, page, pages, settle, urls_of
from crawler.testing.frontier.suite import FrontierSuite
from crawler.testing.loops import in_virtual_time
from frontier import Damaged, KnownUrl, LedgerReads, QueueReads, UrlState


class StateTests(FrontierSuite):
    """`FrontierState`, and look-ups in it."""

    @in_virtual_time
    async def test_the_state_tells_what_the_frontier_told(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add(pages(2, 3))
            await settle(frontier, await next_lease(frontier))
            before = frontier.describe()
        with crawl.state() as state:
            assert state.knows_many(["http://h0.test/p0", "http://h9.test/"]) == [True, False]
            after = state.describe()
            for name in ("admitted", "pending", "done", "failed", "excluded", "retrying"):
                assert getattr(after, name) == getattr(before, name)
            visited = self.make_visited()
            await state.restore(visited)
            assert not any(await visited.add_many(urls_of(pages(2, 3))))
            await visited.aclose()

    @in_virtual_time
    async def test_notes_are_kept(self, crawl: Crawl) -> None:
        with crawl.state() as state:
            notes = state.notes
            assert notes.get("robots a") is None
            for key in ("robots b", "hsts a", "robots a"):
                notes.put(key, key.encode())
            notes.put("robots a", b"\x00\xff")
        with crawl.state() as state:
            assert list(state.notes.items("robots ")) == [("robots a", b"\x00\xff"), ("robots b", b"robots b")]
            state.notes.set_aside("robots a", ValueError("of another version"))
            assert state.notes.get("robots a") is None
        with crawl.state() as state:
            assert list(state.notes.items("")) == [("hsts a", b"hsts a"), ("robots b", b"robots b")]

    @in_virtual_time
    async def test_queues_are_listed(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "1"), page("a", "2"), page("a", "0", precedence=1), page("b")])
            for _ in range(2):
                await settle(frontier, await next_lease(frontier), 10)
        with crawl.state() as state:
            if not isinstance(state, QueueReads):
                pytest.skip("it does not list its queues")
            queues = list(state.queues())
            assert [(queue.key, queue.size, queue.served) for queue in queues] == [
                ("test,a", 2, True),
                ("test,b", 0, False),
            ]
            assert [queue.key for queue in state.queues("test,a")] == ["test,b"]
            assert list(state.queues("test,b")) == []
            for queue in queues:
                assert (queue.spent, queue.wake_at, queue.retired) == (1, START + 10, False)
                assert state.queue(queue.key) == queue
            assert state.queue("test,c") is None
            assert urls_of(state.next_urls("test,a", limit=9)) == ["http://a.test/1", "http://a.test/2"]
            assert urls_of(state.next_urls("test,a", limit=1)) == ["http://a.test/1"]
            assert state.next_urls("test,b", limit=9) == state.next_urls("test,c", limit=9) == []

    @in_virtual_time
    async def test_the_ledger_is_listed_by_canonical_urls(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            await frontier.add([page("a", "2"), page("b", "1", via="http://a.test/"), page("a", "1")])
            await settle(frontier, await next_lease(frontier))
            await frontier.retry(await next_lease(frontier), after_s=60, cooldown_s=0, reason="503")
            await frontier.add([page("a", "2"), page("b", "1")])
        with crawl.state() as state:
            if not isinstance(state, LedgerReads):
                pytest.skip("it does not list its ledger")
            assert state.numbers_given == 3
            ledger = {known.entry.canonical: known for known in sound(state)}
            assert list(ledger) == ["http://a.test/1", "http://a.test/2", "http://b.test/1"]
            waiting, done, retried = ledger.values()
            assert (waiting.entry.state, waiting.due_at) == (UrlState.PENDING, None)
            assert waiting.waiting == page("a", "1")
            assert (done.entry.state, done.entry.status, done.entry.hit_count) == (UrlState.DONE, 200, 2)
            assert done.waiting is None
            assert retried.entry.state is UrlState.PENDING
            assert (retried.entry.via, retried.entry.reason, retried.entry.hit_count) == ("http://a.test/", "503", 2)
            assert retried.waiting is not None
            assert (retried.waiting.url, retried.waiting.attempt) == ("http://b.test/1", 1)
            assert retried.due_at == START + 60
            assert list(sound(state, "http://a.test/1")) == [done, retried]
            for canonical, known in ledger.items():
                assert state.known(canonical) == known
            assert state.known("http://c.test/") is None


def sound(ledger: LedgerReads, after: str = "") -> list[KnownUrl]:
    """What is known after a URL; no record may be damaged."""
    found = list(ledger.all_known(after))
    assert not any(isinstance(known, Damaged) for known in found)
    return [known for known in found if isinstance(known, KnownUrl)]
