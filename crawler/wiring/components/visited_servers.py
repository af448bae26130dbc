"""Reaches the servers on which visited sets lie."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

from crawler.wiring.backends import server_of
from visited import Forgotten, Unanswered, Unavailable, Unreachable, Unwritable
from visited.redis.server import Channel, ServerOptions

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_FIRST_WAIT_S: Final = 0.1
_LAST_WAIT_S: Final = 5.0


async def wait_for_server(reach: Callable[[], Awaitable[_Result]]) -> _Result:
    """Reach the server of the visited set, and if it can't be used now, wait until it can. For a crawl that has asked
    it before, so that its settings are right."""
    wait_s, is_told = _FIRST_WAIT_S, False
    while True:
        try:
            found = await reach()
        except (Forgotten, Unanswered, Unreachable, Unwritable) as error:
            if not is_told:
                log.warning("%s. This crawl has asked it before, so it waits for the server; Ctrl-C ends it", error)
                is_told = True
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LAST_WAIT_S)
        else:
            if is_told:
                log.warning("the server of the visited set can be used again")
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
        lambda: server_of(options), key, prefix=options.prefix, needs_persistence=options.share is not None
    )
