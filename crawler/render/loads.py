"""What a page loads: which of its requests are answered, by whom, and how much."""

from collections.abc import Callable, Collection, Mapping
from time import monotonic
from typing import Any, Final, Literal, Protocol

import msgspec

from crawler.page import Failure, Fetched, NotModified, Page, Redirect, Request, Verdict
from crawler.render.answers import Answer, Kept

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
"""By `Network.ResourceType`. All others are refused: pings and reports, which tell and do not ask; favicons and
manifests, which change no document; event streams, which have no end; what is fetched ahead."""

_SHARED: Final = frozenset({"stylesheet", "script", "image", "font"})
"""What many pages of a site load alike, whoever asks."""
_OWN_HEADERS = frozenset(
    "accept-encoding accept-language authorization cache-control connection content-length cookie dnt host pragma "
    "range referer save-data te transfer-encoding upgrade upgrade-insecure-requests user-agent via".split()
)
"""Of a page's request, what the crawl's own fetcher says, or nobody."""
_DROPPED_HEADERS = frozenset(
    b"content-encoding content-length transfer-encoding connection keep-alive alt-svc nel report-to "
    b"reporting-endpoints".split()
)
"""Of a response, what is not true of a decoded body, or asks the browser to talk to servers by itself."""


class Fetches(Protocol):
    """The part of a fetcher that is needed here."""

    async def fetch(self, request: Request, /) -> Fetched: ...


class Allows(Protocol):
    """The part of `Robots` that is needed here."""

    async def allows(self, url: str, /) -> Verdict: ...


class Asked(msgspec.Struct, frozen=True):
    """A request that a page makes, as the browser tells it."""

    url: str
    method: str
    kind: Kind | None
    """None for a kind that is never loaded."""
    headers: dict[str, str]
    is_preflight: bool = False

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Asked":
        """From the parameters of `Fetch.requestPaused`."""
        request = params["request"]
        headers = {name.lower(): value for name, value in request["headers"].items()}
        return cls(
            url=request["url"],
            method=request["method"],
            kind=_KINDS.get(params["resourceType"]),
            headers=headers,
            is_preflight=request["method"] == "OPTIONS" and "access-control-request-method" in headers,
        )


class Loads:
    """Answers the requests of pages, through the crawl's own fetcher.

    `blocked` are kinds that are not loaded. `refuses` tells URLs that are not. `robots`, where there is one, is asked
    for each URL. What is in `kept` is not asked for again.
    """

    def __init__(
        self,
        fetcher: Fetches,
        *,
        blocked: Collection[str] = ("image", "media", "font"),
        refuses: Callable[[str], bool] = lambda _: False,
        robots: Allows | None = None,
        kept: Kept,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._fetcher = fetcher
        self._blocked = frozenset(blocked)
        self._refuses = refuses
        self._robots = robots
        self._kept = kept
        self._clock = clock

    def passes(self, asked: Asked) -> bool:
        """Whether the request may be answered at all. A crawl only reads, so nothing but GET is sent."""
        return (
            asked.kind is not None
            and asked.kind not in self._blocked
            and asked.method == "GET"
            and asked.url.startswith(("http://", "https://"))
            and not self._refuses(asked.url)
        )

    async def answer(self, asked: Asked) -> tuple[Answer | None, float]:
        """The answer to a request that passes, None if robots.txt forbids it or it failed; and for how many seconds a
        server was kept busy with it."""
        if self._robots is not None and not (await self._robots.allows(asked.url)).allowed:
            return None, 0.0
        # What is answered may depend on where it is asked from.
        name = f"{asked.url} {asked.headers.get('origin', '')}"
        if (kept := self._kept.find(name, now=self._clock())) is not None:
            return kept, 0.0
        fetched = await self._fetcher.fetch(request_of(asked))
        answer = answer_of(fetched)
        if answer is not None and asked.kind in _SHARED:
            self._kept.keep(name, answer, now=self._clock())
        return answer, fetched.duration_s


def request_of(asked: Asked) -> Request:
    return Request(
        url=asked.url,
        referer=asked.headers.get("referer"),
        headers=tuple(
            (name, value)
            for name, value in asked.headers.items()
            if name not in _OWN_HEADERS and not name.startswith(("sec-", "if-", "proxy-")) and _is_plain(value)
        ),
    )


def answer_of(fetched: Fetched) -> Answer | None:
    """What the browser is told; None for what is no whole response."""
    if isinstance(fetched, Failure | NotModified) or (isinstance(fetched, Page) and fetched.truncated is not None):
        return None
    return Answer(fetched.status, told_headers(fetched), fetched.body)


def told_headers(response: Page | Redirect) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in response.headers
        if name.lower() not in _DROPPED_HEADERS
    ]


def preflight_answer(asked: Asked) -> Answer:
    """Lets a page ask what it wants to ask: whether it may read the answer is told by the answer's own headers. Saves
    servers a request."""
    origin = asked.headers.get("origin", "*")
    wanted = asked.headers.get("access-control-request-headers", "")
    headers = [("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Methods", "GET")]
    if wanted:
        headers.append(("Access-Control-Allow-Headers", wanted))
    if origin != "*":
        headers.append(("Access-Control-Allow-Credentials", "true"))
    return Answer(204, headers)


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable()
