"""How pages are read in a crawl: what is wanted of them, and where."""

import gzip
import threading
from collections.abc import Sequence

import msgspec
import pytest

from crawler.components import PipelineOptions
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.page import Content, Extract, Page, Wanted
from crawler.reading import SLOW_BYTES_AT_ONCE, ContentReader
from crawler.url.urls import UrlReader
from tests.unit.crawling import SEED, page

TEXT = Wanted(text=True)


class Extractor:
    def extract(self, page: Page, /) -> Extract:
        return Extract(content_type="text/html", base_url=page.url)


class Texts:
    def __init__(self) -> None:
        self.threads: list[int] = []

    def __call__(self, page: Page, extract: Extract, wanted: Wanted, /) -> Content:
        self.threads.append(threading.get_ident())
        return Content(text=f"{len(page.body)} bytes of {extract.content_type}")


def reader(texts: Texts, extractor: Extractor | None = None) -> ContentReader:
    urls = UrlReader()
    return ContentReader(
        extractor or Extractor(), ScopedDiscovery(urls=urls, scope=Scope(within="any", seeds=[])), texts
    )


def pages(*sizes: int) -> Sequence[Page]:
    return [page(SEED, ["x" * size]) for size in sizes]


PARENT = ScopedDiscovery(urls=UrlReader(), scope=Scope(within="any", seeds=[])).seeds([SEED])[0]


async def test_nothing_is_read_of_the_content_of_a_page_until_it_is_wanted() -> None:
    texts = Texts()
    made = reader(texts)
    [small] = pages(3)
    assert (await made.read(small, parent=PARENT)).content is None
    made.set_options(PipelineOptions(wanted=TEXT))
    assert (await made.read(small, parent=PARENT)).content == Content(text="3 bytes of text/html")
    made.set_options(PipelineOptions())
    assert (await made.read(small, parent=PARENT)).content is None
    assert len(texts.threads) == 1


async def test_the_text_of_large_pages_is_read_in_a_thread_and_that_of_small_ones_at_once() -> None:
    texts = Texts()
    made = reader(texts)
    made.set_options(PipelineOptions(wanted=TEXT))
    for each in pages(SLOW_BYTES_AT_ONCE, SLOW_BYTES_AT_ONCE + 1):
        assert (await made.read(each, parent=PARENT)).content is not None
    here = threading.get_ident()
    assert [thread == here for thread in texts.threads] == [True, False]


_FEED = b'{"version": "https://jsonfeed.org/version/1.1"}'


@pytest.mark.parametrize("body", [b"<urlset>", b"<?xml version='1.0'?>\n<rss>", "<feed>".encode("utf-16"), _FEED])
async def test_large_feeds_and_sitemaps_are_read_in_a_thread(body: bytes) -> None:
    bodies = [
        body.ljust(SLOW_BYTES_AT_ONCE),
        body.ljust(SLOW_BYTES_AT_ONCE + 1),
        b"<html>".ljust(SLOW_BYTES_AT_ONCE + 1),
    ]
    threads = [await _thread_of(msgspec.structs.replace(page(SEED), body=each)) for each in bodies]
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [True, False, True]


async def test_a_page_with_many_headers_is_read_in_a_thread() -> None:
    threads = [
        await _thread_of(msgspec.structs.replace(page(SEED), headers=((b"Link", b"<a>," * times),)))
        for times in (100, 50_000)
    ]
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [True, False]


async def _thread_of(of: Page) -> int:
    """The thread in which a page is read."""
    threads: list[int] = []

    class Noting(Extractor):
        def extract(self, page: Page, /) -> Extract:
            threads.append(threading.get_ident())
            return super().extract(page)

    await reader(Texts(), Noting()).read(of, parent=PARENT)
    [thread] = threads
    return thread


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"\n%PDF-1.7", gzip.compress(b"<urlset/>", mtime=0)])
async def test_a_pdf_or_compressed_document_is_read_in_a_thread_however_small_it_is(body: bytes) -> None:
    texts = Texts()
    made = reader(texts)
    made.set_options(PipelineOptions(wanted=TEXT))
    document = msgspec.structs.replace(page(SEED), body=body)
    assert (await made.read(document, parent=PARENT)).content is not None
    assert texts.threads != [threading.get_ident()]


async def test_an_error_page_has_no_text() -> None:
    made = reader(Texts())
    made.set_options(PipelineOptions(wanted=TEXT))
    assert (await made.read(page(SEED, status=404), parent=PARENT)).content is None
