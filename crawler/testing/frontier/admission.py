"""How URLs come in."""

import msgspec
import pytest

from crawler.testing.frontier.crawls import DONE, Crawl, drain, entry_of, next_lease, page, pages, settle, urls_of
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Frontier, Outcome, UrlState


class AdmissionTests:
    """`add` without force."""

    @in_virtual_time
    async def test_adding_again_changes_nothing(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            assert await frontier.add(pages(2, 3)) == 6
            before = frontier.describe()
            assert await frontier.add(pages(2, 3)) == 0
            assert frontier.describe() == before
            assert await frontier.add([]) == 0
            assert sorted(await drain(frontier)) == sorted(urls_of(pages(2, 3)))
            assert await frontier.add(pages(2, 3)) == 0

    @in_virtual_time
    async def test_a_url_twice_in_a_batch_is_new_once(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            assert await frontier.add([page("a", "1"), page("a", "2"), page("a", "1")]) == 2
            assert await frontier.add([page("a", "3"), page("a", "3")], force=True) == 1
            assert await drain(frontier) == urls_of([page("a", "1"), page("a", "2"), page("a", "3")])

    @in_virtual_time
    async def test_urls_leave_a_queue_by_precedence_and_then_in_the_order_of_their_admission(
        self, crawl: Crawl
    ) -> None:
        async with crawl.opened() as frontier:
            found = [
                page("a", f"{number}", precedence=precedence) for number, precedence in enumerate([9, 255, 0, 9, 0])
            ]
            await frontier.add(found)
            first = await next_lease(frontier)
            await frontier.add([page("a", "late", precedence=5)])
            await settle(frontier, first)
            assert [first.url.url, *await drain(frontier)] == [
                f"http://a.test/{path}" for path in ("2", "4", "late", "0", "3", "1")
            ]

    @in_virtual_time
    async def test_what_travels_with_a_url_comes_back_with_its_lease(self, crawl: Crawl) -> None:
        url = CrawlUrl(
            url="http://a.test/x?y=ö",
            canonical="http://a.test/x",
            queue_key="test,a",
            depth=3,
            via="http://b.test/",
            kind="embed",
            anchor="Größe",
            weight=0.25,
            precedence=7,
            redirects=2,
        )
        async with crawl.opened() as frontier:
            await frontier.add([url, url, url])
            lease = await next_lease(frontier)
            assert lease.url == url
            assert (lease.number, lease.error_streak, lease.hit_count) == (1, 0, 3)

    @in_virtual_time
    async def test_links_to_a_url_are_counted_also_after_its_fetch_and_over_a_restart(self, crawl: Crawl) -> None:
        url, other = page("a", via="http://seed.test/"), page("b")

        async def hit_count(frontier: Frontier) -> int:
            return (await entry_of(frontier, url.canonical)).hit_count

        async with crawl.opened() as frontier:
            await frontier.add([msgspec.structs.replace(url, link_count=2), other])
            await frontier.add([msgspec.structs.replace(url, link_count=3)])
            await frontier.add([msgspec.structs.replace(url, link_count=0)])
            lease = await next_lease(frontier)
            assert (lease.url.canonical, lease.hit_count, await hit_count(frontier)) == (url.canonical, 5, 5)
            await frontier.add([url])
            await frontier.done(lease, cooldown_s=0, outcome=msgspec.structs.replace(DONE, self_links=4))
            await frontier.add([url, other])
            assert await hit_count(frontier) == 11
        async with crawl.opened(visited=crawl.visited) as frontier:
            assert await hit_count(frontier) == 11
            await frontier.add([url, other])
            assert await hit_count(frontier) == 12
            lease = await next_lease(frontier)
            assert (lease.url.canonical, lease.hit_count) == (other.canonical, 3)
        async with crawl.opened(visited=crawl.visited) as frontier:
            assert await hit_count(frontier) == 12
            await frontier.add([url], force=True)
            await settle(frontier, await next_lease(frontier))
            entry = await entry_of(frontier, other.canonical)
            assert (entry.hit_count, await hit_count(frontier)) == (3, 12)

    @in_virtual_time
    async def test_a_crawl_url_that_cannot_be_stored_is_refused_before_anything_is_changed(self, crawl: Crawl) -> None:
        good = page("a", "good")
        odd = [
            CrawlUrl(url="http://a.test/1", canonical="http://a.test/1", queue_key="a\0b"),
            CrawlUrl(url="http://a.test/2", canonical="http://a.test/2\ud800", queue_key="a"),
        ]
        async with crawl.opened() as frontier:
            for precedence in (-1, 256):
                with pytest.raises(ValueError, match=f"precedence.*{precedence}"):
                    await frontier.add([good, page("a", "bad", precedence=precedence)])
            assert len(crawl.visited) == 0
            for number, url in enumerate(odd):
                before = len(crawl.visited)
                try:
                    assert await frontier.add([page("b", f"{number}"), url]) == 2
                except ValueError:
                    assert len(crawl.visited) == before
                    assert await frontier.add([page("b", f"{number}")]) == 1
            assert await frontier.add([good]) == 1
            assert len(await drain(frontier)) == len(crawl.visited)

    @in_virtual_time
    async def test_text_from_the_web_that_is_not_unicode_stops_nothing(self, crawl: Crawl) -> None:
        odd = CrawlUrl(
            url="http://a.test/",
            canonical="http://a.test/",
            queue_key="a",
            anchor="a\ud800b",
            via="http://b.test/\udcff",
        )
        async with crawl.opened() as frontier:
            await frontier.add([odd])
            outcome = Outcome(state=UrlState.DONE, status=200, etag='"\udcff"', last_modified="\udc80", reason="\ud800")
            await frontier.done(await next_lease(frontier), cooldown_s=0, outcome=outcome)
            entry = await entry_of(frontier, "http://a.test/")
            assert entry.status == 200
