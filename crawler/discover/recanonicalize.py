"""The names that URLs of a crawl get when its rules are changed: canonical forms and queue keys. Pure."""

from collections.abc import Mapping

import msgspec

from crawler.discover.precedence import parallel_key
from crawler.page import LinkKind
from crawler.url.urls import UrlReader
from frontier import CrawlUrl


class Recanonicalizer:
    """Names URLs by the rules of a reader. `parallel` is that of `precedence.Ordered`.

    What the rules before had removed from a URL that is settled is not known any more, and stays removed.
    """

    def __init__(self, urls: UrlReader, *, parallel: Mapping[str, int]) -> None:
        self._urls = urls
        self._parallel = parallel

    def settled(self, canonical: str, /) -> str:
        url, mark, rest = canonical.partition("#")
        return (self._canonical(url) or url) + mark + rest

    def waiting(self, url: CrawlUrl, /) -> CrawlUrl:
        try:
            target = self._urls.seed(url.url)
        except ValueError:
            return url  # longer than is allowed now
        _, mark, rest = url.canonical.partition("#")
        canonical = target.canonical + mark + rest
        if not mark and url.kind == LinkKind.REDIRECT and url.via and self._canonical(url.via) == canonical:
            # As it is when the redirect is met: else the page would be taken for the redirect to it, and be lost.
            canonical = f"{canonical}#redirect-{url.redirects}"
        key = parallel_key(target.queue_key, canonical, self._parallel)
        return msgspec.structs.replace(url, canonical=canonical, queue_key=key)

    def _canonical(self, url: str) -> str | None:
        try:
            return self._urls.seed(url).canonical
        except ValueError:
            return None
