"""Who may ask.

A web page in a browser of this machine could send requests to a port of it, also under a name of its own that it points
here. So a request needs a token, which a page does not know; its Host header must have a name of ours; and if it has an
Origin, this must be ours. Only the files of our own page need no token; they hold nothing of a crawl.
"""

import asyncio
import logging
import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from crawler.serve.api.gate.caller import CALLER, Caller, changes_something
from crawler.serve.api.gate.limits import Limits, Pace, client_of
from crawler.serve.api.gate.tokens import Token, TokenRefused, Tokens
from crawler.serve.api.gate.traffic import too_many
from crawler.serve.api.problems import Refused
from crawler.serve.records import why_away

log = logging.getLogger(__name__)

_EXPECTED: Final = (
    "expected the header `Authorization: Bearer TOKEN` with the token of DIR/token, or one of `onceover token`"
)
_SCHEME: Final = "bearer "
_PORT: Final = re.compile(r":[0-9]+\Z")
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Under which names the API may be asked, in lower case."""

    url: str
    hosts: frozenset[str]
    origins: frozenset[str]


def names_of(host: str, port: int, *, is_tls: bool = False, remote: Collection[str] = ()) -> Names:
    """The names of a port. A remote name without a port has this one, or none at all, as behind a proxy."""
    scheme = "https" if is_tls else "http"
    written = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    local = {*(f"{name}:{port}" for name in _NAMES), written}
    others = set(remote) | {f"{name}:{port}" for name in remote if not _PORT.search(name)}
    origins = {f"{scheme}://{name}" for name in local} | {f"https://{name}" for name in others}
    return Names(url=f"{scheme}://{written}", hosts=frozenset(local | others), origins=frozenset(origins))


def guarded(names: Names, tokens: Tokens, limits: Limits, *, open_paths: Collection[str] = ()) -> Middleware:
    """A middleware for requests that come through a port. What is at `open_paths` needs no token."""
    check = _Check(tokens, Pace(limits.wrong_tokens_per_s, limits.max_wrong_tokens_at_once))

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host", "").lower() not in names.hosts:
            raise Refused(
                HTTPStatus.MISDIRECTED_REQUEST, f"expected a Host header of {' or '.join(sorted(names.hosts))}"
            )
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in names.origins:
            raise Refused(HTTPStatus.FORBIDDEN, "a page of another origin may not ask")
        if request.path not in open_paths or changes_something(request):
            token = check.token_of(request)
            caller = request[CALLER] = Caller(name=f"token {token.name}", token=token)
            if not caller.may_change and changes_something(request):
                raise Refused(HTTPStatus.FORBIDDEN, f"the token {token.name} may read, and change nothing")
        return await handler(request)

    return guard


class _Check:
    """Compares the tokens of requests, but not of a client that has just presented many that were wrong."""

    def __init__(self, tokens: Tokens, wrong: Pace) -> None:
        self._tokens = tokens
        self._wrong = wrong
        self._clock = asyncio.get_running_loop().time

    def token_of(self, request: web.Request) -> Token:
        given = request.headers.get("Authorization", "")
        client, now = client_of(request.remote), self._clock()
        wait_s = self._wrong.wait_s(client, now)
        if wait_s:
            raise too_many("this address has presented too many wrong tokens", wait_s)
        presented = given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
        try:
            found = self._tokens.find(presented)
        except TokenRefused as error:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        if found is None:
            if (away := why_away(self._tokens.owner_path.parent)) is not None:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"nobody knows which tokens hold: {away}")
            # A request without a token guesses none. A page in a browser can send only such ones.
            if given:
                self._note_wrong(client, now)
            raise Refused(HTTPStatus.UNAUTHORIZED, _EXPECTED, headers={"WWW-Authenticate": "Bearer"})
        return found

    def _note_wrong(self, client: str, now: float) -> None:
        self._wrong.take(client, now)
        wait_s = self._wrong.wait_s(client, now)
        if wait_s:
            log.warning("API: %s has presented too many wrong tokens, and is refused for %.0f s", client, wait_s)
