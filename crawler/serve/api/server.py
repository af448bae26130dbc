"""Listens for requests to the API."""

import logging
import socket
from asyncio import TaskGroup
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from ssl import SSLContext
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Middleware

from crawler.codes.ports import listening
from crawler.codes.unreadable import UNREADABLE
from crawler.control import address
from crawler.serve.api.actions import Actions
from crawler.serve.api.events.streaming import tell_rates
from crawler.serve.api.gate.answers import Answers
from crawler.serve.api.gate.audit import audited
from crawler.serve.api.gate.guard import guarded, names_of
from crawler.serve.api.gate.limits import Limits
from crawler.serve.api.gate.listener import Listener
from crawler.serve.api.gate.repetition import Repetition
from crawler.serve.api.gate.tls import Certificate
from crawler.serve.api.gate.tokens import Tokens
from crawler.serve.api.gate.traffic import Traffic, bounded, paced
from crawler.serve.api.measured import show_metrics
from crawler.serve.api.openapi import document
from crawler.serve.api.problems import Refused, as_problems
from crawler.serve.api.route import BASE, Route
from crawler.serve.api.routes import ROUTES
from crawler.serve.daemon import Daemon
from crawler.serve.logs import RotatedFile
from crawler.serve.page.files import page_files

log = logging.getLogger(__name__)

_CLOSING_S: Final = 2.0
_LIMITS: Final = Limits()


class Listen(msgspec.Struct, frozen=True):
    """An address to listen on. Others than those of the loopback interface need a certificate."""

    host: str
    port: int
    certificate: Certificate | None = None
    remote_names: tuple[str, ...] = ()
    """Under which others may ask: NAME or NAME:PORT, in lower case."""


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """A way to the API."""

    listening: socket.socket
    guards: tuple[Middleware, ...] = ()
    tokens: Tokens | None = None
    """The tokens that requests need; None on the local socket."""
    tls: Callable[[], SSLContext] | None = None
    """Called for each connection."""


@asynccontextmanager
async def serving(daemon: Daemon, listen: Listen | None, limits: Limits = _LIMITS) -> AsyncIterator[int | None]:
    """Answer requests while the context lasts, which tells the port. Raises `SocketRefused`, `TokenRefused` and
    `OSError`."""
    async with AsyncExitStack() as stack:
        audit = stack.enter_context(closing(RotatedFile(daemon.folder / "audit.log")))
        ways = [_Way(listening=stack.enter_context(closing(address.listen(daemon.folder, address.NAME_OF_API))))]
        stack.callback(address.remove, daemon.folder, address.NAME_OF_API)
        port = None
        if listen is not None:
            way, port = _port(daemon, listen, limits)
            stack.enter_context(closing(way.listening))
            ways.append(way)
        actions = Actions(daemon)
        repetition = Repetition(Answers(daemon.folder / "answers")).middleware()
        listeners = []
        for way in ways:
            traffic = Traffic()
            around = (traffic.middleware(), audited(audit, is_local=way.tokens is None), as_problems)
            runner = web.AppRunner(
                _application(actions, [*around, *way.guards, bounded(limits), repetition], limits),
                access_log=None,
                shutdown_timeout=_CLOSING_S,
                keepalive_timeout=limits.idle_s,
                lingering_time=limits.linger_s,
                logger=_logger(),
                auto_decompress=False,  # `bounded` refuses such bodies; aiohttp fails at broken ones
                max_line_size=2 * limits.max_target_bytes,
                max_headers=limits.max_headers,
                max_field_size=limits.max_header_bytes,
            )
            stack.push_async_callback(runner.cleanup)
            await runner.setup()
            assert runner.server is not None
            listeners.append(
                Listener(runner.server, way.listening, limits, traffic=traffic, tokens=way.tokens, tls=way.tls)
            )
        stack.callback(actions.events.close)
        async with TaskGroup() as group:
            tasks = [group.create_task(listener.serve()) for listener in listeners]
            tasks.append(group.create_task(tell_rates(actions.events, actions.keepers)))
            tasks.append(group.create_task(actions.exporter.run()))
            try:
                yield port
            finally:
                for task in tasks:
                    task.cancel()


def _logger() -> logging.Logger:
    """Where aiohttp logs. It would log each malformed request with a traceback."""
    found = log.getChild("connections")
    found.addFilter(_is_ours)
    return found


def _is_ours(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


def _port(daemon: Daemon, listen: Listen, limits: Limits) -> tuple[_Way, int]:
    tokens = Tokens(daemon.home)
    tokens.make_owner()
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with listening(listen.host, listen.port, advice="give --listen another address or port"):
        server = socket.create_server((listen.host, listen.port), family=family)
    port: int = server.getsockname()[1]
    names = names_of(listen.host, port, is_tls=listen.certificate is not None, remote=listen.remote_names)
    log.info("listens on %s%s; the token is in %s", names.url, BASE, tokens.owner_path)
    guards = (paced(limits), guarded(names, tokens, limits, open_paths=page_files()))
    tls = None
    if listen.certificate is not None:
        listen.certificate.tell(listen.remote_names)
        daemon.also_reload.append(listen.certificate.reload)
        tls = listen.certificate.context
    return _Way(listening=server, guards=guards, tokens=tokens, tls=tls), port


def _application(actions: Actions, middlewares: list[Middleware], limits: Limits) -> web.Application:
    app = web.Application(middlewares=middlewares, client_max_size=limits.max_body_bytes)
    for route in ROUTES:
        answer = partial(_answer, route, actions)
        if route.method == "GET":
            app.router.add_get(route.path, answer)  # HEAD, too
        else:
            app.router.add_route(route.method, route.path, answer)
    described = msgspec.json.encode(document(ROUTES, version("onceover-crawler")))
    app.router.add_get(f"{BASE}/openapi.json", partial(_describe, described))
    for path, file in page_files().items():
        app.router.add_get(path, file.answer)
    app.router.add_get("/metrics", partial(show_metrics, actions))
    return app


async def _answer(route: Route, actions: Actions, request: web.Request) -> web.StreamResponse:
    await actions.wait_for_start()
    given: list[msgspec.Struct] = []
    if route.query is not None:
        given.append(_query_of(request, route.query))
    if route.body is not None:
        given.append(await _body_of(request, route.body))
    reply = await route.action(actions, request, *given)
    if isinstance(reply, web.StreamResponse):
        return reply
    if reply is None:
        return web.Response(status=route.status)
    return web.Response(status=route.status, body=msgspec.json.encode(reply), content_type="application/json")


def _query_of(request: web.Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """The parameters behind the path of a request."""
    try:
        return msgspec.convert(dict(request.query), kind, strict=False)
    except msgspec.ValidationError as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"the query is not as expected: {error}") from error


async def _body_of(request: web.Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """The body of a request; an empty one stands for the defaults."""
    try:
        return msgspec.json.decode(await request.read() or b"{}", type=kind)
    except UNREADABLE as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body is not as expected: {error}") from error


async def _describe(described: bytes, _request: web.Request) -> web.Response:
    return web.Response(body=described, content_type="application/json")
