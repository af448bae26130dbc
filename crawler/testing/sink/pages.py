"""Pages and records to write."""

from typing import Final

import msgspec

from crawler.page import Extract, Failure, FailureKind, NotModified, Page, PageRecord, Redirect, body_sha1
from crawler.record import FoundLinks, fetched_record, unfetched_record
from crawler.seams import Sink
from frontier import CrawlUrl, Lease

NOON: Final = 1_700_000_000.25


def lease(number: int, *, attempt: int = 0) -> Lease:
    """The lease of the page of that number."""
    url = f"http://h1.sim.test:8080/page/{number}?a=b"
    return Lease(
        number=number,
        hit_count=3,
        url=CrawlUrl(
            url=url,
            canonical=url,
            queue_key="test,sim,h1",
            depth=2,
            via="http://h1.sim.test:8080/",
            anchor="a page",
            attempt=attempt,
        ),
    )


def page(number: int) -> Page:
    """A small page."""
    body = f"<title>Page {number}</title> <p>Number {number}.".encode()
    return Page(
        url=lease(number).url.url,
        status=200,
        reason="OK",
        http_version="1.1",
        headers=[(b"Server", b"nginx"), (b"Content-Type", b"text/html; charset=utf-8")],
        request_headers=[("Host", "h1.sim.test:8080"), ("User-Agent", "onceover/1.0"), ("Accept", "*/*")],
        ip="127.0.0.1",
        port=8080,
        fetched_at=NOON + number % 1000,
        duration_s=0.0123,
        body=body,
        raw_body=body,
    )


def record_of(fetched: Page | Redirect | NotModified, number: int) -> PageRecord:
    """The record of a page, as the page of that number."""
    extract = Extract(content_type="text/html", base_url=fetched.url, charset="UTF-8", title=f"Page {number}")
    sha1 = None if isinstance(fetched, NotModified) else body_sha1(fetched.body)
    return fetched_record(
        lease(number), fetched, extract=extract, links=FoundLinks(references=["http://h1.sim.test:8080/"]), sha1=sha1
    )


async def write(sink: Sink, number: int) -> None:
    """Write the page of a number."""
    fetched = page(number)
    await sink.write(fetched, record_of(fetched, number))


async def write_unfetched(sink: Sink, number: int) -> None:
    """Write the record of a URL that was not fetched."""
    await sink.write(None, unfetched_record(lease(number), reason="robots"))


async def write_redirect(sink: Sink, number: int) -> None:
    """Write a redirect, under that number."""
    asked = page(number)
    fetched = Redirect(
        url=asked.url,
        status=301,
        headers=[(b"Location", b"/elsewhere")],
        location="/elsewhere",
        fetched_at=asked.fetched_at,
        duration_s=asked.duration_s,
    )
    await sink.write(fetched, record_of(fetched, number))


async def write_not_modified(sink: Sink, number: int) -> None:
    """Write that a page has not changed since it was fetched before."""
    asked = page(number)
    fetched = NotModified(
        url=asked.url, status=304, headers=[], fetched_at=asked.fetched_at, duration_s=asked.duration_s
    )
    await sink.write(fetched, record_of(fetched, number))


async def write_with_text(sink: Sink, number: int, text: str) -> None:
    """Write a page that says this text of itself, and has it in its data for machines."""
    record = msgspec.structs.replace(
        record_of(page(number), number),
        title=text,
        description=text,
        author=text,
        anchor=text,
        json_ld=[{"name": text, text: 1}],
        open_graph={"og:title": text},
    )
    await sink.write(page(number), record)


async def write_failure(sink: Sink, number: int) -> None:
    """Write the record of a URL whose server did not answer."""
    failure = Failure(
        url=lease(number).url.url, kind=FailureKind.TIMEOUT, message="60 s", fetched_at=NOON, duration_s=60
    )
    await sink.write(failure, fetched_record(lease(number), failure))
