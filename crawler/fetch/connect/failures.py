"""Translates the client's exceptions into the crawl's words. No other module knows these exceptions."""

import asyncio
import re
import resource
import socket
import ssl
from collections.abc import Callable
from errno import EMFILE, ENFILE, errorcode
from os import strerror
from typing import Any

import aiohttp
import msgspec

from crawler.fetch.connect.guard import AddressRefused
from crawler.page import REFUSALS, FailureKind

_MAX_MESSAGE_CHARS = 200
TOO_MUCH = "too much data beside the body"
BROKEN_CHUNKS = "a chunk with a wrong or invalid length"
_NO_VERSION = "no version of TLS in common"
_NO_TLS = "the server speaks no TLS"
_OPENSSL = {
    "HTTP_REQUEST": _NO_TLS,
    "NO_PROTOCOLS_AVAILABLE": _NO_VERSION,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the server refuses the handshake: no cipher in common, or it wants a certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the server wants a certificate",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": "the server wants stronger ciphers",
    "TLSV1_ALERT_INTERNAL_ERROR": "an error of the server",
    "TLSV1_ALERT_PROTOCOL_VERSION": _NO_VERSION,
    "TLSV1_UNRECOGNIZED_NAME": "the server knows no such host",
    "UNSUPPORTED_PROTOCOL": _NO_VERSION,
    "VERSION_TOO_LOW": _NO_VERSION,
    "WRONG_VERSION_NUMBER": _NO_TLS,
}
"""The failures, by OpenSSL's names of reasons."""
_CERTIFICATES = {
    9: FailureKind.TLS_EXPIRED,  # not yet valid
    10: FailureKind.TLS_EXPIRED,
    18: FailureKind.TLS_SELF_SIGNED,
    19: FailureKind.TLS_UNKNOWN_AUTHORITY,  # the chain ends in a root that we do not know
    20: FailureKind.TLS_UNKNOWN_AUTHORITY,
    21: FailureKind.TLS_UNKNOWN_AUTHORITY,
    62: FailureKind.TLS_WRONG_HOST,
    64: FailureKind.TLS_WRONG_HOST,  # the same for an address
}
_OPENSSL_TEXT = re.compile(r"^(?:\[Errno \d+\] )?\[[^]]*\] (.*?)(?: \(_ssl\.c:\d+\))?$")
_FRAMING = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (TOO_MUCH, TOO_MUCH),
        ("Got more than", "a line that is too long"),
        ("Too many headers", "too many header lines"),
        ("Content-Length", "an invalid Content-Length, or one that contradicts other framing"),
        ("Transfer-Encoding", "an invalid Transfer-Encoding"),
        ("chunk", BROKEN_CHUNKS),
        ("Invalid HTTP version", "an unknown version of HTTP"),
        ("Invalid status code", "a status that is not three digits"),
        ("Expected HTTP/", "no status line"),
        ("header", "an invalid header line"),
    )
)
"""Our words for the messages of aiohttp's parser, which quote bytes."""
_NEVER_REACHED = REFUSALS | {FailureKind.DNS}
"""A refused connection has reached the host, so the host must rest before the next attempt."""


class Trouble(msgspec.Struct, frozen=True):
    """A translated exception."""

    kind: FailureKind
    message: str
    reached: bool
    may_pass: bool = False
    """A retry may succeed, although failures of this kind are usually permanent."""
    no_connection: bool = False
    """There is no server, or one that speaks no TLS."""


class ClosedEarly(aiohttp.ClientError):
    """The server closed the connection without a response. This is not a type that aiohttp takes for a stale
    connection, so aiohttp does not repeat the request without our knowledge."""


class KeptClosed(ClosedEarly):
    """The server closed a kept connection, and nothing of a response had come, or only a 408. It may have closed it
    before the request arrived (RFC 9112, section 9.3.1)."""


