"""Reaches a Redis server, and says what has to be changed there before a crawl uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError

TIMEOUT_S: Final = 10.0
"""Longer than any command waits in Redis."""
_MIN_VERSION: Final = (6, 2)


class ServerRefused(Exception):
    """The server can't be used as it is. The message says why, and what to do."""


def client_of(url: str, password: str | None) -> Redis:
    """A client that has no connection yet. Raises `ValueError` for what is no URL of Redis.

    It repeats nothing, because whoever sends a command must know whether it was repeated. Nor does it limit how long a
    command may take: with Python 3.11, its way to do so loses cancellations (`asyncio.wait_for`)."""
    client: Redis = Redis.from_url(
        url,
        password=password,
        protocol=2,
        socket_timeout=None,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )
    return client


@asynccontextmanager
async def checked_server(url: str, password: str | None) -> AsyncIterator[Redis]:
    """A client of a server that can carry links. Raises `ServerRefused`."""
    client = client_of(url, password)
    try:
        await _check(client, url)
        yield client
    finally:
        await client.aclose()


async def _check(client: Redis, url: str) -> None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found: dict[str, Any] = await client.info()
    except AuthenticationError as error:
        raise ServerRefused(f"Redis at {url} refuses the password: {error}") from error
    except (RedisError, OSError) as error:
        raise ServerRefused(f"Redis at {url} can't be reached: {error}; start it, or correct redis.url") from error
    version = tuple(int(number) for number in str(found.get("redis_version", "0")).split(".")[:2])
    if version < _MIN_VERSION:
        raise ServerRefused(f"expected Redis 6.2 or newer at {url}, found {found.get('redis_version')}")
    if found.get("cluster_enabled"):
        raise ServerRefused(f"Redis at {url} is a node of a cluster; expected a single server")
    policy = found.get("maxmemory_policy") or await _configured(client, "maxmemory-policy")
    if policy not in (None, "noeviction"):
        raise ServerRefused(
            f"Redis at {url} deletes what it holds when its memory is full ({policy}); put "
            "`maxmemory-policy noeviction` into its configuration"
        )


async def _configured(client: Redis, name: str) -> str | None:
    """A setting of the server; None if the server does not tell it."""
    try:
        answer = await client.config_get(name)
    except (NoPermissionError, ResponseError):
        return None
    value = answer.get(name)
    return value if value is None else str(value)
