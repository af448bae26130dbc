"""Each page is given to one consumer, and taken back if its turn does not end."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import suppress

import pytest

from crawler.library.handout import Consumer, Handout
from crawler.library.page import CrawledPage
from crawler.page import Extract, Link, LinkKind, Page, PageRecord
from crawler.seams import NotTaken
from crawler.testing.loops import in_virtual_time
from tests.unit import crawling


def page(number: int) -> tuple[Page, PageRecord]:
    url = f"http://a.test/{number}"
    return crawling.page(url), PageRecord(number=number, url=url, state="done", status=200, depth=1, kind="link")


class Program:
    """Pages that workers write, and what becomes of them."""

    def __init__(self, *, limit: int = 100, all_urls: bool = False) -> None:
        self.handout = Handout(all_urls=all_urls, limit=limit)
        self.handout.is_used = True
        self.settled: list[int] = []
        self.handed_back: list[int] = []
        self.levels: list[str] = []
        self.handout.pause = self.levels.append
        self.handout.resume = lambda: self.levels.append("goes on")
        self._workers: list[asyncio.Task[None]] = []

    async def write(self, *numbers: int) -> None:
        self._workers += [asyncio.create_task(self._write(number)) for number in numbers]
        await turns()

    async def _write(self, number: int) -> None:
        try:
            await self.handout.write(*page(number))
        except NotTaken:
            self.handed_back.append(number)
        else:
            self.settled.append(number)

    def cancel_workers(self) -> None:
        for worker in self._workers:
            worker.cancel()

    def consumer(self) -> Consumer:
        return Consumer(self.handout.take)

    async def end(self) -> None:
        self.handout.close()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._workers)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def numbers(pages: Sequence[CrawledPage]) -> list[int]:
    return [each.number for each in pages]


@in_virtual_time
async def test_a_page_is_settled_when_the_next_one_is_asked_for() -> None:
    program = Program()
    await program.write(1, 2)
    pages = program.consumer()
    assert (await anext(pages)).number == 1
    await turns()
    assert program.settled == []
    assert (await anext(pages)).number == 2
    await turns()
    assert program.settled == [1]
    program.handout.end()
    assert await anext(pages, None) is None
    await turns()
    assert program.settled == [1, 2]
    await program.end()


@in_virtual_time
async def test_who_waits_first_gets_the_first_page() -> None:
    program = Program()
    first, second = (asyncio.ensure_future(anext(program.consumer())) for _ in range(2))
    await turns()
    await program.write(1, 2, 3)
    assert numbers([await first, await second]) == [1, 2]
    await program.end()


@in_virtual_time
async def test_closing_gives_every_page_back() -> None:
    program = Program()
    await program.write(1, 2)
    pages = program.consumer()
    await anext(pages)
    program.handout.close()
    assert await anext(pages, None) is None
    await program.write(3)
    assert sorted(program.handed_back) == [1, 2, 3]
    assert program.settled == []
    await program.end()


@in_virtual_time
async def test_a_consumer_that_is_freed_gives_its_page_back() -> None:
    program = Program()
    await program.write(1, 2)
    pages = program.consumer()
    await anext(pages)
    del pages
    gc.collect()
    await turns()
    assert program.handed_back == [1]
    async for each in program.consumer():
        assert each.number == 2
        break
    await turns()
    assert program.handed_back == [1, 2]
    await program.end()


@in_virtual_time
async def test_a_loop_within_another_one_of_the_same_task_is_refused_and_its_page_comes_again() -> None:
    program = Program()
    await program.write(1, 2)
    outer = program.consumer()
    await anext(outer)
    with pytest.raises(RuntimeError, match="within another one of the same task or thread would wait for ever"):
        await anext(program.consumer())
    del outer
    await turns()
    assert program.handed_back == [1]
    assert numbers([await anext(program.consumer())]) == [2]
    await program.end()


@in_virtual_time
async def test_a_loop_may_follow_one_that_was_left_within_a_generator() -> None:
    program = Program()

    async def pages_of(consumer: AsyncIterable[CrawledPage]) -> AsyncIterator[CrawledPage]:
        async for each in consumer:
            yield each

    await program.write(1, 2)
    async for each in pages_of(pages_of(program.consumer())):
        assert each.number == 1
        break
    async for each in program.consumer():
        assert each.number == 2
        break
    await turns()
    assert program.handed_back == [1, 2]
    await program.end()


@in_virtual_time
async def test_each_task_may_have_a_loop_while_others_have_theirs() -> None:
    program = Program()
    await program.write(1, 2)
    async for first in program.consumer():
        second = await asyncio.create_task(anext(program.consumer()))
        assert numbers([first, second]) == [1, 2]
        break
    await program.end()


async def test_any_thread_may_free_a_consumer() -> None:
    program = Program()
    await program.write(1)
    held = [program.consumer()]
    await anext(held[0])
    thread = threading.Thread(target=held.clear)
    thread.start()
    while not program.handed_back:  # noqa: ASYNC110 - it comes from another thread
        await asyncio.sleep(0.001)
    thread.join()
    await program.end()


def test_a_consumer_may_be_freed_after_its_event_loop_was_closed() -> None:
    async def leave() -> Consumer:
        program = Program()
        await program.write(1)
        pages = program.consumer()
        await anext(pages)
        program.cancel_workers()
        await program.end()
        return pages

    pages = [asyncio.run(leave())]
    pages.clear()
    gc.collect()


@in_virtual_time
async def test_a_page_that_comes_to_a_cancelled_wait_goes_to_the_next() -> None:
    program = Program()
    pages = program.consumer()
    waiting = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0)
    writing = asyncio.create_task(program.write(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await writing
    assert (await anext(pages)).number == 1
    assert program.settled == []
    await program.end()


@in_virtual_time
async def test_waits_that_were_given_up_take_no_memory() -> None:
    program = Program()
    pages = program.consumer()
    for _ in range(10):
        waiting = asyncio.ensure_future(anext(pages))
        await turns()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    assert not program.handout._takers
    await program.write(1)
    assert (await anext(pages)).number == 1
    await program.end()


@in_virtual_time
async def test_a_page_whose_worker_is_cancelled_is_not_handed_out() -> None:
    program = Program()
    await program.write(1)
    program.cancel_workers()
    await turns()
    await program.write(2)
    pages = program.consumer()
    assert (await anext(pages)).number == 2
    await program.end()


@in_virtual_time
async def test_one_page_waits_and_many_wait() -> None:
    program = Program(limit=1)
    await program.write(1)
    assert program.levels == ["1 page waits for the program"]
    await program.end()


@in_virtual_time
async def test_the_crawl_pauses_while_too_many_pages_wait() -> None:
    program = Program(limit=4)
    await program.write(1, 2, 3)
    assert program.levels == []
    await program.write(4, 5)
    assert program.levels == ["4 pages wait for the program"]
    pages = program.consumer()
    for _ in range(2):
        await anext(pages)
    assert len(program.levels) == 1
    await anext(pages)
    assert program.levels == ["4 pages wait for the program", "goes on"]
    await program.end()


@in_virtual_time
async def test_what_is_no_page_is_not_handed_out() -> None:
    for all_urls in (False, True):
        program = Program(all_urls=all_urls)
        missing = crawling.page("http://a.test/x", status=404)
        sitemap, _ = page(2)
        writes = [
            program.handout.write(
                missing, PageRecord(number=1, url="", state="done", status=404, depth=0, kind="link")
            ),
            program.handout.write(None, PageRecord(number=3, url="", state="excluded", depth=0, kind="link")),
            program.handout.write(
                sitemap, PageRecord(number=2, url="", state="done", status=200, depth=0, kind="sitemap")
            ),
            program.handout.write(
                missing, PageRecord(number=4, url="", state="failed", status=200, depth=0, kind="link")
            ),
        ]
        tasks = [asyncio.create_task(write) for write in writes]
        await turns()
        assert [task.done() for task in tasks] == [not all_urls] * 4
        pages = program.consumer()
        assert numbers([await anext(pages) for _ in range(4 * all_urls)]) == [1, 3, 2, 4][: 4 * all_urls]
        program.handout.close()
        await asyncio.gather(*tasks, return_exceptions=True)


class Extractor:
    def __init__(self) -> None:
        self.asked = 0

    def extract(self, page: Page, /) -> Extract:
        self.asked += 1
        link = Link(href=f"/{self.asked}", kind=LinkKind.LINK, text="next", rel="nofollow")
        unusable = [Link(href=href, kind=LinkKind.LINK) for href in ("mailto:a@b", "javascript:x()", "http://[")]
        return Extract(content_type="text/html", base_url="http://base.test/", links=[*unusable, link])


@in_virtual_time
async def test_a_page_has_the_links_that_were_read_from_it() -> None:
    program, extractor = Program(), Extractor()
    keeping = program.handout.keep_extracts_of(extractor)
    read = [page(number) for number in range(3)]
    for fetched, _ in read:
        keeping.extract(fetched)
    writes = [asyncio.create_task(program.handout.write(*each)) for each in reversed(read)]
    await turns()
    pages = program.consumer()
    got = [await anext(pages) for _ in range(3)]
    assert numbers(got) == [2, 1, 0]
    assert [[link.url for link in each.links] for each in got] == [[f"http://base.test/{3 - at}"] for at in range(3)]
    assert (got[0].links[0].text, got[0].links[0].rel, got[0].links[0].kind) == ("next", "nofollow", "link")
    assert got[0].links is got[0].links
    assert extractor.asked == 3
    program.handout.close()
    await asyncio.gather(*writes, return_exceptions=True)


@in_virtual_time
async def test_no_page_waits_while_nobody_iterates() -> None:
    program = Program()
    program.handout.is_used = False
    await program.write(1, 2)
    assert program.settled == [1, 2]
    await program.end()
