"""Asking a name server, one of our own that answers over UDP."""

import asyncio
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp.abc import ResolveResult

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.lookup.dns import DnsResolver
from crawler.fetch.connect.names import Names, StaticNames
from crawler.testing.timeouts import MAX_WAIT_S

A, AAAA = 1, 28
NXDOMAIN, SERVFAIL = 3, 2


class NameServer(asyncio.DatagramProtocol):
    """Answers (RFC 1035) from a table of name and type to addresses, with one time to live."""

    def __init__(self, addresses: dict[tuple[str, int], list[str]], *, ttl_s: int, otherwise: int) -> None:
        self._addresses = addresses
        self._ttl_s = ttl_s
        self._otherwise = otherwise
        self.asked: list[tuple[str, int]] = []
        self.transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        question = data[12 : at + 5]
        name, kind = ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])[0]
        self.asked.append((name, kind))
        known = any(name == each for each, _ in self._addresses)
        family = socket.AF_INET if kind == A else socket.AF_INET6
        answers = [socket.inet_pton(family, each) for each in self._addresses.get((name, kind), [])]
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | (0 if known else self._otherwise), 1, len(answers), 0, 0)
        records = [struct.pack(">HHHIH", 0xC00C, kind, 1, self._ttl_s, len(each)) + each for each in answers]
        assert self.transport is not None
        self.transport.sendto(head + question + b"".join(records), addr)


@asynccontextmanager
async def asking(
    addresses: dict[tuple[str, int], list[str]], *, ttl_s: int = 60, otherwise: int = NXDOMAIN
) -> AsyncIterator[tuple[DnsResolver, NameServer]]:
    made = NameServer(addresses, ttl_s=ttl_s, otherwise=otherwise)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: made, ("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    resolver = DnsResolver(name_servers=[f"127.0.0.1:{port}"], timeout_s=MAX_WAIT_S, tries=1)
    try:
        yield resolver, made
    finally:
        await resolver.close()
        transport.close()


async def test_all_addresses_of_both_families_come_with_their_time_to_live() -> None:
    table = {("a.example.org", A): ["192.0.2.1", "192.0.2.2"], ("a.example.org", AAAA): ["2001:db8::1"]}
    async with asking(table, ttl_s=77) as (resolver, _):
        found = await resolver.resolve("a.example.org", 80)
    assert {each["host"] for each in found} == {"192.0.2.1", "192.0.2.2", "2001:db8::1"}
    assert [each["family"] for each in found] == [socket.AF_INET, socket.AF_INET, socket.AF_INET6]
    assert [each.get("ttl_s") for each in found] == [77, 77, 77]


@pytest.mark.parametrize(
    ("host", "otherwise", "code"),
    [
        ("nowhere.example.org", NXDOMAIN, socket.EAI_NONAME),
        ("broken.example.org", SERVFAIL, socket.EAI_AGAIN),
        ("a..example.org", NXDOMAIN, None),
        ("x" * 70 + ".example.org", NXDOMAIN, None),
    ],
)
async def test_what_has_no_address_is_an_error_of_the_resolver(host: str, otherwise: int, code: int | None) -> None:
    async with asking({}, otherwise=otherwise) as (resolver, _):
        with pytest.raises(socket.gaierror) as caught:
            await resolver.resolve(host, 80)
    assert code in (None, caught.value.errno)


@pytest.mark.parametrize(("ttl_s", "kept_s"), [(60, 60), (0, 30), (10**6, 3600)])
async def test_an_answer_is_kept_as_long_as_it_says_within_limits(
    ttl_s: int, kept_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    asked = 0

    async with asking({("a.example.org", A): ["93.184.215.14"]}, ttl_s=ttl_s) as (resolver, _):
        ask = resolver.resolve

        async def counted(*arguments: Any) -> list[ResolveResult]:
            nonlocal asked
            asked += 1
            return await ask(*arguments)

        monkeypatch.setattr(resolver, "resolve", counted)
        names = Names(static=StaticNames({}), guard=Guard(), system=resolver, clock=lambda: now)
        for later_s, times in ((0, 1), (kept_s - 1, 1), (1, 2)):
            now += later_s
            await names.resolve("a.example.org", 80)
            assert asked == times


def test_a_crawl_loads_aiodns_for_the_first_name_and_aiohttp_its_own_resolver_when_a_plug_in_wants_it(
    repository: Path,
) -> None:
    script = """
import asyncio
import sys
from crawler.cli import Commands
Commands()["crawl"]
import aiohttp
from crawler.fetch.connect.lookup.dns import DnsResolver
assert not {"aiodns", "pycares"} & set(sys.modules)
assert aiohttp.DefaultResolver is aiohttp.AsyncResolver

async def resolve():
    mine, theirs = DnsResolver(name_servers=["127.0.0.1:1"]), aiohttp.AsyncResolver()
    assert (await mine.resolve("127.0.0.2"))[0]["host"] == "127.0.0.2"
    import aiodns
    assert isinstance(theirs._resolver, aiodns.DNSResolver)
    assert aiohttp.resolver.aiodns.error is aiodns.error
    await mine.close()
    await theirs.close()
    await DnsResolver().close()

asyncio.run(resolve())
"""
    subprocess.run([sys.executable, "-c", script], cwd=repository, check=True)
