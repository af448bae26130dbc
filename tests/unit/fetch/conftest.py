from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from crawler.fetch.http import HttpFetcher
from tests.fetchers import Fetchers, http_fetcher


@pytest.fixture
async def fetchers() -> AsyncIterator[Fetchers]:
    """Makes fetchers that may ask private addresses, and closes them."""
    async with AsyncExitStack() as stack:

        def make(**settings: Any) -> HttpFetcher:
            fetcher = http_fetcher(**{"allow_private": True, **settings})
            stack.push_async_callback(fetcher.aclose)
            return fetcher

        yield make
