"""Makes clients of Redis."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from random import sample
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.connection import SSLConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, SentinelConnectionPool, SentinelManagedSSLConnection
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from crawler.redis.server import SCHEMES, Server, password_in

Client = Redis | RedisCluster
FAILURES: Final = (RedisError, RedisClusterException, OSError)
"""What the calls of a client raise when the server does not do what it is told. `TimeoutError` is among them."""
TIMEOUT_S: Final = 10.0
"""How long to wait for an answer. Longer than any command waits in Redis."""
_SENTINEL_PORT: Final = 26379
_PASSING: Final = ("OOM", "MISCONF", "NOREPLICAS", "BUSY", "LOADING")
"""How errors of a server begin that did not run a command, and will when its trouble has passed."""
_IN_SCRIPT: Final = re.compile(r"\.? ?script: [0-9a-f]{40}, on @?\w+:\d+\.?$")
"""What Redis adds to errors of scripts, for those who wrote these."""
_OF_SENTINELS: Final = re.compile(r"(?<=^No master found for ')(.*?') : <.*", re.DOTALL)
"""How the client describes the Sentinels that do not answer."""
NOT_PERMITTED: Final = "The user executing the script can't"
_PERMISSIONS: Final = "give its user the permissions that a crawl needs (`ACL SETUSER`, as the docs say)"
_MASTER: Final = "it is a replica now: let it be the master, or name Sentinels, which know the master"
_TO_LOG_IN: Final = (
    "write the password that holds now into the file that password_file names, which is read at each connection "
    "(password_env is read only at the start)"
)

_HINTS: Final = (
    (AuthenticationError, _TO_LOG_IN),
    (NoPermissionError, _PERMISSIONS),
    (ReadOnlyError, _MASTER),
)


class _PasswordOfFile(CredentialProvider):
    """Reads the password at each connection."""

    def __init__(self, user: str | None, file: Path) -> None:
        self._user = user
        self._file = file

    async def get_credentials_async(self) -> tuple[str, ...]:  # type: ignore[override]  # none at all, too
        try:
            password = password_in(self._file)
        except (OSError, UnicodeDecodeError) as error:
            # The client closes a connection after errors of its own only.
            reason = getattr(error, "strerror", None) or error
            raise AuthenticationError(f"{self._file} can't be read: {reason}") from error
        if self._user is not None:
            return self._user, password
        return (password,) if password else ()  # a server without a password refuses any, an empty one, too


class _Tls(SSLConnection):
    """Reads the files of certificates at each connection: they may have been renewed."""

    async def _connect(self) -> None:
        self.ssl_context.context = None
        await super()._connect()  # type: ignore[no-untyped-call]


class _TlsBySentinels(SentinelManagedSSLConnection):
    """The same for a server that Sentinels name."""

    async def _connect(self) -> None:
        self.ssl_context.context = None
        await super()._connect()  # type: ignore[no-untyped-call]


def _renew_certificates(client: Redis) -> None:
    """Let the connections that a client makes from now on read the files of certificates again each time."""
    pool = client.connection_pool
    for kind, renewing in ((SSLConnection, _Tls), (SentinelManagedSSLConnection, _TlsBySentinels)):
        if pool.connection_class is kind:
            pool.connection_class = renewing


def _renew_certificates_of_nodes(cluster: RedisCluster) -> None:
    """The same for all nodes of a cluster, known or not."""
    manager = cluster.nodes_manager
    if manager.connection_kwargs.get("connection_class") is SSLConnection:
        manager.connection_kwargs["connection_class"] = _Tls
        for node in manager.startup_nodes.values():
            node.connection_class = _Tls


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Client]:
    """A client of the server, which tells whether it is a node of a cluster. Raises `FAILURES` if it can't be reached,
    and `ValueError` for what is no URL of a server.

    Answers are bytes in the form of RESP2. The client repeats nothing, because whoever sends a command must know
    whether it was repeated. Nor does it limit how long a command may take: with Python 3.11, its way to do so loses
    cancellations (`asyncio.wait_for`)."""
    async with AsyncExitStack() as stack:
        client, found, url = await _first_that_answers(server, stack)
        if found.get("cluster_enabled"):
            await client.aclose()
            cluster: RedisCluster = RedisCluster.from_url(_without_user(url, server), **_options(server))
            _renew_certificates_of_nodes(cluster)
            stack.push_async_callback(close, cluster)
            async with asyncio.timeout(TIMEOUT_S):
                _ = await cluster.initialize()
            yield cluster
        else:
            yield client


async def _first_that_answers(server: Server, stack: AsyncExitStack) -> tuple[Redis, Mapping[str, Any], str]:
    """A client, what its server tells about clusters, and the URL of that server."""
    urls = server.urls()
    failure: Exception = RedisError(f"{server} names no server")
    for url in sample(urls, len(urls)):
        async with AsyncExitStack() as attempt:
            client = _client_of(url, server, attempt)
            attempt.push_async_callback(client.aclose)
            try:
                async with asyncio.timeout(TIMEOUT_S / len(urls)):
                    found = await client.info("cluster")
            except FAILURES as error:
                failure = await _why_no_master(client) or error if isinstance(error, MasterNotFoundError) else error
                continue
            await stack.enter_async_context(attempt.pop_all())
            return client, found, url
    raise failure


async def _why_no_master(client: Redis) -> Exception | None:
    """What keeps the Sentinels from saying it; None if one of them answers. The client hides it."""
    failure: Exception | None = None
    pool = client.connection_pool
    for each in pool.sentinel_manager.sentinels if isinstance(pool, SentinelConnectionPool) else ():
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await each.ping()
        except FAILURES as error:
            failure = error
        else:
            return None
    return failure


async def close(client: Client) -> None:
    """Close all connections of a client. Who is connecting at that moment gets one all the same, and has to close the
    client again."""
    await client.aclose()
    if isinstance(client, RedisCluster):
        # After a failure, the above closes nothing: it takes the client for one that was never used.
        for nodes in ("nodes_cache", "startup_nodes"):
            await client.nodes_manager.aclose(nodes)


async def leave_idle(client: Client) -> None:
    """Close the connections that are not in use, so that the next ones may lead elsewhere: a server that has become a
    replica keeps them, and refuses writes. The client of a cluster asks for another node by itself."""
    if isinstance(client, Redis):
        with suppress(*FAILURES):
            await client.connection_pool.disconnect(inuse_connections=False)


def reason_of(error: BaseException, waited_s: float = TIMEOUT_S) -> str:
    """What has failed, for people."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"it has not answered for {waited_s:.0f} s"
    causes = (error, error.__cause__)  # the client may hide it
    text = _OF_SENTINELS.sub(r"\1", _IN_SCRIPT.sub("", str(error))).rstrip(".") or type(error).__name__
    hint = next((hint for kind, hint in _HINTS if any(isinstance(cause, kind) for cause in causes)), None)
    if hint is None and NOT_PERMITTED in text:
        hint = _PERMISSIONS
    return text if hint is None else f"{text}; {hint}"


