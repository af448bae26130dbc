"""What names cost: 10^5 of them, asked of a name server that is slow and loses packets; then all of them again, from
answers that are no longer fresh, while that server is silent.

The server is a process of its own on loopback. It answers after 20 to 400 ms, loses one packet in twenty, has no
address for some names and fails for others. `python -m tests.bench.names --quick` asks about 5,000.
"""

import asyncio
import multiprocessing
import socket
import statistics
import struct
import time
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from random import Random
from typing import cast

import msgspec

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.lookup.answers import Answers, NameCacheLimits, make_answer
from crawler.fetch.connect.lookup.dns import DnsResolver
from crawler.fetch.connect.names import Names, StaticNames
from tests.bench.report import emit, options, tell

A, NXDOMAIN, SERVFAIL = 1, 3, 2
LOSS, NO_NAME, FAILING, SILENT = 0.05, 0.02, 0.01, 0.005
SLOWEST_S, QUICKEST_S = 0.4, 0.02
TTL_S = 300
AT_ONCE = 500
"""Fetches that wait for names, as with the default of `fetch.spare`."""
MEANINGS = {
    "names_per_s": "names that are settled per second, by as many fetches at once as a crawl has by default",
    "share_found": "names that got an address, of those that have one and whose server answers",
    "cpu_us_per_name": "processor time of the crawler",
    "longest_s": "longest time until a name was settled",
    "p99_s": "the 99th percentile of that",
    "bytes_per_name": "memory of the cache",
    "stale_share": "names that got their old address while the server was silent",
    "stale_names_per_s": "how many of these per second",
    "known_us": "time for a name whose answer is fresh",
}


class NameServer(asyncio.DatagramProtocol):
    """Answers by a hash of the name."""

    def __init__(self, seed: int, is_silent: "Synchronized[int]") -> None:
        self._random = Random(seed)
        self._is_silent = is_silent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12)
        name, kind = data[12:end].lower(), data[end + 2]
        luck = fate(name)
        if self._is_silent.value or self._random.random() < LOSS or luck < SILENT:
            return
        code = SERVFAIL if luck < SILENT + FAILING else NXDOMAIN if luck < SILENT + FAILING + NO_NAME else 0
        found = [] if code or kind != A else [address(name)]
        records = b"".join(struct.pack(">HHHIH", 0xC00C, A, 1, TTL_S, 4) + each for each in found)
        answer = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0) + data[12 : end + 5] + records
        delay_s = self._random.uniform(QUICKEST_S, SLOWEST_S)
        asyncio.get_running_loop().call_later(delay_s, self._transport.sendto, answer, addr)


def fate(name: bytes) -> float:
    return zlib.crc32(name) / 2**32


def address(name: bytes) -> bytes:
    """A public one."""
    return b"\x01" + zlib.adler32(name).to_bytes(4, "big")[1:]


def wire(host: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))


def serve(port: Connection, seed: int, is_silent: "Synchronized[int]") -> None:
    async def run() -> None:
        made = NameServer(seed, is_silent)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        udp.bind(("127.0.0.1", 0))
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: made, sock=udp)
        port.send(udp.getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def name_server(seed: int) -> Iterator[tuple[int, "Synchronized[int]"]]:
    """Its port, and what silences it."""
    context = multiprocessing.get_context("spawn")
    is_silent = cast("Synchronized[int]", context.Value("i", 0))
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, seed, is_silent), daemon=True)
    process.start()
    try:
        yield ours.recv(), is_silent
    finally:
        process.kill()
        process.join()


class Asked(msgspec.Struct):
    """What came of asking about all names once."""

    found: int = 0
    took_s: list[float] = msgspec.field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0


async def ask_all(hosts: list[str], resolve: Callable[[str], Awaitable[object]]) -> Asked:
    asked, left = Asked(), iter(hosts)

    async def work() -> None:
        for host in left:
            began = time.monotonic()
            try:
                await resolve(host)
                asked.found += 1
            except OSError:
                pass
            asked.took_s.append(time.monotonic() - began)

    began_s, cpu_s = time.monotonic(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    asked.wall_s, asked.cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
    return asked


async def measure(hosts: list[str], port: int, is_silent: "Synchronized[int]") -> dict[str, float]:
    later_s = 0.0
    resolver = DnsResolver(name_servers=[f"127.0.0.1:{port}"])
    names = Names(static=StaticNames({}), guard=Guard(), system=resolver, clock=lambda: time.monotonic() + later_s)
    first = await ask_all(hosts, names.resolve)
    tell(f"{len(hosts):,} names in {first.wall_s:.1f} s, {first.found:,} with an address")
    known = await ask_all(hosts, names.resolve)
    later_s = TTL_S + 60.0
    is_silent.value = 1
    stale = await ask_all(hosts, names.resolve)
    tell(f"from old answers: {stale.found:,} in {stale.wall_s:.1f} s")
    await names.close()
    can_answer = sum(fate(wire(host)) >= SILENT + FAILING + NO_NAME for host in hosts)
    return {
        "names_per_s": len(hosts) / first.wall_s,
        "share_found": first.found / can_answer,
        "cpu_us_per_name": first.cpu_s / len(hosts) * 1e6,
        "longest_s": max(first.took_s),
        "p99_s": statistics.quantiles(first.took_s, n=100)[98],
        "bytes_per_name": memory(hosts),
        "stale_share": stale.found / first.found,
        "stale_names_per_s": len(hosts) / stale.wall_s,
        "known_us": known.cpu_s / len(hosts) * 1e6,
    }


def memory(hosts: list[str]) -> float:
    """Of the cache, per name."""
    limits, answers = NameCacheLimits(), Answers()
    tracemalloc.start()
    for host in hosts:
        found = socket.inet_ntoa(address(wire(host)))
        answers.put(
            f"{host} 0", make_answer([found], ttl_s=TTL_S, now=time.monotonic(), limits=limits), max_names=10**6
        )
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(hosts)


def main() -> None:
    asked = options(__doc__ or "")
    hosts = [f"www.host{number}.example{number % 977}.org" for number in range(5_000 if asked.quick else 100_000)]
    with name_server(asked.seed) as (port, is_silent):
        figures = asyncio.run(measure(hosts, port, is_silent))
    emit(figures, asked=asked, packages=("onceover-crawler", "aiodns", "pycares"), meanings=MEANINGS)


if __name__ == "__main__":
    main()