class TlsRefused(aiohttp.ClientError):
    """The server ended TLS with an alert after the handshake."""

    def __init__(self, alert: ssl.SSLError) -> None:
        super().__init__(alert)
        self.os_error = alert


class NoResponse(aiohttp.ClientError):
    """The server sent data in the form of a response that can't be one."""


class BodyBroken(aiohttp.ClientPayloadError):
    """The framing of a body is invalid, and we have closed the connection."""


class HeadersTooLarge(aiohttp.ClientError):
    """All header lines together exceed the limit."""


class PortRefused(aiohttp.ClientError):
    """Nothing was sent, because a crawl does not ask that port."""


class NoContact(aiohttp.ClientError):
    """Nothing was sent, because the host's owner could not find out who crawls."""


class ProxyRefused(aiohttp.ClientError):
    """We can't reach a proxy, or it does not reach the host."""


class TooSlow(TimeoutError):
    """A part of the response did not arrive in time."""


def _system(error: Any) -> str:
    """The message of the operating system, without the host that aiohttp and asyncio put before it."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, socket.gaierror):
        return cause.strerror or "no address"
    if isinstance(cause, ssl.SSLError):
        return _tls(cause)
    if cause.errno in errorcode:
        return strerror(cause.errno)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "no address"
    connecting = isinstance(error, aiohttp.ClientConnectorError)
    return "no connection to any of its addresses" if connecting else "connection lost"


def _tls(error: Any) -> str:
    """The reason of OpenSSL, in words."""
    cause = getattr(error, "os_error", error)
    reason = getattr(cause, "reason", None)
    if reason is None:  # Python has no name for what a newer OpenSSL says
        match = _OPENSSL_TEXT.search(str(cause))
        reason = match[1] if match else ""
    return _OPENSSL.get(reason) or f"no TLS: {reason.lower().replace('_', ' ')}".rstrip(": ")


def _certificate(error: BaseException) -> str:
    cause = getattr(error, "certificate_error", error)
    return f"certificate: {getattr(cause, 'verify_message', '') or cause}"


def _kind_of_tls(error: BaseException, message: str) -> FailureKind:
    """The class of a failure. Those of certificates go by OpenSSL's codes of verification (`X509_V_ERR_…`)."""
    if message == _NO_VERSION:
        return FailureKind.TLS_VERSION
    code = getattr(getattr(error, "certificate_error", error), "verify_code", None)
    return FailureKind.TLS if code is None else _CERTIFICATES.get(code, FailureKind.TLS)


def _always(message: str) -> Callable[[BaseException], str]:
    return lambda _: message


def _by_proxy(error: BaseException) -> str:
    return f"the proxy answered {getattr(error, 'status', '')} {getattr(error, 'message', '')}"


def _not_http(error: BaseException) -> str:
    message = str(getattr(error, "message", "") or error)
    if not isinstance(error, NoResponse):
        message = next(
            (words for pattern, words in _FRAMING if pattern.search(message)), "the response can't be parsed"
        )
    return f"not HTTP: {message}"


