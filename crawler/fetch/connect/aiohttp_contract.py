"""Checks the undocumented parts of aiohttp on which we rely.

`connector`, `handler`, `requests` and `responses` override methods and read members that aiohttp may change in any
release. A change would cause no error, but mix up responses, or send requests twice. So we check all of them when a
network is made.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey

KNOWN: Final = "3.14"
"""The release for which this was written, and the only one that pyproject.toml allows."""

_METHODS: Sequence[tuple[Callable[..., Any], str]] = (
    (ResponseHandler.__init__, "self loop"),
    (ResponseHandler.connection_made, "self transport"),
    (ResponseHandler.connection_lost, "self exc"),
    (ResponseHandler.data_received, "self data"),
    (ResponseHandler.read, "self"),
    (ResponseHandler.feed_data, "self data size"),
    (ResponseHandler.set_exception, "self exc exc_cause"),
    (ResponseHandler.is_connected, "self"),
    (ResponseHandler.force_close, "self"),
    (aiohttp.TCPConnector.connect, "self req traces timeout"),
    (aiohttp.TCPConnector._available_connections, "self key"),
    (aiohttp.TCPConnector._release, "self key protocol should_close"),
    (aiohttp.TCPConnector._create_direct_connection, "self req traces timeout client_error"),
    (aiohttp.TCPConnector._create_proxy_connection, "self req traces timeout"),
    (aiohttp.TCPConnector._get_ssl_context, "self req"),
)
_OPTIONS: Sequence[tuple[Callable[..., Any], str]] = (
    (ResponseHandler.set_response_params, "read_until_eof auto_decompress max_line_size max_field_size max_headers"),
    (aiohttp.TCPConnector._wrap_existing_connection, "args req timeout client_error kwargs"),
    (aiohttp.TCPConnector.__init__, "resolver use_dns_cache limit limit_per_host keepalive_timeout socket_factory ssl"),
)


_OF_CONNECTOR: Final = (
    "_acquired",
    "_acquired_per_host",
    "_cleanup_handle",
    "_closed",
    "_conns",
    "_factory",
    "_force_close",
    "_keepalive_timeout",
    "_waiters",
)
_OF_HANDLER: Final = ("_buffer", "_eof", "_exception", "_parser", "_payload", "_should_close", "_waiter", "transport")
_KEY: Final = "host port is_ssl ssl proxy proxy_auth proxy_headers_hash server_hostname"
"""What tells which requests can share a connection."""


class ClientRefused(Exception):
    """The installed aiohttp does not fit. The message says how it differs, and what to do."""


def check_client(connector: aiohttp.TCPConnector) -> None:
    """Raises `ClientRefused` if the installed aiohttp does not fit."""
    missing = [*_differences(), *_missing(connector, "connector", _OF_CONNECTOR)]
    loop = asyncio.get_running_loop()
    missing += _missing(ResponseHandler(loop), "ResponseHandler", _OF_HANDLER)
    if missing:
        raise ClientRefused(
            f"aiohttp {aiohttp.__version__} is installed, and differs from {KNOWN} in what the fetcher needs: "
            f"{'; '.join(missing)}. Install the one that belongs to this release: pip install 'aiohttp=={KNOWN}.*'"
        )


@cache
def _differences() -> tuple[str, ...]:
    return tuple(_compare())


def _compare() -> Iterator[str]:
    for method, expected in _METHODS:
        found = " ".join(inspect.signature(method).parameters)
        if found != expected:
            yield f"{method.__qualname__} takes ({found}), expected ({expected})"
    for method, expected in _OPTIONS:
        missing = [name for name in expected.split() if name not in inspect.signature(method).parameters]
        if missing:
            yield f"{method.__qualname__} takes no {', '.join(missing)}"
    found = " ".join(ConnectionKey._fields)
    if found != _KEY:
        yield f"ConnectionKey has ({found}), expected ({_KEY})"


def _missing(thing: object, name: str, members: Sequence[str]) -> Iterator[str]:
    return (f"{name} has no {member}" for member in members if not hasattr(thing, member))
