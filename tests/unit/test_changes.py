"""What a record says has become of a page since the last visit."""

import msgspec
import pytest

from crawler.page import Fetched, NotModified, Page, Redirect, Rendering
from crawler.record import Change, fetched_record, has_copy
from frontier import CrawlUrl, LastVisit, Lease

URL = "http://a.test/"
ONE, OTHER = bytes(20), bytes(range(20))


def page(status: int = 200) -> Page:
    return Page(url=URL, status=status, headers=[], body=b"x", raw_body=b"x", fetched_at=5.0, duration_s=0.1)


NOT_MODIFIED = NotModified(url=URL, status=304, headers=[], fetched_at=5.0, duration_s=0.1)
REDIRECT = Redirect(url=URL, status=302, headers=[], location="/b", fetched_at=5.0, duration_s=0.1)


@pytest.mark.parametrize(
    ("status", "digest", "fetched", "sha1", "change"),
    [
        (200, ONE, page(), ONE, Change.UNCHANGED),
        (200, ONE, page(), OTHER, Change.CHANGED),
        (200, ONE, NOT_MODIFIED, None, Change.NOT_MODIFIED),
        (200, ONE, page(404), OTHER, Change.CHANGED),
        (404, OTHER, page(410), OTHER, Change.GONE),
        (404, OTHER, page(), ONE, Change.CHANGED),
        (200, ONE, page(404), ONE, Change.CHANGED),  # a site may send one document for all its URLs
        (410, ONE, page(), ONE, Change.CHANGED),
        (200, None, page(), ONE, None),
        (200, ONE, REDIRECT, ONE, None),
    ],
)
def test_a_record_tells_what_has_become_of_a_page(
    status: int, digest: bytes | None, fetched: Fetched, sha1: bytes | None, change: Change | None
) -> None:
    last_visit = LastVisit(visits=3, status=status, digest=digest)
    lease = Lease(url=CrawlUrl(url=URL, canonical=URL, queue_key="test,a", last_visit=last_visit), number=9)
    record = fetched_record(lease, fetched, sha1=sha1)
    assert (record.visit, record.change) == (4, change)


def test_a_first_visit_has_no_change() -> None:
    lease = Lease(url=CrawlUrl(url=URL, canonical=URL, queue_key="test,a"), number=9)
    record = fetched_record(lease, page(), sha1=ONE)
    assert (record.visit, record.change) == (1, None)


@pytest.mark.parametrize(
    ("rendering", "expected"),
    [
        (None, True),
        (Rendering.WHOLE, True),
        (Rendering.TIME, True),
        (Rendering.LEFT, True),
        (Rendering.HUNG, False),
        (Rendering.MEMORY, False),
        (Rendering.CRASHED, False),
    ],
)
def test_a_page_that_could_not_be_rendered_is_asked_for_as_a_whole_the_next_time(
    rendering: Rendering | None, expected: bool
) -> None:
    lease = Lease(url=CrawlUrl(url=URL, canonical=URL, queue_key="test,a"), number=9)
    fetched = msgspec.structs.replace(page(), rendering=rendering)
    assert has_copy(fetched_record(lease, fetched, sha1=ONE)) == expected
