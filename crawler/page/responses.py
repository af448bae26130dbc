"""What the crawl asks of a server, and what it gets."""

from enum import StrEnum
from typing import Final, Literal, Self

import msgspec

from crawler.page.failures import FailureKind
from crawler.page.links import Link
from crawler.page.wanted import wanted_headers

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses that say nothing without a Location. A 300 may have its choices in the body."""
MULTIPLE_CHOICES: Final = 300
TOO_MANY_REQUESTS: Final = frozenset({429, 430})
"""430 is what Shopify answers instead."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one URL."""

    url: str
    referer: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Additional headers, as a script of a page asks for them. The headers of the crawl override these."""
    is_sitemap: bool = False
    """Whether it asks for a sitemap, which may be longer than a page."""
    is_check: bool = False
    """Whether it only asks if the URL is there: the body is not kept."""
    method: Literal["GET", "HEAD"] = "GET"
    """HEAD is for checks alone. A check by GET asks for the first byte."""
    max_body_bytes: int | None = None
    """Read at most this much of the body. None: the limit of the site."""


class Rendering(StrEnum):
    """How the rendering of a page in a browser ended.

    The first five have a document; see `WITH_DOCUMENT`. For the others, the page stays as the server sent it.
    """

    WHOLE = "whole"
    TIME = "time"
    """it was still loading when its time ran out"""
    REQUESTS = "requests"
    """it made more requests than it may"""
    BYTES = "bytes"
    """it loaded more bytes than it may"""
    LENGTH = "length"
    """the document was too long, and is cut"""
    HUNG = "hung"
    """its scripts did not stop"""
    MEMORY = "memory"
    """its browser used more memory than it may"""
    CRASHED = "crashed"
    """its browser crashed, or could not show it"""
    LEFT = "left"
    """its scripts went to another page, or the browser did not read it to its end"""
    CLOSED = "closed"
    """its scripts closed it"""


WITH_DOCUMENT = frozenset({Rendering.WHOLE, Rendering.TIME, Rendering.REQUESTS, Rendering.BYTES, Rendering.LENGTH})
"""Renderings whose page has the document that the scripts made as its body."""


class Response(msgspec.Struct, frozen=True, kw_only=True, weakref=True):
    """What every response has, whatever its status."""

    url: str
    status: int
    reason: str = ""
    """The reason phrase of the status line, decoded as Latin-1, as headers are: any of its octets can be told again."""
    http_version: str = "1.1"
    headers: list[tuple[bytes, bytes]]
    """As received, in order."""
    request_headers: list[tuple[str, str]] = []
    """As sent, in order, without credentials."""
    ip: str | None = None
    """The address of the server that answered."""
    port: int | None = None
    fetched_at: float
    """When the request was sent: seconds since 1970."""
    duration_s: float
    """From the request to the last byte of the body, or to the byte where it was cut."""

    def header(self, name: str, /) -> str | None:
        """The first header of that name in any case, decoded as Latin-1 and stripped; None if absent."""
        found = wanted_headers(self.headers, (name.lower().encode("latin-1"),))
        return found[0][1].decode("latin-1").strip() if found else None


class LoadAnswer(msgspec.Struct, frozen=True):
    """What a server answered to a request of a page that was rendered."""

    status: int
    retry_after: str | None
    """The header."""


class Screenshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a rendered page looked like, or why there is no image of it."""

    kind: str
    """`view`, `fullPage` or `thumbnail`."""
    media_type: str
    image: bytes = b""
    failure: str | None = None
    """For people. None if there is an image."""


