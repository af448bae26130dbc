"""What the tests of crawls on many machines share."""

from collections.abc import Iterator

import pytest
import redis

from tests.redis_server import RedisServer, running_redis


@pytest.fixture(scope="module")
def _running() -> Iterator[RedisServer]:
    with running_redis() as running:
        yield running


@pytest.fixture
def server(_running: RedisServer) -> RedisServer:
    """An empty server. Others use it afterwards."""
    with redis.Redis.from_url(_running.url) as client:
        client.flushall()
    return _running
