"""Makes the WARC records of one page. Pure.

Source: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/. Each record is a gzip member of
its own. A body of megabytes is never copied as a whole: it is compressed piece by
piece, and stays in pieces. Levels 1 to 3 are those of ISA-L: on pages of documentation, level 3 takes a quarter of the
time of zlib's level 6, and 15 % more space. Levels 4 to 9 are those of zlib.
"""

import re
import uuid
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec
from isal import isal_zlib

from crawler.page import WITH_DOCUMENT, NotModified, Page, PageRecord, Redirect, Rendering, body_digest
from crawler.write.cdxj.lines import REVISIT, Described

NUMBER_FIELD = "X-Onceover-Number"
"""The header with the record number."""

_IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_TRUNCATIONS = ("length", "time", "disconnect")
"""Why a received body is incomplete. A body that can't be decoded (`encoding`) was received completely."""
_GZIP = 16 + zlib.MAX_WBITS
_PIECE_BYTES = 1 << 20
_LINE_BREAKS = re.compile(rb"[\r\n]+[ \t]*")
_LINE_BREAKS_OF_TEXT = re.compile(r"[\r\n]+[ \t]*")
_KNOWN_HTTP_VERSIONS = ("1.0", "1.1")

Field = tuple[str, str]


class Original(msgspec.Struct, frozen=True):
    """The response record that a revisit refers to."""

    record_id: str
    url: str
    date: str


class Group(msgspec.Struct, frozen=True):
    """The compressed records of one page, and what other records need to refer to them."""

    chunks: tuple[bytes, ...]
    """The pieces of the records, in order."""
    payload_digest: str | None
    original: Original
    capture: Described
    """The first of these records, for the index."""
    capture_bytes: int
    """How long that is, compressed."""


def page_group(
    fetched: Page | Redirect | NotModified,
    record: PageRecord,
    *,
    level: int,
    known: Mapping[str, Original],
) -> Group:
    """The records of a page: response or revisit, then request, metadata, and the document of a rendered page as a
    conversion. `known` maps payload digests to records with that payload."""
    date = warc_date(fetched.fetched_at)
    common = [("WARC-Date", date), ("WARC-Target-URI", fetched.url), (NUMBER_FIELD, str(record.number))]
    if fetched.ip:
        common.append(("WARC-IP-Address", fetched.ip))
    main_urn = f"uuid:{uuid.uuid4()}"
    main_id = f"<urn:{main_urn}>"
    digest: str | None = None
    original: Original | None = None
    if isinstance(fetched, NotModified):
        main = _server_not_modified(fetched, main_urn, common, level=level)
    else:
        digest = _payload_digest(fetched, record)
        original = known.get(digest) if fetched.raw_body else None
        if original is None:
            main = _response(fetched, record, main_urn, [*common, ("WARC-Payload-Digest", digest)], level=level)
        else:
            main = _identical_payload(
                fetched, original, main_urn, [*common, ("WARC-Payload-Digest", digest)], level=level
            )
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
    linked = [*common, ("WARC-Concurrent-To", main_id)]
    if fetched.request_headers:
        request_type = ("Content-Type", "application/http; msgtype=request")
        chunks += _member("request", [*linked, request_type], request_head(fetched), level=level)
    facts = warc_fields(_facts(fetched, record))
    fields = [*linked, ("Content-Type", "application/warc-fields")]
    chunks += _member("metadata", fields, facts, level=level)
    if isinstance(fetched, Page) and fetched.rendering in WITH_DOCUMENT:
        chunks += _conversion(fetched, main_id, common, level=level)
    return Group(tuple(chunks), digest, Original(main_id, fetched.url, date), capture, capture_bytes)


def _declared_type(fetched: Page | Redirect | NotModified) -> str | None:
    for name, value in fetched.headers:
        if name.lower() == b"content-type":
            return value.partition(b";")[0].strip().decode("latin-1") or None
    return None


def warcinfo(file_name: str, facts: Iterable[Field], *, now: float, level: int) -> bytes:
    """The record at the head of a file."""
    fields = [
        ("WARC-Date", warc_date(now)),
        ("WARC-Filename", file_name),
        ("Content-Type", "application/warc-fields"),
    ]
    return b"".join(_member("warcinfo", fields, warc_fields(facts), level=level))


def warc_fields(facts: Iterable[Field]) -> bytes:
    """`application/warc-fields`: one line `name: value` for each."""
    return b"".join(
        f"{name}: ".encode() + _LINE_BREAKS.sub(b" ", value.encode("utf-8", "replace")) + b"\r\n"
        for name, value in facts
    )


