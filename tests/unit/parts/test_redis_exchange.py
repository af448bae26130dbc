"""Links that travel between real frontiers by a real Redis, which fails in every way it can."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from random import Random
from types import NoneType

import pytest
import redis
from redis.exceptions import OutOfMemoryError, RedisError

from crawler.parts.exchange.protocol import Message, Unreachable
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.exchange.redis_connection import keys_of
from crawler.parts.exchange.redis_streams import NotConnected, Streams
from crawler.parts.exchange.way import Address
from crawler.parts.exchange.wire import LINKS
from crawler.redis.client import leave_idle
from crawler.redis.server import Server
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from tests.redis_server import RedisServer, running_redis
from tests.unit.parts.carrying import Crawl, until, wait_for_end
from tests.unit.parts.model import World
from tests.unit.parts.stored import page_of
from tests.unit.parts.test_carrier import check_complete

FAULTS = ("flush", "kill", "hold", "full", "evict", "replica", "part")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis() as running:
        yield running


async def test_who_looks_for_a_part_while_the_connection_is_closed_leaves_none_open(server: RedisServer) -> None:
    with redis.Redis.from_url(server.url) as client:
        for turns in range(20):
            streams = Streams(Server(url=server.url), prefix="tests")
            await streams.connect()
            assert streams._client is not None
            await leave_idle(streams._client)
            finding = asyncio.create_task(streams.find(1))
            for _ in range(turns):
                await asyncio.sleep(0)
            await streams.disconnect()
            await asyncio.wait({finding})
            assert isinstance(finding.exception(), (NotConnected, RedisError, NoneType))
            await until(lambda: len(client.client_list()) == 1)


@in_event_loop
async def test_an_exchange_does_not_begin_with_what_is_no_url_of_a_server() -> None:
    for url in ("redis://127.0.0.1:port/0", "http://127.0.0.1/0", "sentinel://127.0.0.1:1/"):
        with pytest.raises(ValueError, match=r"expected|Port"):
            async with asyncio.timeout(MAX_WAIT_S):
                await RedisExchange.begin(Server(url=url), 0, prefix="test", wire=LINKS)


@in_event_loop
async def test_an_exchange_that_is_cancelled_while_it_begins_leaves_nothing_at_work(server: RedisServer) -> None:
    server.hold()
    try:
        beginning = asyncio.create_task(RedisExchange.begin(Server(url=server.url), 0, prefix="test", wire=LINKS))
        await until(lambda: len(asyncio.all_tasks()) > 2)
        beginning.cancel()
        await asyncio.wait({beginning})
        assert beginning.cancelled()
        assert asyncio.all_tasks() == {asyncio.current_task()}
    finally:
        server.go_on()


async def fail(server: RedisServer, fault: str, dice: Random) -> None:
    """Let the server fail for a moment."""
    moment_s = dice.uniform(0.05, 0.3)
    if fault == "kill":
        server.kill()
        await asyncio.sleep(moment_s)
        await asyncio.to_thread(server.start)
        return
    if fault == "hold":
        server.hold()
        await asyncio.sleep(moment_s)
        server.go_on()
        return
    client = redis.Redis.from_url(server.url)
    try:
        if fault == "flush":
            client.flushall()
        elif fault == "full":
            client.config_set("maxmemory", 1)
            await asyncio.sleep(moment_s)
            client.config_set("maxmemory", 0)
        elif fault == "replica":
            client.replicaof("127.0.0.1", 1)
            await asyncio.sleep(moment_s)
            client.replicaof("NO", "ONE")
        else:
            # What a failover to a replica that lags behind leaves: some frames are gone, the registrations stand.
            for key in client.scan_iter("*:stream"):
                client.xtrim(key, maxlen=0, approximate=False)
    finally:
        client.close()


async def crawl_with_faults(directory: Path, server: RedisServer, *, seed: int, faults: list[str]) -> None:
    crawl, dice = Crawl(directory, World(seed, pages=100 * len(faults), parts=3)), Random(seed)
    crawl.redis = server.url
    async with AsyncExitStack() as end:
        lives = {number: await end.enter_async_context(AsyncExitStack()) for number in range(3)}
        parts = {number: await lives[number].enter_async_context(crawl.running(number)) for number in range(3)}
        for life, fault in enumerate(faults, start=1):
            await asyncio.sleep(dice.uniform(0.02, 0.1))
            if fault != "part":
                await fail(server, fault, dice)
                continue
            number = dice.randrange(3)
            crawl.kill(number, life)
            await lives[number].aclose()
            parts[number] = await lives[number].enter_async_context(crawl.running(number))
        await wait_for_end(parts)
        await check_complete(crawl, parts)


@in_event_loop
async def test_whatever_redis_does_no_link_is_lost_or_admitted_twice(server: RedisServer, tmp_path: Path) -> None:
    await crawl_with_faults(tmp_path, server, seed=1, faults=list(FAULTS))


@pytest.mark.long
@in_event_loop
async def test_whatever_redis_does_again_and_again_no_link_is_lost(server: RedisServer, tmp_path: Path) -> None:
    for seed in range(2, 22):
        faults = Random(seed).choices(FAULTS, k=20)
        await crawl_with_faults(tmp_path / f"{seed}", server, seed=seed, faults=faults)


@in_event_loop
async def test_parts_find_each_other_once_redis_is_there(tmp_path: Path) -> None:
    with running_redis() as server:
        server.kill()
        first = await RedisExchange.begin(Server(url=server.url), 0, prefix="late", wire=LINKS)
        second = await RedisExchange.begin(Server(url=server.url), 1, prefix="late", wire=LINKS)
        await asyncio.to_thread(server.start)
        crawl = Crawl(tmp_path, World(3, pages=50, parts=2))
        crawl.redis = server.url
        async with AsyncExitStack() as stack:
            parts = {number: await stack.enter_async_context(crawl.running(number)) for number in range(2)}
            await wait_for_end(parts)
        await first.aclose()
        await second.aclose()


@in_event_loop
async def test_nothing_is_left_in_redis(server: RedisServer, tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, World(3, pages=50, parts=2))
    crawl.redis = server.url
    async with AsyncExitStack() as stack:
        parts = {number: await stack.enter_async_context(crawl.running(number)) for number in range(2)}
        await wait_for_end(parts)
    with redis.Redis.from_url(server.url) as client:
        assert client.keys() == []


@in_event_loop
async def test_what_a_killed_process_leaves_in_redis_expires(server: RedisServer) -> None:
    reached, killed = Server(url=server.url), "agent-17"
    streams = Streams(reached, prefix="test")
    await streams.connect()
    try:
        await streams.register(killed, 1)
        assert await streams.write(killed, 1, [b"a frame"])
        keys = keys_of("test", killed)
        with redis.Redis.from_url(server.url) as client:
            for renews in (False, True):
                if renews:
                    client.pexpire(keys[1], 100_000)
                    assert await streams.renew(killed, 1)
                # The stream is looked at first: it expires last.
                stream, registration = (client.pttl(key) for key in reversed(keys))
                assert 0 < registration <= stream <= 10_000
    finally:
        await streams.disconnect()


async def test_what_another_program_writes_into_the_keys_of_a_part_is_ignored(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    reached, part, other = Server(url=server.url), 0, 1
    async with (
        aclosing(await RedisExchange.begin(reached, part, prefix="test", wire=LINKS)) as exchange,
        aclosing(await RedisExchange.begin(reached, other, prefix="test", wire=LINKS)) as sender,
    ):
        with redis.Redis.from_url(server.url) as client:
            for fields in ({"x": "1"}, {"f": ""}, {"f": b"\xc1"}):
                client.xadd(keys_of("test", part)[1], fields)
            connection = await sender.connect(part)
            async with asyncio.timeout(MAX_WAIT_S):
                assert await exchange.accept() is not None
            connection.close()
            assert sum("a frame in Redis can't be read" in each for each in caplog.messages) == 3
            for registration in ("none of ours", 5000 * "9"):
                client.set(keys_of("test", part)[0], registration)
                with pytest.raises(Unreachable, match="part 0 has not registered"):
                    await sender.connect(part)


async def test_machines_do_not_call_their_messages_links_nor_say_twice_that_they_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "crawler.parts.exchange.redis")
    with running_redis() as server:
        reached = Server(url=server.url)
        async with (
            aclosing(await RedisExchange.begin(reached, "coordinator", prefix="test", wire=LINKS)),
            aclosing(await RedisExchange.begin(reached, "agent-a", prefix="test", wire=LINKS)),
        ):
            server.kill()
            await until(lambda: len(caplog.messages) == 2)
            await asyncio.to_thread(server.start)
            await until(lambda: len(caplog.messages) == 4)
    told = {message.partition(":")[0] for message in caplog.messages}
    names = ("coordinator", "agent-a")
    assert told == {f"messages of {name} to other machines {how}" for name in names for how in ("wait", "go on")}


async def test_it_is_told_why_links_wait_and_no_more_once_they_go_on(tmp_path: Path) -> None:
    with running_redis() as server:
        crawl = Crawl(tmp_path, World(3, pages=50, parts=2))
        crawl.redis = server.url
        async with crawl.running(0) as part:

            def says(*words: str) -> bool:
                told = part.carrier.trouble() or ""
                return all(word in told for word in words)

            await until(lambda: says("part 1 does not answer", "of links wait"))
            server.kill()
            await until(lambda: says("Redis can't be used", "parcels of links wait"))
            await asyncio.to_thread(server.start)
            await until(lambda: says("part 1 does not answer"))
            server.hold()
            await until(lambda: says("Redis has not answered for"))
            server.go_on()
            await until(lambda: says("part 1 does not answer"))
            async with crawl.running(1):
                await until(lambda: part.carrier.trouble() is None)


@in_event_loop
async def test_it_is_told_that_the_memory_of_redis_is_full(tmp_path: Path) -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        crawl = Crawl(tmp_path, World(3, pages=50, parts=2))
        crawl.redis = server.url
        async with crawl.running(0, crawls=False) as part, crawl.running(1, crawls=False) as other:
            await until(lambda: part.carrier.trouble() is None and other.carrier.trouble() is None)
            client.config_set("maxmemory", 1)
            foreign = next(page for page in range(50) if crawl.world.owner(page) == 1)
            await part.frontier.add([page_of(foreign)])
            await until(lambda: "maxmemory" in (part.carrier.trouble() or ""))
            client.config_set("maxmemory", 0)
            await until(lambda: other.frontier.describe().pending == 1)
            await until(lambda: part.carrier.trouble() is None)


@in_event_loop
async def test_an_exchange_that_fails_just_when_it_is_closed_is_closed(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the machine was asleep, and Redis has forgotten it meanwhile."""

    async def read(_streams: Streams, _part: int) -> AsyncIterator[list[bytes]]:
        reads.set()
        await fails.wait()
        fails.clear()  # the first time only
        if not fails.is_set():
            raise NotConnected("forgotten")
        yield []

    monkeypatch.setattr(Streams, "read", read)
    for turns in range(3):
        reads, fails = asyncio.Event(), asyncio.Event()
        exchange = await RedisExchange.begin(Server(url=server.url), 0, prefix="test", wire=LINKS)
        await reads.wait()
        fails.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        async with asyncio.timeout(MAX_WAIT_S):
            await exchange.aclose()


