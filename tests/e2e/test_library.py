"""A crawl that a program runs: each page has its turn, and comes again if the turn did not end."""

import asyncio
import errno
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from config import Config, Crawl as CrawlSection, Limits  # isort: skip
from crawler import (
    ConfigError,
    Crawl,
    CrawledPage,
    DirectoryRefused,
    Ending,
    Extract,
    Fetched,
    Link,
    LinkKind,
    Page,
    PageRecord,
    read_records,
    record_directories,
)
from crawler.codes.exit_codes import FAILED
from frontier import StoreFailed
from tests.e2e.crawling import COMPLETE, ONCEOVER, Web, assert_sound, environment, fetched
from tests.e2e.programs import canonical, values
from visited.digests.exact import ExactSet


def crawl_of(web: Web, directory: Path, **options: Any) -> Crawl:
    return Crawl(directory=directory, set=values(web, **options.pop("more", {})), **options)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - a program has no event to wait for either
        await asyncio.sleep(0.01)


async def pages_of(crawl: Crawl) -> list[CrawledPage]:
    async with crawl:
        return [page async for page in crawl]


async def test_each_page_comes_once_with_what_the_crawl_knows_of_it(tmp_path: Path, web: Web) -> None:
    crawl = crawl_of(web, tmp_path / "crawl")
    pages = await pages_of(crawl)
    assert canonical(pages) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")
    assert (crawl.result.ending, crawl.result.exit_code) == (Ending.COMPLETE, 0)
    assert crawl.result.status.pages == crawl.status().pages == len(pages)
    by_number = {record.number: record for record in read_records(tmp_path / "crawl" / "records")}
    for page in pages:
        record = by_number[page.number]
        assert {name: getattr(page, name) for name in PageRecord.__struct_fields__} == msgspec.structs.asdict(record)
        assert page.size_bytes == len(page.body)
        assert (page.header("Content-TYPE") or "").startswith("text/html")
        assert page.title is None or page.title in page.text.replace("&amp;", "&")
    [seed] = [page for page in pages if page.depth == 0]
    assert len(seed.links) > 5
    assert all(link.url.startswith(("http://", "https://")) for link in seed.links)
    assert LinkKind.LINK in {link.kind for link in seed.links}
    assert seed.join("../x?y#z") == "http://h00000.sim.test/x?y#z"
    assert len(repr(seed)) < 100


