"""Heads of requests and responses, as WARC records have them. Pure."""

import re
from typing import Final

from crawler.page import NotModified, Page, Redirect

_LINE_BREAKS: Final = re.compile(rb"[\r\n]+[ \t]*")
_KNOWN_HTTP_VERSIONS: Final = ("1.0", "1.1")


def response_head(response: Page | Redirect | NotModified, *, body_bytes: int | None) -> bytes:
    """Status line and headers as received, corrected to fit the body that follows.

    The body has no transfer coding any more, so that header is renamed. So is a Content-Length that differs from the
    body, because it was cut or the server was wrong. Folded lines are joined (RFC 9112, section 5.2). `body_bytes` is
    None if the response has no body.
    """
    version = response.http_version if response.http_version in _KNOWN_HTTP_VERSIONS else "1.1"
    reason = response.reason.encode("latin-1", "replace")
    parts = [one_line(b"HTTP/%s %d %s" % (version.encode(), response.status, reason)), b"\r\n"]
    replaced = False
    for name, value in response.headers:
        lowered = name.lower()
        if lowered == b"transfer-encoding":
            parts += (b"X-Archive-Orig-", name)
        elif lowered == b"content-length" and body_bytes is not None and value.strip() != b"%d" % body_bytes:
            replaced = True
            parts += (b"X-Archive-Orig-", name)
        else:
            parts.append(one_line(name))
        parts += (b": ", one_line(value), b"\r\n")
    if replaced and body_bytes is not None:
        parts.append(b"Content-Length: %d\r\n" % body_bytes)
    parts.append(b"\r\n")
    return b"".join(parts)


def request_head(response: Page | Redirect | NotModified) -> bytes:
    """The request line, and the headers that we know were sent."""
    lines = [b"GET %s HTTP/1.1\r\n" % request_target(response.url).encode("utf-8", "replace")]
    for name, value in response.request_headers:
        lines.append(one_line(f"{name}: {value}".encode("utf-8", "replace")) + b"\r\n")
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


def one_line(raw: bytes) -> bytes:
    return _LINE_BREAKS.sub(b" ", raw) if b"\n" in raw or b"\r" in raw else raw
