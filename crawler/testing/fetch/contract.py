"""What every `Fetcher` promises, whatever a server does."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count, repeat
from typing import Final

import msgspec
import pytest

from crawler.fetch.descriptor import Descriptor, Parameters
from crawler.page import Failure, Fetched, NotModified, Page, Redirect, Request
from crawler.seams import Fetcher
from crawler.testing.fetch.http import USER_AGENT, loopback_http
from crawler.testing.fetch.raw_server import CLOSE, HANG, RESET, RawServer, Script, head, page, raw_server
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S

PATHS: Final = (
    *("/page", "/empty", "/missing", "/redirect", "/loop", "/current", "/close", "/reset", "/cut", "/hang"),
    *("/garbage", "/endless", "/endless-headers", "/no-gzip"),
)


def scripts() -> dict[str, Script]:
    """What servers do, by path."""
    headers = (b"".join(b"A%d: b\r\n" % number for number in range(start, start + 100)) for start in count(0, 100))
    return {
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
        "/wait": [HANG],
        "/garbage": [b"\0\xff\r\n\r\n" * 100, CLOSE],
        "/endless": [head(), repeat(b"x" * 1000)],
        "/endless-headers": [b"HTTP/1.1 200 OK\r\n", headers],
        "/no-gzip": [page(b"plain", b"Content-Encoding: gzip")],
    }


class FetcherContract:
    """What every fetcher promises, whatever a server does."""

    descriptor: Descriptor | None = None
    options: Mapping[str, object] = {}
    """The options of the descriptor."""
    max_wait_s: float = MAX_WAIT_S
    """A connection that is open for so long after its fetch was cancelled is open forever."""

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        """A fetcher that may connect to 127.0.0.1. It may pass requests on to `http`, which is closed after it.

        One that connects by itself must give up servers that never answer, and bodies that never end.
        """
        if self.descriptor is None:
            pytest.fail(f"expected a `descriptor` or a method `make_fetcher` in {type(self).__name__}, found neither")
        parameters = Parameters(http=http, user_agent=USER_AGENT)
        return self.descriptor.make(parameters, msgspec.convert(self.options, self.descriptor.options))

    @asynccontextmanager
    async def fetcher(self) -> AsyncIterator[Fetcher]:
        http = loopback_http()
        fetcher = self.make_fetcher(http)
        try:
            yield fetcher
        finally:
            await fetcher.aclose()
            await http.aclose()

    @pytest.mark.parametrize("path", PATHS)
    @in_event_loop
    async def test_whatever_a_server_does_is_a_value(self, path: str) -> None:
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            fetched = await fetcher.fetch(Request(url=server.url(path)))
            assert isinstance(fetched, Page | Redirect | NotModified | Failure)
            _check_types(fetched)
            assert fetched.url == server.url(path)
            assert fetched.duration_s >= 0
            assert server.targets == [path]

    @in_event_loop
    async def test_no_server_spoils_the_next(self) -> None:
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            for path in PATHS:
                await fetcher.fetch(Request(url=server.url(path)))
                fetched = await fetcher.fetch(Request(url=server.url("/page")))
                assert isinstance(fetched, Page)
                assert fetched.body == b"<p>hello"

    @pytest.mark.parametrize(("path", "status"), [("/page", 200), ("/missing", 404)])
    @in_event_loop
    async def test_a_page_has_the_status_and_the_headers_of_the_response(self, path: str, status: int) -> None:
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            fetched = await fetcher.fetch(Request(url=server.url(path)))
            assert isinstance(fetched, Page)
            assert fetched.status == status
            assert fetched.header("content-length") == str(len(fetched.raw_body))

    @pytest.mark.parametrize("path", ["/cut", "/endless"])
    @in_event_loop
    async def test_a_page_that_was_not_received_to_its_end_says_so(self, path: str) -> None:
        """A crawl takes a page for complete that does not say why it is not. It tries a failure again."""
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            fetched = await fetcher.fetch(Request(url=server.url(path)))
            assert isinstance(fetched, Failure) or (isinstance(fetched, Page) and fetched.truncated)

    @in_event_loop
    async def test_a_copy_that_the_crawl_has_is_asked_for_with_its_validators(self) -> None:
        """Without them no page that is crawled again would ever be a 304."""
        async with raw_server({"/current": [head(status=b"304 Not Modified")]}) as server, self.fetcher() as fetcher:
            moment = "Sun, 22 Nov 2026 17:54:23 GMT"
            fetched = await fetcher.fetch(Request(url=server.url("/current"), etag='"v1"', last_modified=moment))
            [seen] = server.seen
            assert seen.header("If-None-Match") == '"v1"'
            assert seen.header("If-Modified-Since") == moment
            assert isinstance(fetched, NotModified)

    @in_event_loop
    async def test_redirects_are_not_followed(self) -> None:
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            fetched = await fetcher.fetch(Request(url=server.url("/redirect")))
            assert isinstance(fetched, Redirect)
            assert fetched.location == "/page"
            assert server.targets == ["/redirect"]

    @pytest.mark.parametrize("path", ["/wait", "/endless"])
    @in_event_loop
    async def test_cancelled_it_closes_the_connection_and_raises(self, path: str) -> None:
        async with raw_server(scripts()) as server, self.fetcher() as fetcher:
            task = asyncio.create_task(self._fetch(fetcher, server, path))
            await server.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(self.max_wait_s):
                await server.gone.wait()

    async def _fetch(self, fetcher: Fetcher, server: RawServer, path: str) -> object:
        return await fetcher.fetch(Request(url=server.url(path)))

    @in_event_loop
    async def test_fetches_do_not_mix(self) -> None:
        bodies = {f"/{number}": b"number %d" % number for number in range(20)}
        async with (
            raw_server({path: [page(body)] for path, body in bodies.items()}) as server,
            self.fetcher() as fetcher,
        ):
            fetched = await asyncio.gather(*(fetcher.fetch(Request(url=server.url(path))) for path in bodies))
            found = {each.url: each.body for each in fetched if isinstance(each, Page)}
            assert found == {server.url(path): body for path, body in bodies.items()}
            assert sorted(server.targets) == sorted(f"/{number}" for number in range(20))

    @in_event_loop
    async def test_closing_twice_is_harmless(self) -> None:
        async with self.fetcher() as fetcher:
            await fetcher.aclose()
            await fetcher.aclose()


def _check_types(fetched: Fetched) -> None:
    """Raises an error with the place of a value of a wrong type, which a struct does not check."""
    plain = msgspec.to_builtins(fetched, builtin_types=(bytes,), enc_hook=str)
    msgspec.convert(plain, type(fetched), builtin_types=(bytes,))
