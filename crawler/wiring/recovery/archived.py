"""The visits of which an archive tells, as the records that the crawl would have written of them."""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from itertools import groupby

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.export.archived_pages import digest_of_capture, page_of_capture
from crawler.page import LinkKind, Page, PageRecord
from crawler.politeness.pace import TRANSIENT_STATUSES
from crawler.record import Change, has_copy, record_headers, validator
from crawler.wiring.recovery.bodies import Bodies
from crawler.write.warc_facts import FAILURE, NOT_FOLLOWED
from crawler.write.warc_reader import Capture, captures, whole_number

Progress = Callable[[int], None]
"""Called with the number of records, or of captures, read so far."""
NUMBERS_TOLD = 10_000
"""Records or captures between two calls of a `Progress`."""
_ROBOTS = "robots"
"""What a robots.txt was asked for."""


class ArchivedVisit(msgspec.Struct, frozen=True, gc=False):
    """What an archive tells of a visit. It does not tell how many there were before."""

    record: PageRecord
    last_modified: str | None = None
    """The header, to send back at the next visit; None if that has to ask for the whole page."""


def archived_pages(
    directory: CrawlDirectory, progress: Progress, *, with_robots: bool = False
) -> Iterator[tuple[int, dict[str, Capture]]]:
    """The number of each page in an archive, and its WARC records by kind, with their whole blocks. Those of a
    robots.txt, which come `with_robots`, have -1."""
    for (number, _), group in groupby(_captures(directory, progress, with_robots=with_robots), key=_exchange_of):
        yield number, {capture.kind: capture for capture in group}


def _exchange_of(capture: Capture) -> tuple[int, str | None]:
    return capture.number, capture.url if capture.number < 0 else None


def _captures(directory: CrawlDirectory, progress: Progress, *, with_robots: bool) -> Iterator[Capture]:
    for count, capture in enumerate(captures(directory.warc, full_blocks=True, with_exchanges=with_robots), 1):
        if count % NUMBERS_TOLD == 0:
            progress(count)
        if isinstance(capture, Capture) and capture.purpose in (None, _ROBOTS):
            yield capture


def facts_of(found: Mapping[str, Capture]) -> dict[str, str]:
    """What the archive says of a page, given its WARC records by kind."""
    return found["metadata"].metadata_fields() if "metadata" in found else {}


def visit_of(found: Mapping[str, Capture], bodies: Bodies) -> ArchivedVisit | None:
    """The visit of which these WARC records tell, by kind; None if they tell of none, or are damaged."""
    facts = facts_of(found)
    failure = facts.get(FAILURE)
    main = found.get("metadata" if failure is not None else "response") or found.get("revisit")
    if main is None:
        return None
    record = PageRecord(
        number=main.number,
        url=main.url,
        state="failed",
        reason=failure,
        depth=whole_number(facts.get("depth", "")) or 0,
        via=facts.get("via"),
        kind=facts.get("kind", LinkKind.LINK),
        fetched_at=main.date,
    )
    return ArchivedVisit(record) if failure is not None else _answered(record, main, found, bodies)


def last_modified_of(found: Mapping[str, Capture]) -> str | None:
    """The Last-Modified of an answer, as the server sent it; None if there is none."""
    main = found.get("response") or found.get("revisit")
    page = None if main is None or FAILURE in facts_of(found) else _head_of(main)
    return None if page is None else validator(page.header("last-modified"))


def _head_of(capture: Capture) -> Page | None:
    """A page without its body, which may decode to a thousand times its size."""
    return page_of_capture(capture, max_body_bytes=0)


def _answered(record: PageRecord, main: Capture, found: Mapping[str, Capture], bodies: Bodies) -> ArchivedVisit | None:
    page = _head_of(main)
    if page is None:
        return None
    # The archive gets an answer when its URL is settled: such a URL was given up.
    is_failed = page.status in TRANSIENT_STATUSES
    is_unchanged = main.kind == "revisit" and page.status == HTTPStatus.NOT_MODIFIED
    headers = record_headers(page)
    record = msgspec.structs.replace(
        record,
        state="failed" if is_failed else "done",
        status=page.status,
        reason=f"http-{page.status}" if is_failed else None,
        digest=None if is_unchanged else _digest(page, main, found, bodies),
        change=Change.NOT_MODIFIED if is_unchanged else None,
        truncated=main.truncated,
        rendering=facts_of(found).get("rendering"),
        not_followed=facts_of(found).get(NOT_FOLLOWED),
        etag=validator(headers.get(b"etag")),
    )
    return ArchivedVisit(record, validator(headers.get(b"last-modified")) if has_copy(record) else None)


def _digest(page: Page, main: Capture, found: Mapping[str, Capture], bodies: Bodies) -> str | None:
    """The digest of what a page holds. Of a rendered page it is that of its document."""
    if "conversion" in found:
        return digest_of_capture(found["conversion"])
    if main.kind != "revisit":
        return digest_of_capture(main)
    if main.truncated is None and page.header("content-encoding") is None:
        return main.payload_digest
    body = bodies.with_payload(main)
    return None if body is None else digest_of_capture(body)
