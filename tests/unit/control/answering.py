"""A server on a real socket, whose answers a test decides."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from crawler.control import address
from crawler.control.replies import PauseState, Refusal
from crawler.control.requests import AnyRequest, Pause, Resume
from crawler.control.server import Answer, Bounds, ControlServer

PAUSE = b'{"version":1,"request":{"type":"pause","reason":"%s"}}\n'


async def pause(request: AnyRequest) -> msgspec.Struct | Refusal:
    """Knows two requests."""
    match request:
        case Pause(reason=reason):
            return PauseState(paused=reason, running=True)
        case Resume():
            return PauseState(paused=None, running=True)
    return Refusal(f"expected pause or resume, found {type(request).__name__}")


@asynccontextmanager
async def serving(directory: Path, answer: Answer = pause, *, bounds: Bounds | None = None) -> AsyncIterator[None]:
    """A server in a directory."""
    listening = address.listen(directory)
    server = ControlServer(listening, answer, bounds=bounds)
    running = asyncio.create_task(server.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})
        address.remove(directory)


async def raw(directory: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that sends what it likes."""
    with address.address(directory) as short:
        return await asyncio.open_unix_connection(short)


def left_behind(directory: Path) -> None:
    """The socket of a process that was killed: it is there, and nobody listens."""
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with address.address(directory) as short:
        dead.bind(short)
    dead.close()
    (directory / address.NAME).chmod(0o600)
