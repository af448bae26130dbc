"""The promises of every fetcher, kept by ours."""

from pathlib import Path

import pytest

from crawler.fetch.descriptor import HTTP
from crawler.render.browser import Browser
from crawler.render.browsers import Browsers
from crawler.render.fetcher import RenderingFetcher
from crawler.render.limits import Limits
from crawler.render.loads import Loads
from crawler.render.responses import ResponseCache
from crawler.seams import Fetcher
from crawler.testing import FetcherContract


async def no_browser(_: Path) -> Browser:
    raise AssertionError("no page of the suite is to be rendered")


class TestHttp(FetcherContract):
    descriptor = HTTP


class TestRendering(FetcherContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "browsers"

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        browsers = Browsers(no_browser, self.directory, at_once=1)
        loads = Loads(http, cache=ResponseCache())
        return RenderingFetcher(
            http,
            browsers,
            matches=lambda _: True,
            reads_as_html=lambda _: False,
            charset_of=lambda _: None,
            loads=loads,
            limits=Limits(),
        )
