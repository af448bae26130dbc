"""Servers on 127.0.0.1, on a free port, that do exactly what a script says, also what no server should do.

    async with raw_server({"/": [page(b"hello")], "/cut": [head(b"Content-Length: 9"), b"half", CLOSE]}) as server:
        await fetch(server.url("/cut"))
    assert server.targets == ["/cut"]

A script is a list of steps, for each request of its path. The connection stays open after the last one.
"""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from socket import SO_LINGER, SOL_SOCKET
from time import monotonic

import msgspec


class End(Enum):
    """Steps that end a script."""

    CLOSE = "close"
    """the connection, in order"""
    CUT = "cut"
    """the connection, without the close_notify of TLS"""
    RESET = "reset"
    """the connection, with a TCP reset"""
    HANG = "hang"
    """send nothing more until the client closes"""


CLOSE, CUT, RESET, HANG = End.CLOSE, End.CUT, End.RESET, End.HANG


class Drip(msgspec.Struct, frozen=True):
    """Pieces to send one at a time, with a rest after each."""

    pieces: Iterable[bytes]
    every_s: float


Step = bytes | End | Iterable[bytes] | Drip | Callable[[], Awaitable[object]]
"""Bytes to send, an end, bytes without end, quickly or slowly, or something to await (an event, the client's move)."""
Script = Sequence[Step]


class Seen(msgspec.Struct, frozen=True):
    """A request, as it was on the wire."""

    target: str
    headers: list[tuple[str, str]]
    connection: int
    """Ordinal of its connection, from 0."""

    at_s: float = 0.0
    """When its head was complete, by the clock of `time.monotonic`."""
    method: str = "GET"

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class RawServer:
    """A running server: where it is, and what it has seen."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.scheme = scheme
        self.seen: list[Seen] = []
        self.connections = 0
        self.open = 0
        """Connections that are open now."""
        self.asked = asyncio.Event()
        """Set when there was a request."""
        self.gone = asyncio.Event()
        """Set when no connection is open any more; cleared when one is opened."""

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def targets(self) -> list[str]:
        return [seen.target for seen in self.seen]


def head(*headers: bytes, status: bytes = b"200 OK", version: bytes = b"HTTP/1.1") -> bytes:
    """A status line and headers."""
    return b"\r\n".join([version + b" " + status, *headers, b"", b""])


def page(body: bytes = b"", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A whole response."""
    return head(b"Content-Length: %d" % len(body), *headers, status=status) + body


@asynccontextmanager
async def raw_server(
    scripts: Mapping[str, Script] | Callable[[Seen], Script],
    *,
    tls: ssl.SSLContext | None = None,
    greeting: bytes = b"",
) -> AsyncIterator[RawServer]:
    """Serve `scripts` by request target without its query; others are 404. A function is called for each request.
    `greeting` is sent at the beginning of each connection."""

    def script_for(seen: Seen) -> Script:
        if callable(scripts):
            return scripts(seen)
        return scripts.get(seen.target.partition("?")[0], [page(status=b"404 Not Found")])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        number = served.connections
        served.connections += 1
        served.open += 1
        served.gone.clear()
        try:
            writer.write(greeting)
            while (seen := await _read_request(reader, number)) is not None:
                served.seen.append(seen)
                served.asked.set()
                if not await _perform(script_for(seen), reader, writer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            serving.discard(task)
            served.open -= 1
            if not served.open:
                served.gone.set()

    serving: set[asyncio.Task[object]] = set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    served = RawServer(server.sockets[0].getsockname()[1], "https" if tls else "http")
    try:
        yield served
    finally:
        server.close()
        for task in serving:
            task.cancel()
        while served.open:
            await served.gone.wait()


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *headers = raw.decode("latin-1").split("\r\n")[:-2]
    pairs = [(name, value.strip()) for name, _, value in (header.partition(":") for header in headers)]
    method, target, _ = line.split(" ")
    return Seen(target, pairs, connection, monotonic(), method)


async def _perform(script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection stays open."""
    for step in script:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif step is End.HANG:
            await reader.read()
            return False
        elif step is End.CLOSE:
            return False
        elif step is End.CUT:
            writer.transport.abort()
            return False
        elif step is End.RESET:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        elif isinstance(step, Drip):
            for piece in step.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(step.every_s)
        elif callable(step):
            await step()
        else:
            for piece in step:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
    return True
