"""Remembers who has changed what: a line of JSON for each request that asks for a change, whatever came of it."""

import logging
import time

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from crawler.serve.api.gate.caller import CALLER, caller_of, changes_something
from crawler.serve.life.summary import moment_text
from crawler.serve.logs import RotatedFile

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


def audited(file: RotatedFile, *, is_local: bool) -> Middleware:
    """A middleware that writes a line for each change that somebody with a token, or on the local socket, asks for.
    Lines that can't be written, as on a full disk, are dropped."""

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if changes_something(request) and (is_local or CALLER in request):
            line = Line(
                time=moment_text(time.time()),
                caller=caller_of(request).name,
                client=None if is_local else request.remote,
                method=request.method,
                path=request.raw_path[:_MAX_PATH],
                status=response.status,
            )
            text = msgspec.json.encode(line).decode()
            file.handle(logging.LogRecord("audit", logging.INFO, "", 0, text, None, None))
        return response

    return note
