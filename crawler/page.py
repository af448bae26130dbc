"""The values of a crawl: what is asked of the web, what it answers, what is understood of it and what is recorded."""

import base64
import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec


class LinkKind(StrEnum):
    """How a URL was found."""

    SEED = "seed"
    LINK = "link"
    """a, area"""
    EMBED = "embed"
    """img, script, stylesheet, source, …: what a page needs to be shown"""
    FRAME = "frame"
    FORM = "form"
    REDIRECT = "redirect"
    REFRESH = "refresh"
    CANONICAL = "canonical"
    ALTERNATE = "alternate"
    NEXT = "next"
    """rel=next and rel=prev"""
    HEADER = "header"
    """Link header"""
    CSS = "css"
    SITEMAP = "sitemap"
    """a sitemap itself, named by robots.txt, by a page or by a sitemap index"""
    LISTED = "listed"
    """a page that a sitemap or a list of URLs names"""
    FEED = "feed"
    SPECULATIVE = "speculative"


EMBEDDED: Final = frozenset({LinkKind.EMBED, LinkKind.CSS})
"""Kinds of links that a page needs to be shown."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One URL to ask a server for."""

    url: str
    referer: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """More to send, as a script of a page asks; what the crawl sends with every request goes before it."""
    is_sitemap: bool = False
    """A sitemap may be longer than a page."""
    max_body_bytes: int | None = None
    """Read no more of the body than this, or than the terms of the site say if it is None."""


class FailureKind(StrEnum):
    """Why there is no response. The words are what users read in records, counters and logs."""

    DNS = "dns"
    """the name does not resolve"""
    CONNECT = "connect"
    """no connection: refused, unreachable"""
    TLS = "tls"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    """the server closed before the response was whole"""
    PROTOCOL = "protocol"
    """what came is not HTTP"""
    ENCODING = "encoding"
    """the body can't be decompressed"""
    PRIVATE_ADDRESS = "private-address"
    """the name resolves to an address that must not be fetched"""
    PORT = "port"
    """a port that a crawl does not ask"""
    NO_CONTACT = "no-contact"
    """the host may be somebody's, and the user agent tells nobody whom to ask"""
    BAD_URL = "bad-url"
    UNEXPECTED = "unexpected"
    """an error that the fetcher does not know: a bug worth a report"""


TRANSIENT_FAILURES = frozenset(
    {
        FailureKind.DNS,
        FailureKind.CONNECT,
        FailureKind.TIMEOUT,
        FailureKind.DISCONNECTED,
        FailureKind.PROTOCOL,
        FailureKind.ENCODING,
    }
)
"""Failures that another attempt may cure."""

HOST_FAILURES = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS})
"""Failures that any other URL of the host would meet too, its robots.txt as well."""

