"""Crawls as the command does, and tells what that took: `python -m tests.zoo.crawling CONFIGURATION DIRECTORY`.

Prints one JSON object: memory before the crawl and at its peak, and what is open before and after.
"""

import asyncio
import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from config import load
from crawler.cli.run.allocator import settle_allocator
from crawler.disk.directory import CrawlDirectory
from crawler.wiring.crawl import open_crawl

ANSWERS = {"loopback.dns.test": ["127.0.0.1"], "metadata.dns.test": ["169.254.169.254", "::ffff:10.0.0.1"]}


class Told(msgspec.Struct, frozen=True):
    """What a crawl took."""

    ending: str
    idle_kib: int
    peak_kib: int
    files_before: int
    files_after: int
    tasks_after: int

    @property
    def grown_mb(self) -> float:
        return (self.peak_kib - self.idle_kib) / 1024


class Dns(AbstractResolver):
    """Answers some names with addresses that must not be fetched."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses = ANSWERS.get(host)
        if addresses is None:
            raise OSError(None, f"{host} does not exist")
        return [
            ResolveResult(hostname=host, host=each, port=port, family=10 if ":" in each else 2, proto=0, flags=0)
            for each in addresses
        ]

    async def close(self) -> None: ...


async def crawl(configuration: Path, directory: Path) -> Told:
    settle_allocator()
    files_before = _files()
    loaded = load(configuration)
    with CrawlDirectory(directory) as opened, mock.patch("crawler.wiring.components.fetching.DnsResolver", Dns):
        async with open_crawl(loaded, opened) as made:
            idle_kib = _kib("VmRSS")
            ending = await made.engine.run()
        del made
    for _ in range(10):
        await asyncio.sleep(0)
    gc.collect()
    return Told(
        ending=ending.value,
        idle_kib=idle_kib,
        peak_kib=_kib("VmHWM"),
        files_before=files_before,
        files_after=_files(),
        tasks_after=len(asyncio.all_tasks()) - 1,
    )


def _files() -> int:
    """How many files and sockets are open; but for /dev/null, of which uvloop keeps one once it has closed a socket."""
    places = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            places.append(entry.readlink())
    return sum(place != Path("/dev/null") for place in places)


def _kib(name: str) -> int:
    lines: Iterator[str] = iter(Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        told = runner.run(crawl(Path(sys.argv[1]), Path(sys.argv[2])))
    sys.stdout.buffer.write(msgspec.json.encode(told))
