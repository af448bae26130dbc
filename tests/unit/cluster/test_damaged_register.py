"""What others have written over what Redis has of a crawl."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler.cluster.keeper import LeaseKeeper
from crawler.cluster.leases import Held, Renewed
from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import Agent, RegisterDamaged
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import FAILED, assert_told
from tests.e2e.operating import command_here
from tests.redis_server import RedisServer
from tests.unit.cluster.homes import IDENTITY, MemoryHome

PLACE = f"{{test:{IDENTITY.generation}:cluster}}"
LEASE_S = 2.0


@asynccontextmanager
async def crawl_of(server: RedisServer) -> AsyncIterator[tuple[Register, Any]]:
    """A crawl of which one part is held, and a client of the server that has it."""
    async with connected(Server(url=server.url)) as client:
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        assert await register.create(IDENTITY)
        await register.claim(0, holder="machine", claim="one", stored=0, makes=True, lease_s=3600)
        yield register, client


DAMAGE = [
    ("register", "parts", b"3.5", "a number from 1"),
    ("register", "parts", b"99999999999", "a number from 1"),
    ("register", "parts", None, "the field parts"),
    ("register", "parts", b"2", "the number of lineages in the field parts"),
    ("register", "parts", b"4", "the field lineage:3"),
    ("register", "lineage:1", None, "the field lineage:1"),
    ("register", "lineage:1", b"-4", "a number from 0"),
    ("register", "opened:2", b"\xff", "a number from 0"),
    ("register", "crawl", b"\xff", "UTF-8"),
    ("register", "lease_s", b"nan", "a number of seconds"),
    ("register", "server", None, "the field server"),
    ("register", "configuration_version", None, "the field configuration_version"),
    ("register", "ending", b'{"mark": 1}', "JSON of EndingMark"),
    ("register", "ending", b"[" * 5000, "JSON of EndingMark"),
    ("register", "retired", b"\xff", "JSON of Retirement"),
    ("register", "drawn", b"[7]", "JSON of tuple"),
    ("large", "configuration", b"\xff", "UTF-8"),
    ("large", "suffixes", None, "the field suffixes"),
    ("lease:0", "epoch", None, "the field epoch"),
    ("lease:0", "stored", b"some", "a number from 0"),
]


@pytest.mark.parametrize(("name", "field", "value", "expected"), DAMAGE)
@in_event_loop
async def test_a_damaged_field_is_named_with_what_to_do_and_kept(
    server: RedisServer, name: str, field: str, value: bytes | None, expected: str
) -> None:
    async with crawl_of(server) as (register, client):
        key = f"{PLACE}:{name}"
        await (client.hdel(key, field) if value is None else client.hset(key, field, value))
        before = await client.hgetall(key)
        with pytest.raises(
            RegisterDamaged, match=rf"expected {expected}.* at the key {re.escape(key)}, found .*RENAME"
        ):
            await register.read()
        with pytest.raises(RegisterDamaged):
            await Register(client, prefix="test", generation=IDENTITY.generation).read()
        assert await client.hgetall(key) == before


@pytest.mark.parametrize("name", ["register", "large", "agents", "lease:0", "lease:-1"])
@in_event_loop
async def test_a_key_that_has_become_something_else_is_named_and_kept(server: RedisServer, name: str) -> None:
    async with crawl_of(server) as (register, client):
        await client.set(f"{PLACE}:{name}", "mine")
        with pytest.raises(
            RegisterDamaged, match=rf"expected a hash at the key {re.escape(PLACE)}:{name}, found 'a stri"
        ):
            await register.read()
        assert await client.get(f"{PLACE}:{name}") == b"mine"


@pytest.mark.parametrize(
    "damage", [lambda client: client.rpush("{test:crawl}", "a"), lambda client: client.set("{test:crawl}", b"\xff")]
)
@in_event_loop
async def test_a_damaged_name_of_a_crawl_is_named(
    server: RedisServer, damage: Callable[[Any], Awaitable[object]]
) -> None:
    async with crawl_of(server) as (_, client):
        await client.delete("{test:crawl}")
        await damage(client)
        with pytest.raises(RegisterDamaged, match=r"at the key \{test:crawl\}, found"):
            await find_generation(client, "test")


@in_event_loop
async def test_what_a_damaged_register_can_not_raise_is_said(server: RedisServer) -> None:
    async with crawl_of(server) as (register, client):
        await client.hset(f"{PLACE}:register", "opened:1", "some")
        with pytest.raises(RegisterDamaged, match="opened:1"):
            await register.raise_to(IDENTITY, {1: 5})


@in_event_loop
async def test_a_machine_whose_words_are_damaged_is_left_out_until_it_says_them_again(server: RedisServer) -> None:
    async with crawl_of(server) as (register, client):
        await client.hset(f"{PLACE}:agents", mapping={"a": "[", "b": b"\xff", "c": "7", "d": "{}"})
        assert not (await register.read()).agents
        agent = Agent(host="host", pid=1, directory="/crawl")
        await register.tell("b", agent)
        assert list((await register.read()).agents) == ["b"]


@in_event_loop
async def test_a_lease_that_has_become_something_else_keeps_no_other_from_being_renewed(server: RedisServer) -> None:
    async with crawl_of(server) as (register, client):
        await client.set(f"{PLACE}:lease:1", "mine")
        assert list(await register.renew({0: "one", 1: "two"}, lease_s=3600)) == [True, False]


@in_event_loop
async def test_a_machine_keeps_its_part_while_the_register_is_damaged_and_writes_it_again(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    home, key = MemoryHome({0: 4}), f"{PLACE}:register"
    async with connected(Server(url=server.url)) as client, asyncio.timeout(MAX_WAIT_S):
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        await register.create(IDENTITY)
        keeper = LeaseKeeper(register, home, "a", choose=home.choose, lease_s=LEASE_S)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(keeper.run())
            while not isinstance(await keeper.next_change(), Held):
                pass
            await client.hset(key, "next_lineage", "many")
            while "next_lineage" not in caplog.text:
                assert isinstance(await keeper.next_change(), Renewed)
            await client.rename(key, f"{key}:damaged")
            while not await client.exists(key) or not await client.hexists(key, "opened:0"):
                _ = await keeper.next_change()
            work.cancel()
        assert (await register.read()).parts[0].opened >= home.stored[0]
        assert await client.hget(f"{key}:damaged", "next_lineage") == b"many"


def test_commands_tell_of_a_damaged_register_in_one_line(server: RedisServer, tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        '[crawl]\nseeds = ["http://a.test/"]\n[fetch]\nuser_agent = "onceover/1.0 (+https://example.org/b)"\n'
    )
    assert_told(command_here("cluster", "init", str(site), "--parts", "2", "--url", server.url), 0)

    async def damage() -> None:
        async with connected(Server(url=server.url)) as client:
            generation = await find_generation(client, "onceover")
            await client.hset(f"{{onceover:{generation}:cluster}}:register", "parts", "two")

    asyncio.run(damage())
    for words in (
        ("cluster", "status", "--url", server.url),
        ("cluster", "adopt", "1", "--yes", "--url", server.url),
        ("crawl", "--cluster", server.url, "--dir", str(tmp_path / "machine")),
    ):
        assert_told(command_here(*words), FAILED, "expected a number from 1", "found b'two'", "RENAME")
