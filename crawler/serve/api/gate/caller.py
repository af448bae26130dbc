"""Who asks."""

from typing import Final

import msgspec
from aiohttp import web

from crawler.serve.api.gate.tokens import Token


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may ask."""

    name: str
    token: Token | None = None
    """None on the local socket."""


LOCAL: Final = Caller(name="local socket")
CALLER: Final = web.RequestKey("caller", Caller)


def caller_of(request: web.Request) -> Caller:
    caller: Caller = request.get(CALLER, LOCAL)
    return caller


def changes_something(request: web.Request) -> bool:
    return request.method not in ("GET", "HEAD")
