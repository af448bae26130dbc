"""Remembers who has changed what: a line of JSON for each request that asks for a change, whatever came of it."""

import logging
import time
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from crawler.serve.api.gate.caller import CALLER, caller_of, changes_something
from crawler.serve.life.summary import moment_text
from crawler.serve.logs import MAX_BYTES, PIECES, RotatedFile

_MAX_PATH = 500


class Line(msgspec.Struct, frozen=True, kw_only=True):
    time: str
    caller: str
    """`token NAME`, or `local socket`."""
    client: str | None
    """The address; null on the local socket."""
    method: str
    path: str
    status: int
    """The status of the reply: below 400 if the request was carried out."""


class Audit:
    """The file of the lines. Lines that can't be written, as on a full disk, are dropped."""

    def __init__(self, path: Path) -> None:
        self._file = RotatedFile(path, maxBytes=MAX_BYTES, backupCount=PIECES, encoding="utf-8", delay=True)

    def note(self, line: Line) -> None:
        text = msgspec.json.encode(line).decode()
        self._file.handle(logging.LogRecord("audit", logging.INFO, "", 0, text, None, None))

    def close(self) -> None:
        self._file.close()


def audited(audit: Audit, *, is_local: bool) -> Middleware:
    """A middleware that writes a line for each change that somebody with a token, or on the local socket, asks for."""

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if changes_something(request) and (is_local or CALLER in request):
            audit.note(
                Line(
                    time=moment_text(time.time()),
                    caller=caller_of(request).name,
                    client=None if is_local else request.remote,
                    method=request.method,
                    path=request.raw_path[:_MAX_PATH],
                    status=response.status,
                )
            )
        return response

    return note