REFUSALS = frozenset({FailureKind.PRIVATE_ADDRESS, FailureKind.PORT, FailureKind.NO_CONTACT, FailureKind.BAD_URL})
"""Failures by our own decision: nobody was asked, and nothing there will be."""


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as it stands in a document."""

    href: str
    """Stripped of white space, not yet resolved."""
    kind: LinkKind
    text: str = ""
    """Anchor text, white space collapsed, shortened to 200 characters."""
    rel: str = ""
    """Lower-case tokens, space-separated."""
    last_modified: str = ""
    """When the target changed last, as a sitemap says it."""


class Rendering(StrEnum):
    """How it went to render a page in a browser: the first have a document, the others leave the page as it came."""

    WHOLE = "whole"
    TIME = "time"
    """it was still loading when its time was up"""
    REQUESTS = "requests"
    """it asked for more than it may load"""
    BYTES = "bytes"
    """it loaded more bytes than it may"""
    LENGTH = "length"
    """the document is cut"""
    HUNG = "hung"
    """its scripts never came to rest"""
    MEMORY = "memory"
    """its browser took more memory than it may"""
    CRASHED = "crashed"
    """its browser died, or could not show it"""
    LEFT = "left"
    """its scripts replaced it by another"""
    CLOSED = "closed"
    """its scripts closed it"""


WITH_DOCUMENT = frozenset({Rendering.WHOLE, Rendering.TIME, Rendering.REQUESTS, Rendering.BYTES, Rendering.LENGTH})


class Response(msgspec.Struct, frozen=True, kw_only=True, weakref=True):
    """What every answer of a server has, whatever its status."""

    url: str
    status: int
    reason: str = ""
    """The reason phrase of the status line."""
    http_version: str = "1.1"
    headers: list[tuple[bytes, bytes]]
    """As received, in order."""
    request_headers: list[tuple[str, str]] = []
    """As sent, in order, without credentials."""
    ip: str | None = None
    """The address that answered."""
    port: int | None = None
    fetched_at: float
    """Seconds since 1970 at which the request was sent."""
    duration_s: float
    """From sending the request to the last byte of the body, or to the point of truncation."""

    def header(self, name: str, /) -> str | None:
        """The first header of that name, whatever its case, decoded as Latin-1 and stripped; None if absent."""
        wanted = name.lower().encode("latin-1")
        for key, value in self.headers:
            if key.lower() == wanted:
                return value.decode("latin-1").strip()
        return None

    def header_values(self, name: str, /) -> list[str]:
        """All headers of that name, in order."""
        wanted = name.lower().encode("latin-1")
        return [value.decode("latin-1").strip() for key, value in self.headers if key.lower() == wanted]


class Page(Response, frozen=True, kw_only=True):
    """A response with its body: any status but a redirect that says where to, or 304."""

    body: bytes
    """After Content-Encoding is undone; cut at the body limit."""
    raw_body: bytes
    """As received, Content-Encoding still applied, transfer coding undone. The same object as `body` if not encoded."""
    truncated: str | None = None
    """Why the body is not whole: `length` (over the limit), `time`, `disconnect`, `encoding` (decoded in part;
    `raw_body` is whole); None when it is whole."""
    cut_by: FailureKind | None = None
    """The failure that cut it, where it is `disconnect`."""
    message: str | None = None
    """For a person: more on that, or why it is not sure that the body is whole."""
    rendering: Rendering | None = None
    """How it went to render it; None if it was not. Where there is a document, that is `body`."""
    links: tuple[Link, ...] = ()
    """Links that a browser has found beside those in the body, absolute."""


class Redirect(Response, frozen=True, kw_only=True):
    """A 301, 302, 303, 307 or 308 with a Location. It is not followed: its target is a discovery like a link."""

    location: str
    """The Location header, not yet joined with the URL."""
    body: bytes = b""
    raw_body: bytes = b""
    asked: bool = True
    """False if nobody was asked, because the answer was known: the server has said before that it wants https."""


class NotModified(Response, frozen=True, kw_only=True):
    """A 304: what the crawl has is still current."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """No usable response."""

    url: str
    kind: FailureKind
    message: str
    """For a person, without the URL."""
    ip: str | None = None
    fetched_at: float
    duration_s: float
    reached: bool = True
    """False if no byte was sent to a server, so that nobody has to rest from it."""
    answered: bool = False
    """The server sent a status and headers; what failed came after them."""
    may_pass: bool = False
    """Another attempt may cure it, though not others of its kind."""


Fetched = Page | Redirect | NotModified | Failure


class Extract(msgspec.Struct, frozen=True, kw_only=True):
    """What was understood of a page."""

    content_type: str
    """Sniffed: the type by which the page was read, as `text/html`."""
    base_url: str
    """Against which the links resolve: the page's own URL, or its <base>."""
    links: Sequence[Link] = ()
    """In document order, repeats included."""
    charset: str | None = None
    """WHATWG name of the encoding the text was decoded with; None for what is not text."""
    charset_source: str | None = None
    """bom, http, meta, xml, detected or default."""
    title: str | None = None
    description: str | None = None
    abstract: str | None = None
    author: str | None = None
    language: str | None = None
    canonical: str | None = None
    """href of <link rel=canonical>, resolved."""
    nofollow: bool = False
    """The page asks that none of its links be followed."""
    noindex: bool = False
    error: str | None = None
    """What the extractor stumbled over; the rest of the extract is then what it got so far."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What robots.txt says of one URL."""

    allowed: bool
    reason: str
    """robots (allowed or disallowed by a rule), none (no robots.txt), unreachable, dns, connect or tls (the host itself
    can't be reached), …"""
    known: bool = True
    """False if robots.txt redirects, and the next request must wait for its turn: then nothing is decided yet."""
    asked: bool = False
    """True if robots.txt had to be fetched just now: the server has had a request and must rest."""
    duration_s: float = 0.0
    """How long that took."""
    pause_s: float | None = None
    """How long that server asks not to be asked again, by Retry-After."""
    retry_after_s: float | None = None
    """When disallowed because robots.txt could not be had: when to ask again."""
    message: str | None = None
    """For a person: why robots.txt could not be had."""


class PageRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the crawl found out about one URL; one line of `records/*.jsonl`."""

    number: int
    url: str
    resolved_url: str | None = None
    state: str
    """done, failed or excluded"""
    status: int | None = None
    reason: str | None = None
    """Why it failed or was excluded; the kind of failure, or the rule."""
    message: str | None = None
    depth: int
    via: str | None = None
    kind: str
    anchor: str | None = None
    hit_count: int | None = None
    weight: float | None = None
    precedence: int | None = None
    fetched_at: str | None = None
    """RFC 3339, UTC, milliseconds."""
    duration_s: float | None = None
    attempts: int = 1
    ip: str | None = None
    redirect: str | None = None
    """Where it redirects to, absolute."""
    content_type: str | None = None
    declared_type: str | None = None
    charset: str | None = None
    charset_source: str | None = None
    title: str | None = None
    description: str | None = None
    abstract: str | None = None
    author: str | None = None
    language: str | None = None
    canonical: str | None = None
    noindex: bool = False
    """It asks not to be shown in search results."""
    size_bytes: int | None = None
    """Bytes of the body after decompression."""
    received_bytes: int | None = None
    """Bytes of the body as received."""
    truncated: str | None = None
    rendering: str | None = None
    """How it went to render it; the body is then the document that its scripts made."""
    digest: str | None = None
    """sha1 of the body in base 32, with its prefix, as WARC payload digests are written."""
    duplicate_of: str | None = None
    last_modified: str | None = None
    etag: str | None = None
    expires_at: str | None = None
    references: list[str] | None = None
    """Canonical URLs of the links that were in scope, in document order, repeats included."""
    refused: dict[str, int] | None = None
    """Links that were not admitted, by reason."""
    refusals: list[tuple[str, str]] | None = None
    """Each of these, where it is asked for: its URL, or the href if it is none, and the reason."""


def body_digest(*pieces: bytes) -> str:
    """A body's digest as records and WARC files write it: `sha1:` and 32 characters of base 32."""
    return digest_text(body_sha1(*pieces))


def digest_text(sha1: bytes, /) -> str:
    """A sha1 as `body_digest` writes it."""
    return "sha1:" + base64.b32encode(sha1).decode("ascii")


def body_sha1(*pieces: bytes) -> bytes:
    """A body's sha1, 20 bytes."""
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
