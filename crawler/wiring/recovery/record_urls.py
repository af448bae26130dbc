"""The URLs of records and archived pages, as the frontier names them."""

from config import Config
from crawler.discover.marks import EXTERNAL, after_redirect
from crawler.discover.precedence import parallel_key
from crawler.page import LinkKind, PageRecord
from crawler.url.urls import UrlReader
from crawler.wiring.components import discovering
from frontier import CrawlUrl


class RecordUrls:
    """Makes the URL to crawl again from what was written about it."""

    def __init__(self, config: Config, urls: UrlReader) -> None:
        self._urls = urls
        self._parallel = discovering.parallel_queues(config, urls)

    def of_record(self, record: PageRecord) -> CrawlUrl | None:
        """The URL of a record; None if the current rules do not accept it."""
        return self.of_url(record.url, depth=record.depth, kind=record.kind, via=record.via)

    def of_url(self, url: str, *, depth: int, kind: str, via: str | None) -> CrawlUrl | None:
        """The URL as one to crawl; None if the current rules do not accept it."""
        try:
            target = self._urls.seed(url)
        except ValueError:
            return None
        canonical = target.canonical
        if kind == LinkKind.REDIRECT and via is not None and self._urls.canonical_of(via) == canonical:
            canonical = after_redirect(canonical, 1)  # see `ScopedDiscovery.redirect`
        if kind == LinkKind.EXTERNAL:
            canonical += EXTERNAL
        return CrawlUrl(
            url=target.url,
            canonical=canonical,
            queue_key=parallel_key(target.queue_key, canonical, self._parallel),
            depth=depth,
            via=via,
            kind=kind,
            precedence=min(255, depth),
        )
