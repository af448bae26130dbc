"""Heads of requests and responses, as WARC records have them. Pure."""

import re
from typing import Final

from crawler.page import NotModified, Page, Redirect
from crawler.write.warc_members import encoded, joined

_LINE_BREAKS: Final = re.compile(rb"[\r\n]+[ \t]*")
_KNOWN_HTTP_VERSIONS: Final = ("1.0", "1.1")
_TRANSFER_ENCODING: Final = b"transfer-encoding"
_ABOUT_BODY: Final = frozenset({_TRANSFER_ENCODING, b"content-length"})


def response_head(response: Page | Redirect | NotModified, *, body_bytes: int | None) -> bytes:
    """Status line and headers as received, corrected to fit the body that follows.

    The body has no transfer coding any more, so that header is renamed. So is a Content-Length that differs from the
    body, because it was cut or the server was wrong. Folded lines are joined (RFC 9112, section 5.2). `body_bytes` is
    None if the response has no body.
    """
    version = response.http_version if response.http_version in _KNOWN_HTTP_VERSIONS else "1.1"
    lines = [b"HTTP/%b %d %b" % (version.encode(), response.status, _as_sent(response.reason))]
    lines += map(b": ".join, response.headers)
    replaced = False
    for number, (name, value) in enumerate(response.headers, 1):
        if (lowered := name.lower()) not in _ABOUT_BODY:
            continue
        if lowered == _TRANSFER_ENCODING:
            lines[number] = b"X-Archive-Orig-" + lines[number]
        elif body_bytes is not None and value.strip() != b"%d" % body_bytes:
            replaced = True
            lines[number] = b"X-Archive-Orig-" + lines[number]
    if replaced and body_bytes is not None:
        lines.append(b"Content-Length: %d" % body_bytes)
    return _head(lines)


def request_head(response: Page | Redirect | NotModified) -> bytes:
    """The request line, and the headers that we know were sent."""
    lines = [f"GET {request_target(response.url)} HTTP/1.1", *map(": ".join, response.request_headers)]
    return encoded(joined(lines) + "\r\n")


def _as_sent(reason: str) -> bytes:
    """A reason phrase as its server sent it. Only a plug-in gives one that Latin-1 can't express."""
    try:
        return reason.encode("latin-1")
    except UnicodeEncodeError:
        return encoded(reason)


def _head(lines: list[bytes]) -> bytes:
    """The lines, each of which is made one line, and an empty one."""
    together = b"".join(lines)
    if together.find(b"\n") >= 0 or together.find(b"\r") >= 0:
        lines = [_LINE_BREAKS.sub(b" ", line) for line in lines]
    return b"\r\n".join([*lines, b"\r\n"])


def request_target(url: str) -> str:
    """The path and query of a URL, without the fragment: `/path?query`."""
    authority, slash, path = url.partition("#")[0].partition("://")[2].partition("/")
    _, mark, query = authority.partition("?")
    return f"/?{query}{slash}{path}" if mark else f"/{path}"
