"""The headers of a request: those of every one, those of one, and what of them is recorded."""

from collections.abc import Mapping

from aiohttp.client_reqrep import ClientResponse

from crawler.fetch.coding import ACCEPTED
from crawler.page import Request

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie")
_FRAMING_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})


def sent_always(user_agent: str, headers: Mapping[str, str]) -> dict[str, str]:
    merged = {"User-Agent": user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPTED}
    for name, value in headers.items():
        if name.lower() in _FRAMING_HEADERS:
            raise ValueError(f"headers: {name} is set by the fetcher and can't be configured")
        if not name.isascii() or not name.isprintable() or any(char in value for char in "\r\n\0"):
            raise ValueError(f"headers: {name!r} = {value!r} is no header; expected one line of text")
        merged = {key: old for key, old in merged.items() if key.lower() != name.lower()} | {name: value}
    return merged


def sent(always: Mapping[str, str], request: Request) -> dict[str, str]:
    """All headers of a request. What is always sent goes before what the request adds, but for Accept."""
    headers = dict(always) | sent_once(request)
    known = {name.lower(): name for name in headers}
    for name, value in request.headers:
        if name.lower() == "accept":
            headers[known.get("accept", name)] = value
        elif name.lower() not in known:
            headers[name] = value
    return headers


def sent_once(request: Request) -> dict[str, str]:
    headers: dict[str, str] = {}
    # RFC 9110, section 10.1.3: what was read over TLS is not told to those who may be overheard.
    if request.referer and not (request.referer.startswith("https:") and request.url.startswith("http:")):
        headers["Referer"] = request.referer
    if request.etag:
        headers["If-None-Match"] = request.etag
    if request.last_modified:
        headers["If-Modified-Since"] = request.last_modified
    return headers


def recorded(response: ClientResponse) -> list[tuple[str, str]]:
    headers = response.request_info.headers
    if any(name in headers for name in _SECRET_HEADERS):
        return [item for item in headers.items() if item[0].lower() not in _SECRET_HEADERS]
    return list(headers.items())
