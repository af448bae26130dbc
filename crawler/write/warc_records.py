"""Makes the WARC records of one page or exchange. Pure.

Source: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.page import (
    WITH_DOCUMENT,
    Failure,
    Link,
    LinkKind,
    NotModified,
    Page,
    PageRecord,
    Redirect,
    Rendering,
    body_digest,
    rfc3339,
)
from crawler.write.cdxj.lines import REVISIT, Described
from crawler.write.warc_http import request_head, response_head
from crawler.write.warc_members import Field, encoded, lines_of, member, new_urns

TEXT = "text/plain; charset=utf-8"
"""The type of a conversion with the main text of a page; that of a rendered document is HTML."""
NUMBER_FIELD = "X-Onceover-Number"
"""The header with the record number."""
PURPOSE_FIELD = "X-Onceover-Purpose"
"""The header of records that belong to no page: what was asked for, such as `robots`."""
FAILURE = "failure"
"""The field of a metadata record that says why there is no usable response."""
OUTLINK = "outlink"
"""The field for each link that only a browser found: URL, `L` or `E` (what the page needs to be shown), kind, and rel.
The form is that of Heritrix."""

_IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_RESPONSE_TYPE: Final = ("Content-Type", "application/http; msgtype=response")
_REQUEST_TYPE: Final = "Content-Type: application/http; msgtype=request\r\n"
_FIELDS_TYPE: Final = "Content-Type: application/warc-fields\r\n"
_TRUNCATIONS = ("length", "time", "disconnect")
"""Why a received body is incomplete. A body that can't be decoded (`encoding`) was received completely."""


class Original(msgspec.Struct, frozen=True):
    """The response record that a revisit refers to."""

    record_id: str | None
    """None if only an index has told of it."""
    url: str
    date: str
    serial: int = -1
    """The number of its archive, if this crawl has it."""


FindOriginal = Callable[[str, int], Original | None]
"""Finds a record with the same payload, by its digest and its length in bytes."""


def no_original(_digest: str, _size: int) -> Original | None:
    return None


class Group(msgspec.Struct, frozen=True):
    """The compressed records of one page or exchange, and what other records need to refer to them."""

    chunks: tuple[bytes, ...]
    """The pieces of the records, in order."""
    payload_digest: str | None = None
    original: Original | None = None
    """The response, for revisits; None if these records have no body."""
    capture: Described | None = None
    """The first of these records, for the index; None if no server answered."""
    capture_bytes: int = 0
    """How long that is, compressed."""


