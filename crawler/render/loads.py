"""Loads what a page requests, if the crawl allows it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from crawler.page import (
    Failure,
    Fetched,
    LoadAnswer,
    NotModified,
    Page,
    Preference,
    Redirect,
    Request,
    Verdict,
    WithBody,
)
from crawler.render.responses import ResponseCache, SubResponse
from crawler.seams import Fetches

Kind = Literal["document", "frame", "stylesheet", "script", "data", "image", "media", "font"]

_KINDS: Final[Mapping[str, Kind]] = {
    "Document": "frame",
    "Stylesheet": "stylesheet",
    "Script": "script",
    "XHR": "data",
    "Fetch": "data",
    "Image": "image",
    "Media": "media",
    "TextTrack": "media",
    "Font": "font",
}
"""By `Network.ResourceType`. All others are refused: pings and reports, which only send data; favicons and manifests,
which change no document; event streams, which have no end; prefetches. Chromium reports the last two as XHR and Fetch,
so their headers tell."""

MAX_REQUEST_CHARACTERS: Final = 65_536
"""Of the URL and the headers of one request: a page of a few bytes must not let the crawl send megabytes."""
_SHARED: Final = frozenset({"stylesheet", "script", "image", "font"})
"""Kinds that many pages of a site share."""
_OWN_HEADERS = frozenset(
    "accept-encoding accept-language authorization cache-control connection content-length cookie dnt from host pragma "
    "range referer save-data signature signature-agent signature-input te transfer-encoding upgrade "
    "upgrade-insecure-requests user-agent via "
    "x-http-method x-http-method-override x-method-override".split()
)
"""Headers of a page's request that we drop: the crawl's fetcher sets some of them, and the last three would let servers
take a GET for another method."""
_DROPPED_HEADERS = frozenset(
    b"content-encoding content-length transfer-encoding connection keep-alive alt-svc nel report-to "
    b"reporting-endpoints".split()
)
"""Headers of a response that we drop: they are wrong for a decoded body, or would make the browser contact servers."""
_LOGIN = re.compile(r"^(https?://)[^/]*@")
"""A script may pass a login to `XMLHttpRequest.open`: it would become the header `Authorization`, which we drop too."""


class Keeps(Protocol):
    """Says whether the archive gets a response. `of_origin`: what its origin says about its use."""

    def __call__(self, response: WithBody, /, *, of_origin: Sequence[Preference]) -> bool: ...


class Allows(Protocol):
    """The part of `Robots` that we need here."""

    async def allows(self, url: str, /) -> Verdict: ...


class SubRequest(msgspec.Struct, frozen=True):
    """A request that a page makes, as the browser reports it. The browser waits for what becomes of it."""

    id: str
    session: str | None
    """That of its frame or worker."""
    url: str
    method: str
    kind: Kind | None
    """None for a kind that we never load."""
    headers: dict[str, str]
    is_preflight: bool = False

    @classmethod
    def of(cls, params: Mapping[str, Any], session: str | None) -> "SubRequest":
        """Make it from the parameters of `Fetch.requestPaused`. A request that was too long to be read is of a kind
        that we never load."""
        if (request := params.get("request")) is None:
            return cls(id=params["requestId"], session=session, url="", method="", kind=None, headers={})
        headers = {name.lower(): value for name, value in request["headers"].items()}
        return cls(
            id=params["requestId"],
            session=session,
            url=_LOGIN.sub(r"\1", request["url"]),
            method=request["method"],
            kind=None if _is_stream_or_prefetch(headers) else _KINDS.get(params["resourceType"]),
            headers=headers,
            is_preflight=request["method"] == "OPTIONS" and "access-control-request-method" in headers,
        )

    def characters(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers.items())


def _is_stream_or_prefetch(headers: Mapping[str, str]) -> bool:
    return headers.get("accept") == "text/event-stream" or headers.get("sec-purpose", "").startswith("prefetch")


class Loaded(NamedTuple):
    """What became of a request."""

    response: SubResponse | None
    """None if robots.txt forbids it, or if it failed."""
    busy_s: float = 0.0
    """For how many seconds a server was busy with it."""
    trouble: LoadAnswer | None = None
    """The answer of the server, if that was an error or had Retry-After."""


class Loads:
    """Loads the requests of pages through the crawl's own fetcher.

    `blocked`: kinds that are not loaded. `refuses` returns True for URLs that are not loaded. `robots`, if there is
    one, is asked for each URL. `cache` holds responses that pages share. Without `keeps`, the archive gets nothing.
    """

    def __init__(
        self,
        fetcher: Fetches,
        *,
        blocked: Collection[str] = ("image", "media", "font"),
        refuses: Callable[[str], bool] = lambda _: False,
        robots: Allows | None = None,
        cache: ResponseCache,
        keeps: Keeps | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._fetcher = fetcher
        self._blocked = frozenset(blocked)
        self._refuses = refuses
        self._robots = robots
        self._cache = cache
        self._keeps = keeps
        self._clock = clock

    def passes(self, request: SubRequest) -> bool:
        """Whether we may load the request. A crawl only reads, so it sends nothing but GET."""
        return (
            request.kind is not None
            and request.kind not in self._blocked
            and request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and request.characters() <= MAX_REQUEST_CHARACTERS
            and not self._refuses(request.url)
        )

    async def load(self, request: SubRequest) -> Loaded:
        """Load a request that passes."""
        said: Sequence[Preference] = ()
        if self._robots is not None:
            verdict = await self._robots.allows(request.url)
            if not verdict.allowed:
                return Loaded(None)
            said = verdict.preferences
        # The response may depend on the origin of the page.
        name = f"{request.url} {request.headers.get('origin', '')}"
        if (cached := self._cache.find(name, now=self._clock())) is not None:
            return Loaded(cached)
        fetched = await self._fetcher.fetch(to_request(request))
        response = to_response(fetched)
        # An upgrade by HSTS comes from no server that could allow the origin.
        if response is not None and isinstance(fetched, Redirect) and not fetched.asked and "origin" in request.headers:
            response.headers.extend(_cors_headers(request.headers["origin"]))
        if response is not None and self._is_archived(fetched, said):
            response = msgspec.structs.replace(response, for_archive=fetched)
        if response is not None and request.kind in _SHARED:
            response = self._cache.keep(name, response, now=self._clock())
        return Loaded(response, fetched.duration_s, _trouble(fetched))

    def _is_archived(self, fetched: Fetched, said: Sequence[Preference]) -> bool:
        if self._keeps is None or not isinstance(fetched, WithBody):
            return False
        return self._keeps(fetched, of_origin=said)


def _trouble(fetched: Fetched) -> LoadAnswer | None:
    if isinstance(fetched, Failure) or (isinstance(fetched, Redirect) and not fetched.asked):
        return None
    retry_after = fetched.header("retry-after")
    return LoadAnswer(fetched.status, retry_after) if fetched.status >= 400 or retry_after is not None else None


def to_request(request: SubRequest) -> Request:
    return Request(
        url=request.url,
        referer=request.headers.get("referer"),
        headers=tuple(
            (name, value)
            for name, value in request.headers.items()
            if name not in _OWN_HEADERS and not name.startswith(("sec-", "if-", "proxy-")) and _is_plain(value)
        ),
    )


def to_response(fetched: Fetched) -> SubResponse | None:
    """The response for the browser; None if the fetch has no complete response."""
    if isinstance(fetched, Failure | NotModified) or (isinstance(fetched, Page) and fetched.truncated is not None):
        return None
    return SubResponse(fetched.status, response_headers(fetched), fetched.body)


def response_headers(response: WithBody) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in response.headers
        if name.lower() not in _DROPPED_HEADERS
    ]


def preflight_response(request: SubRequest) -> SubResponse:
    """Allow a page to send its request, without asking the server. The headers of the response to that request decide
    whether the page may read it."""
    origin = request.headers.get("origin", "*")
    wanted = request.headers.get("access-control-request-headers", "")
    headers = [*_cors_headers(origin), ("Access-Control-Allow-Methods", "GET")]
    if wanted:
        headers.append(("Access-Control-Allow-Headers", wanted))
    return SubResponse(204, headers)


def _cors_headers(origin: str) -> list[tuple[str, str]]:
    allowed = ("Access-Control-Allow-Origin", origin)
    return [allowed] if origin == "*" else [allowed, ("Access-Control-Allow-Credentials", "true")]


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable()
