"""The simulated web on a socket."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from crawler.simweb.geography import Obstacle
from crawler.simweb.log import LogEntry, json_lines, read_json_lines
from crawler.simweb.params import WorldParams, demo_params
from crawler.simweb.server import MAX_HEAD_BYTES, Web, serve
from crawler.simweb.world import Reply, World
from tests.certificates import issued

HOST = "h00000.sim.test"


class Answer(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes


class Counting:
    """A world that tells what it was asked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[str] = []

    def respond(self, authority: str, target: str, *, attempt: int, accept_encoding: str, now: float) -> Reply:
        self.asked.append(target)
        return self.world.respond(authority, target, attempt=attempt, accept_encoding=accept_encoding, now=now)


class Client:
    """One connection, HTTP by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, target: str = "/", *headers: str, method: str = "GET", version: str = "1.1") -> None:
        lines = [f"{method} {target} HTTP/{version}", f"Host: {HOST}", *headers, "", ""]
        self.writer.write("\r\n".join(lines).encode())

    async def receive(self, *, has_body: bool = True) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:-2])
        body = b""
        if has_body and "Transfer-Encoding" in headers:
            while size := int(await self.reader.readline(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        elif has_body and "Content-Length" in headers:
            body = await self.reader.readexactly(int(headers["Content-Length"]))
        return Answer(int(head[0].split(" ")[1]), headers, body)

    async def get(self, target: str = "/", *headers: str, **options: Any) -> Answer:
        self.send(target, *headers, **options)
        return await self.receive()

    async def is_closed(self) -> bool:
        return await self.reader.read(1) == b""


@asynccontextmanager
async def client_of(world: Web, **options: Any) -> AsyncIterator[Client]:
    async with serve(world, **options) as server, connected(server.port) as client:
        yield client


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


def targets(world: World) -> list[str]:
    return [world.url(0, n).removeprefix(world.origin(0)) for n in range(world.geography.page_count(0))]


def target_with(world: World, obstacle: Obstacle) -> str:
    return next(target for n, target in enumerate(targets(world)) if world.facts(0, n).obstacle is obstacle)


@pytest.mark.parametrize("cache_bytes", [0, 20_000, 64_000_000])
async def test_one_connection_gets_the_pages_of_the_world_again_and_again(cache_bytes: int) -> None:
    world = World(WorldParams(chunked=0.3, legacy_charsets=0.3))
    async with client_of(world, cache_bytes=cache_bytes) as client:
        for target in targets(world) * 3:
            answer = await client.get(target)
            assert (answer.status, answer.body) == (200, world.respond(HOST, target).body)
            assert answer.headers["Connection"] == "keep-alive"


async def test_a_library_client_sees_the_same_world_through_compression_and_chunks() -> None:
    world = World(demo_params())
    async with serve(world) as server, aiohttp.ClientSession() as session:
        for target in targets(world)[:7]:
            authority = f"{HOST}:{server.port}"
            url = f"http://127.0.0.1:{server.port}{target}"
            async with session.get(url, headers={"Host": authority}) as response:
                assert await response.read() == world.respond(authority, target).body


async def test_every_host_answers_by_its_name_and_others_are_misdirected() -> None:
    world = World(WorldParams(hosts=2))
    async with serve(world) as server, connected(server.port) as client:
        bodies = []
        for name in ("h00000.sim.test", "h00001.sim.test", "h00002.sim.test"):
            client.writer.write(f"GET / HTTP/1.1\r\nHost: {name}:{server.port}\r\n\r\n".encode())
            bodies.append((await client.receive()).body)
        assert bodies == [world.respond(f"h0000{n}.sim.test:{server.port}", "/").body for n in range(3)]


async def test_head_has_the_head_of_get_and_no_body() -> None:
    async with client_of(World(WorldParams())) as client:
        get = await client.get()
        client.send(method="HEAD")
        head = await client.receive(has_body=False)
        assert head == Answer(200, get.headers, b"")
        assert (await client.get()) == get


async def test_requests_sent_at_once_are_answered_in_order_even_behind_a_slow_one() -> None:
    world = World(WorldParams(slow=0.5, delay_s=0.05))
    async with client_of(world) as client:
        asked = [target_with(world, Obstacle.SLOW), *targets(world)[:5]]
        for target in asked:
            client.send(target)
        for target in asked:
            assert (await client.receive()).body == world.respond(HOST, target).body


async def test_a_client_that_does_not_read_gets_every_answer_when_it_does() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=20))
    asked = targets(world) * 200
    async with client_of(world) as client:
        for target in asked:
            client.send(target)
        sending = asyncio.create_task(client.writer.drain())
        for target in asked:
            assert (await client.receive()).body[-200:] == world.respond(HOST, target).body[-200:]
        await sending


async def test_a_client_that_does_not_read_is_not_answered_without_end() -> None:
    world = World(WorldParams(page_bytes=100_000))
    log: list[LogEntry] = []
    async with serve(world, log=log.append) as server, connected(server.port) as lazy, connected(server.port) as other:
        for _ in range(1_000):
            lazy.send("/")
        await lazy.writer.drain()
        for _ in range(100):
            await other.get("/robots.txt")
    assert 0 < sum(entry.target == "/" for entry in log) < 1_000


@pytest.mark.parametrize(("cache_bytes", "computed"), [(250_000, 3), (20_000, 9)])
async def test_answers_are_kept_up_to_a_bound_and_then_computed_again(cache_bytes: int, computed: int) -> None:
    counting = Counting(World(WorldParams()))
    async with client_of(counting, cache_bytes=cache_bytes) as client:
        for target in targets(counting.world)[:3] * 3:
            assert (await client.get(target)).body == counting.world.respond(HOST, target).body
    assert len(counting.asked) == computed


async def test_answers_to_clients_with_old_copies_take_no_room_of_others() -> None:
    counting = Counting(World(WorldParams()))
    first, second = targets(counting.world)[:2]
    async with client_of(counting, cache_bytes=50_000) as client:
        for _ in range(10):
            await client.get(first, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT")
        for _ in range(3):
            await client.get(second)
    assert counting.asked.count(second) == 1


async def test_a_copy_is_current_until_the_page_changes() -> None:
    now = [1.8e9]
    world = World(WorldParams(change_every_s=100.0))
    async with client_of(world, clock=lambda: now[0]) as client:
        first = await client.get("/")
        etag, date = first.headers["ETag"], first.headers["Last-Modified"]
        for validator in (f"If-None-Match: {etag}", f"If-Modified-Since: {date}"):
            answer = await client.get("/", validator)
            assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", etag)
        # The tag counts more than the date, and a date that can't be read counts nothing.
        both = (f"If-Modified-Since: {date}", 'If-None-Match: "other"')
        for validators in (
            both,
            ("If-Modified-Since: yesterday",),
            ("If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT",),
        ):
            assert (await client.get("/", *validators)).status == 200
        now[0] += 10_000
        for validator in (f"If-None-Match: {etag}", f"If-Modified-Since: {date}"):
            answer = await client.get("/", validator)
            assert (answer.status, answer.headers["ETag"] == etag, answer.body == first.body) == (200, False, False)


async def test_flaky_answers_are_counted_per_target() -> None:
    world = World(WorldParams(flaky=1.0, flaky_failures=2))
    leaves = [target for n, target in enumerate(targets(world)) if world.facts(0, n).obstacle]
    async with client_of(world) as client:
        for target in leaves[:3]:
            assert [(await client.get(target)).status for _ in range(4)] == [500, 500, 200, 200]


async def test_a_throttled_answer_has_retry_after_on_the_wire() -> None:
    world = World(WorldParams(throttled=1.0, retry_after_s=3))
    async with client_of(world) as client:
        answer = await client.get(target_with(world, Obstacle.THROTTLED))
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")


@pytest.mark.parametrize("chunked", [0.0, 1.0])
async def test_a_cut_answer_ends_in_the_middle_of_the_body_and_is_whole_the_next_time(chunked: float) -> None:
    world = World(WorldParams(cut=1.0, chunked=chunked))
    target = target_with(world, Obstacle.CUT)
    async with serve(world) as server:
        async with connected(server.port) as client:
            with pytest.raises(asyncio.IncompleteReadError) as caught:
                await client.get(target)
            assert caught.value.partial
        async with connected(server.port) as client:
            assert (await client.get(target)).body == world.respond(HOST, target, attempt=2).body


async def test_an_unchanged_page_is_not_sent_again() -> None:
    async with client_of(World(WorldParams())) as client:
        for _ in range(2):
            etag = (await client.get()).headers["ETag"]
            client.send("/", f"If-None-Match: {etag}")
            assert await client.receive() == Answer(304, {"ETag": etag, "Connection": "keep-alive"}, b"")
        assert (await client.get("/", 'If-None-Match: "other"')).status == 200


@pytest.mark.parametrize("zone", ["GMT", "+99999999999999999999"])
@pytest.mark.parametrize("year", ["1994", "99999999999999999999"])
async def test_a_copy_of_a_date_that_is_none_is_not_current(year: str, zone: str) -> None:
    async with client_of(World(WorldParams())) as client:
        answer = await client.get("/", f"If-Modified-Since: Sun, 06 Nov {year} 08:49:37 {zone}")
    assert answer.status == 200


async def test_a_client_may_ask_for_the_end_of_the_connection() -> None:
    async with client_of(World(WorldParams())) as client:
        answer = await client.get("/", "Connection: close")
        assert (answer.status, answer.headers["Connection"]) == (200, "close")
        assert await client.is_closed()


async def test_a_web_over_tls_links_to_https_and_may_close_each_connection(tmp_path: Path) -> None:
    host = "h00000.sim.test"
    tls, authority = issued(host, tmp_path)
    world = World(WorldParams(https=True))
    trust = ssl.create_default_context(cafile=authority)
    async with (
        serve(world, tls=tls, keep_alive=False) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session,
    ):
        for _ in range(2):
            async with session.get(
                f"https://127.0.0.1:{server.port}/",
                headers={"Host": "h00000.sim.test"},
                server_hostname="h00000.sim.test",
            ) as answer:
                assert answer.headers["Connection"] == "close"
                assert b'href="https://h00001.sim.test' in await answer.read()


async def test_http_1_0_gets_no_chunks_and_no_second_answer() -> None:
    async with client_of(World(WorldParams(chunked=1.0))) as client:
        answer = await client.get(version="1.0")
        assert "Content-Length" in answer.headers
        assert await client.is_closed()


async def test_a_proxy_style_request_names_its_host_in_the_target() -> None:
    world = World(WorldParams())
    async with client_of(world) as client:
        answer = await client.get("http://h00001.sim.test/robots.txt")
        assert answer.body == world.respond("h00001.sim.test", "/robots.txt").body


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/3\r\nHost: h00000.sim.test\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET docs HTTP/1.1\r\nHost: h00000.sim.test\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h00000.sim.test\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h00000.sim.test\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"POST / HTTP/1.1\r\nHost: h00000.sim.test\r\n\r\n", 405),
        (b"GET /" + b"a" * (MAX_HEAD_BYTES + 1), 431),
    ],
)
async def test_a_bad_request_is_answered_and_ends_the_connection(sent: bytes, status: int) -> None:
    async with client_of(World(WorldParams())) as client:
        client.writer.write(sent)
        answer = await client.receive()
        assert (answer.status, answer.headers["Connection"]) == (status, "close")
        assert answer.body
        assert await client.is_closed()


async def test_a_request_may_arrive_byte_by_byte() -> None:
    async with client_of(World(WorldParams())) as client:
        client.writer.transport.set_write_buffer_limits(0)
        for byte in f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode():
            client.writer.write(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert (await client.receive()).status == 200


@pytest.mark.parametrize("cache_bytes", [0, 1_000_000])
async def test_the_log_tells_every_request_in_order(cache_bytes: int) -> None:
    log: list[LogEntry] = []
    world = World(WorldParams(flaky=1.0))
    target = target_with(world, Obstacle.FLAKY)
    async with client_of(world, log=log.append, cache_bytes=cache_bytes) as client:
        for asked in ("/", "/", target, target, "/nowhere"):
            await client.get(asked)
    assert [(entry.target, entry.status, entry.attempt) for entry in log] == [
        ("/", 200, 1),
        ("/", 200, 1),
        (target, 500, 1),
        (target, 200, 2),
        ("/nowhere", 404, 1),
    ]
    assert {(entry.host, entry.method) for entry in log} == {(HOST, "GET")}
    assert [entry.at_s for entry in log] == sorted(entry.at_s for entry in log)


async def test_the_log_file_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    with json_lines(path) as log:
        async with client_of(World(WorldParams()), log=log) as client:
            await client.get()
            assert [entry.target for entry in read_json_lines(path)] == ["/"]
            await client.get("/robots.txt")
    path.write_bytes(path.read_bytes() + b'{"at_s": 1.0, "meth')
    assert [entry.target for entry in read_json_lines(path)] == ["/", "/robots.txt"]


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "::"])
async def test_only_loopback_is_served(address: str) -> None:
    with pytest.raises(ValueError, match="on loopback only"):
        async with serve(World(WorldParams()), host=address):
            pass


async def test_the_end_of_the_block_ends_connections_and_delayed_answers() -> None:
    world = World(WorldParams(slow=1.0, delay_s=60.0))
    async with serve(world) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        client = Client(reader, writer)
        assert (await client.get()).status == 200
        client.send(target_with(world, Obstacle.SLOW))
        await writer.drain()
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    writer.close()


async def test_a_port_that_is_in_use_is_refused_with_what_to_do() -> None:
    web = World(WorldParams(hosts=1, pages_per_host=1))
    async with serve(web) as server:
        with pytest.raises(
            OSError, match=rf"can't listen on 127\.0\.0\.1:{server.port}: Address .* choose another port"
        ):
            async with serve(web, port=server.port):
                pass