class Page(Response, frozen=True, kw_only=True):
    """A response with its body. Every response is a page, but for a 304 and a redirect with a Location."""

    body: bytes
    """The body without its Content-Encoding; cut at the body limit."""
    raw_body: bytes
    """The body as received, with its Content-Encoding and without its transfer coding. The same object as `body` if it
    is not encoded."""
    truncated: str | None = None
    """Why the body is incomplete: `length` (over the limit), `time`, `disconnect`, `partial` (a 206), or `encoding` (a
    part could be decoded; `raw_body` is complete). None if the body is complete."""
    cut_by: FailureKind | None = None
    """If `truncated` is `disconnect`: the failure that cut the body."""
    message: str | None = None
    """For people: more about that, or why the body may be incomplete."""
    challenged: bool = False
    """Whether the server refused the request because it must be signed, and the next one for this URL will be."""
    rendering: Rendering | None = None
    """How its rendering ended; None if it was not rendered. If there is a document, `body` holds it."""
    links: tuple[Link, ...] = ()
    """Links that only the browser found, absolute."""
    troubled_loads: tuple[LoadAnswer, ...] = ()
    """The different answers of its host to what its rendering loaded that were errors or had Retry-After."""
    loads: tuple[Response, ...] = ()
    """What its rendering loaded, for an archive: pages and redirects. A response that the crawl keeps for several pages
    is the same object in each."""
    screenshots: tuple[Screenshot, ...] = ()
    """Those that were wanted of its rendering, for an archive."""

    @property
    def has_links(self) -> bool:
        """Whether its links are followed: those of a success, and the choices of a 300 (RFC 9110, section 15.4.1)."""
        return self.status <= MULTIPLE_CHOICES


class Redirect(Response, frozen=True, kw_only=True):
    """A 300, 301, 302, 303, 307 or 308 with a Location. The fetcher does not follow it: its target is a link like any
    other."""

    location: str
    """The Location header as it stands, not yet resolved."""
    body: bytes = b""
    raw_body: bytes = b""
    truncated: str | None = None
    """Why the body was not received to its end: `length`, `time` or `disconnect`, as for a page."""
    asked: bool = True
    """False if no request was sent: the server has said before that it wants https (HSTS), or https has no connection.
    """
    message: str | None = None
    """For people: why https has no connection, if that is why http is tried. None for all other redirects."""
    keeps_cookies: bool = False
    """Whether the crawl sends the cookies of this server back to it: then a URL that has redirected may be a page when
    it is asked again."""

    @classmethod
    def internal(cls, url: str, location: str, *, why: bytes, now: float, message: str | None = None) -> Self:
        """One that no server sent, in the form in which browsers show theirs. `now` is in seconds since 1970."""
        return cls(
            url=url,
            status=307,
            reason="Internal Redirect",
            headers=[(b"Location", location.encode()), (b"Non-Authoritative-Reason", why)],
            location=location,
            fetched_at=now,
            duration_s=0.0,
            asked=False,
            message=message,
        )


class NotModified(Response, frozen=True, kw_only=True):
    """A 304: the copy that the crawl has is still current."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """No usable response."""

    url: str
    kind: FailureKind
    message: str
    """For people; does not name the URL."""
    ip: str | None = None
    fetched_at: float
    duration_s: float
    reached: bool = True
    """False if no byte was sent to a server, so that no server has to rest."""
    answered: bool = False
    """Whether the server sent a status and headers before it failed."""
    response: Page | None = None
    """What the server had sent, for an archive: `raw_body` is what was received of the body, and `body` is empty. None
    if it did not answer."""
    may_pass: bool = False
    """Whether another attempt may succeed, although that is rare after failures of this kind."""
    lacks_body: bool = False
    """Whether the server has only said that the page has not changed, but the crawl needs it: it is asked once more,
    however few attempts there are."""
    no_connection: bool = False
    """Whether the server can't be reached, or for an https URL speaks no TLS. False after any other failure, such as a
    wrong certificate, and if a proxy was to be asked."""
    kept_closed: bool = False
    """Whether the server has closed a kept connection, perhaps before the request arrived."""


WithBody = Page | Redirect
"""Responses that may have a body."""

Answer = WithBody | NotModified
"""All but a failure. To ask of a page if it is one of these takes less than to ask if it is a failure."""

Fetched = Answer | Failure
