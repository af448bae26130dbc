"""The backends and the servers of Redis that a configuration names."""

import os
from pathlib import Path

from config import Config, ConfigError, Problem
from config.schema.exchange import Exchange
from crawler.redis.server import Server, password_in
from crawler.wiring.plugins.catalog import descriptor, find
from crawler.wiring.plugins.kinds import FRONTIER
from crawler.wiring.plugins.loading import NamedBackend
from frontier.descriptor import Descriptor
from visited.redis.server import ServerOptions


def frontier_backend(config: Config) -> Descriptor:
    found: Descriptor = descriptor(FRONTIER, config.frontier.backend)
    return found


def named_frontier(config: Config) -> NamedBackend:
    """The same, as it is named in messages. Only those of other packages are checked."""
    return find(FRONTIER, config.frontier.backend)


def lacks(config: Config, what: str) -> ConfigError:
    """The error for what the backend of the frontier can't do: it completes "… can't …"."""
    return ConfigError([Problem(f"{config.frontier.backend} can't {what}", key="frontier.backend")])


def server_of(named: Exchange | ServerOptions) -> Server:
    """The server of Redis that settings name. Raises `OSError` and `UnicodeDecodeError` for a file with its password
    that can't be read, and `KeyError` for an environment variable that is missing."""
    file = _path(named.password_file)
    if file is not None:
        _ = password_in(file)
    return Server(
        url=named.url,
        password=os.environ[named.password_env] if file is None and named.password_env is not None else None,
        password_file=file,
        tls_ca=_path(named.tls_ca),
        tls_cert=_path(named.tls_cert),
        tls_key=_path(named.tls_key),
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).absolute()
