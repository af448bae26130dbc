"""Makes what carries links between parts, and checks the server of Redis that `[exchange]` names."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from config import Config, Loaded, ServerAway, ServerUnusable
from crawler.parts.exchange.local import LocalExchange
from crawler.parts.exchange.protocol import Exchange
from crawler.parts.exchange.wire import LINKS
from crawler.redis.server import Server
from crawler.wiring.backends import server_of


async def open_exchange(config: Config, *, number: int, directories: Sequence[Path], generation: str) -> Exchange:
    """The exchange of a part whose directory is locked. Redis need not answer yet."""
    if config.exchange.backend == "local":
        return LocalExchange(directories[number], directories.__getitem__)
    from crawler.parts.exchange.redis import RedisExchange  # noqa: PLC0415 - an extra, which may not be installed

    return await RedisExchange.begin(
        server_of(config.exchange), number, prefix=f"{config.exchange.prefix}:{generation}", wire=LINKS
    )


async def check_exchange(loaded: Loaded, *, has_begun: bool, tell: Callable[[str], object]) -> None:
    """Refuse an exchange over which this crawl can't begin. One that `has_begun` goes on without its server, as it does
    while it runs, and `tell` is told why links wait. Raises `ConfigError`."""
    if loaded.config.exchange.backend != "redis":
        return
    try:
        async with checked_redis(loaded):
            pass
    except ServerUnusable as error:
        if not has_begun:
            raise
        tell(f"Links between parts wait until Redis can be used. {error}")


def check_no_password(loaded: Loaded) -> None:
    """Refuse a password in the URL of the server, also if no server is used. Raises `ConfigError`."""
    try:
        password = urlsplit(loaded.config.exchange.url).password
    except ValueError as error:
        raise loaded.refuse("exchange.url", f"expected the URL of a server: {error}") from error
    if password is not None:
        raise loaded.refuse(
            "exchange.url",
            "expected a URL without a password, because crawl.toml keeps it; put the password into a file, and name "
            "that by exchange.password_file",
        )


def redis_server(loaded: Loaded) -> Server:
    """The server that `[exchange]` names. Raises `ConfigError`."""
    check_no_password(loaded)
    exchange = loaded.config.exchange
    for key in ("tls_ca", "tls_cert", "tls_key"):
        path = getattr(exchange, key)
        if path is not None and not os.access(path, os.R_OK):
            raise loaded.refuse(f"exchange.{key}", f"expected a file that can be read, found {path}")
    try:
        return server_of(exchange)
    except KeyError as error:
        raise loaded.refuse("exchange.password_env", f"the environment has no variable {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or error if isinstance(error, OSError) else f"expected UTF-8, {error}"
        raise loaded.refuse("exchange.password_file", f"{exchange.password_file} can't be read: {why}") from error


@asynccontextmanager
async def checked_redis(loaded: Loaded, *, also_full: bool = False) -> AsyncIterator[Any]:
    """A client (`crawler.redis.client.Client`) of the server that `[exchange]` names, for keys that begin with
    `{PREFIX:`. With `also_full`, a server will do that refuses writes. Raises `ConfigError`, and its kinds
    `ServerUnusable` and `ServerAway` if the server can't be used now."""
    try:
        from crawler.redis.checks import ServerGone, ServerRefused, ServerUnwritable, checked  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise loaded.refuse(
            "exchange.backend", "redis is not installed: pip install 'onceover-crawler[redis]'"
        ) from error
    server, reaching = redis_server(loaded), AsyncExitStack()
    try:
        prefix = loaded.config.exchange.prefix
        client = await reaching.enter_async_context(checked(server, prefix=prefix, also_full=also_full))
    except ServerRefused as error:
        kind = ServerAway if isinstance(error, (ServerGone, ServerUnwritable)) else ServerUnusable
        raise kind([loaded.problem("exchange.url", str(error))]) from error
    except ValueError as error:
        raise loaded.refuse("exchange.url", str(error)) from error
    async with reaching:
        yield client
