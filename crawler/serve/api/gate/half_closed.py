"""Answers clients that have closed their side of the connection."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web

log = logging.getLogger(__name__)


class AnswersHalfClosed:
    """The protocol of a connection, around that of aiohttp, which would close it and drop the answer. HTTP/1.1 lets
    clients close their side after a request, as `nc -N` and `socat` do. By TLS, that is the end of the connection."""

    def __init__(self, requests: web.RequestHandler, begin: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """`begin` runs the end of a connection."""
        self._requests = requests
        self._begin = begin
        self._is_tls = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._requests.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._requests.data_received(data)

    def eof_received(self) -> bool:
        """Whether the connection stays open until the request in progress is answered."""
        if self._is_tls:
            return False
        self._requests.close()  # it waits for no other request
        self._begin(self._close())
        return True

    async def _close(self) -> None:
        """Close the connection after the answer. A bug in that must not end the others."""
        [failure] = await asyncio.gather(self._requests.shutdown(None), return_exceptions=True)
        if isinstance(failure, Exception):
            log.error("a connection was not closed in order", exc_info=failure)

    def connection_lost(self, exc: Exception | None) -> None:
        self._requests.connection_lost(exc)

    def pause_writing(self) -> None:
        self._requests.pause_writing()

    def resume_writing(self) -> None:
        self._requests.resume_writing()
