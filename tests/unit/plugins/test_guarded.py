"""A plug-in that returns the wrong values costs a page what it costs to raise, and no more."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from crawler.page import (
    Extract,
    Failure,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Page,
    Preference,
    Redirect,
    Rendering,
    Request,
    Screenshot,
)
from crawler.read.html.lexbor import lexbor_extractor
from crawler.wiring.plugins.guarded import GuardedExtractor, GuardedFetcher

PAGE = Page(
    url="http://a.test/",
    status=200,
    headers=[(b"Content-Type", b"text/html")],
    body=b"body",
    raw_body=b"body",
    fetched_at=1.0,
    duration_s=0.1,
)
IMAGE = Screenshot(kind="view", media_type="image/png", image=b"1")
EXTRACT = Extract(
    content_type="text/html",
    base_url=PAGE.url,
    links=[Link("/a", LinkKind.LINK)],
    title="a \ud800",
    preferences=[Preference("robots", "meta", "noai", ["train-ai"])],
    simhash=2**64 - 1,
)
FAILURE = Failure(url=PAGE.url, kind=FailureKind.CONNECT, message="down", fetched_at=1.0, duration_s=0.1)
REDIRECT = Redirect(url=PAGE.url, status=302, headers=[], location="/b", fetched_at=1.0, duration_s=0.1)


class Returning:
    """An extractor and a fetcher."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def extract(self, _page: Page, /) -> Extract:
        found: Extract = self._make()
        return found

    async def fetch(self, _request: Request, /) -> Fetched:
        found: Fetched = self._make()
        return found

    async def aclose(self) -> None:
        """Nothing is open."""


def extract(make: Callable[[], Any]) -> Extract:
    return GuardedExtractor(Returning(make), "the extractor x").extract(PAGE)


async def fetch(make: Callable[[], Any]) -> Fetched:
    return await GuardedFetcher(Returning(make), "the fetcher x").fetch(Request(url=PAGE.url))


def cancelled() -> Any:
    raise asyncio.CancelledError


def exiting() -> Any:
    raise SystemExit(0)


def test_what_a_plug_in_reads_is_passed_on() -> None:
    assert extract(lambda: EXTRACT) == EXTRACT


def test_what_a_plug_in_lets_ours_read_is_passed_on() -> None:
    page = msgspec.structs.replace(
        PAGE, headers=[(b"Content-Type", b"text/html; charset=utf-8")], body=b"<a href=/a>A</a><img src=b>"
    )
    found = GuardedExtractor(lexbor_extractor(), "the extractor x").extract(page)
    assert (found.links, found.error) == ([Link("/a", LinkKind.LINK, "A"), Link("b", LinkKind.EMBED)], None)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"links": None}, "$.links"),
        ({"links": ["/a"]}, "$.links[0]"),
        ({"links": [Link(b"/a", LinkKind.LINK)]}, "$.links[0].href"),  # type: ignore[arg-type]
        ({"links": [Link("/a", "no kind")]}, "$.links[0].kind"),  # type: ignore[arg-type]
        ({"links": (Link(each, LinkKind.LINK) for each in "ab")}, "generator"),
        ({"base_url": None}, "$.base_url"),
        ({"title": b"bytes"}, "$.title"),
        ({"preferences": ["noai"]}, "$.preferences[0]"),
        ({"error": ["several"]}, "$.error"),
    ],
)
def test_a_wrong_value_in_an_extract_is_the_error_of_the_page(wrong: dict[str, Any], place: str) -> None:
    found = extract(lambda: msgspec.structs.replace(EXTRACT, **wrong))
    assert found.links == ()
    assert found.error is not None
    assert found.error.startswith("the extractor x failed: ")
    assert place in found.error


def test_an_extractor_that_is_cancelled_by_nobody_costs_the_page() -> None:
    assert extract(cancelled).error == "the extractor x failed: CancelledError"


def test_an_extractor_that_calls_exit_costs_the_page() -> None:
    assert extract(exiting).error == "the extractor x failed: SystemExit: 0"


LOADED = msgspec.structs.replace(PAGE, url="http://a.test/style.css")


@pytest.mark.parametrize("fetched", [PAGE, REDIRECT, FAILURE, msgspec.structs.replace(PAGE, loads=(LOADED, REDIRECT))])
async def test_what_a_plug_in_fetches_is_passed_on_as_it_is(fetched: Fetched) -> None:
    # A copy of a page of ours would not count in the budget of memory.
    assert await fetch(lambda: fetched) is fetched


