"""Finds the register of a crawl on many machines."""

import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from config import ConfigError, Loaded
from crawler.cluster.values import Forgotten
from crawler.codes.exit_codes import AWAY, FAILED
from crawler.disk.directory import CrawlDirectory
from crawler.disk.going_on import stored_exchange
from crawler.disk.layout import read_layout
from crawler.operate.refused import Refused
from crawler.wiring.components.exchanging import checked_redis
from crawler.wiring.configuration import load


def settings_of_machine(directory: Path, settings: Sequence[str] = ()) -> Loaded:
    """The configuration that a machine of a crawl has in its directory, with the server and the prefix of its keys.
    `settings` override it: they say how to reach the server from here, with a password for example. Raises `Refused`,
    `DirectoryRefused` and `ConfigError`."""
    layout = read_layout(directory)
    if layout is None or layout.cluster is None:
        raise Refused(
            f"{directory} has no crawl on many machines: expected the directory of `onceover crawl --cluster`; or name "
            "the server by --url"
        )
    given = {setting.partition("=")[0].strip() for setting in settings}
    stored = {"backend": "redis", "url": layout.cluster.url, "prefix": layout.cluster.prefix}
    exchange = {key: value for key, value in stored.items() if f"exchange.{key}" not in given}
    try:
        return _load(CrawlDirectory(directory).configuration, exchange, settings)
    except ConfigError:
        # Other settings of the crawl may be refused here. They do not matter to reach the server, and to mend them.
        return _load(None, {**stored_exchange(directory), **exchange}, settings)


def _load(file: Path | None, exchange: Mapping[str, object], settings: Sequence[str]) -> Loaded:
    return load(
        file,
        overrides=settings,
        tables=[("the directory of the machine", {"exchange": exchange})],
        environ=os.environ,
        require_seeds=False,
    )


@asynccontextmanager
async def reached(loaded: Loaded, *, also_full: bool = False) -> AsyncIterator[tuple[Any, Any]]:
    """A client of the server of `[exchange]`, and the `Register` of the crawl that uses the prefix there. With
    `also_full`, its memory may be full, so that it refuses most writes. Raises `ConfigError` if the server can't be
    used, and `Refused` if it knows no such crawl, or fails."""
    async with server_of(loaded, also_full=also_full) as client:
        generation = await generation_at(client, loaded)
        if generation is None:
            raise _unknown(loaded)
        try:
            yield client, register_at(client, loaded, generation)
        except Forgotten as error:
            raise _unknown(loaded) from error


@asynccontextmanager
async def server_of(loaded: Loaded, *, also_full: bool = False) -> AsyncIterator[Any]:
    """A client of the server. Raises `ConfigError` if it can't be used, and `Refused` if it fails later: with `AWAY` if
    it can't be reached then, or takes no writes."""
    async with checked_redis(loaded, also_full=also_full) as client:
        from redis.exceptions import ReadOnlyError, RedisClusterException, RedisError, ResponseError  # noqa: PLC0415 - as above

        from crawler.redis.client import may_pass, reason_of  # noqa: PLC0415 - as above

        try:
            yield client
        except (RedisError, RedisClusterException, ConnectionError, TimeoutError) as error:
            is_refusal = (
                isinstance(error, ResponseError) and not isinstance(error, ReadOnlyError) and not may_pass(error)
            )
            why = f"Redis at {loaded.config.exchange.url} has failed: {reason_of(error)}"
            raise Refused(why, FAILED if is_refusal else AWAY) from error


async def generation_at(client: Any, loaded: Loaded) -> str | None:
    """The generation of the crawl that uses the prefix of `[exchange]`."""
    # redis is an extra, which may not be installed; `checked_redis` has said so.
    from crawler.cluster.register import find_generation  # noqa: PLC0415 - see above

    return await find_generation(client, loaded.config.exchange.prefix)


def register_at(client: Any, loaded: Loaded, generation: str) -> Any:
    """The `Register` of a crawl with the prefix of `[exchange]`."""
    from crawler.cluster.register import Register  # noqa: PLC0415 - as above

    return Register(client, prefix=loaded.config.exchange.prefix, generation=generation)


def place_of(directory: Path) -> str:
    """A directory of this machine, for those who read of it on other machines."""
    return f"{socket.gethostname()}:{directory.absolute()}"


def _unknown(loaded: Loaded) -> Refused:
    exchange = loaded.config.exchange
    return Refused(
        f"Redis at {exchange.url} knows no crawl with the prefix {exchange.prefix!r}. If there was none, make it by "
        "`onceover cluster init`. If there was, Redis has forgotten it, and any machine that has its directory writes "
        "it again: start `onceover crawl --cluster` there",
        FAILED,
    )
