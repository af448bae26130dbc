"""Heads of requests and responses, as WARC records have them. Pure."""

from typing import Final

from crawler.page import NotModified, Page, Redirect
from crawler.write.warc_members import Field, encoded, lines, places

_KNOWN_HTTP_VERSIONS: Final = ("1.0", "1.1")
_END: Final = b"\r\n"


def response_head(response: Page | Redirect | NotModified, *, body_bytes: int | None) -> bytes:
    """Status line and headers as received, corrected to fit the body that follows.

    The body has no transfer coding any more, so that header is renamed. So is a Content-Length that differs from the
    body, because it was cut or the server was wrong. Folded lines are joined (RFC 9112, section 5.2). `body_bytes` is
    None if the response has no body.
    """
    version = response.http_version if response.http_version in _KNOWN_HTTP_VERSIONS else "1.1"
    headers: list[Field] = [*response.headers]
    replaced = places(response.headers, b"transfer-encoding")
    if body_bytes is not None:
        lengths = places(response.headers, b"content-length")
        wrong = [at for at in lengths if response.headers[at][1].strip() != b"%d" % body_bytes]
        if wrong:
            replaced += wrong
            headers.append(("Content-Length", body_bytes))
    for at in replaced:
        name, value = response.headers[at]
        headers[at] = b"X-Archive-Orig-" + name, value
    return lines(_as_sent(f"HTTP/{version} {response.status} {response.reason}"), headers) + _END


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
