"""Reaches the servers on which visited sets lie."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from crawler.redis.server import Server
from visited import Unavailable
from visited.redis.server import Channel, ServerOptions


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
