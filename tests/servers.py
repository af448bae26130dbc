"""Servers for tests that do more than answer each path by a script, as `crawler.testing.fetch.raw_server` does."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from crawler.testing.fetch.raw_server import RawServer

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves a connection, which is closed when it returns. The connection may break meanwhile, or the block may end."""


@asynccontextmanager
async def listening(serve: Serve, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve each connection until the end of the block. Yields the port."""
    tasks: set[asyncio.Task[object]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


@asynccontextmanager
async def front_door(plain: RawServer, secure: RawServer) -> AsyncIterator[int]:
    """One port for both servers, chosen by the first byte of a connection. So http and https of a host may have one
    configured address and port."""

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(1)
        port = secure.port if first == b"\x16" else plain.port
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        outer.write(first)
        async with asyncio.TaskGroup() as group:
            group.create_task(pipe(reader, outer))
            group.create_task(pipe(inner, writer))

    async with listening(serve) as port:
        yield port
