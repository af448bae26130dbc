"""Reaches the servers on which visited sets lie."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from crawler.redis.server import Server
from visited import Forgotten, Unanswered, Unavailable, Unreachable
from visited.redis.server import Channel, ServerOptions

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_FIRST_WAIT_S: Final = 0.1
_LAST_WAIT_S: Final = 5.0


async def wait_for_server(reach: Callable[[], Awaitable[_Result]]) -> _Result:
    """Reach the server of the visited set, and if it does not answer, wait until it does. For a crawl that has asked it
    before, so that its settings are right."""
    wait_s, is_told = _FIRST_WAIT_S, False
    while True:
        try:
            found = await reach()
        except (Forgotten, Unanswered, Unreachable) as error:
            if not is_told:
                log.warning("%s. This crawl has asked it before, so it waits until it answers; Ctrl-C ends it", error)
                is_told = True
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LAST_WAIT_S)
        else:
            if is_told:
                log.warning("the server of the visited set answers")
            return found


def connect_redis(options: ServerOptions, key: str) -> Channel:
    """The channel to the server of a set, for its keys. Raises ValueError for options that can't be, and `Unavailable`
    without the extra."""
    if urlsplit(options.url).password is not None:
        raise ValueError(
            "expected a URL without a password, because crawl.toml keeps it; put the password into a file, and name "
            "that by password_file"
        )
    try:
        from crawler.redis.channel import RedisChannel  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise Unavailable("redis is not installed: pip install 'onceover-crawler[redis]'") from error
    return RedisChannel(
        lambda: _server(options), key, prefix=options.prefix, needs_persistence=options.share is not None
    )


def _server(options: ServerOptions) -> Server:
    """Raises `OSError` and `KeyError` for a password that is not there."""
    return Server(
        url=options.url,
        password=_password(options),
        tls_ca=_path(options.tls_ca),
        tls_cert=_path(options.tls_cert),
        tls_key=_path(options.tls_key),
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).absolute()


def _password(options: ServerOptions) -> str | None:
    if options.password_file is not None:
        return Path(options.password_file).read_text(encoding="utf-8").rstrip("\r\n")
    return None if options.password_env is None else os.environ[options.password_env]
