"""What every `Fetcher` promises, whatever a server does."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from crawler.page import Failure, NotModified, Page, Redirect, Request
from crawler.protocols import Fetcher
from crawler.render.browser import Browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.responses import ResponseCache
from tests.fetchers import http_fetcher
from tests.servers import CLOSE, HANG, RESET, RawServer, Script, head, page, raw_server

SCRIPTS: dict[str, Script] = {
    "/page": [page(b"<p>hello")],
    "/empty": [page(b"")],
    "/missing": [page(b"no", status=b"404 Not Found")],
    "/redirect": [page(b"", b"Location: /page", status=b"301 Moved")],
    "/loop": [page(b"", b"Location: /loop", status=b"302 Found")],
    "/current": [head(status=b"304 Not Modified")],
    "/close": [CLOSE],
    "/reset": [RESET],
    "/cut": [head(b"Content-Length: 100"), b"half", CLOSE],
    "/hang": [HANG],
    "/garbage": [b"\0\xff\r\n\r\n" * 100, CLOSE],
    "/endless": [head(), itertools.repeat(b"x" * 1000)],
    "/endless-headers": [b"HTTP/1.1 200 OK\r\n", (b"A%d: b\r\n" % number for number in itertools.count())],
    "/no-gzip": [page(b"plain", b"Content-Encoding: gzip")],
}


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with raw_server(SCRIPTS) as served:
        yield served


async def no_browser(_: Path) -> Browser:
    raise AssertionError("nothing here is to be rendered")


@pytest.fixture(params=["http", "rendering"])
async def fetcher(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fetcher]:
    http = http_fetcher(allow_private=True, hanging={"/hang": 0.5}, max_body_bytes=50_000)
    made: Fetcher = http
    if request.param == "rendering":
        browsers = Browsers(no_browser, tmp_path / "browsers", at_once=1)
        loads = Loads(http, cache=ResponseCache())
        made = RenderingFetcher(http, browsers, matches=lambda _: True, loads=loads, limits=Limits())
    yield made
    await made.aclose()
    await http.aclose()


@pytest.mark.parametrize("path", SCRIPTS)
async def test_whatever_a_server_does_is_a_value(fetcher: Fetcher, server: RawServer, path: str) -> None:
    answered = await fetcher.fetch(Request(url=server.url(path)))
    assert isinstance(answered, Page | Redirect | NotModified | Failure)
    assert answered.url == server.url(path)
    assert answered.duration_s >= 0
    assert server.targets == [path]


async def test_no_server_spoils_the_next(fetcher: Fetcher, server: RawServer) -> None:
    for path in SCRIPTS:
        await fetcher.fetch(Request(url=server.url(path)))
        answered = await fetcher.fetch(Request(url=server.url("/page")))
        assert isinstance(answered, Page)
        assert answered.body == b"<p>hello"


async def test_redirects_are_not_followed(fetcher: Fetcher, server: RawServer) -> None:
    answered = await fetcher.fetch(Request(url=server.url("/redirect")))
    assert isinstance(answered, Redirect)
    assert answered.location == "/page"
    assert server.targets == ["/redirect"]


@pytest.mark.parametrize("path", ["/hang", "/endless"])
async def test_cancelled_it_closes_the_connection_and_raises(fetcher: Fetcher, server: RawServer, path: str) -> None:
    task = asyncio.create_task(fetcher.fetch(Request(url=server.url(path))))
    await server.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.gone.wait()


async def test_fetches_do_not_mix(fetcher: Fetcher, server: RawServer) -> None:
    answers = await asyncio.gather(*(fetcher.fetch(Request(url=server.url(f"/{number}"))) for number in range(20)))
    assert [answer.url for answer in answers] == [server.url(f"/{number}") for number in range(20)]
    assert sorted(server.targets) == sorted(f"/{number}" for number in range(20))


async def test_closing_twice_is_harmless(fetcher: Fetcher) -> None:
    await fetcher.aclose()
    await fetcher.aclose()