_TABLE: tuple[tuple[type[BaseException], FailureKind, Callable[[BaseException], str]], ...] = (
    # The first match counts, so specific types stand before general ones.
    (AddressRefused, FailureKind.PRIVATE_ADDRESS, str),
    (PortRefused, FailureKind.PORT, str),
    (NoContact, FailureKind.NO_CONTACT, str),
    (socket.gaierror, FailureKind.DNS, _system),
    (aiohttp.ClientConnectorDNSError, FailureKind.DNS, _system),
    (aiohttp.ClientConnectorCertificateError, FailureKind.TLS, _certificate),
    (TlsRefused, FailureKind.TLS, _tls),
    (aiohttp.ClientSSLError, FailureKind.TLS, _tls),
    (ssl.SSLError, FailureKind.TLS, _tls),
    (aiohttp.ConnectionTimeoutError, FailureKind.TIMEOUT, _always("no connection in time")),
    (TooSlow, FailureKind.TIMEOUT, str),
    (asyncio.TimeoutError, FailureKind.TIMEOUT, _always("no whole response in time")),
    (aiohttp.ClientProxyConnectionError, FailureKind.CONNECT, lambda error: f"the proxy: {_system(error)}"),
    (aiohttp.ClientConnectorError, FailureKind.CONNECT, _system),
    (HeadersTooLarge, FailureKind.PROTOCOL, str),
    (BodyBroken, FailureKind.PROTOCOL, _not_http),
    (NoResponse, FailureKind.PROTOCOL, _not_http),
    (ClosedEarly, FailureKind.DISCONNECTED, str),
    (aiohttp.ClientConnectionResetError, FailureKind.DISCONNECTED, _always("closed before the request was sent")),
    (aiohttp.ServerDisconnectedError, FailureKind.DISCONNECTED, _always("closed without a response")),
    (aiohttp.ClientPayloadError, FailureKind.DISCONNECTED, _always("closed before the body was whole")),
    (ProxyRefused, FailureKind.CONNECT, lambda error: f"the proxy: {error}"),
    (aiohttp.ClientHttpProxyError, FailureKind.CONNECT, _by_proxy),
    (aiohttp.ClientResponseError, FailureKind.PROTOCOL, _not_http),
    (aiohttp.InvalidURL, FailureKind.BAD_URL, _always("not a URL: its host or port can't be read")),
    (aiohttp.NonHttpUrlClientError, FailureKind.BAD_URL, _always("neither http nor https")),
    (ConnectionError, FailureKind.DISCONNECTED, _system),
    (OSError, FailureKind.DISCONNECTED, _system),
)


def translate(error: BaseException, /) -> Trouble | None:
    """Translate an exception; None if neither a server nor the network can cause it."""
    inner = getattr(error, "os_error", None)
    if isinstance(inner, AddressRefused | socket.gaierror):
        error = inner
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(inner, ConnectionError) and inner.errno is None:
        # The connection broke before we could use it. Servers that support none of our versions of TLS may do this, and
        # servers that are about to stop.
        message = "closed in the TLS handshake: no version of TLS in common, or the server goes away"
        return Trouble(FailureKind.TLS, message, True, may_pass=True)
    for kind_of_error, kind, describe in _TABLE:
        if isinstance(error, kind_of_error):
            message = printable(describe(error))
            named = _kind_of_tls(error, message) if kind is FailureKind.TLS else kind
            return Trouble(
                named, message, named not in _NEVER_REACHED, no_connection=_has_no_connection(error, named, message)
            )
    return None


def lack_of_files(error: BaseException, /) -> OSError | None:
    """What to raise if an exception means that nothing can be opened any more. No server is to blame for that, and no
    other could be asked."""
    causes = (error, getattr(error, "os_error", None), error.__cause__)
    found = next((each for each in causes if isinstance(each, OSError) and each.errno in (EMFILE, ENFILE)), None)
    if found is None or found.errno is None:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    whose = f"this process may have {most:,} (ulimit -n)" if found.errno == EMFILE else "of all processes (fs.file-max)"
    then = "raise that limit, or lower fetch.concurrency and fetch.spare, then run the same command again"
    return OSError(found.errno, f"{strerror(found.errno)}: {whose}; {then}. What was saved is kept")


def _has_no_connection(error: BaseException, kind: FailureKind, message: str) -> bool:
    """False if a proxy failed, which says nothing about the server."""
    if kind is FailureKind.CONNECT:
        proxies = (ProxyRefused, aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError)
        return not isinstance(error, proxies)
    return message == _NO_TLS or isinstance(error, aiohttp.ConnectionTimeoutError)


def printable(message: str, /) -> str:
    """One line without control characters, of limited length, because the message may quote a server."""
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else f"{line[: _MAX_MESSAGE_CHARS - 1]}…"
