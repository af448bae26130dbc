"""Computes new canonical forms and queue keys for the URLs of a crawl whose rules have changed. Pure."""

from collections.abc import Mapping

import msgspec

from crawler.discover.marks import after_redirect, is_after_redirect, is_check, is_target
from crawler.discover.precedence import parallel_key
from crawler.url.urls import UrlReader
from frontier import CrawlUrl, LedgerEntry


class Recanonicalizer:
    """Applies the rules of a `UrlReader`. `parallel` is that of `precedence.OrderedDiscovery`.

    Of a URL that an old version has settled, we may know only the old canonical form. What the old rules removed stays
    removed.
    """

    def __init__(self, urls: UrlReader, *, parallel: Mapping[str, int]) -> None:
        self._urls = urls
        self._parallel = parallel

    def name_settled(self, entry: LedgerEntry, /) -> LedgerEntry:
        name, mark, rest = entry.canonical.partition("#")
        url = entry.url or name
        canonical = self._marked(self._urls.canonical_of(url) or name, mark + rest, entry.via)
        return msgspec.structs.replace(entry, canonical=canonical, url=None if url == canonical else url)

    def name_pending(self, url: CrawlUrl, /) -> CrawlUrl:
        try:
            target = self._urls.seed(url.url)
        except ValueError:
            return url  # too long for the new limit
        _, mark, rest = url.canonical.partition("#")
        canonical = self._marked(target.canonical, mark + rest, url.via)
        if not mark and is_target(url) and url.via and self._urls.canonical_of(url.via) == canonical:
            # As `discovery` does for a redirect; otherwise the page would have the name of its redirect, and be lost.
            canonical = after_redirect(canonical, url.redirects)
        key = parallel_key(target.queue_key, canonical, self._parallel)
        return msgspec.structs.replace(url, canonical=canonical, queue_key=key)

    def _marked(self, canonical: str, mark: str, via: str | None) -> str:
        """A canonical URL with its mark, unless that is due to a redirect which has another name by the new rules."""
        is_due = not is_after_redirect(mark) or via is None or self._urls.canonical_of(via) == canonical
        return canonical + mark if is_due or is_check(mark) else canonical
