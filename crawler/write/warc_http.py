"""Heads of requests and responses, as WARC records have them. Pure."""

from collections.abc import Sequence
from typing import Final

from crawler.page import NotModified, Page, Redirect, wanted_headers
from crawler.write.warc_members import encoded, lines

_KNOWN_HTTP_VERSIONS: Final = ("1.0", "1.1")
_TRANSFER_ENCODING: Final = b"transfer-encoding"
_CONTENT_LENGTH: Final = b"content-length"
_END: Final = b"\r\n"


def response_head(response: Page | Redirect | NotModified, *, body_bytes: int | None) -> bytes:
    """Status line and headers as received, corrected to fit the body that follows.

    The body has no transfer coding any more, so that header is renamed. So is a Content-Length that differs from the
    body, because it was cut or the server was wrong. Folded lines are joined (RFC 9112, section 5.2). `body_bytes` is
    None if the response has no body.
    """
    version = response.http_version if response.http_version in _KNOWN_HTTP_VERSIONS else "1.1"
    length = None if body_bytes is None else b"%d" % body_bytes
    headers = response.headers
    for name, value in wanted_headers(headers, (_TRANSFER_ENCODING, _CONTENT_LENGTH)):
        if _does_not_fit(name, value, length):
            headers = _corrected(headers, length)
            break
    return lines(_as_sent(f"HTTP/{version} {response.status} {response.reason}"), headers) + _END


def _does_not_fit(name: bytes, value: bytes, length: bytes | None) -> bool:
    """Whether a header, whose name is in lower case, does not fit a body of that length without transfer coding."""
    return name == _TRANSFER_ENCODING or (name == _CONTENT_LENGTH and length is not None and value.strip() != length)


def _corrected(headers: Sequence[tuple[bytes, bytes]], length: bytes | None) -> list[tuple[bytes, bytes]]:
    corrected: list[tuple[bytes, bytes]] = []
    lacks_length = False
    for name, value in headers:
        fits = not _does_not_fit(lower := name.lower(), value, length)
        corrected.append((name if fits else b"X-Archive-Orig-" + name, value))
        lacks_length |= lower == _CONTENT_LENGTH and not fits
    if lacks_length and length is not None:
        corrected.append((b"Content-Length", length))
    return corrected


def request_head(response: Page | Redirect | NotModified) -> bytes:
    """The request line, and the headers that we know were sent."""
    return lines(f"GET {request_target(response.url)} HTTP/1.1", response.request_headers) + _END


def _as_sent(status_line: str) -> bytes:
    """A status line as its server sent it. Only a plug-in gives one that Latin-1 can't express."""
    try:
        return status_line.encode("latin-1")
    except UnicodeEncodeError:
        return encoded(status_line)


def request_target(url: str) -> str:
    """The path and query of a URL, without the fragment: `/path?query`."""
    authority, slash, path = url.partition("#")[0].partition("://")[2].partition("/")
    _, mark, query = authority.partition("?")
    return f"/?{query}{slash}{path}" if mark else f"/{path}"
