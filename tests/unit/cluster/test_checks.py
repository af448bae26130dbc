"""That a crawl is checked right before each request, each change of the frontier, and each write to a sink."""

import asyncio
from pathlib import Path

import pytest

from config import Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry, FullDiskSink
from crawler.page import Request
from crawler.testing.loops import in_event_loop
from crawler.wiring.additions import Additions
from crawler.wiring.components.fetching import chosen_fetcher, fetcher, request_limits
from crawler.wiring.components.processing import open_sinks
from crawler.wiring.configuration import load
from crawler.wiring.crawl import open_crawl
from crawler.wiring.storage import open_state
from tests.unit.test_full_disk_retry import Disk
from tests.unit.write.samples import page, record_of


class Ended(BaseException):
    """The process, in truth."""


class Lease:
    has_ended = False

    def check(self) -> None:
        if self.has_ended:
            raise Ended


@in_event_loop
async def test_each_request_is_checked_right_before_it_is_written_also_over_a_kept_connection(
    tmp_path: Path,
) -> None:
    events: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        events.append("connected")
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            events.append("asked")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    def check() -> None:
        events.append("checked")

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    loaded = load(None, overrides=["fetch.allow_private=true"], options={"crawl.seeds": ("a test", [url])}, environ={})
    limits = request_limits(loaded.config)
    with CrawlDirectory(tmp_path / "crawl") as directory:
        state = open_state(loaded.config, directory)
        http = fetcher(loaded, state.notes, limits=lambda _: limits, allows_port=lambda _: True, before_request=check)
        chosen = chosen_fetcher(loaded, http, before_request=check)
        async with server:
            await chosen.fetch(Request(url=url))
            await chosen.fetch(Request(url=url))
            await chosen.aclose()
            await http.aclose()
        state.close()
    assert events == ["connected", "checked", "asked", "checked", "asked"]


async def _add_past_the_check(loaded: Loaded, directory: CrawlDirectory, lease: Lease) -> None:
    async with open_crawl(loaded, directory, additions=Additions(check=lease.check)) as crawl:
        lease.has_ended = True
        await crawl.frontier.add(crawl.read_seeds(["http://b.test/"]))


@in_event_loop
async def test_no_change_of_the_frontier_is_stored_past_the_check(tmp_path: Path) -> None:
    lease = Lease()
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    with CrawlDirectory(tmp_path / "crawl") as directory:
        with pytest.raises(BaseExceptionGroup) as raised:
            await _add_past_the_check(loaded, directory, lease)
        assert raised.value.split(Ended)[1] is None
        state = open_state(loaded.config, directory)
        assert state.knows_many(["http://a.test/", "http://b.test/"]) == [True, False]
        state.close()


@in_event_loop
async def test_nothing_that_was_composed_before_is_written_past_the_check(tmp_path: Path) -> None:
    """As when the process is stopped while it compresses a page."""
    looks = 0

    def check() -> None:
        nonlocal looks
        looks += 1
        if looks > 1:
            raise Ended

    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None, before_write=check)
    for output in ("warc", "records"):
        looks = 0
        options = {"crawl.seeds": ("a test", ["http://a.test/"])}
        other = {"warc": "records", "records": "warc"}[output]
        loaded = load(None, overrides=[f"output.{other}=false"], options=options, environ={})
        with CrawlDirectory(tmp_path / output) as directory:
            opened = await open_sinks(loaded, directory, full_disk)
            with pytest.raises(Ended):
                await opened.sink.write(page(1), record_of(page(1), 1))
            assert looks == 2
            assert not any(path.stat().st_size for path in (tmp_path / output / output).iterdir())
            await opened.sink.aclose()


async def test_nothing_is_written_to_a_sink_past_the_check() -> None:
    lease, disk = Lease(), Disk()
    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None, before_write=lease.check)
    sink = FullDiskSink(disk, full_disk)
    await sink.write(page(1), record_of(page(1), 1))
    lease.has_ended = True
    with pytest.raises(Ended):
        await sink.write(page(2), record_of(page(2), 2))
    assert disk.kept == [1]
