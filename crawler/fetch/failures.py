"""What goes wrong on the way to a response, in the crawl's own words.

The one place that knows the client's exceptions.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable
from errno import errorcode
from os import strerror
from typing import Any

import aiohttp
import msgspec

from crawler.fetch.guard import AddressRefused
from crawler.page import REFUSALS, FailureKind

_MAX_MESSAGE_CHARS = 200
_OPENSSL_NOISE = re.compile(r"^\[[A-Z]+(?:: [A-Z0-9_]+)?\] | \(_ssl\.c:\d+\)$")
_NEVER_REACHED = REFUSALS | {FailureKind.DNS}
"""A refused connection has reached the host: one that is down must not be knocked at without rest."""


class Trouble(msgspec.Struct, frozen=True):
    """An exception, translated."""

    kind: FailureKind
    message: str
    reached: bool


class ClosedEarly(aiohttp.ClientError):
    """The server closed a connection that was opened for this request, without an answer. Not of the kinds that
    aiohttp takes for a stale connection, and so not asked again behind our back."""


class NoResponse(aiohttp.ClientError):
    """What came has the form of a response, and can't be one."""


class BodyBroken(aiohttp.ClientPayloadError):
    """The chunks of a body are none."""


class HeadersTooLarge(aiohttp.ClientError):
    """All header lines together are over the limit."""


class NoContact(aiohttp.ClientError):
    """Nothing was sent: whoever owns the host could not tell whom to ask."""


class ProxyRefused(aiohttp.ClientError):
    """A SOCKS proxy can't be reached, or does not lead to the host."""


class TooSlow(TimeoutError):
    """A part of the response did not come in the time that it has."""


def _text(error: BaseException) -> str:
    return str(error)


def _system(error: Any) -> str:
    """What the operating system says, without the host that aiohttp and asyncio put before it."""
    cause = getattr(error, "os_error", error)
    if not isinstance(cause, ssl.SSLError | socket.gaierror) and cause.errno in errorcode:
        return strerror(cause.errno)
    if isinstance(cause, ConnectionError):
        # Of a connection that was made, hence lost before it could be used.
        return "closed in the TLS handshake"
    return _OPENSSL_NOISE.sub("", cause.strerror or str(cause))


def _certificate(error: BaseException) -> str:
    cause = getattr(error, "certificate_error", error)
    return f"certificate: {getattr(cause, 'verify_message', '') or cause}"


def _says(message: str) -> Callable[[BaseException], str]:
    return lambda _: message


def _by_socks(error: BaseException) -> str:
    return f"the proxy: {error}"


def _by_proxy(error: BaseException) -> str:
    return f"the proxy answered {getattr(error, 'status', '')} {getattr(error, 'message', '')}"


def _not_http(error: BaseException) -> str:
    return f"not HTTP: {getattr(error, 'message', '') or error}"


def _no_url(error: BaseException) -> str:
    return f"not a URL: {getattr(error, 'description', None) or 'no host'}"


_TABLE: tuple[tuple[type[BaseException], FailureKind, Callable[[BaseException], str]], ...] = (
    # The first that matches counts, so what is more special stands before what is more general.
    (AddressRefused, FailureKind.PRIVATE_ADDRESS, _text),
    (NoContact, FailureKind.NO_CONTACT, _text),
    (socket.gaierror, FailureKind.DNS, _system),
    (aiohttp.ClientConnectorDNSError, FailureKind.DNS, _system),
    (aiohttp.ClientConnectorCertificateError, FailureKind.TLS, _certificate),
    (aiohttp.ClientSSLError, FailureKind.TLS, _system),
    (ssl.SSLError, FailureKind.TLS, _system),
    (aiohttp.ConnectionTimeoutError, FailureKind.TIMEOUT, _says("no connection in time")),
    (TooSlow, FailureKind.TIMEOUT, _text),
    (asyncio.TimeoutError, FailureKind.TIMEOUT, _says("no whole response in time")),
    (aiohttp.ClientConnectorError, FailureKind.CONNECT, _system),
    (HeadersTooLarge, FailureKind.PROTOCOL, _text),
    (BodyBroken, FailureKind.PROTOCOL, _not_http),
    (NoResponse, FailureKind.PROTOCOL, _not_http),
    (ClosedEarly, FailureKind.DISCONNECTED, _text),
    (aiohttp.ServerDisconnectedError, FailureKind.DISCONNECTED, _says("closed without a response")),
    (aiohttp.ClientPayloadError, FailureKind.DISCONNECTED, _says("closed before the body was whole")),
    (ProxyRefused, FailureKind.CONNECT, _by_socks),
    (aiohttp.ClientHttpProxyError, FailureKind.CONNECT, _by_proxy),
    (aiohttp.ClientResponseError, FailureKind.PROTOCOL, _not_http),
    (aiohttp.InvalidURL, FailureKind.BAD_URL, _no_url),
    (aiohttp.NonHttpUrlClientError, FailureKind.BAD_URL, _says("neither http nor https")),
    (ConnectionError, FailureKind.DISCONNECTED, _system),
    (OSError, FailureKind.DISCONNECTED, _system),
)


def translate(error: BaseException, /) -> Trouble | None:
    """The exception in the crawl's words; None if it is none that the world can cause."""
    inner = getattr(error, "os_error", None)
    if isinstance(inner, AddressRefused | socket.gaierror):
        error = inner
    for kind_of_error, kind, describe in _TABLE:
        if isinstance(error, kind_of_error):
            return Trouble(kind, printable(describe(error)), kind not in _NEVER_REACHED)
    return None


def printable(message: str, /) -> str:
    """One line without control characters, of bounded length: it may quote what a server sent."""
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else f"{line[: _MAX_MESSAGE_CHARS - 1]}…"
