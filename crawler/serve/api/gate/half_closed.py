"""Answers clients that have closed their side of the connection."""

import asyncio
from collections.abc import Callable

from aiohttp import web


class AnswersHalfClosed:
    """The protocol of a connection, around that of aiohttp, which would close it and drop the answer. HTTP/1.1 lets
    clients close their side after a request, as `nc -N` and `socat` do. By TLS, that is the end of the connection."""

    def __init__(self, requests: web.RequestHandler, finish: Callable[[web.RequestHandler], bool]) -> None:
        """`finish` begins to close the connection after the answer. It returns False if there is none to wait for."""
        self._requests = requests
        self._finish = finish
        self._is_tls = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._requests.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._requests.data_received(data)

    def eof_received(self) -> bool:
        """Whether the connection stays open until the request in progress is answered."""
        return not self._is_tls and self._finish(self._requests)

    def connection_lost(self, exc: Exception | None) -> None:
        self._requests.connection_lost(exc)

    def pause_writing(self) -> None:
        self._requests.pause_writing()

    def resume_writing(self) -> None:
        self._requests.resume_writing()
