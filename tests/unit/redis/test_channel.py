"""One connection to a server of Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import pytest
from redis import Redis
from redis.exceptions import OutOfMemoryError

from crawler.redis import channel as channel_module
from crawler.redis.channel import RedisChannel
from crawler.redis.server import Server
from tests.redis_server import running_redis
from visited import Unavailable, Unreachable
from visited.redis.server import Step


@pytest.mark.parametrize("ask", [RedisChannel.cpu_s, lambda channel: channel.delete("{test:")])
async def test_no_call_gets_the_answer_to_one_that_was_cancelled(
    ask: Callable[[RedisChannel], Awaitable[object]],
) -> None:
    with running_redis() as server:
        channel = RedisChannel(lambda: Server(url=server.url), "{test:key}", prefix="test")
        await channel.connect()
        server.hold()
        asking = asyncio.ensure_future(ask(channel))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})
        server.go_on()
        assert not channel.is_connected
        await channel.aclose()


async def test_what_the_server_says_can_be_continued_in_a_sentence() -> None:
    with running_redis() as server:
        channel = RedisChannel(lambda: Server(url=server.url), "{test:key}", prefix="test")
        await channel.connect()
        with Redis.from_url(server.url) as client:
            client.config_set("min-replicas-to-write", 1)
        with pytest.raises(Unreachable, match="Redis takes no writes now: NOREPLICAS") as raised:
            await channel.run(Step("return redis.call('SET', KEYS[1], '1')", ["{test:key}"], []))
        assert not str(raised.value).endswith(".")
        await channel.aclose()


async def test_a_server_that_begins_to_delete_keys_is_not_asked_and_what_is_left_is_another_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crawler.redis.channel.LOOK_INTERVAL_S", 0.0)
    step = Step("return redis.call('SET', KEYS[1], '1')", ["{test:key}"], [])
    with running_redis() as server, Redis.from_url(server.url) as client:
        channel = RedisChannel(lambda: Server(url=server.url), "{test:key}", prefix="test")
        memory = await channel.connect()
        await channel.run(step)
        client.config_set("maxmemory-policy", "allkeys-random")
        for ask in (partial(channel.run, step), channel.connect):
            with pytest.raises(Unreachable, match=r"\(allkeys-random\); put `maxmemory-policy noeviction`"):
                await ask()
            assert not channel.is_connected
        client.config_set("maxmemory-policy", "noeviction")
        assert await channel.connect() == memory
        await channel.run(step)
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", 1)
        with suppress(OutOfMemoryError):  # when nothing is left to delete
            client.set("another", "1")
        for name, value in (("maxmemory", 0), ("maxmemory-policy", "noeviction")):
            client.config_set(name, value)
        with pytest.raises(Unreachable, match="deleted keys, because its memory was full"):
            await channel.run(step)
        assert not channel.is_connected
        assert (left := await channel.connect()) != memory
        await channel.run(step)
        client.config_resetstat()
        with pytest.raises(Unreachable, match="statistics of Redis were reset, so nobody knows"):
            await channel.run(step)
        assert await channel.connect() != left
        await channel.run(step)
        await channel.aclose()


async def test_a_connection_that_is_lost_before_a_look_has_run_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the crawl would fetch what another one that shares the set may fetch."""
    monkeypatch.setattr("crawler.redis.channel.LOOK_INTERVAL_S", 0.0)
    with running_redis() as server, Redis.from_url(server.url) as client:
        channel = RedisChannel(lambda: Server(url=server.url), "{test:key}", prefix="test")
        memory = await channel.connect()
        client.client_kill_filter(_type="normal", skipme=True)
        with pytest.raises(Unreachable, match="Redis can't be reached"):
            await channel.run(Step("return redis.call('SET', KEYS[1], '1')", ["{test:key}"], []))
        assert not channel.is_connected
        assert await channel.connect() == memory
        await channel.aclose()


async def test_only_a_password_that_is_missing_is_called_a_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_password() -> Server:
        raise KeyError("PASSWORD")

    def faulty(*_: object, **__: object) -> None:
        raise KeyError("slot")

    with pytest.raises(Unavailable, match="the environment has no variable 'PASSWORD'"):
        await RedisChannel(without_password, "{test:key}", prefix="test").connect()
    monkeypatch.setattr("crawler.redis.channel.checked", faulty)
    with pytest.raises(KeyError, match="slot"):
        await RedisChannel(lambda: Server(url="redis://127.0.0.1/0"), "{test:key}", prefix="test").connect()


@pytest.mark.parametrize("name", ["run_id", "master_replid"])
async def test_a_server_that_does_not_name_its_memory_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def fields(information: bytes) -> dict[str, str]:
        return {key: value for key, value in fields_of(information).items() if key != name}

    fields_of = channel_module._fields
    monkeypatch.setattr(channel_module, "_fields", fields)
    with running_redis() as server:
        channel = RedisChannel(lambda: Server(url=server.url), "{test:key}", prefix="test")
        with pytest.raises(Unavailable, match=f"expected '{name}' in what INFO tells"):
            await channel.connect()
        assert not channel.is_connected
