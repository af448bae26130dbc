"""The request for a leased URL, and what its condition means for the answer. Pure."""

from collections.abc import Callable

from crawler.page import EXTERNAL, SITEMAP, Failure, FailureKind, Fetched, NotModified, Request
from frontier import CrawlUrl, Lease, VisitsSince


def request_for(lease: Lease, may_be_conditional: Callable[[CrawlUrl], bool]) -> Request:
    """The request for a leased URL. If it `may_be_conditional`, the answer may be that our copy is still the same."""
    url = lease.url
    if url.kind == EXTERNAL:
        # Servers that do not answer HEAD, or not well, are asked again with GET.
        return Request(url=url.url, referer=url.via, is_check=True, method="GET" if url.attempt else "HEAD")
    # After a failure, ask without validators: the server may be wrong about the copy that we have.
    is_conditional = not url.attempt and may_be_conditional(url)
    return Request(
        url=url.url,
        referer=url.via,
        etag=url.had_etag if is_conditional else None,
        last_modified=url.had_last_modified if is_conditional else None,
        is_sitemap=url.kind == SITEMAP,
    )


def reject_lost_copy(answer: Fetched, lease: Lease, archive_began: VisitsSince) -> Fetched:
    """The answer. If it says that a page has not changed, but the archive has begun anew since the request was sent,
    the archive must not refer to the copy any more: then a failure, after which the whole page is asked for."""
    last_visit = lease.url.last_visit
    if last_visit is None or not isinstance(answer, NotModified) or archive_began.has(last_visit):
        return answer
    return Failure(
        url=answer.url,
        kind=FailureKind.PROTOCOL,
        message="not modified, but meanwhile the archive has begun anew and needs the whole page",
        ip=answer.ip,
        fetched_at=answer.fetched_at,
        duration_s=answer.duration_s,
        answered=True,
        lacks_body=True,
    )
