"""The bare client: fetches a list of URLs, and does nothing with them.

`python -m tests.bench.peers.aiohttp_fetch FILE PORT [AUTHORITY]`: FILE has one URL per line; every name is resolved to
127.0.0.1:PORT. AUTHORITY is the certificate of the authority to trust for https. Prints {"pages": n, "seconds": s} as
JSON.
"""

import asyncio
import json
import socket
import ssl
import sys
import time
from pathlib import Path

import aiohttp
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

WORKERS = 64


class LoopbackResolver(AbstractResolver):
    """Every name is this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host="127.0.0.1", port=self._port, family=socket.AF_INET, proto=0, flags=0)
        ]

    async def close(self) -> None:
        return


async def fetch_all(urls: list[str], port: int, authority: str | None = None) -> int:
    """Fetch every URL; the number of 200s."""
    left = iter(urls)
    tls = True if authority is None else ssl.create_default_context(cafile=authority)
    connector = aiohttp.TCPConnector(resolver=LoopbackResolver(port), limit=WORKERS, ssl=tls)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def work() -> int:
            pages = 0
            for url in left:
                async with session.get(URL(url, encoded=True), allow_redirects=False) as response:
                    await response.read()
                    pages += response.status == 200
            return pages

        return sum(await asyncio.gather(*(work() for _ in range(WORKERS))))


def main(file: Path, port: int, authority: str | None = None) -> None:
    urls = file.read_text(encoding="utf-8").split()
    began = time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        pages = runner.run(fetch_all(urls, port, authority))
    sys.stdout.write(json.dumps({"pages": pages, "seconds": time.perf_counter() - began}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
