"""A fetcher that renders, before servers of the tests."""

import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver

from crawler.page import Page, Request
from crawler.render.browser import Browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.responses import ResponseCache
from crawler.testing.fetch.raw_server import RawServer, Script, Seen, page, raw_server
from crawler.wiring.components.rendering import detected_charset, reads_as_html
from tests.fetchers import http_fetcher

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")

QUICK = Limits(idle_s=0.2, wait_s=60.0, timeout_s=120.0)
"""However slow this machine is, a page that comes to an end does so within these."""


def html(text: str, *headers: bytes) -> Script:
    return [page(text.encode(), b"Content-Type: text/html; charset=utf-8", *headers)]


class Rendering:
    """A rendering fetcher, and the server behind every name below `site.test` and `example.com`."""

    def __init__(self, fetcher: RenderingFetcher, server: RawServer, profiles: Path) -> None:
        self.fetcher = fetcher
        self.server = server
        self.profiles = profiles

    async def page(self, path: str, *, host: str = "www.site.test") -> Page:
        fetched = await self.fetcher.fetch(Request(url=f"http://{host}{path}"))
        assert isinstance(fetched, Page), fetched
        return fetched


@asynccontextmanager
async def rendering(
    scripts: Mapping[str, Script] | Callable[[Seen], Script],
    profiles: Path,
    *,
    limits: Limits = QUICK,
    hosts: Mapping[str, str] | None = None,
    resolver: AbstractResolver | None = None,
    at_once: int = 2,
    **loads: Any,
) -> AsyncIterator[Rendering]:
    assert CHROMIUM is not None
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(raw_server(scripts))
        place = f"127.0.0.1:{server.port}"
        plain = http_fetcher(
            hosts={"*.site.test": place, "*.example.com": place, **(hosts or {})},
            resolver=resolver,
            per_host=4,
        )
        stack.push_async_callback(plain.aclose)
        start = partial(Browser.start, CHROMIUM, user_agent="onceover/1.0")
        browsers = Browsers(start, profiles, at_once=at_once)
        await browsers.open()
        fetcher = RenderingFetcher(
            plain,
            browsers,
            matches=lambda _: True,
            reads_as_html=reads_as_html,
            charset_of=detected_charset,
            loads=Loads(plain, cache=ResponseCache(), **loads),
            limits=limits,
        )
        stack.push_async_callback(fetcher.aclose)
        yield Rendering(fetcher, server, profiles)
