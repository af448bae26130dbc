"""Makes the headers of a request, and says which of them are recorded."""

import re
from collections.abc import Iterable, Mapping

from crawler.fetch.coding import ACCEPTED
from crawler.fetch.request_limits import SECRET_HEADERS
from crawler.page import Request

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_PUBLIC_HEADERS = frozenset(
    "accept accept-charset accept-language cache-control dnt from if-modified-since if-none-match pragma range referer "
    "sec-gpc upgrade-insecure-requests user-agent".split()
)
"""Those that are recorded although somebody has configured them, because no site expects a secret there."""
_FRAMING_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_OURS = {
    name.lower(): name
    for name in (
        "User-Agent",
        "Accept",
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "Referer",
        "If-None-Match",
        "If-Modified-Since",
        "Range",
        "Signature-Agent",
        "Signature-Input",
        "Signature",
    )
}
"""As the fetcher writes the headers that it sets itself. Any other case would send them twice."""


def default_headers(user_agent: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of all requests. Raises `ValueError` for an invalid one in `headers`."""
    merged = {"User-Agent": user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPTED}
    for name, value in headers.items():
        if name.lower() in _FRAMING_HEADERS:
            raise ValueError(f"headers: {name} is set by the fetcher and can't be configured")
        if not name.isascii() or not name.isprintable() or any(char in value for char in "\r\n\0"):
            raise ValueError(f"headers: {name!r} = {value!r} is not a header; expected one line of text")
        merged = {key: old for key, old in merged.items() if key.lower() != name.lower()}
        merged[_OURS.get(name.lower(), name)] = value
    return merged


def request_headers(defaults: Mapping[str, str], request: Request) -> dict[str, str]:
    """All headers of a request. The defaults win over those that the request adds, except for Accept."""
    headers = {**defaults}
    # RFC 9110, section 10.1.3: do not send the URL of a page read over TLS in clear text.
    if request.referer and not (request.referer.startswith("https:") and request.url.startswith("http:")):
        headers["Referer"] = request.referer
    if request.etag and (etag := _as_received(request.etag)):
        headers["If-None-Match"] = etag
    if request.last_modified and (last_modified := _as_received(request.last_modified)):
        headers["If-Modified-Since"] = last_modified
    if request.is_check and request.method == "GET":
        headers["Range"] = "bytes=0-0"
    if request.headers:
        known = {name.lower(): name for name in headers}
        for name, value in request.headers:
            if name.lower() == "accept":
                headers[known.get("accept", name)] = value
            elif name.lower() not in known:
                headers[name] = value
    return headers


def _as_received(validator: str) -> str | None:
    """A validator, which `Response.header` has decoded as Latin-1, as the client writes it; None if it is not UTF-8, or
    has control characters: the client writes nothing else, and no server would know it again."""
    if _CONTROL.search(validator):
        return None
    if validator.isascii():
        return validator
    try:
        return validator.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None


def unrecorded_headers(configured: Iterable[str]) -> frozenset[str]:
    """The names, in lower case, of the headers that records leave out, because they are or may be secret."""
    return SECRET_HEADERS | (frozenset(map(str.lower, configured)) - _PUBLIC_HEADERS)


def recorded_headers(headers: Mapping[str, str], unrecorded: frozenset[str]) -> list[tuple[str, str]]:
    """The headers of a request without those that are not recorded."""
    if unrecorded.isdisjoint(map(str.lower, headers)):
        return list(headers.items())
    return [item for item in headers.items() if item[0].lower() not in unrecorded]
