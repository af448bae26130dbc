"""Responses to the requests of a page, and a cache of them. Pure."""

import base64
import re
from collections import OrderedDict
from http.client import responses as phrases
from typing import Any, Final

import msgspec

from crawler.page import WithBody

DEFAULT_LIFE_S: Final = 600.0
"""For responses without an age."""
MAX_LIFE_S: Final = 3600.0
_ENTRY_BYTES: Final = 1000
"""What an entry takes at least."""
_NOT_CACHEABLE = re.compile(r"\b(?:no-store|no-cache|private)\b", re.IGNORECASE)
_MAX_AGE = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE | re.ASCII)


class SubResponse(msgspec.Struct, frozen=True):
    """A response with its decoded body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""
    for_archive: WithBody | None = None
    """What the archive gets of it; None for nothing."""

    def params(self, request_id: str) -> dict[str, Any]:
        """The parameters for `Fetch.fulfillRequest`."""
        return {
            "requestId": request_id,
            "responseCode": self.status,
            # Chromium refuses a status that it does not know, such as 520, without a phrase: the request would hang.
            "responsePhrase": phrases.get(self.status, "Unknown"),
            "responseHeaders": [{"name": name, "value": value} for name, value in self.headers],
            "body": base64.b64encode(self.body).decode("ascii"),
        }


class ResponseCache:
    """Caches scripts and styles that many pages share: those used last, up to `max_bytes` with their names and
    headers. So the crawl asks a server for them from time to time, and not with every page."""

    def __init__(self, *, max_bytes: int = 16_000_000) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._responses: OrderedDict[str, tuple[float, SubResponse]] = OrderedDict()

    def find(self, name: str, /, *, now: float) -> SubResponse | None:
        """The response under this name, if it is still fresh."""
        found = self._responses.get(name)
        if found is None:
            return None
        until, response = found
        if until <= now:
            self._drop(name)
            return None
        self._responses.move_to_end(name)
        return response

    def keep(self, name: str, response: SubResponse, /, *, now: float) -> SubResponse:
        """Cache the response as long as it allows, within limits. A private response or an error is not cached.
        Returns what `find` will return, or the response itself if it is not cached."""
        if name in self._responses:
            self._drop(name)
        life_s, size_bytes = lifetime_s(response), _size_bytes(name, response)
        if response.status != 200 or life_s <= 0 or size_bytes > self._max_bytes // 4:
            return response
        if response.for_archive is not None:
            # The memory of a body that was fetched counts until its object is gone: that must not wait for the cache.
            response = msgspec.structs.replace(response, for_archive=msgspec.structs.replace(response.for_archive))
        self._responses[name] = now + life_s, response
        self._bytes += size_bytes
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._responses)))
        return response

    def _drop(self, name: str) -> None:
        self._bytes -= _size_bytes(name, self._responses.pop(name)[1])


def _size_bytes(name: str, response: SubResponse) -> int:
    headers = sum(len(header) + len(value) for header, value in response.headers)
    archived = response.for_archive
    # Usually its decoded body is the body of the response.
    raw_bytes = 0 if archived is None or archived.raw_body is archived.body else len(archived.raw_body)
    return _ENTRY_BYTES + len(name) + headers + len(response.body) + raw_bytes


def lifetime_s(response: SubResponse, /) -> float:
    """How long other pages may get the response."""
    cache_control = ",".join(value for name, value in response.headers if name.lower() == "cache-control")
    if _NOT_CACHEABLE.search(cache_control):
        return 0.0
    age = _MAX_AGE.search(cache_control)
    return DEFAULT_LIFE_S if age is None else min(float(age[1]), MAX_LIFE_S)
