"""Who asks."""

from typing import Final

import msgspec
from aiohttp import web

from crawler.serve.api.gate.tokens import Rights, Token


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may ask."""

    name: str
    token: Token | None = None
    """None on the local socket."""

    @property
    def may_change(self) -> bool:
        return self.token is None or self.token.rights is not Rights.READ


LOCAL: Final = Caller(name="local socket")
CALLER: Final = web.RequestKey("caller", Caller)


def caller_of(request: web.Request) -> Caller:
    caller: Caller = request.get(CALLER, LOCAL)
    return caller


def changes_something(request: web.Request) -> bool:
    return request.method not in ("GET", "HEAD")
