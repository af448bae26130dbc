"""Carries out a request with a key once, however often it is sent.

A client that has lost the answer to a POST request does not know what became of it. With the header `Idempotency-Key`
of draft-ietf-httpapi-idempotency-key-header-07 it may send the request again, and gets the answer to the first one. A
key belongs to the token of its request.

Only what was carried out is kept. A refused request has changed nothing, so the same key is free again. If the daemon
is killed after a change and before it has kept the answer, the repetition is carried out like the first: the state is
the same after it, because crawls know the URLs that they have.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from crawler.serve.api.gate.answers import Answer, Answers
from crawler.serve.api.gate.caller import caller_of
from crawler.serve.api.problems import Refused

log = logging.getLogger(__name__)

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"
"""A header of answers that were given before."""
MAX_KEY: Final = 255
_PATTERN: Final = r'^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9._~-]{1,255})$'
_QUOTED: Final = re.compile(r'"(?:[ !#-\[\]-~]|\\["\\])+"')
_BARE: Final = re.compile(r"[A-Za-z0-9._~-]+")
_ESCAPED: Final = re.compile(r"\\(.)")
_METHOD: Final = "POST"

PARAMETER: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A request that is sent again with the same key is not carried out again; its answer is that to the "
    "first",
    "schema": {"type": "string", "pattern": _PATTERN},
}

_Known = tuple[str, str]
"""A caller and a key."""


def key_of(request: web.Request) -> str | None:
    """The key of a request. Without quotes it is taken, too, since many clients send it so. Raises `Refused`."""
    given = request.headers.getall(HEADER, ())
    if not given:
        return None
    value = given[0].strip()
    key = _ESCAPED.sub(r"\1", value[1:-1]) if _QUOTED.fullmatch(value) else value
    if len(given) > 1 or len(key) > MAX_KEY or not (_QUOTED.fullmatch(value) or _BARE.fullmatch(value)):
        found = f"{len(given)} headers" if len(given) > 1 else repr(value[:100])
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            f'expected one header {HEADER}: "KEY" with 1 to {MAX_KEY} visible ASCII characters, such as a UUID, found '
            f"{found}; nothing was done",
        )
    return key


class Repetition:
    """Knows the requests with keys: those that were answered, and those that are in progress."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._in_progress: dict[_Known, str] = {}
        self._turn = asyncio.Lock()

    def middleware(self) -> Middleware:
        """A middleware for requests that were let in, with their bodies."""

        @web.middleware
        async def answer_once(request: web.Request, handler: Handler) -> web.StreamResponse:
            key = key_of(request) if request.method == _METHOD else None
            if key is None:
                return await handler(request)
            return await self._answer(request, handler, (caller_of(request).name, key))

        return answer_once

    async def _answer(self, request: web.Request, handler: Handler, known: _Known) -> web.StreamResponse:
        digest = await _digest(request)
        began = self._in_progress.get(known)
        if began is not None:
            _check(began, digest)
            raise Refused(HTTPStatus.CONFLICT, f"the first request with this {HEADER} is in progress; try again later")
        self._in_progress[known] = digest
        try:
            answered = await self._in_thread(self._answers.find, *known)
            if answered is not None:
                _check(answered.request, digest)
                return _again(answered)
            response = await handler(request)
            await self._keep(known, digest, response)
            return response
        finally:
            del self._in_progress[known]

    async def _keep(self, known: _Known, digest: str, response: web.StreamResponse) -> None:
        """Keep the answer to a request that was carried out."""
        if not isinstance(response, web.Response) or response.status >= HTTPStatus.BAD_REQUEST:
            return
        body = response.body
        assert body is None or isinstance(body, bytes)
        answer = Answer(
            request=digest,
            status=response.status,
            content_type=response.content_type,
            body=(body or b"").decode(),
        )
        try:
            await self._in_thread(self._answers.keep, *known, answer)
        except OSError as error:
            # The change is made. An error would make the client think that it is not.
            log.warning("API: the answer to a request with a key can't be kept: %s", error)

    async def _in_thread(self, do: Callable[..., Any], *arguments: object) -> Any:
        """Look into the files, one request at a time. If this is cancelled, the thread still has its turn."""
        await self._turn.acquire()
        working = asyncio.get_running_loop().run_in_executor(None, do, *arguments)
        working.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(working)


async def _digest(request: web.Request) -> str:
    """A digest of what was asked for."""
    digest = hashlib.sha256(f"{request.method} {request.raw_path}\n{request.content_type}\n".encode())
    digest.update(await request.read())
    return digest.hexdigest()


def _check(first: str, digest: str) -> None:
    if first != digest:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"another request has had this {HEADER}: expected the same path and body; a new request needs a new key",
        )


def _again(answered: Answer) -> web.Response:
    headers = {REPLAYED: "true"}
    if not answered.body:
        return web.Response(status=answered.status, headers=headers)
    return web.Response(
        status=answered.status, body=answered.body.encode(), content_type=answered.content_type, headers=headers
    )