def may_pass(error: ResponseError) -> bool:
    """Whether a server did not run a command, and will when its trouble has passed."""
    text = str(error)
    return isinstance(error, OutOfMemoryError) or text.startswith(_PASSING) or "maxmemory" in text


def _client_of(url: str, server: Server, stack: AsyncExitStack) -> Redis:
    parsed = urlsplit(url)
    if parsed.scheme not in SCHEMES:
        expected = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(f"expected a URL that begins with one of {expected}, found {server}")
    if not parsed.scheme.startswith("sentinel"):
        client: Redis = Redis.from_url(_without_user(url, server), **_options(server))
        _renew_certificates(client)
        return client
    options = _options(server)
    if parsed.username and server.password_file is None:
        options["username"] = unquote(parsed.username)
    name, _, database = parsed.path.strip("/").partition("/")
    if not name:
        raise ValueError(f"expected sentinel://HOST:PORT/NAME, found no name in {server}")
    places = [_place(each) for each in parsed.netloc.rpartition("@")[2].split(",")]
    tls = {key: value for key, value in options.items() if key.startswith("ssl")}
    timeouts = {key: value for key, value in options.items() if key.startswith("socket")}
    sentinels = Sentinel(places, sentinel_kwargs={**timeouts, **tls, "retry": _never_again()})  # type: ignore[no-untyped-call]
    stack.push_async_callback(sentinels.aclose)
    watched: Redis = sentinels.master_for(name, db=int(database or 0), **options)
    for each in (watched, *sentinels.sentinels):
        _renew_certificates(each)
    return watched


def _without_user(url: str, server: Server) -> str:
    """Who reads the password from a file says the user, too."""
    if server.password_file is None:
        return url
    found = urlsplit(url)
    return urlunsplit(found._replace(netloc=found.netloc.rpartition("@")[2]))


def _place(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if colon else (text, _SENTINEL_PORT)


def _options(server: Server) -> dict[str, Any]:
    options: dict[str, Any] = {
        "protocol": 2,
        "socket_timeout": None,
        "socket_connect_timeout": TIMEOUT_S,
        "retry": _never_again(),
        "health_check_interval": 0,
    }
    if server.password_file is None:
        options["password"] = server.password
    else:
        options["credential_provider"] = _PasswordOfFile(server.user, server.password_file)
    if server.has_tls:
        files = {"ssl_ca_certs": server.tls_ca, "ssl_certfile": server.tls_cert, "ssl_keyfile": server.tls_key}
        options |= {name: str(path) for name, path in files.items() if path is not None}
        if urlsplit(server.url).scheme == "sentinels":
            options["ssl"] = True
    return options


def _never_again() -> Retry:
    return Retry(NoBackoff(), 0)