async def test_a_loop_that_is_left_is_taken_up_where_it_was(tmp_path: Path, web: Web) -> None:
    ended: list[CrawledPage] = []
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        async for page in crawl:
            if len(ended) == 10:
                break
            ended.append(page)
    assert (crawl.result.ending, crawl.result.exit_code) == (Ending.STOPPED, 4)
    assert crawl.status().pages == 10
    assert_sound(tmp_path / "crawl")
    again = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert page.number in {each.number for each in again}
    assert canonical([*ended, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


class OfTheProgram(Exception):
    pass


async def test_a_page_whose_turn_ends_by_an_exception_comes_again(tmp_path: Path, web: Web) -> None:
    ended: list[CrawledPage] = []

    async def program() -> None:
        async with crawl_of(web, tmp_path / "crawl") as crawl:
            async for page in crawl:
                if len(ended) == 5:
                    raise OfTheProgram(page.url)
                ended.append(page)

    with pytest.raises(OfTheProgram) as raised:
        await program()
    again = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert str(raised.value) in {page.url for page in again}
    assert canonical([*ended, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


async def test_a_page_that_a_left_loop_had_comes_again_in_the_next_loop(tmp_path: Path, web: Web) -> None:
    ended: list[CrawledPage] = []
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        for _ in range(3):
            with suppress(OfTheProgram):
                async for page in crawl:
                    if len(ended) % 4 == 3:
                        ended.append(ended[-1])
                        raise OfTheProgram(page.url)
                    ended.append(page)
        rest = [page async for page in crawl]
        assert crawl.result.ending is Ending.COMPLETE
    assert set(canonical([*ended, *rest])) == web.pages
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


async def test_a_program_that_is_cancelled_leaves_its_page_for_the_next_time(
    tmp_path: Path, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[CrawledPage] = []
    has_page = asyncio.Event()

    async def program() -> None:
        async with crawl_of(web, tmp_path / "crawl") as crawl:
            async for page in crawl:
                if len(ended) == 3:
                    has_page.set()
                    await asyncio.Event().wait()
                ended.append(page)

    task = asyncio.create_task(program())
    await has_page.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record.getMessage().partition(" when ")[0] for record in caplog.records if record.levelno > 20] == [
        "stopping"
    ]
    assert_sound(tmp_path / "crawl")
    again = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert canonical([*ended, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


async def test_a_second_cancellation_stops_at_once(tmp_path: Path, web: Web) -> None:
    async def never_answers(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        asked.set()
        await released.wait()
        _writer.close()

    asked, released = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(never_answers, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    more = {"fetch__timeout_s": 3600, "fetch__allow_private": True, "crawl__seeds": [f"http://127.0.0.1:{port}/"]}

    async def program() -> None:
        async with crawl_of(web, tmp_path / "crawl", more=more) as crawl:
            async for _ in crawl:
                pass

    task = asyncio.create_task(program())
    await asked.wait()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=0.2)
    assert not done, "it waits for the answer"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()
    server.close()
    assert_sound(tmp_path / "crawl")


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_a_slow_program_bounds_the_pages_that_are_out(tmp_path: Path, web: Web, concurrency: int) -> None:
    more = {"fetch__concurrency": concurrency, "fetch__spare": 0, "politeness__per_host": 8}
    out: list[int] = []
    async with crawl_of(web, tmp_path / "crawl", more=more) as crawl:
        taken = 0
        async for _ in crawl:
            taken += 1
            for _ in range(20):
                await asyncio.sleep(0.001)
                status = crawl.status()
                out.append(status.frontier.in_process)
                assert status.responses.get(200, 0) - taken < concurrency + status.robots_asked
    assert max(out) == concurrency
    assert taken == len(web.pages)


async def test_fetching_pauses_while_pages_wait_and_says_so(tmp_path: Path, web: Web) -> None:
    more = {"fetch__concurrency": 2, "fetch__spare": 50, "politeness__per_host": 8}
    async with crawl_of(web, tmp_path / "crawl", more=more) as crawl:
        pages = aiter(crawl)
        first = await anext(pages)
        await until(lambda: "wait for the program" in (crawl.status().waiting or ""))
        rest = [page async for page in pages]
    assert canonical([first, *rest]) == dict.fromkeys(web.pages, 1)


async def test_several_tasks_have_pages_at_once_and_each_page_comes_to_one(tmp_path: Path, web: Web) -> None:
    all_have_one = asyncio.Barrier(3)
    got: list[list[CrawledPage]] = [[], [], []]

    async def consume(crawl: Crawl, pages: list[CrawledPage]) -> None:
        async for page in crawl:
            pages.append(page)
            if len(pages) == 1:
                await all_have_one.wait()

    # The links of a page are followed when its turn is over, so there must be other pages.
    seeds = [f"http://h0000{number}.sim.test/" for number in range(5)]
    async with crawl_of(web, tmp_path / "crawl", seeds=seeds) as crawl, asyncio.TaskGroup() as group:
        for pages in got:
            group.create_task(consume(crawl, pages))
    assert canonical(page for pages in got for page in pages) == dict.fromkeys(web.pages, 1)
    assert crawl.result.ending is Ending.COMPLETE


async def test_two_tasks_cannot_share_one_loop(tmp_path: Path, slow_web: Web) -> None:
    async with crawl_of(slow_web, tmp_path / "crawl") as crawl:
        pages = aiter(crawl)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(_next(pages))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="each task needs a loop of its own"):
                await anext(pages)
        assert first.result().status == 200


async def _next(pages: Any) -> CrawledPage:
    page: CrawledPage = await anext(pages)
    return page


async def test_a_wait_for_a_page_may_be_given_up(tmp_path: Path, slow_web: Web) -> None:
    got: list[CrawledPage] = []
    async with crawl_of(slow_web, tmp_path / "crawl") as crawl:
        pages = aiter(crawl)
        while len(got) < len(slow_web.pages):
            with suppress(TimeoutError):
                got.append(await asyncio.wait_for(anext(pages), timeout=0.02))
    assert canonical(got) == dict.fromkeys(slow_web.pages, 1)


async def test_urls_may_be_added_meanwhile_and_after_the_end(tmp_path: Path, web: Web) -> None:
    other, third = f"http://h00001.{web.params.domain}/", f"http://h00002.{web.params.domain}/"
    async with crawl_of(web, tmp_path / "crawl", more={"scope__within": "host", "scope__max_depth": 0}) as crawl:
        urls = []
        async for page in crawl:
            urls.append(page.url)
            assert await crawl.add([other]) == (page.url != other)
        assert urls == ["http://h00000.sim.test/", other]
        assert crawl.result.ending is Ending.COMPLETE
        assert await crawl.add([other, third]) == 1
        assert [page.url async for page in crawl] == [third]
        assert await crawl.add(third) == 0
        assert await crawl.add(third, force=True) == 1
        assert [page.url async for page in crawl] == [third]
        with pytest.raises(ValueError, match=r"URL 'a' has no scheme(?s:.*)'ftp://b/' can't be crawled"):
            await crawl.add(["a", "http://c.sim.test/", "ftp://b/"])
        assert [page.url async for page in crawl] == []


async def test_an_added_url_is_a_seed_like_others(tmp_path: Path, web: Web) -> None:
    async with crawl_of(web, tmp_path / "crawl", more={"scope__within": "host"}) as crawl:
        assert await crawl.add("http://h00001.sim.test/") == 1
        hosts = Counter([page.url.split("/")[2] async for page in crawl])
    assert hosts == {"h00000.sim.test": 8, "h00001.sim.test": 8}


async def test_a_crawl_can_be_paused_and_resumed(tmp_path: Path, web: Web) -> None:
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        for reason in ("", "\x1b[2J", "a\nb", "x" * 2001):
            with pytest.raises(ValueError, match="without control characters"):
                crawl.pause(reason)
        assert crawl.status().frontier.paused is None
        crawl.pause("we are asked to")
        pages = aiter(crawl)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(pages), timeout=0.1)
        assert "we are asked to" in (crawl.status().waiting or "")
        assert crawl.status().responses == {}
        crawl.resume()
        assert canonical([page async for page in pages]) == dict.fromkeys(web.pages, 1)


async def test_a_crawl_that_is_stopped_hands_out_what_is_in_flight(tmp_path: Path, web: Web) -> None:
    pages = []
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        async for page in crawl:
            pages.append(page)
            if len(pages) == 5:
                crawl.stop()
        assert crawl.result.ending is Ending.STOPPED
    assert 5 <= len(pages) < len(web.pages)
    again = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert canonical([*pages, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


async def test_commands_reach_the_crawl_of_a_program(tmp_path: Path, web: Web) -> None:
    directory = tmp_path / "crawl"
    pages: list[CrawledPage] = []
    said: list[tuple[int | None, str]] = []
    async with crawl_of(web, directory) as crawl:
        async for page in crawl:
            pages.append(page)
            if len(pages) == 5:
                said += [await command("status", directory), await command("stop", directory, "--no-wait")]
        assert crawl.result.ending is Ending.STOPPED
    assert [code for code, _ in said] == [COMPLETE, COMPLETE], said
    assert str(directory) in said[0][1]
    assert len(pages) < len(web.pages)
    again = await pages_of(crawl_of(web, directory))
    assert canonical([*pages, *again]) == dict.fromkeys(web.pages, 1) == fetched(directory)


async def command(name: str, directory: Path, *options: str) -> tuple[int | None, str]:
    """Exit code and output, while the crawl in this process goes on."""
    process = await asyncio.create_subprocess_exec(
        ONCEOVER,
        name,
        directory,
        *options,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_a_crawl_that_is_stopped_at_once_hands_out_no_more(tmp_path: Path, web: Web) -> None:
    pages = []
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        async for page in crawl:
            pages.append(page)
            if len(pages) == 5:
                crawl.stop(at_once=True)
        assert (len(pages), crawl.result.ending) == (5, Ending.STOPPED)
    assert (crawl.result.ending, crawl.result.exit_code) == (Ending.STOPPED, 4)
    again = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert set(canonical([*pages, *again])) == web.pages
    assert_sound(tmp_path / "crawl")


async def test_a_limit_ends_the_loop_after_so_many_pages(tmp_path: Path, web: Web) -> None:
    crawl = crawl_of(web, tmp_path / "crawl", more={"limits__pages": 7})
    pages = await pages_of(crawl)
    assert len(pages) == 7
    assert (crawl.result.ending, crawl.result.exit_code) == (Ending.LIMIT, 3)
    # It was for that run.
    crawl = Crawl(directory=tmp_path / "crawl")
    assert crawl.config.limits.pages is None
    again = await pages_of(crawl)
    assert crawl.result.resumed
    assert canonical([*pages, *again]) == dict.fromkeys(web.pages, 1)


async def test_each_url_that_ends_comes_if_all_are_wanted(tmp_path: Path, web: Web) -> None:
    crawl = crawl_of(web, tmp_path / "crawl", all_urls=True)
    got = await pages_of(crawl)
    records = list(read_records(tmp_path / "crawl" / "records"))
    assert {page.number for page in got} == {record.number for record in records}
    assert len(got) == len(records)
    missing = [page for page in got if page.status == 404]
    assert missing
    assert all(page.text and not page.links for page in missing)
    assert {page.state for page in got} == {"done", "excluded"}
    redirect = next(page for page in got if page.redirect)
    assert redirect.header("location") is not None


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.records: list[PageRecord] = []
        self.is_closed = False

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self.records.append(record)

    async def aclose(self) -> None:
        self.is_closed = True


async def test_own_sinks_get_what_is_settled_and_are_closed(tmp_path: Path, web: Web) -> None:
    sink = Kept()
    crawl = crawl_of(web, tmp_path / "crawl", sinks=[sink], more={"output__warc": False})
    async with crawl:
        result = await crawl.run()
        with pytest.raises(RuntimeError, match="hands out no pages"):
            aiter(crawl)
    assert result is crawl.result
    assert result.ending is Ending.COMPLETE
    assert sink.is_closed
    assert sink.records == list(read_records(tmp_path / "crawl" / "records"))


async def test_a_page_is_in_no_sink_before_its_turn_is_over(tmp_path: Path, web: Web) -> None:
    sink = Kept()
    async with crawl_of(web, tmp_path / "crawl", sinks=[sink]) as crawl:
        async for page in crawl:
            assert page.number not in {record.number for record in sink.records}
            assert await crawl.add(page.url) == 0
    assert {record.url for record in sink.records} >= {page.url}


class Connecting(Kept):
    """A sink that must begin, as one on a server, before it is written to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error
        self.has_begun = False

    async def begin(self) -> None:
        if self.error is not None:
            raise self.error
        self.has_begun = True

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        assert self.has_begun
        await super().write(page, record)


async def test_own_sinks_begin_before_the_first_page(tmp_path: Path, web: Web) -> None:
    sink = Connecting()
    async with crawl_of(web, tmp_path / "crawl", sinks=[sink]) as crawl:
        assert (await crawl.run()).ending is Ending.COMPLETE
    assert sink.records == list(read_records(tmp_path / "crawl" / "records"))


async def test_an_own_sink_that_can_not_begin_keeps_the_crawl_closed(tmp_path: Path, web: Web) -> None:
    sink = Connecting(ValueError("wrong password"))
    with pytest.raises(ValueError, match="wrong password"):
        await crawl_of(web, tmp_path / "crawl", sinks=[sink]).open()
    assert sink.is_closed
    async with crawl_of(web, tmp_path / "crawl") as crawl:  # nothing holds the directory
        assert (await crawl.run()).ending is Ending.COMPLETE


async def test_an_own_sink_that_can_not_begin_keeps_the_crawl_that_a_fresh_one_would_replace(
    tmp_path: Path, web: Web
) -> None:
    assert await pages_of(crawl_of(web, tmp_path / "crawl"))
    before = list(read_records(tmp_path / "crawl" / "records"))
    sink = Connecting(ValueError("wrong password"))
    with pytest.raises(ValueError, match="wrong password"):
        await crawl_of(web, tmp_path / "crawl", sinks=[sink], fresh=True).open()
    assert list(read_records(tmp_path / "crawl" / "records")) == before
    assert await pages_of(crawl_of(web, tmp_path / "crawl")) == []


class Away(Kept):
    """A sink that can't write for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.is_back = asyncio.Event()

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        if not self.is_back.is_set():
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        await super().write(page, record)


async def test_a_crawl_waits_for_a_sink_of_the_program_that_can_not_write_now(tmp_path: Path, web: Web) -> None:
    sink = Away()
    async with crawl_of(web, tmp_path / "crawl", sinks=[sink]) as crawl:
        running = asyncio.create_task(crawl.run())
        await until(lambda: "the sink Away can't write" in (crawl.status().waiting or ""))
        sink.is_back.set()
        assert (await running).ending is Ending.COMPLETE
    assert sink.records == list(read_records(tmp_path / "crawl" / "records"))
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)


class Broken:
    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        raise OfTheProgram("on the way")

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("iterates", [True, False])
async def test_what_ends_a_crawl_is_raised_once_and_alone(tmp_path: Path, web: Web, iterates: bool) -> None:
    crawl = crawl_of(web, tmp_path / "crawl", sinks=[Broken()])

    async def program() -> None:
        async with crawl:
            if iterates:
                async for _ in crawl:
                    pass
            else:
                await crawl.run()

    with pytest.raises(OfTheProgram, match="on the way"):
        await program()
    assert crawl.status().pages == 0


class BrokenInTasks(Broken):
    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        raise ExceptionGroup("tasks of the sink", [OfTheProgram("one"), KeyError("two")])


async def test_a_group_of_errors_that_a_sink_of_the_program_raises_arrives_with_all_of_them(
    tmp_path: Path, web: Web
) -> None:
    with pytest.raises(ExceptionGroup, match="tasks of the sink") as raised:
        async with crawl_of(web, tmp_path / "crawl", sinks=[BrokenInTasks()]) as crawl:
            await crawl.run()
    assert [str(each) for each in raised.value.exceptions] == ["one", "'two'"]


async def test_what_ends_a_crawl_is_raised_when_it_is_closed_if_no_loop_has(tmp_path: Path, web: Web) -> None:
    crawl = await crawl_of(web, tmp_path / "crawl", sinks=[Broken()]).open()
    pages = aiter(crawl)
    await anext(pages)
    asking = asyncio.create_task(_next(pages))  # which ends the turn of the first page
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: _has_ended(crawl))
    with pytest.raises(OfTheProgram, match="on the way"):
        await crawl.aclose()
    await crawl.aclose()


def _has_ended(crawl: Crawl) -> bool:
    with suppress(RuntimeError):
        return bool(crawl.result)
    return False


class Lister:
    """An extractor of pages of which each line is a link."""

    def extract(self, page: Page, /) -> Extract:
        links = [Link(href=line, kind=LinkKind.LINK) for line in ("/", "/robots.txt")]
        return Extract(content_type="text/plain", base_url=page.url, links=links, title="mine")


async def test_own_extractor_and_visited_set_are_used(tmp_path: Path, web: Web) -> None:
    visited = ExactSet()
    crawl = crawl_of(web, tmp_path / "crawl", extractor=Lister(), visited=visited)
    pages = await pages_of(crawl)
    assert {page.title for page in pages} == {"mine"}
    assert sorted(link.url for link in pages[0].links) == [
        "http://h00000.sim.test/",
        "http://h00000.sim.test/robots.txt",
    ]
    assert crawl.result.status.visited.count == len(visited) == crawl.result.status.frontier.admitted


class Careless:
    """An extractor that reads the first page, returns nothing for the second and raises for the others."""

    def __init__(self) -> None:
        self._asked = 0

    def extract(self, page: Page, /) -> Extract:
        self._asked += 1
        if self._asked > 2:
            raise KeyError(page.url)
        links = [Link(href=href, kind=LinkKind.LINK) for href in ("/robots.txt", "/sitemap.xml")]
        extract = Extract(content_type="text/plain", base_url=page.url, links=links)
        return extract if self._asked == 1 else None  # type: ignore[return-value]


async def test_an_own_extractor_that_fails_costs_what_the_page_says_and_not_the_crawl(tmp_path: Path, web: Web) -> None:
    crawl = crawl_of(web, tmp_path / "crawl", extractor=Careless(), more={"scope__sitemaps": False})
    messages = [page.message for page in await pages_of(crawl)]
    assert crawl.result.ending is Ending.COMPLETE
    assert messages[:2] == [None, 'the extractor "Careless" failed: TypeError: expected an Extract, found NoneType']
    assert messages[2] is not None
    assert messages[2].startswith('the extractor "Careless" failed: KeyError: \'http')


class Plain:
    """A sink that can't be awaited."""

    def write(self, _page: object, _record: object) -> None: ...

    async def aclose(self) -> None: ...


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sinks": [object()]}, "sinks: expected objects with the methods write, aclose"),
        ({"extractor": object()}, "extractor: expected objects with the methods extract"),
        ({"visited": set()}, "visited: expected objects with the methods add_many"),
        ({"sinks": Kept()}, "sinks: expected a list of sinks, found <"),
        ({"sinks": [Kept]}, r"sinks: expected an object, found the class Kept: write Kept\(…\)"),
        (
            {"sinks": [Plain()]},
            r"sinks: expected `async def write\(self, page, record, /\)` in Plain, found `def write",
        ),
        (
            {"set": ["limits.pages=1"]},
            r"set: expected a dict such as {\"limits.pages\": 100}, found \['limits.pages=1'\]",
        ),
        ({"config": {"limits": {}}}, "config: expected the path of a file or a Config, found a dict: give it as set="),
        ({"directory": 3}, "directory: expected a path, found 3"),
        ({"seeds": 3}, "seeds: expected a URL as text, or a list of them, found 3"),
        ({"seeds": b"http://a.test/"}, "seeds: expected a URL as text, or a list of them, found b'http"),
    ],
)
def test_what_is_no_component_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Crawl(**{"seeds": ["http://a.test/"], **options})


async def test_what_is_no_text_is_neither_a_url_nor_a_reason(tmp_path: Path, web: Web) -> None:
    given: list[tuple[Any, str]] = [
        ([None], "urls: expected each URL as text, found None"),
        (["http://a.test/", b"http://b.test/"], "urls: expected each URL as text, found b'http://b.test/'"),
        (None, "urls: expected a URL as text, or a list of them, found None"),
        (b"http://a.test/", "urls: expected a URL as text, or a list of them, found b'http://a.test/'"),
    ]
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        before = crawl.status().frontier.admitted
        for urls, words in given:
            with pytest.raises(TypeError, match=words):
                await crawl.add(urls)
        no_text: Any = None
        with pytest.raises(TypeError, match="expected the reason of a pause as text, found None"):
            crawl.pause(no_text)
        assert crawl.status().frontier.admitted == before


async def test_records_are_read_from_paths_as_texts_too(tmp_path: Path, web: Web) -> None:
    await pages_of(crawl_of(web, tmp_path / "crawl"))
    directory = tmp_path / "crawl"
    assert [*read_records(*record_directories(str(directory)))] == [*read_records(directory / "records")]
    assert [*read_records(f"{directory}/records")] == [*read_records(directory / "records")]
    for wrong, words in (("typo", "there is no crawl in .*typo"), ("", "there are crawls in it: name one")):
        with pytest.raises(DirectoryRefused, match=words):
            record_directories(tmp_path / wrong)


async def test_a_crawl_that_writes_no_records_has_no_directory_with_them(tmp_path: Path, web: Web) -> None:
    await pages_of(crawl_of(web, tmp_path / "crawl", more={"output__records": False}))
    assert record_directories(tmp_path / "crawl") == []


# configuration


async def test_the_directory_is_named_after_file_or_host(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = values(web, limits__pages=1)
    del settings["crawl.seeds"]
    Path("site.toml").write_text('[crawl]\nseeds = ["http://h00001.sim.test/"]\n')
    for crawl, directory in (
        (Crawl("site.toml", set=settings), "crawls/site"),
        (Crawl(seeds=["http://h00000.sim.test/x"], set=settings), "crawls/h00000.sim.test"),
        (Crawl(seeds="http://h00000.sim.test:8000/x", set=settings), "crawls/h00000.sim.test-8000"),
        (Crawl(Config(crawl=CrawlSection(seeds=("http://h00000.sim.test/",), name="a"))), "crawls/a"),
        (Crawl(seeds=["http://a.test/"], set={"crawl.directory": "b"}), "b"),
        (Crawl(seeds=["http://a.test/"], directory="c"), "c"),
    ):
        assert str(crawl.directory) == directory
    async with Crawl("site.toml", set=settings) as crawl:
        assert [page.url async for page in crawl] == ["http://h00001.sim.test/"]
    assert (tmp_path / "crawls" / "site" / "crawl.toml").exists()


async def test_a_config_of_the_program_is_checked_as_a_file_is(tmp_path: Path, web: Web) -> None:
    wrong: Any = "many"
    with pytest.raises(ConfigError, match=r"Config: limits\.pages: expected a whole number"):
        Crawl(Config(crawl=CrawlSection(seeds=("http://a.test/",)), limits=Limits(pages=wrong)))
    config = crawl_of(web, tmp_path / "crawl", more={"limits__pages": 2}).config
    assert Crawl(config).config == config
    assert len(await pages_of(Crawl(config))) == 2


def test_what_is_wrong_with_the_arguments_is_told_as_the_command_does(tmp_path: Path) -> None:
    for make, words in (
        (Crawl, "there is nothing to crawl: give a configuration file, or seeds, or the directory"),
        (lambda: Crawl(directory=tmp_path), f"directory: there is no crawl in {tmp_path}: give a configuration file"),
        (lambda: Crawl("none.toml"), "none.toml: can't read the configuration: No such file or directory; `onceover"),
        (
            lambda: Crawl("https://a.test/"),
            'expected the path of a configuration file, found the URL https://a.test/: give it as seeds=["https://a.test/"]',
        ),
        (
            lambda: Crawl(tmp_path),
            f"expected the path of a configuration file, found the directory {tmp_path}: if it is",
        ),
        (lambda: Crawl(seeds=["http://a.test/"], set={"limits.page": 3}), "set: limits.page: unknown key; did you"),
        (lambda: Crawl(seeds=["https://a.org/"]), "fetch.user_agent: expected a URL or an e-mail address"),
        (lambda: Crawl(seeds=[]), "no seeds: write seeds"),
    ):
        _assert_refused(make, words)


def _assert_refused(make: Callable[[], Crawl], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make()
    assert str(refused.value).startswith(words)


async def test_a_seed_that_cannot_be_crawled_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    crawl = Crawl(seeds=["foo"], directory=tmp_path / "crawl")
    with pytest.raises(ConfigError, match=r"seeds: crawl\.seeds: seed 'foo' has no scheme"):
        await crawl.open()
    assert not (tmp_path / "crawl").exists()
    await crawl.aclose()


async def test_a_directory_is_used_by_one_crawl_at_a_time(tmp_path: Path, web: Web) -> None:
    sink = Kept()
    async with crawl_of(web, tmp_path / "crawl") as crawl:
        with pytest.raises(DirectoryRefused, match="is in use by this process: close the other crawl first"):
            await crawl_of(web, tmp_path / "crawl", sinks=[sink]).open()
        assert sink.is_closed
        with pytest.raises(RuntimeError, match="opened once"):
            await crawl.open()
    with pytest.raises(RuntimeError, match="opened once"):
        await crawl.open()


async def test_a_crawl_that_is_not_open_says_so(tmp_path: Path, web: Web) -> None:
    crawl = crawl_of(web, tmp_path / "crawl")
    for use in (crawl.stop, crawl.pause, crawl.resume, crawl.status, lambda: aiter(crawl)):
        with pytest.raises(RuntimeError, match="is not open: use it within `async with`"):
            use()
    with pytest.raises(RuntimeError, match="has not ended"):
        crawl.result  # noqa: B018 - raises


async def test_a_crawl_can_begin_afresh(tmp_path: Path, web: Web) -> None:
    first = await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert await pages_of(crawl_of(web, tmp_path / "crawl")) == []
    again = await pages_of(crawl_of(web, tmp_path / "crawl", fresh=True))
    assert canonical(again) == canonical(first)


async def test_a_crawl_with_nothing_left_says_so(tmp_path: Path, web: Web, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert caplog.messages == []
    await pages_of(crawl_of(web, tmp_path / "crawl"))
    assert caplog.messages == [
        f"the crawl in {tmp_path / 'crawl'} was complete: nothing was left to fetch. `fresh=True` begins it anew"
    ]


async def test_a_crawl_without_a_page_says_so_each_time(tmp_path: Path, web: Web) -> None:
    seeds = f"http://h00000.{web.params.domain}/no-such-page"
    for _ in range(2):
        crawl = crawl_of(web, tmp_path / "crawl", seeds=seeds, more={"scope.sitemaps": False})
        assert await pages_of(crawl) == []
        assert (crawl.result.ending, crawl.result.exit_code) == (Ending.COMPLETE, FAILED)


async def test_a_loop_ends_where_the_ledger_can_not_be_read_at_the_end(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> bool:
        raise StoreFailed("damaged")

    monkeypatch.setattr("crawler.library.opening.knows_page", fail)
    seeds = f"http://h00000.{web.params.domain}/no-such-page"
    crawl = crawl_of(web, tmp_path / "crawl", seeds=seeds, more={"scope.sitemaps": False})
    with pytest.raises(StoreFailed, match="damaged"):
        await pages_of(crawl)


async def test_pages_may_be_kept_and_sent_to_other_processes(tmp_path: Path, web: Web) -> None:
    import pickle  # noqa: PLC0415

    async with crawl_of(web, tmp_path / "crawl") as crawl, aclosing(_agen(crawl)) as pages:
        page = await anext(pages)
    copy = pickle.loads(pickle.dumps(page))
    assert (copy.url, copy.text, copy.links) == (page.url, page.text, page.links)


async def _agen(crawl: Crawl) -> Any:
    async for page in crawl:
        yield page
