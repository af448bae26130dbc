"""Who may ask.

A web page in a browser of this machine could send requests to a port of it, also under a name of its own that it points
here. So a request needs a token, which a page does not know; its Host header must name this machine; and if it has an
Origin, this must be ours.
"""

from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from crawler.serve.api.gate.caller import CALLER, Caller, changes_something
from crawler.serve.api.gate.tokens import Rights, Token, TokenRefused, Tokens
from crawler.serve.api.problems import Refused

_Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]
_SCHEME: Final = "bearer "
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


def guarded(tokens: Tokens, host: str, port: int, *, open_paths: Collection[str] = ()) -> Middleware:
    """A middleware for requests that come through a port. What is at `open_paths` needs no token."""
    written = f"[{host}]" if ":" in host else host
    hosts = {f"{name}:{port}" for name in (*_NAMES, written)}
    origins = {f"http://{host}" for host in hosts}

    @web.middleware
    async def guard(request: web.Request, handler: _Handle) -> web.StreamResponse:
        if request.headers.get("Host", "").lower() not in hosts:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"expected a Host header of {' or '.join(sorted(hosts))}")
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in origins:
            raise Refused(HTTPStatus.FORBIDDEN, "a page of another origin may not ask")
        if request.path not in open_paths or changes_something(request):
            token = _token(request, tokens)
            request[CALLER] = Caller(name=f"token {token.name}", token=token)
            if token.rights is Rights.READ and changes_something(request):
                raise Refused(HTTPStatus.FORBIDDEN, f"the token {token.name} may read, and change nothing")
        return await handler(request)

    return guard


def _token(request: web.Request, tokens: Tokens) -> Token:
    given = request.headers.get("Authorization", "")
    presented = given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
    try:
        found = tokens.find(presented)
    except TokenRefused as error:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
    if found is None:
        raise Refused(
            HTTPStatus.UNAUTHORIZED,
            "expected the header `Authorization: Bearer TOKEN` with the token of DIR/token, or one of `onceover token`",
        )
    return found
