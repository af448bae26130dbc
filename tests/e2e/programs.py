"""Programs that crawl the simulated web."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crawler import CrawledPage
from crawler.url.urls import UrlReader
from tests.e2e.crawling import Web

_READER = UrlReader()


def values(web: Web, **more: Any) -> dict[str, Any]:
    """Settings of a crawl of all of it, as fast as it goes. Keywords have two underscores for the dot."""
    return {
        "crawl.seeds": [f"http://h00000.{web.params.domain}/"],
        "scope.within": "domain",
        "scope.sitemap_paths": [],
        "fetch.hosts": {f"*.{web.params.domain}": f"127.0.0.1:{web.port}"},
        "politeness.min_delay_s": 0,
        "politeness.delay_factor": 0,
        "frontier.retry_delay_s": 0.05,
        "frontier.retry_max_delay_s": 0.2,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def canonical(pages: Iterable[CrawledPage | str]) -> Counter[str]:
    """How often each page occurs, by canonical URL."""
    return Counter(_READER.seed(page if isinstance(page, str) else page.url).canonical for page in pages)


def lines(path: Path) -> list[str]:
    """The whole lines of a file that another process appends to."""
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()
