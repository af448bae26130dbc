"""Ports of loopback."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def no_connections() -> Iterator[int]:
    """A port at which nobody gets a connection or an answer, because its server has as many as it may."""
    with ExitStack() as held:
        server = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port: int = server.getsockname()[1]
        for _ in range(3):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(("127.0.0.1", port))
        yield port
