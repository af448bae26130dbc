"""What an agent says to operators while it can't ask the machine that decides."""

import asyncio
from contextlib import aclosing

import pytest
import redis

from crawler.control.replies import Refusal
from crawler.parts.exchange.redis import RedisExchange
from crawler.redis.server import Server
from crawler.supervise.cluster import coordinator_client
from crawler.supervise.cluster.coordinator_client import CoordinatorClient
from crawler.supervise.cluster.messages import COORDINATOR, WIRE
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from tests.redis_server import running_redis


@in_event_loop
async def test_a_change_of_settings_is_refused_while_the_memory_of_redis_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_client, "ANSWER_S", 0.05)
    with running_redis() as server, redis.Redis.from_url(server.url) as asked:
        reached = Server(url=server.url)
        async with (
            aclosing(await RedisExchange.begin(reached, COORDINATOR, prefix="test", wire=WIRE)) as decides,
            aclosing(await RedisExchange.begin(reached, "agent", prefix="test", wire=WIRE)) as exchange,
        ):
            client, without_line = (
                CoordinatorClient("a", exchange, look_again=lambda: None, adopted=lambda _version, _part: None)
                for _ in range(2)
            )
            running = asyncio.create_task(client.run())
            async with asyncio.timeout(MAX_WAIT_S):
                connection = await decides.accept()
                assert connection is not None
                await connection.receive()  # it says hello
                asked.config_set("maxmemory", 1)
                first = await client.change(["limits.pages=7"], dry_run=False)
                later = [await each.change(["limits.pages=7"], dry_run=False) for each in (client, without_line)]
            asked.config_set("maxmemory", 0)
            running.cancel()
            await asyncio.wait({running})
    assert isinstance(first, Refusal)
    assert "has not answered, because the memory of Redis is full" in first.message
    assert "It may still change the settings" in first.message
    for each in later:
        assert isinstance(each, Refusal)
        assert "nothing was changed: the machine that decides for the crawl can't be asked, because the" in each.message
