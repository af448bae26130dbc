"""Who may ask.

A web page in a browser of this machine could send requests to a port of it, also under a name of its own that it points
here. So a request needs a token, which a page does not know; its Host header must name this machine; and if it has an
Origin, this must be ours.
"""

import hmac
import os
import secrets
import stat
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from crawler.serve.api.problems import Refused

_Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]
_SCHEME: Final = "bearer "
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


class TokenRefused(Exception):
    """The file of the token can't be used. The message says why, and what to do."""


class TokenFile:
    """The token, in a file for its owner only. A new content holds at once."""

    def __init__(self, path: Path) -> None:
        """Makes the file if it is missing. Raises `TokenRefused`, and `OSError`."""
        self._path = path
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            self.read()
            return
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")

    def read(self) -> str:
        """Raises `TokenRefused`."""
        try:
            with self._path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                token = file.read(1000).decode("ascii", "replace").strip()
        except OSError as error:
            raise TokenRefused(f"{self._path} can't be read: {error.strerror}") from error
        if mode & 0o077:
            raise TokenRefused(
                f"others may read {self._path}: expected mode 600, found {mode:o}. Delete the file, and the next start "
                "makes a new token"
            )
        if len(token) < 16:
            raise TokenRefused(
                f"expected a token of at least 16 characters in {self._path}, found {len(token)}. Delete the file, and "
                "the next start makes a new token"
            )
        return token


def guarded(token: TokenFile, host: str, port: int) -> Middleware:
    """A middleware for requests that come through a port."""
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
        _check_token(request, token)
        return await handler(request)

    return guard


def _check_token(request: web.Request, token: TokenFile) -> None:
    given = request.headers.get("Authorization", "")
    try:
        expected = token.read()
    except TokenRefused as error:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
    is_bearer = given[: len(_SCHEME)].lower() == _SCHEME
    presented = given[len(_SCHEME) :].strip() if is_bearer else ""
    if not hmac.compare_digest(presented.encode("utf-8", "surrogateescape"), expected.encode()):
        raise Refused(
            HTTPStatus.UNAUTHORIZED, "expected the header `Authorization: Bearer TOKEN` with the token of DIR/token"
        )
