"""What the crawl asks a server for a URL. Pure."""

from collections.abc import Callable

from crawler.page import LinkKind, Request
from frontier import CrawlUrl, Lease


def request_for(lease: Lease, may_refer: Callable[[CrawlUrl], bool]) -> Request:
    """The request for a leased URL. `may_refer` tells whether the answer may be that our copy is still the same."""
    url = lease.url
    if url.kind == LinkKind.EXTERNAL:
        # Servers that do not answer HEAD, or not well, are asked again with GET.
        return Request(url=url.url, referer=url.via, is_check=True, method="GET" if url.attempt else "HEAD")
    # After a failure, ask without validators: the server may be wrong about the copy that we have.
    is_conditional = not url.attempt and may_refer(url)
    return Request(
        url=url.url,
        referer=url.via,
        etag=url.had_etag if is_conditional else None,
        last_modified=url.had_last_modified if is_conditional else None,
        is_sitemap=url.kind == LinkKind.SITEMAP,
    )
