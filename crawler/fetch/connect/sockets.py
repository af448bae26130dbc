"""What the socket under a connection tells that the client's library does not."""

import asyncio
import os
import select
import socket
from ssl import SSLError, SSLObject, SSLZeroReturnError


def has_input(transport: asyncio.BaseTransport | None) -> bool:
    """Whether something can be read from the socket, an end too."""
    descriptor = _descriptor(transport)
    if descriptor < 0:
        return False
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(0))


def has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Whether something else than an end, or the handshake of TLS, can be read from the socket."""
    if transport is None or transport.get_extra_info("ssl_object") is not None or not has_input(transport):
        return False
    try:
        with socket.socket(fileno=os.dup(_descriptor(transport))) as twin:
            return twin.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except OSError:
        return False


def _descriptor(transport: asyncio.BaseTransport | None) -> int:
    """Of the socket; -1 if there is none."""
    opened = None if transport is None else transport.get_extra_info("socket")
    return -1 if opened is None else opened.fileno()


def is_unnotified(transport: asyncio.BaseTransport | None) -> bool:
    """Whether a connection over TLS has ended without close_notify."""
    tls = None if transport is None else transport.get_extra_info("ssl_object")
    if not isinstance(tls, SSLObject):
        return False
    try:
        return tls.read(1) != b""
    except SSLZeroReturnError:
        return False
    except (SSLError, ValueError):
        return True