def warc_date(seconds: float) -> str:
    """Format seconds since 1970 as a WARC/1.1 date with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def response_head(response: Page | Redirect | NotModified, *, body_bytes: int | None) -> bytes:
    """Status line and headers as received, corrected to fit the body that follows.

    The body has no transfer coding any more, so that header is renamed. So is a Content-Length that differs from the
    body, because it was cut or the server was wrong. Folded lines are joined (RFC 9112, section 5.2). `body_bytes` is
    None if the response has no body.
    """
    version = response.http_version if response.http_version in _KNOWN_HTTP_VERSIONS else "1.1"
    reason = response.reason.encode("latin-1", "replace")
    parts = [_one_line(b"HTTP/%s %d %s" % (version.encode(), response.status, reason)), b"\r\n"]
    replaced = False
    for name, value in response.headers:
        lowered = name.lower()
        if lowered == b"transfer-encoding":
            parts += (b"X-Archive-Orig-", name)
        elif lowered == b"content-length" and body_bytes is not None and value.strip() != b"%d" % body_bytes:
            replaced = True
            parts += (b"X-Archive-Orig-", name)
        else:
            parts.append(_one_line(name))
        parts += (b": ", _one_line(value), b"\r\n")
    if replaced and body_bytes is not None:
        parts.append(b"Content-Length: %d\r\n" % body_bytes)
    parts.append(b"\r\n")
    return b"".join(parts)


def request_head(response: Page | Redirect | NotModified) -> bytes:
    """The request line, and the headers that we know were sent."""
    lines = [b"GET %s HTTP/1.1\r\n" % request_target(response.url).encode("utf-8", "replace")]
    for name, value in response.request_headers:
        lines.append(_one_line(f"{name}: {value}".encode("utf-8", "replace")) + b"\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)


def request_target(url: str) -> str:
    """The path and query of a URL, without the fragment: `/path?query`."""
    rest = url.partition("#")[0].partition("://")[2]
    for position, character in enumerate(rest):
        if character in "/?":
            target = rest[position:]
            return target if character == "/" else "/" + target
    return "/"


def _response(
    fetched: Page | Redirect, record: PageRecord, urn: str, fields: list[Field], *, level: int
) -> list[bytes]:
    fields.append(("Content-Type", "application/http; msgtype=response"))
    fields += _truncation(fetched)
    if record.content_type:
        fields.append(("WARC-Identified-Payload-Type", record.content_type))
    body = fetched.raw_body
    head = response_head(fetched, body_bytes=len(body))
    return _member("response", fields, head, body, level=level, urn=urn)


def _truncation(fetched: Page | Redirect) -> list[Field]:
    if isinstance(fetched, Page) and fetched.truncated in _TRUNCATIONS:
        return [("WARC-Truncated", fetched.truncated)]
    return []


def _identical_payload(
    fetched: Page | Redirect, original: Original, urn: str, fields: list[Field], *, level: int
) -> list[bytes]:
    fields += [
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Profile", _IDENTICAL),
        ("WARC-Refers-To", original.record_id),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", original.date),
        *_truncation(fetched),
    ]
    block = response_head(fetched, body_bytes=len(fetched.raw_body))
    return _member("revisit", fields, block, level=level, urn=urn)


def _server_not_modified(fetched: NotModified, urn: str, common: list[Field], *, level: int) -> list[bytes]:
    fields = [
        *common,
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Profile", _NOT_MODIFIED),
        ("WARC-Refers-To-Target-URI", fetched.url),
    ]
    return _member("revisit", fields, response_head(fetched, body_bytes=None), level=level, urn=urn)


def _conversion(page: Page, main_id: str, common: list[Field], *, level: int) -> list[bytes]:
    fields = [*common, ("WARC-Refers-To", main_id), ("Content-Type", "text/html; charset=utf-8")]
    if page.rendering is Rendering.LENGTH:
        fields.append(("WARC-Truncated", "length"))
    return _member("conversion", fields, page.body, level=level)


def _payload_digest(fetched: Page | Redirect, record: PageRecord) -> str:
    # The digest of the page record is that of the decoded body. The payload of a WARC record has its content coding.
    if record.digest and fetched.raw_body is fetched.body:
        return record.digest
    return body_digest(fetched.raw_body)


def _facts(fetched: Page | Redirect | NotModified, record: PageRecord) -> Iterable[Field]:
    yield "recordNumber", str(record.number)
    if record.via:
        yield "via", record.via
    yield "kind", record.kind
    yield "depth", str(record.depth)
    yield "fetchTimeMs", str(round(fetched.duration_s * 1000))
    if record.rendering:
        yield "rendering", record.rendering
    if record.charset:
        yield "charsetForLinkExtraction", record.charset
    if record.attempts > 1:
        yield "attempts", str(record.attempts)


def _one_line(raw: bytes) -> bytes:
    return _LINE_BREAKS.sub(b" ", raw) if b"\n" in raw or b"\r" in raw else raw


def _member(kind: str, fields: Iterable[Field], *block: bytes, level: int, urn: str | None = None) -> list[bytes]:
    """One WARC record as one gzip member. The result and `block` are in pieces."""
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:{urn or f'uuid:{uuid.uuid4()}'}>",
        *[f"{name}: {value}" for name, value in fields],
        f"Content-Length: {sum(map(len, block))}",
        f"WARC-Block-Digest: {body_digest(*block)}",
        "\r\n",
    ]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) or head.count("\r") != len(lines):  # a value must not begin a field of its own
        head = "\r\n".join([_LINE_BREAKS_OF_TEXT.sub(" ", line) for line in lines[:-1]] + lines[-1:])
    return _compress([head.encode("utf-8", "replace"), *block, b"\r\n\r\n"], level)


def _compress(parts: list[bytes], level: int) -> list[bytes]:
    fast = level <= isal_zlib.ISAL_BEST_COMPRESSION
    if sum(map(len, parts)) <= _PIECE_BYTES:
        record = b"".join(parts)
        return [isal_zlib.compress(record, level, wbits=_GZIP) if fast else zlib.compress(record, level, wbits=_GZIP)]
    compressor = isal_zlib.compressobj(level, wbits=_GZIP) if fast else zlib.compressobj(level, wbits=_GZIP)
    compressed = [
        compressor.compress(memoryview(part)[at : at + _PIECE_BYTES])
        for part in parts
        for at in range(0, len(part), _PIECE_BYTES)
    ]
    compressed.append(compressor.flush())
    return [piece for piece in compressed if piece]
