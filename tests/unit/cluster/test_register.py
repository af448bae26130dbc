"""That the scripts in Redis decide as the model does with which histories are tested."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec
import pytest
import redis

from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import COORDINATOR, Denied, Forgotten, Granted
from crawler.redis.client import connected
from crawler.redis.server import Server
from tests.redis_server import RedisServer
from tests.unit.cluster.homes import IDENTITY
from tests.unit.cluster.model_register import EXISTS, FORGOTTEN, HELD, OLD, UNSURE, ModelRegister

LEASE_S = 3600.0
WORDS = {HELD: "holds it", EXISTS: "made already", UNSURE: "Redis may have forgotten", OLD: "older than the part"}


async def _forget_its_name(register: Register, client: Any) -> str | None:
    await register.create(IDENTITY)
    await client.delete("{test:crawl}")
    await register.keep_name()
    return await find_generation(client, "test")


def test_a_crawl_whose_name_was_lost_is_found_again(server: RedisServer) -> None:
    """As on a cluster of Redis of which one node has come back empty."""

    async def lose() -> str | None:
        async with connected(Server(url=server.url)) as client:
            return await _forget_its_name(Register(client, prefix="test", generation="a"), client)

    assert asyncio.run(lose()) == "a"


class Both:
    """The same question to the scripts and to the model."""

    def __init__(self, register: Register, dice: Random) -> None:
        self.register = register
        self.model = ModelRegister()
        self.dice = dice
        self.claims = [f"claim {number}" for number in range(6)]

    async def ask(self) -> None:
        part, claim, number = self.dice.randrange(2), self.dice.choice(self.claims), self.dice.randrange(6)
        match self.dice.choice(("claim", "claim", "claim", "confirm", "confirm", "renew", "release", "raise", "write")):
            case "claim":
                await self._claim(part, claim, stored=number, makes=self.dice.random() < 0.3)
            case "confirm":
                expected = self.model.confirm(part, claim, number, lease_s=LEASE_S)
                assert await self.register.confirm(part, claim=claim, epoch=number, lease_s=LEASE_S) == expected
            case "renew":
                expected = self.model.renew(part, claim, lease_s=LEASE_S)
                assert list(await self.register.renew({part: claim}, lease_s=LEASE_S)) == [expected]
            case "release":
                self.model.release(part, claim)
                await self.register.release(part, claim=claim)
            case "raise":
                if self.model.raise_to(part, number):
                    await self.register.raise_to(IDENTITY, {part: number})
                else:
                    with pytest.raises(Forgotten):
                        await self.register.raise_to(IDENTITY, {part: number})
            case _:
                expected = self.model.create(is_new=False)
                assert await self.register.create(IDENTITY, is_new=False) == expected

    async def _claim(self, part: int, claim: str, *, stored: int, makes: bool) -> None:
        expected = self.model.claim(part, "machine", claim, stored=stored, makes=makes, lease_s=LEASE_S)
        asked = self.register.claim(part, holder="machine", claim=claim, stored=stored, makes=makes, lease_s=LEASE_S)
        if expected == FORGOTTEN:
            with pytest.raises(Forgotten):
                await asked
            return
        found = await asked
        if isinstance(expected, int):
            assert isinstance(found, Granted)
            assert found.epoch == expected
        else:
            assert isinstance(found, Denied)
            assert WORDS[expected] in found.why


async def _compare(server: RedisServer, dice: Random) -> None:
    async with connected(Server(url=server.url)) as client:
        for _ in range(25):
            await client.flushall()
            both = Both(Register(client, prefix="test", generation=IDENTITY.generation), dice)
            if dice.random() < 0.8:
                assert both.model.create(is_new=True)
                assert await both.register.create(IDENTITY)
            for _ in range(40):
                await both.ask()


def test_the_scripts_decide_as_the_model(server: RedisServer) -> None:
    asyncio.run(_compare(server, Random(7)))


async def _renew_with_full_memory(server: RedisServer) -> None:
    async with connected(Server(url=server.url)) as client:
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        await register.create(msgspec.structs.replace(IDENTITY, lease_s=2 * LEASE_S))
        await register.claim(0, holder="machine", claim="one", stored=0, makes=True, lease_s=LEASE_S)
        await client.config_set("maxmemory", 1)
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            await register.claim(1, holder="machine", claim="two", stored=0, makes=True, lease_s=LEASE_S)
        assert list(await register.renew({0: "one", 1: "two"}, lease_s=2 * LEASE_S)) == [True, False]
        await client.config_set("maxmemory", 0)
        lease = (await register.read()).parts[0].lease
        assert lease is not None
        assert lease.left_s > LEASE_S


def test_a_lease_is_renewed_also_when_the_memory_of_redis_is_full(server: RedisServer) -> None:
    asyncio.run(_renew_with_full_memory(server))


async def _wait_for_expiry(server: RedisServer) -> None:
    async with connected(Server(url=server.url)) as client:
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        await register.create(IDENTITY)
        assert isinstance(
            await register.claim(0, holder="machine", claim="one", stored=0, makes=True, lease_s=0.05), Granted
        )
        while not isinstance(
            await register.claim(0, holder="other", claim="two", stored=0, makes=True, lease_s=LEASE_S), Granted
        ):
            pass
        assert list(await register.renew({0: "one"}, lease_s=LEASE_S)) == [False]


def test_a_lease_expires_in_redis(server: RedisServer) -> None:
    asyncio.run(_wait_for_expiry(server))


async def _read_after_the_clock_was_set_back(server: RedisServer) -> None:
    async with connected(Server(url=server.url)) as client:
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        await register.create(msgspec.structs.replace(IDENTITY, lease_s=LEASE_S))
        for part in (COORDINATOR, 0):
            await register.claim(part, holder="dead", claim="one", stored=0, makes=part == 0, lease_s=LEASE_S)
            await client.pexpire(f"{{test:{IDENTITY.generation}:cluster}}:lease:{part}", 36_000_000)
        for _ in range(2):
            found = await register.read()
            for lease in (found.coordinator, found.parts[0].lease):
                assert lease is not None
                assert 0 < lease.left_s <= LEASE_S
        # Also one who may not write learns that.
        await client.pexpire(f"{{test:{IDENTITY.generation}:cluster}}:lease:0", 36_000_000)
        await client.replicaof("127.0.0.1", 1)
        lease = (await register.read()).parts[0].lease
        await client.replicaof("NO", "ONE")
        assert lease is not None
        assert lease.left_s <= LEASE_S


def test_no_lease_lasts_longer_because_the_clock_of_redis_was_set_back(server: RedisServer) -> None:
    asyncio.run(_read_after_the_clock_was_set_back(server))


class Meanwhile:
    """A client during whose next script another machine is faster."""

    def __init__(self, client: Any, act: Callable[[], Awaitable[object]]) -> None:
        self._client = client
        self._act: Callable[[], Awaitable[object]] | None = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def eval(self, *arguments: Any) -> Any:
        act, self._act = self._act, None
        if act is not None:
            await act()
        return await self._client.eval(*arguments)


async def _read_while_it_is_replaced(server: RedisServer) -> None:
    async with connected(Server(url=server.url)) as client:
        other = Register(client, prefix="test", generation=IDENTITY.generation)
        await other.create(IDENTITY)
        slow = Meanwhile(client, lambda: other.replace_configuration("new", IDENTITY.configuration_version + 1))
        found = (await Register(slow, prefix="test", generation=IDENTITY.generation).read()).identity
        assert found.configuration_version == IDENTITY.configuration_version + 1
        assert found.configuration == "new"


def test_a_configuration_is_read_with_its_own_version_while_another_replaces_it(server: RedisServer) -> None:
    asyncio.run(_read_while_it_is_replaced(server))


async def _read_after_a_failover_that_lost_a_configuration(server: RedisServer) -> None:
    version = IDENTITY.configuration_version + 1
    async with connected(Server(url=server.url)) as client:
        register = Register(client, prefix="test", generation=IDENTITY.generation)
        await register.create(IDENTITY)
        await register.replace_configuration("lost", version)
        assert (await register.read()).identity.configuration == "lost"
        # The server that follows has the version before that, which another machine has changed.
        await client.hset(f"{{test:{IDENTITY.generation}:cluster}}:register", "configuration_version", version - 1)
        other = Register(client, prefix="test", generation=IDENTITY.generation)
        assert await other.replace_configuration("holds", version)
        found = (await register.read()).identity
        assert (found.configuration_version, found.configuration) == (version, "holds")
        # It may be of many MB, so it is not looked at when nobody has changed it.
        await client.hset(f"{{test:{IDENTITY.generation}:cluster}}:large", "configuration", "not looked at")
        assert (await register.read()).identity == found


def test_a_configuration_is_read_again_when_another_has_its_version(server: RedisServer) -> None:
    asyncio.run(_read_after_a_failover_that_lost_a_configuration(server))
