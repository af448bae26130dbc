"""Parses the heads of HTTP/1.1 requests, and encodes responses. Pure."""

from email.utils import parsedate_to_datetime
from http import HTTPStatus

import msgspec

from crawler.simweb.world import Reply

_CHUNK_BYTES = 3_000
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """A valid request."""

    method: str
    host: str
    target: str
    accept_encoding: str
    if_none_match: str
    if_modified_since: str
    keep_alive: bool
    takes_chunks: bool
    """False for HTTP/1.0."""

    @property
    def is_usual(self) -> bool:
        """Whether this is a request as crawlers send it, whose response is worth caching."""
        return self.method == "GET" and self.takes_chunks


class BadRequest(msgspec.Struct, frozen=True):
    """A request to which the server responds with an error, and then closes the connection."""

    status: int
    why: str


def parse(head: bytes) -> HttpRequest | BadRequest:
    """Parse a request head, without its empty line. Requests with a body are refused, because no crawler sends any."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        return BadRequest(400, f"expected a request line as 'GET / HTTP/1.1', found {lines[0][:100]!r}")
    method, target, version = words
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return BadRequest(400, f"expected a header as 'Name: value', found {line[:100]!r}")
        headers[name.lower()] = value.strip()
    if method not in ("GET", "HEAD"):
        return BadRequest(405, f"this server answers GET and HEAD, not {method[:20]!r}")
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        return BadRequest(400, "this server takes no request bodies")
    host = headers.get("host", "")
    if target.startswith("http://"):
        host, slash, path = target[7:].partition("/")
        target = slash + path or "/"
    if not host or not target.startswith("/"):
        return BadRequest(400, "expected a Host header and a target that starts with a slash")
    connection = headers.get("connection", "").lower()
    return HttpRequest(
        method=method,
        host=host,
        target=target,
        accept_encoding=headers.get("accept-encoding", ""),
        if_none_match=headers.get("if-none-match", ""),
        if_modified_since=headers.get("if-modified-since", ""),
        keep_alive=connection == "keep-alive" if version == "HTTP/1.0" else connection != "close",
        takes_chunks=version == "HTTP/1.1",
    )


def is_current(request: HttpRequest, reply: Reply) -> bool:
    """Whether the client's copy is what it would get. Its date only counts if it sends no entity tag (RFC 9110)."""
    if request.if_none_match:
        return reply.header("ETag") == request.if_none_match
    date = reply.header("Last-Modified")
    if not request.if_modified_since or not date:
        return False
    try:
        return parsedate_to_datetime(date) <= parsedate_to_datetime(request.if_modified_since)
    except (TypeError, ValueError, OverflowError):
        return False


def encode(reply: Reply, *, head_only: bool, keep_alive: bool) -> bytes:
    """Encode a reply, without cutting it."""
    lines = [f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    body = reply.body
    if reply.status == 304:
        body = b""
    elif reply.chunked:
        lines.append("Transfer-Encoding: chunked")
        body = _chunks(body)
    else:
        lines.append(f"Content-Length: {len(body)}")
    lines.append(f"Connection: {'keep-alive' if keep_alive else 'close'}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return head if head_only else head + body


def _chunks(body: bytes) -> bytes:
    pieces = [body[start : start + _CHUNK_BYTES] for start in range(0, len(body), _CHUNK_BYTES)]
    return b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces] + [b"0\r\n\r\n"])
