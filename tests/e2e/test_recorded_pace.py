"""That servers are asked no sooner than they bear it, by a server's own log and clock, also over restarts."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import msgspec
import pytest

from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import COMPLETE, ONCEOVER, environment, setting
from tests.e2e.operating import command_here

DELAY_S = 0.3
IP_REST_S = 0.2
RETRY_AFTER_S = 4
GIVE_UP_S = 1200.0


class Asked(msgspec.Struct, frozen=True):
    """A request: by the monotonic clock, when its head was whole and when its answer began to be sent."""

    host: str
    target: str
    began_at: float
    ended_at: float
    status: int


class Kill(msgspec.Struct, frozen=True):
    """A kill of the crawl: when, and the URLs that it had noted to ask again. What other servers have answered it can't
    know afterwards."""

    at: float
    retrying: frozenset[str]


class Recorder:
    """Hosts at addresses of their own, but for the first two, which share one. Each has so many pages, all linked from
    its first; every third host asks to be spared when its fourth page is asked for first."""

    def __init__(self, hosts: int, pages: int) -> None:
        self.hosts = hosts
        self.pages = pages
        self.port = 0
        self.log: list[Asked] = []
        self._spared: set[str] = set()

    @property
    def places(self) -> dict[str, str]:
        addresses = ["127.9.0.1", "127.9.0.1", *(f"127.9.{n // 200 + 1}.{n % 200 + 1}" for n in range(2, self.hosts))]
        return {f"h{number}.test": f"{address}:{self.port}" for number, address in enumerate(addresses)}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                began_at = time.monotonic()
                target = head.split(b" ", 2)[1].decode()
                host = head.lower().split(b"\r\nhost:", 1)[1].split(b"\r\n", 1)[0].strip().decode().partition(":")[0]
                status, more, body = self._answered(host, target)
                ended_at = time.monotonic()
                self.log.append(Asked(host, target, began_at, ended_at, status))
                kind = "Content-Type: text/html\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{kind}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answered(self, host: str, target: str) -> tuple[int, str, bytes]:
        if target == "/robots.txt":
            return 404, "", b""
        if target == "/4" and int(host[1:].partition(".")[0]) % 3 == 2 and host not in self._spared:
            self._spared.add(host)
            return 503, f"Retry-After: {RETRY_AFTER_S}\r\n", b""
        links = "".join(f'<a href="/{number}">x</a>' for number in range(1, self.pages)) if target == "/" else ""
        return 200, "", links.encode()


@contextmanager
def recording(hosts: int, pages: int) -> Iterator[Recorder]:
    """A recorder that is served by a thread."""
    recorder = Recorder(hosts, pages)
    ready, stop = Event(), Event()

    async def serve() -> None:
        server = await asyncio.start_server(recorder.answer, "127.9.0.1", 0, backlog=1024)
        recorder.port = server.sockets[0].getsockname()[1]
        addresses = sorted({place.partition(":")[0] for place in recorder.places.values()} - {"127.9.0.1"})
        others = await asyncio.start_server(recorder.answer, addresses, recorder.port) if addresses else None
        ready.set()
        await asyncio.to_thread(stop.wait)
        for each in filter(None, (server, others)):
            each.close()

    thread = Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert ready.wait(MAX_WAIT_S)
        yield recorder
    finally:
        stop.set()
        thread.join(MAX_WAIT_S)


def crawl(folder: Path, recorder: Recorder, *, kills: int) -> list[Kill]:
    """Crawl to the end, by several processes of which all but the last are killed."""
    pairs = ", ".join(f'"{name}" = "{place}"' for name, place in recorder.places.items())
    seeds = [part for name in recorder.places for part in ("--seed", f"http://{name}/")]
    options = setting(
        f"fetch.hosts={{{pairs}}}",
        f"politeness.min_delay_s={DELAY_S}",
        "politeness.delay_factor=0",
        f"politeness.ip_delay_s={IP_REST_S}",
        f"frontier.retry_delay_s={RETRY_AFTER_S}",
        "output.warc=false",
        "scope.sitemap_paths=[]",
    )
    wanted = recorder.hosts * (recorder.pages + 1)
    code = None
    killed: list[Kill] = []
    for life in range(kills + 1):
        with (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                [ONCEOVER, "crawl", *seeds, *options, "--dir", "crawl"],
                cwd=folder,
                env=environment(),
                stdout=err,
                stderr=err,
            )
        give_up_at = time.monotonic() + GIVE_UP_S
        try:
            while process.poll() is None:
                assert time.monotonic() < give_up_at, (folder / "stderr").read_text()
                if life < kills and len(recorder.log) >= wanted * (life + 1) / (kills + 1):
                    break
                time.sleep(0.05)
        finally:
            process.kill()
            code = process.wait()
        if life < kills:
            noted = retrying(folder)
            # What was on its way to a server when the crawl was killed has been answered meanwhile.
            killed.append(Kill(time.monotonic(), noted))
    assert code == COMPLETE, (folder / "stderr").read_text()
    return killed


def retrying(folder: Path) -> frozenset[str]:
    """The URLs that wait for another attempt. Looks at a copy, because opening the state mends it."""
    shutil.copytree(folder / "crawl", folder / "copy", ignore=shutil.ignore_patterns("logs", "control"))
    told = command_here("frontier", "export", str(folder / "copy"), "--pending")
    assert told.code == COMPLETE, told.err
    shutil.rmtree(folder / "copy")
    lines = map(msgspec.json.decode, told.out.splitlines())
    return frozenset(line["url"] for line in lines if "due_at" in line)


@pytest.mark.parametrize(
    ("hosts", "pages", "kills"),
    [
        (12, 8, 2),
        pytest.param(200, 50, 3, marks=pytest.mark.long),
    ],
)
def test_no_host_and_no_address_is_asked_too_soon_by_its_own_log(
    tmp_path: Path, hosts: int, pages: int, kills: int
) -> None:
    with recording(hosts, pages) as recorder:
        killed = crawl(tmp_path, recorder, kills=kills)
        log = sorted(recorder.log, key=lambda asked: asked.began_at)
    assert len(log) >= hosts * (pages + 1)
    by_host: dict[str, list[Asked]] = {}
    for asked in log:
        by_host.setdefault(asked.host, []).append(asked)
    assert len(by_host) == hosts
    spared = 0
    for requests in by_host.values():
        assert {asked.target for asked in requests} == {"/robots.txt", "/", *(f"/{n}" for n in range(1, pages))}
        for before, after in pairwise(requests):
            assert after.began_at - before.ended_at >= DELAY_S, (before, after)
            if before.status == 503:
                spared += 1
                url = f"http://{before.host}{before.target}"
                if any(before.ended_at <= kill.at <= after.began_at and url not in kill.retrying for kill in killed):
                    continue
                assert after.began_at - before.ended_at >= RETRY_AFTER_S, (before, after)
    assert spared == len([number for number in range(hosts) if number % 3 == 2])
    shared = [asked for asked in log if asked.host in {"h0.test", "h1.test"}]
    for before, after in pairwise(shared):
        assert after.began_at - before.ended_at >= IP_REST_S, (before, after)
