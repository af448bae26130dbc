"""One connection to a server of Redis."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from crawler.redis.channel import RedisChannel
from crawler.redis.server import Server
from tests.redis_server import running_redis


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
