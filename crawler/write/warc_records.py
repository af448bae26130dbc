"""Makes the WARC records of one page or exchange. Pure.

Source: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.page import (
    WITH_DOCUMENT,
    Answer,
    Failure,
    NotModified,
    Page,
    PageRecord,
    Rendering,
    Screenshot,
    WithBody,
    body_digest,
    rfc3339,
    wanted_headers,
)
from crawler.write.cdxj.lines import REVISIT, CaptureFacts, declared_type
from crawler.write.warc_facts import facts_of_fetch, facts_of_page
from crawler.write.warc_http import request_head, response_head
from crawler.write.warc_members import Field, Urns, encoded, lines, member

TEXT = "text/plain; charset=utf-8"
"""The type of a conversion with the main text of a page; that of a rendered document is HTML."""
NUMBER_FIELD = "X-Onceover-Number"
"""The header with the record number."""
PURPOSE_FIELD = "X-Onceover-Purpose"
"""The header of records that belong to no page: what was asked for, such as `robots`."""

_IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_RESPONSE_TYPE: Final = ("Content-Type", "application/http; msgtype=response")
_REQUEST_TYPE: Final = ("Content-Type", "application/http; msgtype=request")
_FIELDS_TYPE: Final = ("Content-Type", "application/warc-fields")
_TRUNCATIONS = ("length", "time", "disconnect")
"""Why a received body is incomplete. A body that can't be decoded (`encoding`) was received completely."""


class Original(msgspec.Struct, frozen=True, gc=False):
    """The response record that a revisit refers to."""

    record_id: str | None
    """None if only an index has told of it."""
    url: str
    date: str
    serial: int = -1
    """The number of its archive, if this crawl has it."""


FindOriginal = Callable[[str, int], Original | None]
"""Finds a record with the same payload, by its digest and its length in bytes."""


class Group(msgspec.Struct, frozen=True, gc=False):
    """The compressed records of one page or exchange, and what other records need to refer to them."""

    chunks: tuple[bytes, ...]
    """The pieces of the records, in order."""
    payload_digest: str | None = None
    original: Original | None = None
    """The response, for revisits; None if these records have no body."""
    captures: tuple["IndexedRecord", ...] = ()
    """Those of these records that the index names: none if no server answered."""


class IndexedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record of a group that the index names."""

    capture: CaptureFacts
    offset: int
    """Its first byte in the group."""
    length: int
    """Compressed."""


class _Subject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    marks: tuple[Field, ...]
    """The headers that say so."""
    facts: bytes
    """What the metadata record says."""
    date: str | None = None
    """When the request was sent, if its record has it."""
    content_type: str | None = None
    digest: str | None = None
    """The digest of the body without content coding."""
    text: str | None = None
    """The main text of the page, to be archived too."""


def page_group(
    fetched: Answer | Failure, record: PageRecord, *, level: int, find: FindOriginal, with_text: bool, urns: Urns
) -> Group:
    """The records of a page: response or revisit, then request, metadata, and as conversions the document of a rendered
    page and, `with_text`, its main text, and as resources its screenshots. Of a failure without an answer: the metadata
    alone."""
    subject = _Subject(
        marks=((NUMBER_FIELD, record.number), ("WARC-Warcinfo-ID", f"<urn:{urns.of_info}>")),
        facts=lines(None, facts_of_page(fetched, record)),
        date=None if isinstance(fetched, Failure) else record.fetched_at,
        content_type=record.content_type,
        digest=record.digest,
        text=record.main_text if with_text else None,
    )
    return _group(fetched, subject, level=level, find=find, urns=urns)


def exchange_group(fetched: Answer | Failure, purpose: str, *, level: int, find: FindOriginal, urns: Urns) -> Group:
    """The records of what was asked for another purpose than a page."""
    facts = lines(None, [("purpose", purpose), *facts_of_fetch(fetched)])
    marks = ((PURPOSE_FIELD, purpose), ("WARC-Warcinfo-ID", f"<urn:{urns.of_info}>"))
    subject = _Subject(marks=marks, facts=facts)
    return _group(fetched, subject, level=level, find=find, urns=urns)


def _group(fetched: Answer | Failure, subject: _Subject, *, level: int, find: FindOriginal, urns: Urns) -> Group:
    main_urn, request_urn, metadata_urn = urns.draw(3)
    if isinstance(fetched, Failure):
        if fetched.response is None:
            date = rfc3339(fetched.fetched_at)
            common = _common(fetched, date, subject)
            return Group(tuple(member("metadata", metadata_urn, common, [_FIELDS_TYPE], subject.facts, level=level)))
        fetched = fetched.response
    date = subject.date or rfc3339(fetched.fetched_at)
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
    is_revisit = digest is None or original is not None
    capture = CaptureFacts(
        url=fetched.url,
        date=date,
        mime=REVISIT if is_revisit else _declared_type(fetched),
        status=fetched.status,
        digest=digest,
    )
    captures = [IndexedRecord(capture, 0, _length(main))]
    chunks = [*main]
    link = ("WARC-Concurrent-To", main_id)
    if fetched.request_headers:
        chunks += member("request", request_urn, common, (link, _REQUEST_TYPE), request_head(fetched), level=level)
    chunks += member("metadata", metadata_urn, common, (link, _FIELDS_TYPE), subject.facts, level=level)
    if isinstance(fetched, Page) and fetched.rendering in WITH_DOCUMENT:
        chunks += _conversion(fetched, main_id, common, level=level, urns=urns)
    if subject.text is not None:
        fields = ("WARC-Refers-To", main_id), ("Content-Type", TEXT)
        [urn] = urns.draw(1)
        chunks += member("conversion", urn, common, fields, encoded(subject.text), level=level)
    for each in fetched.screenshots if isinstance(fetched, Page) else ():
        if each.image:
            shot = CaptureFacts(f"urn:{each.kind}:{fetched.url}", date, each.media_type, None, body_digest(each.image))
            of_shot = _common(fetched, date, subject, url=shot.url) + lines(None, [link])
            screenshot = _screenshot(each, shot, of_shot, level=level, urns=urns)
            captures.append(IndexedRecord(shot, _length(chunks), _length(screenshot)))
            chunks += screenshot
    return Group(tuple(chunks), digest, None if is_revisit else Original(main_id, fetched.url, date), tuple(captures))


def _length(chunks: Sequence[bytes]) -> int:
    return sum(map(len, chunks))


def _common(fetched: Answer | Failure, date: str, subject: _Subject, *, url: str | None = None) -> bytes:
    """The headers of all records of a group, or of one that has another URL."""
    where = ("WARC-Target-URI", url or fetched.url)
    return lines(None, (("WARC-Date", date), where, *subject.marks, ("WARC-IP-Address", fetched.ip or None)))


def _declared_type(fetched: Answer) -> str | None:
    for _, value in wanted_headers(fetched.headers, (b"content-type",)):
        return declared_type(value)
    return None


def warcinfo(file_name: str, facts: Sequence[Field], *, now: float, level: int, urn: str | None = None) -> bytes:
    """The record at the head of a file, or before records that were made by other settings, which its `facts` tell."""
    fields = ("WARC-Date", rfc3339(now)), ("WARC-Filename", file_name), (PURPOSE_FIELD, "settings"), _FIELDS_TYPE
    return b"".join(member("warcinfo", urn or Urns().of_info, b"", fields, lines(None, facts), level=level))


def _response(fetched: WithBody, subject: _Subject, urn: str, common: bytes, digest: str, *, level: int) -> list[bytes]:
    fields = (
        ("WARC-Payload-Digest", digest),
        _RESPONSE_TYPE,
        ("WARC-Truncated", _truncation(fetched)),
        ("WARC-Identified-Payload-Type", subject.content_type or None),
    )
    body = fetched.raw_body
    head = response_head(fetched, body_bytes=len(body))
    return member("response", urn, common, fields, head, body, level=level)


def _truncation(fetched: WithBody) -> str | None:
    return fetched.truncated if fetched.truncated in _TRUNCATIONS else None


def _identical_payload(
    fetched: WithBody, original: Original, urn: str, common: bytes, digest: str, *, level: int
) -> list[bytes]:
    fields = (
        ("WARC-Payload-Digest", digest),
        _RESPONSE_TYPE,
        ("WARC-Profile", _IDENTICAL),
        ("WARC-Refers-To", original.record_id),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", original.date),
        ("WARC-Truncated", _truncation(fetched)),
    )
    block = response_head(fetched, body_bytes=len(fetched.raw_body))
    return member("revisit", urn, common, fields, block, level=level)


def _server_not_modified(fetched: NotModified, urn: str, common: bytes, *, level: int) -> list[bytes]:
    fields = (_RESPONSE_TYPE, ("WARC-Profile", _NOT_MODIFIED), ("WARC-Refers-To-Target-URI", fetched.url))
    block = response_head(fetched, body_bytes=None)
    return member("revisit", urn, common, fields, block, level=level)


def _conversion(page: Page, main_id: str, common: bytes, *, level: int, urns: Urns) -> list[bytes]:
    is_cut = page.rendering is Rendering.LENGTH
    fields = (
        ("WARC-Refers-To", main_id),
        ("Content-Type", "text/html; charset=utf-8"),
        ("WARC-Truncated", "length" if is_cut else None),
    )
    [urn] = urns.draw(1)
    return member("conversion", urn, common, fields, page.body, level=level)


def _screenshot(screenshot: Screenshot, capture: CaptureFacts, common: bytes, *, level: int, urns: Urns) -> list[bytes]:
    fields = (("Content-Type", screenshot.media_type), ("WARC-Payload-Digest", capture.digest or ""))
    [urn] = urns.draw(1)
    return member("resource", urn, common, fields, screenshot.image, level=level)


def _payload_digest(fetched: WithBody, subject: _Subject) -> str:
    # The digest of the page record is that of the decoded body. The payload of a WARC record has its content coding.
    if subject.digest and fetched.raw_body is fetched.body:
        return subject.digest
    return body_digest(fetched.raw_body)