@asynccontextmanager
async def three_parts(server: RedisServer) -> AsyncIterator[list[RedisExchange[Message]]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                aclosing(await RedisExchange.begin(Server(url=server.url), number, prefix="test", wire=LINKS))
            )
            for number in range(3)
        ]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> set[Address]:
    """The parts whose node of a cluster is full."""
    write, full = Streams.write, set[Address]()

    async def write_unless_full(streams: Streams, part: Address, registration: int, frames: list[bytes]) -> bool:
        if part in full:
            raise OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'")
        return await write(streams, part, registration, frames)

    monkeypatch.setattr(Streams, "write", write_unless_full)
    return full


@in_event_loop
async def test_a_part_whose_node_of_a_cluster_is_full_keeps_no_links_from_others(
    server: RedisServer, full: set[Address], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.parts.exchange.redis._LAST_RETRY_S", 10 * MAX_WAIT_S)
    full.add(1)
    async with three_parts(server) as (first, second, third), asyncio.timeout(MAX_WAIT_S):
        assert second.trouble is None
        await first.connect(1)
        await first.connect(2)
        assert await third.accept() is not None
        await until(lambda: "the memory of Redis is full" in (first.trouble or ""))
        await first.connect(2)
        assert await third.accept() is not None
        assert "the memory of Redis is full" in (first.trouble or "")


@in_event_loop
async def test_a_part_gets_its_links_when_its_node_has_room_while_those_to_others_flow(
    server: RedisServer, full: set[Address], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.parts.exchange.redis._LAST_RETRY_S", 0.02)
    full.add(1)
    async with three_parts(server) as (first, second, _), asyncio.timeout(MAX_WAIT_S):
        await first.connect(1)
        await until(lambda: "the memory of Redis is full" in (first.trouble or ""))
        full.clear()
        accepting = asyncio.create_task(second.accept())
        while not accepting.done():
            await first.connect(2)
        assert await accepting is not None
        await until(lambda: first.trouble is None)


@in_event_loop
async def test_an_exchange_goes_on_after_redis_was_silent_for_long(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("crawler.parts.exchange.redis_streams", "crawler.redis.client"):
        monkeypatch.setattr(f"{place}.TIMEOUT_S", 0.5)
    monkeypatch.setattr("crawler.parts.exchange.redis_streams._BLOCK_MS", 100)
    attempts, connect = 0, Streams.connect

    async def count(streams: Streams) -> None:
        nonlocal attempts
        attempts += 1
        await connect(streams)

    monkeypatch.setattr(Streams, "connect", count)
    exchange = await RedisExchange.begin(Server(url=server.url), 0, prefix="test", wire=LINKS)
    try:
        await until(lambda: exchange.trouble is None)
        server.hold()
        before = attempts
        await until(lambda: attempts >= before + 2 or exchange._working.done())  # one attempt has waited in vain
        server.go_on()
        await until(lambda: exchange.trouble is None or exchange._working.done())
        assert exchange.trouble is None
    finally:
        server.go_on()
        await exchange.aclose()
