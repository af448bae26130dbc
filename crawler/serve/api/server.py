"""Listens for requests to the API."""

import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from crawler.control import address
from crawler.serve.api.actions import Actions
from crawler.serve.api.gate.audit import Audit, audited
from crawler.serve.api.gate.guard import guarded
from crawler.serve.api.gate.tokens import Tokens
from crawler.serve.api.openapi import document
from crawler.serve.api.problems import as_problems
from crawler.serve.api.routes import BASE, ROUTES, Route
from crawler.serve.daemon import Daemon

log = logging.getLogger(__name__)

SOCKET: Final = "api"
MAX_BODY_BYTES: Final = 1 << 20
_CLOSING_S: Final = 2.0


class Listen(msgspec.Struct, frozen=True):
    """An address of the loopback interface."""

    host: str
    port: int


@asynccontextmanager
async def serving(daemon: Daemon, listen: Listen | None) -> AsyncIterator[int | None]:
    """Answer requests while the context lasts, which tells the port. Raises `SocketRefused`, `TokenRefused` and
    `OSError`."""
    runners: list[web.AppRunner] = []
    port: int | None = None
    audit = Audit(daemon.folder / "audit.log")
    try:
        local = [audited(audit, is_local=True), as_problems]
        runners.append(await _serve(daemon, address.listen(daemon.folder, SOCKET), local))
        if listen is not None:
            family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
            listening = socket.create_server((listen.host, listen.port), family=family)
            port = listening.getsockname()[1]
            tokens = Tokens(daemon.home)
            tokens.make_owner()
            remote = [audited(audit, is_local=False), as_problems, guarded(tokens, listen.host, port)]
            runners.append(await _serve(daemon, listening, remote))
            log.info("listens on http://%s:%d%s; the token is in %s", listen.host, port, BASE, tokens.owner_path)
        yield port
    finally:
        for runner in runners:
            await runner.cleanup()
        audit.close()
        address.remove(daemon.folder, SOCKET)


async def _serve(daemon: Daemon, listening: socket.socket, middlewares: list[Middleware]) -> web.AppRunner:
    app = web.Application(middlewares=middlewares, client_max_size=MAX_BODY_BYTES)
    actions = Actions(daemon)
    for route in ROUTES:
        app.router.add_route(route.method, route.path, partial(_answer, route, actions))
    described = msgspec.json.encode(document(ROUTES, version("onceover-crawler")))
    app.router.add_get(f"{BASE}/openapi.json", partial(_describe, described))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSING_S)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    return runner


async def _answer(route: Route, actions: Actions, request: web.Request) -> web.Response:
    reply = await route.action(actions, request)
    if reply is None:
        return web.Response(status=route.status)
    return web.Response(status=route.status, body=msgspec.json.encode(reply), content_type="application/json")


async def _describe(described: bytes, _request: web.Request) -> web.Response:
    return web.Response(body=described, content_type="application/json")
