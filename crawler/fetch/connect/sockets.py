"""Looks at the socket under a connection, for what aiohttp does not report."""

import asyncio
import os
import select
import socket
from collections.abc import Callable, Sequence
from ssl import SSLError, SSLObject, SSLZeroReturnError


def poll_of(transport: asyncio.BaseTransport) -> Callable[[int], Sequence[object]] | None:
    """`poll` of the socket: with 0 it returns nothing unless the socket has input, which is data or the end of the
    connection. None if there is no socket. To be called while the connection is open: later, another socket may have
    the same descriptor."""
    descriptor = _descriptor(transport)
    if descriptor < 0:
        return None
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return ready.poll


def has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the socket has data. Always False for TLS, where this may be part of the handshake."""
    if transport is None or transport.get_extra_info("ssl_object") is not None:
        return False
    poll = poll_of(transport)
    if poll is None or not poll(0):
        return False
    try:
        with socket.socket(fileno=os.dup(_descriptor(transport))) as twin:
            return twin.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except OSError:
        return False


def _descriptor(transport: asyncio.BaseTransport) -> int:
    """The descriptor of the socket; -1 if there is none."""
    opened = transport.get_extra_info("socket")
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
