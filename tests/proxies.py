"""Proxies for tests: small, and real. They speak HTTP with CONNECT, or SOCKS5, and carry bytes both ways."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv6Address

import msgspec

from tests.servers import listening


class Proxied(msgspec.Struct):
    """A running proxy, and what it was asked."""

    port: int = 0
    targets: list[tuple[str, int]] = []
    """Whom it was asked for: a name or an address, and a port."""
    logins: list[str] = []
    """Names and passwords that clients gave, as they were sent."""


Login = tuple[str, str]
_CONSENT = b"HTTP/1.1 200 Connection established\r\n\r\n"


@asynccontextmanager
async def connect_proxy(
    to_port: int, *, login: Login | None = None, tls: ssl.SSLContext | None = None, consent: bytes = _CONSENT
) -> AsyncIterator[Proxied]:
    """A proxy for HTTP that leads every CONNECT to a port of this machine; with `tls`, it is asked by https itself.
    `consent` is its answer."""
    told = Proxied()
    wanted = None if login is None else "Basic " + base64.b64encode(":".join(login).encode()).decode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = first.split()
        assert method == "CONNECT"
        host, _, port = target.rpartition(":")
        told.targets.append((host, int(port)))
        given = [line.partition(": ")[2] for line in headers if line.lower().startswith("proxy-authorization:")]
        told.logins.extend(given)
        if wanted is not None and given != [wanted]:
            writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(consent)
        await _carry(reader, writer, to_port)

    async with listening(serve, tls=tls) as told.port:
        yield told


@asynccontextmanager
async def socks_proxy(
    to_port: int, *, login: Login | None = None, reply: int = 0, holds: bool = False
) -> AsyncIterator[Proxied]:
    """A SOCKS5 proxy that leads everywhere to a port of this machine, or answers with another `reply` than 0. One that
    `holds` waits for the server to speak, and sends the first of that together with its reply."""
    told = Proxied()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if (2 if login else 0) not in methods:
            writer.write(b"\x05\xff")
            return
        writer.write(b"\x05\x02" if login else b"\x05\x00")
        if login:
            await reader.readexactly(1)
            halves = [(await reader.readexactly((await reader.readexactly(1))[0])).decode() for _ in range(2)]
            told.logins.append(":".join(halves))
            writer.write(b"\x01\x00" if tuple(halves) == login else b"\x01\x01")
            if tuple(halves) != login:
                return
        _, _, _, kind = await reader.readexactly(4)
        match kind:
            case 1:
                host = str(IPv4Address(await reader.readexactly(4)))
            case 4:
                host = str(IPv6Address(await reader.readexactly(16)))
            case _:
                host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        told.targets.append((host, int.from_bytes(await reader.readexactly(2))))
        answer = bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
        if holds:
            await _carry(reader, writer, to_port, first=answer)
            return
        writer.write(answer)
        if not reply:
            await _carry(reader, writer, to_port)

    async with listening(serve) as told.port:
        yield told


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, *, first: bytes = b"") -> None:
    """Both ways, until either side has ended. `first` waits for the server's first bytes."""
    there, back = await asyncio.open_connection("127.0.0.1", port)
    try:
        if first:
            writer.write(first + await there.read(65_536))
        ways = {asyncio.create_task(_one_way(reader, back)), asyncio.create_task(_one_way(there, writer))}
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
    finally:
        back.close()


async def _one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
