"""Responses that know their peer, and how their body ended."""

import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import chain
from math import inf
from typing import Final

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from aiohttp.http_writer import HttpVersion
from aiohttp.streams import StreamReader

from crawler.fetch.connect.bodies import MAX_HEADERS_BYTES, BodyEnd, PlainBody
from crawler.fetch.connect.connections import Server
from crawler.fetch.connect.connector import RoutedConnector
from crawler.fetch.connect.failures import ClosedEarly, HeadersTooLarge, KeptClosed, TlsRefused, TooSlow
from crawler.fetch.connect.handler import TolerantHandler
from crawler.fetch.connect.requests import HttpRequest
from crawler.fetch.connect.response_heads import Headers, PlainHead, first_by_name

_SWITCHING = 101
_REQUEST_TIMEOUT = 408
"""Some servers send this before they close an idle connection. Over a kept one, it is no answer to our request."""
CHECK_S: Final = 0.1
"""Time-outs are checked at most so often, because each check looks at all requests that wait."""
_TICK_S: Final = 0.001
"""Timers may go off so much too early, because the loop counts milliseconds."""
_CLOSING_S = 1.0
"""So long before the server closes an idle connection, we send no more over it: the request would be lost."""
_KEEP_ALIVE = re.compile(r"(?:^|[,;\s])timeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


def keep_alive_s(header: str | None, /) -> int | None:
    """How long a server keeps an idle connection, by its header Keep-Alive; None if it does not say so."""
    found = None if header is None else _KEEP_ALIVE.search(header)
    return None if found is None else int(found[1])


class HeadTimeouts:
    """Fails the connections whose responses do not begin in time, or up to `CHECK_S` later.

    One timer serves all of them, and usually goes off after the last of them has its response. A timer for each request
    would be made and stopped for nothing, which takes three times as long as this.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[TolerantHandler, tuple[float, Callable[[], Exception]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._checks_at = inf

    def start(self, handler: TolerantHandler, due: float, error: Callable[[], Exception]) -> None:
        """Fail the connection with the error at `due`, by the loop's clock, unless it is stopped before."""
        self._waiting[handler] = due, error
        if due < self._checks_at:
            self._check_at(due)

    def stop(self, handler: TolerantHandler) -> None:
        self._waiting.pop(handler, None)

    def close(self) -> None:
        """Stop all. Nothing is failed any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._checks_at = None, inf

    def _check_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._checks_at = due
        self._timer = self._loop.call_at(due, self._check)

    def _check(self) -> None:
        self._timer, self._checks_at = None, inf
        now = self._loop.time()
        for handler, (due, error) in list(self._waiting.items()):
            if due <= now + _TICK_S:
                self.stop(handler)
                handler.set_exception(error())
        if self._waiting:
            self._check_at(max(min(due for due, _ in self._waiting.values()), now + CHECK_S))


class Response(msgspec.Struct, eq=False, kw_only=True):
    """The head of a response, with its peer and its `BodyEnd`, and the stream of its body. The connection goes back to
    the pool as soon as the body is complete, which may be before we can look."""

    status: int
    reason: str
    version: HttpVersion
    headers: Headers
    content: StreamReader | PlainBody
    body_end: BodyEnd
    peer: Server | None
    request_headers: Mapping[str, str]
    connector: RoutedConnector
    handler: TolerantHandler | None
    """None once it is given back."""

    def close(self) -> None:
        """Close the connection, unless it is back in the pool."""
        handler = self.handler
        if handler is not None:
            self.handler = None
            self.connector.close_taken(handler)

    def release(self) -> None:
        """Give the connection back, unless it is used for another protocol from now on."""
        handler = self.handler
        if handler is not None and not handler.upgraded:
            self.handler = None
            self.connector.give_back(handler)


async def exchange(
    request: HttpRequest,
    handler: TolerantHandler,
    *,
    connector: RoutedConnector,
    timeouts: HeadTimeouts,
    head_timeout_s: float,
    deadline: float,
    prefer: Callable[[str, str], None],
    through_proxy: bool = False,
) -> Response:
    """Send a request over a connection that was taken from the connector, and receive the head of its response, before
    `deadline` by the loop's clock. Calls `prefer` with the host and the address to which it went, unless
    `through_proxy`: then the connection's peer is the proxy, and says nothing about the server. Whatever it raises, the
    connection is closed."""
    try:
        _send(request, handler)
        server = (request.host, request.port or 0) if through_proxy else handler.peer
        if server is not None and not through_proxy:
            prefer(request.host, server[0])
        now = handler.asked_at
        if not handler.connections.make_room(handler, now, server):
            handler.force_close()
        if deadline < now + head_timeout_s:
            timeouts.start(handler, deadline, TimeoutError)
        else:
            timeouts.start(handler, now + head_timeout_s, _too_slow)
        try:
            message, content = await handler.read()
            while 100 <= message.code <= 199 and message.code != _SWITCHING:
                message, content = await handler.read()  # that head only announced this one
        except (HttpProcessingError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            raise _failure_of(error, request, handler, server) from error
        finally:
            timeouts.stop(handler)
        if handler.requests > 1:
            _judge_reuse(handler, server, message.code)
        headers = _headers_of(message)
        kept_s = keep_alive_s(headers.first(b"keep-alive")) if b"keep-alive" in headers.named else None
        handler.closes_at = None if kept_s is None else now + kept_s - _CLOSING_S
        response = Response(
            status=message.code,
            reason=message.reason,
            version=message.version,
            headers=headers,
            content=content,
            body_end=handler.body_end,
            peer=None if through_proxy else handler.peer,
            request_headers=request.headers,
            connector=connector,
            handler=handler,
        )
        if content.is_eof():
            response.release()
        else:
            content.on_eof(response.release)
        return response
    except BaseException:
        connector.close_taken(handler)
        raise


def _send(request: HttpRequest, handler: TolerantHandler) -> None:
    head = request.serialize()
    handler.begin_request(may_have_body=request.method != "HEAD")
    if handler.transport is None or handler.transport.is_closing():
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
    handler.transport.write(head)


def _judge_reuse(handler: TolerantHandler, server: Server | None, status: int) -> None:
    """Note whether the server answers over a kept connection. Raises `KeptClosed` if it has waited there in vain."""
    connections = handler.connections
    has_waited_in_vain = status == _REQUEST_TIMEOUT
    if server is not None and (has_waited_in_vain or connections.reuse_failures):
        connections.note_reuse(server, answered=not has_waited_in_vain)
    if has_waited_in_vain:
        raise KeptClosed("a 408 over a kept connection")


def _headers_of(message: RawResponseMessage | PlainHead) -> Headers:
    if isinstance(message, PlainHead):
        return Headers(message.raw_headers, message.named)
    headers = Headers(message.raw_headers, first_by_name(message.raw_headers))
    size = sum(map(len, chain.from_iterable(headers.lines)))
    if size > MAX_HEADERS_BYTES:
        raise HeadersTooLarge(f"{size} bytes of headers, at most {MAX_HEADERS_BYTES} are read")
    return headers


def _failure_of(
    error: Exception, request: HttpRequest, handler: TolerantHandler, server: tuple[str, int] | None
) -> Exception:
    """What to raise for the error of a connection that brought no head."""
    if isinstance(error, HttpProcessingError):
        return aiohttp.ClientResponseError(
            request.request_info, (), status=error.code, message=error.message, headers=error.headers
        )
    is_kept = handler.requests > 1
    if is_kept and server is not None:
        handler.connections.note_reuse(server, answered=False)
    # Over a kept connection TLS has worked, so that is no refusal.
    if handler.body_end.alert is not None and not is_kept:
        return TlsRefused(handler.body_end.alert)
    kind = KeptClosed if is_kept and not handler.overhead.received_bytes else ClosedEarly
    return kind("closed without a response")


def _too_slow() -> Exception:
    return TooSlow("no complete headers in time")
