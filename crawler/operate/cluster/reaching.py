"""Finds the register of a crawl on many machines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from config import Loaded
from crawler.cluster.values import Forgotten
from crawler.disk.layout import read_layout
from crawler.operate.opening import stored_configuration
from crawler.operate.refused import FAILED, Refused
from crawler.wiring.components.exchanging import checked_redis


class Reached(msgspec.Struct, frozen=True):
    """A server of Redis, and the crawl that uses a prefix there."""

    client: Any
    register: Any
    """A `Register`."""
    loaded: Loaded


def settings_of_machine(directory: Path) -> Loaded:
    """The configuration that a machine of a crawl has in its directory, with the server and the prefix of its keys.
    Raises `Refused`, `DirectoryRefused` and `ConfigError`."""
    layout = read_layout(directory)
    if layout is None or layout.cluster is None:
        raise Refused(
            f"{directory} has no crawl on many machines: expected the directory of `onceover crawl --cluster`; or name "
            "the server by --url"
        )
    loaded = stored_configuration(directory)
    exchange = msgspec.structs.replace(
        loaded.config.exchange, backend="redis", url=layout.cluster.url, prefix=layout.cluster.prefix
    )
    return msgspec.structs.replace(loaded, config=msgspec.structs.replace(loaded.config, exchange=exchange))


@asynccontextmanager
async def reached(loaded: Loaded) -> AsyncIterator[Reached]:
    """The crawl that uses the server and the prefix of `[exchange]`. Raises `ConfigError` if the server can't be used,
    and `Refused` if it knows no such crawl, or fails."""
    async with server_of(loaded) as client:
        # redis is an extra, which may not be installed; `checked_redis` has said so.
        from crawler.cluster.register import Register, find_generation  # noqa: PLC0415

        prefix = loaded.config.exchange.prefix
        generation = await find_generation(client, prefix)
        if generation is None:
            raise _unknown(loaded)
        try:
            yield Reached(client, Register(client, prefix=prefix, generation=generation), loaded)
        except Forgotten as error:
            raise _unknown(loaded) from error


@asynccontextmanager
async def server_of(loaded: Loaded) -> AsyncIterator[Any]:
    """A client of the server. Raises `ConfigError` if it can't be used, and `Refused` if it fails later."""
    async with checked_redis(loaded) as client:
        from redis.exceptions import RedisError  # noqa: PLC0415 - as above

        try:
            yield client
        except (RedisError, ConnectionError, TimeoutError) as error:
            raise Refused(
                f"Redis at {loaded.config.exchange.url} has failed: {str(error) or 'no answer'}", FAILED
            ) from error


def _unknown(loaded: Loaded) -> Refused:
    exchange = loaded.config.exchange
    return Refused(
        f"Redis at {exchange.url} knows no crawl with the prefix {exchange.prefix!r}. If there was none, make it by "
        "`onceover cluster init`. If there was, Redis has forgotten it, and any machine that has its directory writes "
        "it again: start `onceover crawl --cluster` there",
        FAILED,
    )