@pytest.mark.parametrize(
    ("fetched", "wrong", "place"),
    [
        (PAGE, {"body": "text"}, "$.body"),
        (PAGE, {"raw_body": None}, "$.raw_body"),
        (PAGE, {"status": "200"}, "$.status"),
        (PAGE, {"headers": {"a": "b"}}, "$.headers"),
        (PAGE, {"headers": [("a", "b")]}, "$.headers[0][0]"),
        (PAGE, {"fetched_at": "now"}, "$.fetched_at"),
        (PAGE, {"ip": 5}, "$.ip"),
        (REDIRECT, {"location": None}, "$.location"),
        (FAILURE, {"kind": "my own"}, "$.kind"),
        (PAGE, {"loads": (msgspec.structs.replace(LOADED, body="text"),)}, "$.body`, of `$.loads[0]"),
        (PAGE, {"loads": (msgspec.structs.replace(LOADED, headers=[("a", "b")]),)}, "$.loads[0].headers[0][0]"),
        (PAGE, {"loads": (LOADED, msgspec.structs.asdict(LOADED))}, "$.loads[1]"),
        (PAGE, {"loads": None}, "$.loads"),
    ],
)
async def test_a_wrong_value_in_what_is_fetched_costs_the_url(
    fetched: Fetched, wrong: dict[str, Any], place: str
) -> None:
    found = await fetch(lambda: msgspec.structs.replace(fetched, **wrong))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.UNEXPECTED
    assert found.message.startswith("the fetcher x failed: ")
    assert place in found.message


async def test_the_word_of_a_kind_stands_for_it() -> None:
    found = await fetch(lambda: msgspec.structs.replace(FAILURE, kind="connect"))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.CONNECT


@pytest.mark.parametrize(
    "headers",
    [[[b"ETag", b"1"]], ((b"ETag", b"1"),), [(b"ETag", bytearray(b"1"))], [(memoryview(b"ETag"), b"1")]],
    ids=["lists", "tuple", "bytearray", "memoryview"],
)
async def test_headers_that_a_plug_in_has_as_lists_or_buffers_are_made_pairs_of_bytes(headers: Any) -> None:
    found = await fetch(lambda: msgspec.structs.replace(PAGE, headers=headers, body=bytearray(b"body")))
    assert isinstance(found, Page)
    assert repr((found.headers, found.body)) == repr(([(b"ETag", b"1")], b"body"))
    assert found.header("etag") == "1"


async def test_what_a_page_of_a_plug_in_has_loaded_is_made_like_ours() -> None:
    loaded = msgspec.structs.replace(LOADED, headers=[[b"ETag", bytearray(b"1")]], body=bytearray(b"body"))
    found = await fetch(lambda: msgspec.structs.replace(PAGE, loads=[loaded, REDIRECT]))
    assert isinstance(found, Page)
    assert found.loads == (msgspec.structs.replace(LOADED, headers=[(b"ETag", b"1")]), REDIRECT)
    assert found.loads[1] is REDIRECT
    style = found.loads[0]
    assert isinstance(style, Page)
    assert [type(style.body), type(style.headers[0]), type(style.headers[0][1])] == [bytes, tuple, bytes]


@pytest.mark.parametrize(
    ("field", "found", "expected"),
    [
        ("links", [{"href": "/a", "kind": "link"}], (Link("/a", LinkKind.LINK),)),
        ("links", (Link("/a", "link"),), (Link("/a", LinkKind.LINK),)),  # type: ignore[arg-type]
        ("rendering", "whole", Rendering.WHOLE),
        ("screenshots", [msgspec.structs.replace(IMAGE, image=bytearray(b"1"))], (IMAGE,)),
    ],
    ids=["links of tables", "links of words", "rendering", "screenshots"],
)
async def test_each_part_of_a_page_of_a_plug_in_is_made_like_ours(field: str, found: Any, expected: Any) -> None:
    page = await fetch(lambda: msgspec.structs.replace(PAGE, **{field: found}))
    assert repr(getattr(page, field)) == repr(expected)


async def test_a_fetcher_that_is_cancelled_by_nobody_costs_the_url() -> None:
    found = await fetch(cancelled)
    assert isinstance(found, Failure)
    assert found.message == "the fetcher x failed: CancelledError"


async def test_a_fetcher_that_calls_exit_costs_the_url() -> None:
    found = await fetch(exiting)
    assert isinstance(found, Failure)
    assert found.message == "the fetcher x failed: SystemExit: 0"


async def test_a_fetch_that_is_cancelled_ends() -> None:
    begun = asyncio.Event()

    class Waiting(Returning):
        async def fetch(self, _request: Request, /) -> Fetched:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    guarded = GuardedFetcher(Waiting(cancelled), "the fetcher x")
    task = asyncio.create_task(guarded.fetch(Request(url=PAGE.url)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
