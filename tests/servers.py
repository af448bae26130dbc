"""Servers for tests: on 127.0.0.1, on a free port, and doing exactly what they are told, also what no server should.

    async with raw_server({"/": [page(b"hello")], "/cut": [head(b"Content-Length: 9"), b"half", CLOSE]}) as server:
        await fetch(server.url("/cut"))
    assert server.targets == ["/cut"]

A script is a list of steps, taken in turn when its path is asked for; the connection is kept open after the last one.
"""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
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
    """A request as it came over the wire."""

    target: str
    headers: list[tuple[str, str]]
    connection: int
    """Ordinal of its connection, from 0."""

    at_s: float = 0.0
    """When the end of its head came, by the clock of `time.monotonic`."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class RawServer:
    """What a running server tells: where it is, and what it has seen."""

    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.scheme = scheme
        self.seen: list[Seen] = []
        self.connections = 0
        self.open = 0
        """Connections that are open now."""
        self.asked = asyncio.Event()
        """Set when a request has come."""
        self.gone = asyncio.Event()
        """Set when the last open connection is gone; cleared when one comes."""

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
    """Serve `scripts` by request target without query; what is not among them is 404. A function is asked each time.
    `greeting` is sent before anything is asked.
    """

    def script_for(seen: Seen) -> Script:
        if callable(scripts):
            return scripts(seen)
        return scripts.get(seen.target.partition("?")[0], [page(status=b"404 Not Found")])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        number = told.connections
        told.connections += 1
        told.open += 1
        told.gone.clear()
        try:
            writer.write(greeting)
            while (seen := await _read_request(reader, number)) is not None:
                told.seen.append(seen)
                told.asked.set()
                if not await _perform(script_for(seen), reader, writer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            serving.discard(task)
            told.open -= 1
            if not told.open:
                told.gone.set()

    serving: set[asyncio.Task[object]] = set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    told = RawServer(server.sockets[0].getsockname()[1], "https" if tls else "http")
    try:
        yield told
    finally:
        server.close()
        for task in serving:
            task.cancel()
        while told.open:
            await told.gone.wait()


@asynccontextmanager
async def front_door(plain: RawServer, secure: RawServer) -> AsyncIterator[int]:
    """One port for both servers, chosen by the first byte of a connection: http and https of a host, whatever its
    ports, may then be one static place."""

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            first = await reader.read(1)
            port = secure.port if first == b"\x16" else plain.port
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            outer.write(first)
            async with asyncio.TaskGroup() as group:
                group.create_task(pipe(reader, outer))
                group.create_task(pipe(inner, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            serving.discard(task)

    serving: set[asyncio.Task[object]] = set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        while serving:
            for task in serving:
                task.cancel()
            await asyncio.sleep(0)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *headers = raw.decode("latin-1").split("\r\n")[:-2]
    pairs = [(name, value.strip()) for name, _, value in (header.partition(":") for header in headers)]
    return Seen(line.split(" ")[1], pairs, connection, monotonic())


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
