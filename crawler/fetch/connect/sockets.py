"""Looks at the socket under a connection, for what aiohttp does not report."""

import asyncio
import os
import select
import socket
from ssl import SSLError, SSLObject, SSLZeroReturnError


def has_input(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the socket has input: data, or the end of the connection."""
    descriptor = _descriptor(transport)
    if descriptor < 0:
        return False
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(0))


def has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the socket has data. Always False for TLS, where this may be part of the handshake."""
    if transport is None or transport.get_extra_info("ssl_object") is not None or not has_input(transport):
        return False
    try:
        with socket.socket(fileno=os.dup(_descriptor(transport))) as twin:
            return twin.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except OSError:
        return False


def _descriptor(transport: asyncio.BaseTransport | None) -> int:
    """The descriptor of the socket; -1 if there is none."""
    opened = None if transport is None else transport.get_extra_info("socket")
    return -1 if opened is None else opened.fileno()


def lacks_close_notify(transport: asyncio.BaseTransport | None) -> bool:
    """Whether a TLS connection has ended without close_notify."""
    tls = None if transport is None else transport.get_extra_info("ssl_object")
    if not isinstance(tls, SSLObject):
        return False
    try:
        return tls.read(1) != b""
    except SSLZeroReturnError:
        return False
    except (SSLError, ValueError):
        return True
