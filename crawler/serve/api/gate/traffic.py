"""The requests that are being answered, and how many a client may send."""

import asyncio
import math
from http import HTTPStatus
from typing import Final

from aiohttp import ClientPayloadError, http_exceptions, web
from aiohttp.typedefs import Handler, Middleware

from crawler.serve.api.gate.limits import Limits, Pace, client_of
from crawler.serve.api.problems import Refused

STREAM: Final = web.RequestKey("stream", bool)
"""Set in a request whose answer has no end."""
_IS_CUT: Final = web.RequestKey("is_cut", bool)
"""Set in a request whose body lacks its end."""


class Traffic:
    """The requests that are being answered, each with its connection."""

    def __init__(self) -> None:
        self.running: dict[object, web.Request] = {}
        self._half_closed: set[web.RequestHandler] = set()
        self._ended: set[object] = set()
        self._files: dict[object, tuple[web.Request, web.FileResponse]] = {}
        """The last answer of a connection, if it is a file, which is sent after `running` has ended."""

    def sends_file(self, connection: object) -> bool:
        _, response = self._files.get(connection, (None, None))
        return response is not None and response.body_length == 0  # it is known at the end

    def streams(self, connection: object) -> bool:
        """Whether a connection gets an answer that has no end: its client is gone when it closes its side."""
        request = self.running.get(connection)
        return request is not None and STREAM in request

    def close_side(self, connection: web.RequestHandler) -> None:
        """The client of a connection sends no more, so what lacks of a body does not come."""
        self._half_closed.add(connection)
        if (request := self.running.get(connection)) is not None:
            _cut(request)

    def lasting(self) -> list[web.Request]:
        """The requests that have not got their whole answer."""
        sending = [request for connection, (request, _) in self._files.items() if self.sends_file(connection)]
        return [*self.running.values(), *sending]

    def take_used(self) -> set[object]:
        """The connections that have had an answer since the last call."""
        used, self._ended = self._ended, set()
        self._half_closed = {each for each in self._half_closed if each.transport is not None}
        self._files = {each: file for each, file in self._files.items() if file[0].transport is not None}
        return used

    def middleware(self) -> Middleware:
        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.running[request.protocol] = request
            self._files.pop(request.protocol, None)
            if request.protocol in self._half_closed:
                _cut(request)
            try:
                response = await handler(request)
                if isinstance(response, web.FileResponse):
                    self._files[request.protocol] = request, response
                return response
            finally:
                del self.running[request.protocol]
                self._ended.add(request.protocol)

        return note


def _cut(request: web.Request) -> None:
    if not request.content.is_eof():
        request[_IS_CUT] = True
        request.content.feed_eof()


def paced(limits: Limits) -> Middleware:
    """A middleware that refuses requests that come too fast."""
    of_client = Pace(limits.client_requests_per_s, limits.max_client_requests_at_once)
    of_all = Pace(limits.requests_per_s, limits.max_requests_at_once)
    clock = asyncio.get_running_loop().time

    @web.middleware
    async def pace(request: web.Request, handler: Handler) -> web.StreamResponse:
        now = clock()
        wait_s = of_client.take(client_of(request.remote), now) or of_all.take("", now)
        if wait_s:
            raise too_many("these are too many requests at once", wait_s)
        return await handler(request)

    return pace


def too_many(what: str, wait_s: float) -> Refused:
    after_s = math.ceil(wait_s)
    return Refused(
        HTTPStatus.TOO_MANY_REQUESTS, f"{what}; ask again after {after_s} s", headers={"Retry-After": str(after_s)}
    )


def bounded(limits: Limits) -> Middleware:
    """A middleware that refuses long targets, and reads bodies: they must be small, not compressed, and arrive in
    time."""

    @web.middleware
    async def bound(request: web.Request, handler: Handler) -> web.StreamResponse:
        found = len(request.raw_path)
        if found > limits.max_target_bytes:
            raise Refused(
                HTTPStatus.REQUEST_URI_TOO_LONG,
                f"expected a path and a query of at most {limits.max_target_bytes:,} bytes, found {found:,}",
            )
        _check_coding(request)
        if request.can_read_body:
            await _read(request, limits.body_s)
        if _IS_CUT in request:
            raise Refused(HTTPStatus.BAD_REQUEST, "the body can't be read: its end is missing")
        return await handler(request)

    return bound


def _check_coding(request: web.Request) -> None:
    """Raises `Refused` for a body in a coding, since bodies are taken as they arrive."""
    found = ", ".join(request.headers.getall("Content-Encoding", ()))
    if found.lower() not in ("", "identity"):
        detail = f"expected a body that is not compressed, found Content-Encoding: {found[:100]}; nothing was done"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, headers={"Accept-Encoding": "identity"})


async def _read(request: web.Request, within_s: float) -> None:
    """Read the body; the request then keeps it."""
    try:
        async with asyncio.timeout(within_s):
            await request.read()
    except TimeoutError as error:
        detail = f"the body has not arrived within {within_s:g} s"
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, detail) from error
    except (ClientPayloadError, ConnectionError, http_exceptions.HttpProcessingError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"the body can't be read: {error}") from error