Answer = Page | Redirect | NotModified


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What records belong to."""

    marks: tuple[Field, ...]
    """The headers that say so."""
    facts: bytes
    """What the metadata record says."""
    content_type: str | None = None
    digest: str | None = None
    """Of the body without content coding."""
    text: str | None = None
    """The main text of the page, to be archived too."""


def page_group(
    fetched: Answer | Failure,
    record: PageRecord,
    *,
    level: int,
    find: FindOriginal = no_original,
    with_text: bool = False,
    warcinfo_id: str | None = None,
) -> Group:
    """The records of a page: response or revisit, then request, metadata, and as conversions the document of a rendered
    page and, `with_text`, its main text. Of a failure without an answer: the metadata alone."""
    subject = _Subject(
        marks=_marks((NUMBER_FIELD, str(record.number)), warcinfo_id),
        facts=encoded(lines_of(_facts(fetched, record))),
        content_type=record.content_type,
        digest=record.digest,
        text=record.main_text if with_text else None,
    )
    return _group(fetched, subject, level=level, find=find)


def exchange_group(
    fetched: Answer | Failure,
    purpose: str,
    *,
    level: int,
    find: FindOriginal = no_original,
    warcinfo_id: str | None = None,
) -> Group:
    """The records of what was asked for another purpose than a page."""
    facts = lines_of([("purpose", purpose), *_facts_of_fetch(fetched)])
    subject = _Subject(marks=_marks((PURPOSE_FIELD, purpose), warcinfo_id), facts=encoded(facts))
    return _group(fetched, subject, level=level, find=find)


def _marks(mark: Field, warcinfo_id: str | None) -> tuple[Field, ...]:
    return (mark,) if warcinfo_id is None else (mark, ("WARC-Warcinfo-ID", warcinfo_id))


def _group(fetched: Answer | Failure, subject: _Subject, *, level: int, find: FindOriginal) -> Group:
    main_urn, request_urn, metadata_urn = new_urns(3)
    if isinstance(fetched, Failure):
        if fetched.response is None:
            date = rfc3339(fetched.fetched_at)
            lines = _common(fetched, date, subject) + _FIELDS_TYPE
            return Group(tuple(member("metadata", lines, subject.facts, level=level, urn=metadata_urn)))
        fetched = fetched.response
    date = rfc3339(fetched.fetched_at)
    common = _common(fetched, date, subject)
    main_id = f"<urn:{main_urn}>"
    digest: str | None = None
    original: Original | None = None
    if isinstance(fetched, NotModified):
        main = _server_not_modified(fetched, main_urn, common, level=level)
    else:
        digest = _payload_digest(fetched, subject)
        original = find(digest, len(fetched.raw_body)) if fetched.raw_body else None
        if original is None:
            main = _response(fetched, subject, main_urn, common, digest, level=level)
        else:
            main = _identical_payload(fetched, original, main_urn, common, digest, level=level)
    is_revisit = isinstance(fetched, NotModified) or original is not None
    capture = Described(
        url=fetched.url,
        date=date,
        mime=REVISIT if is_revisit else _declared_type(fetched),
        status=fetched.status,
        digest=digest,
    )
    capture_bytes = sum(map(len, main))
    chunks = [*main]
    linked = f"{common}WARC-Concurrent-To: {main_id}\r\n"
    if fetched.request_headers:
        chunks += member("request", linked + _REQUEST_TYPE, request_head(fetched), level=level, urn=request_urn)
    chunks += member("metadata", linked + _FIELDS_TYPE, subject.facts, level=level, urn=metadata_urn)
    if isinstance(fetched, Page) and fetched.rendering in WITH_DOCUMENT:
        chunks += _conversion(fetched, main_id, common, level=level)
    if subject.text is not None:
        lines = common + lines_of([("WARC-Refers-To", main_id), ("Content-Type", TEXT)])
        [urn] = new_urns(1)
        chunks += member("conversion", lines, encoded(subject.text), level=level, urn=urn)
    return Group(
        tuple(chunks), digest, None if is_revisit else Original(main_id, fetched.url, date), capture, capture_bytes
    )


def _common(fetched: Answer | Failure, date: str, subject: _Subject) -> str:
    """The headers of all records of a group."""
    common = [("WARC-Date", date), ("WARC-Target-URI", fetched.url), *subject.marks]
    if fetched.ip:
        common.append(("WARC-IP-Address", fetched.ip))
    return lines_of(common)


def _declared_type(fetched: Answer) -> str | None:
    for name, value in fetched.headers:
        if name.lower() == b"content-type":
            return value.partition(b";")[0].strip().decode("latin-1") or None
    return None


def warcinfo(file_name: str, facts: Sequence[Field], *, now: float, level: int, urn: str | None = None) -> bytes:
    """The record at the head of a file, or before records that were made by other settings."""
    fields = (("WARC-Date", rfc3339(now)), ("WARC-Filename", file_name), (PURPOSE_FIELD, "settings"))
    lines, block = lines_of(fields) + _FIELDS_TYPE, encoded(lines_of(facts))
    return b"".join(member("warcinfo", lines, block, level=level, urn=urn or new_urns(1)[0]))


def _response(
    fetched: Page | Redirect, subject: _Subject, urn: str, common: str, digest: str, *, level: int
) -> list[bytes]:
    fields = [("WARC-Payload-Digest", digest), _RESPONSE_TYPE, *_truncation(fetched)]
    if subject.content_type:
        fields.append(("WARC-Identified-Payload-Type", subject.content_type))
    body = fetched.raw_body
    head = response_head(fetched, body_bytes=len(body))
    return member("response", common + lines_of(fields), head, body, level=level, urn=urn)


def _truncation(fetched: Page | Redirect) -> list[Field]:
    if isinstance(fetched, Page) and fetched.truncated in _TRUNCATIONS:
        return [("WARC-Truncated", fetched.truncated)]
    return []


def _identical_payload(
    fetched: Page | Redirect, original: Original, urn: str, common: str, digest: str, *, level: int
) -> list[bytes]:
    fields = [
        ("WARC-Payload-Digest", digest),
        _RESPONSE_TYPE,
        ("WARC-Profile", _IDENTICAL),
        *([] if original.record_id is None else [("WARC-Refers-To", original.record_id)]),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", original.date),
        *_truncation(fetched),
    ]
    block = response_head(fetched, body_bytes=len(fetched.raw_body))
    return member("revisit", common + lines_of(fields), block, level=level, urn=urn)


def _server_not_modified(fetched: NotModified, urn: str, common: str, *, level: int) -> list[bytes]:
    fields = [
        _RESPONSE_TYPE,
        ("WARC-Profile", _NOT_MODIFIED),
        ("WARC-Refers-To-Target-URI", fetched.url),
    ]
    block = response_head(fetched, body_bytes=None)
    return member("revisit", common + lines_of(fields), block, level=level, urn=urn)


def _conversion(page: Page, main_id: str, common: str, *, level: int) -> list[bytes]:
    fields = [("WARC-Refers-To", main_id), ("Content-Type", "text/html; charset=utf-8")]
    if page.rendering is Rendering.LENGTH:
        fields.append(("WARC-Truncated", "length"))
    [urn] = new_urns(1)
    return member("conversion", common + lines_of(fields), page.body, level=level, urn=urn)


def _payload_digest(fetched: Page | Redirect, subject: _Subject) -> str:
    # The digest of the page record is that of the decoded body. The payload of a WARC record has its content coding.
    if subject.digest and fetched.raw_body is fetched.body:
        return subject.digest
    return body_digest(fetched.raw_body)


def _facts(fetched: Answer | Failure, record: PageRecord) -> list[Field]:
    facts = [("recordNumber", str(record.number))]
    if record.via:
        facts.append(("via", record.via))
    facts += [("kind", record.kind), ("depth", str(record.depth)), *_facts_of_fetch(fetched)]
    if record.rendering:
        facts.append(("rendering", record.rendering))
    if record.charset:
        facts.append(("charsetForLinkExtraction", record.charset))
    if record.attempts > 1:
        facts.append(("attempts", str(record.attempts)))
    for each in record.preferences or ():
        facts.append(("preference", f"{each.signal} ({each.source}): {each.value}"))
    if record.refused_for:
        facts.append(("refusedFor", " ".join(record.refused_for)))
    if isinstance(fetched, Page):
        facts += [(OUTLINK, _outlink(each)) for each in fetched.links]
    return facts


def _outlink(link: Link) -> str:
    hop = "E" if link.kind in (LinkKind.EMBED, LinkKind.FRAME) else "L"
    return f"{link.href} {hop} {link.kind} {link.rel}".rstrip()


def _facts_of_fetch(fetched: Answer | Failure) -> list[Field]:
    facts = [("fetchTimeMs", str(round(fetched.duration_s * 1000)))]
    if isinstance(fetched, Failure):
        facts += [(FAILURE, fetched.kind), ("message", fetched.message)]
    return facts
