"""Says what has to be changed at a server of Redis before a crawl uses it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from redis.asyncio import RedisCluster
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    ResponseError,
)

from crawler.redis.client import FAILURES, NOT_PERMITTED, TIMEOUT_S, Client, connected, may_pass, reason_of
from crawler.redis.server import Server

HEADROOM_BYTES: Final = 16 << 20
"""How much free memory a server must have, if it has a limit."""
_MIN_VERSION: Final = (6, 2)
_PROBE: Final = """
redis.call('XADD', KEYS[1], '*', 'f', '1')
redis.call('XREAD', 'STREAMS', KEYS[1], '0')
redis.call('XTRIM', KEYS[1], 'MAXLEN', '0')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'f', '1')
redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], '1')
redis.call('GET', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
"""
_WITHOUT_TLS: Final = "if it speaks without TLS there, use redis:// instead of rediss://"
_WITH_CERTIFICATE: Final = "if it asks for a certificate, name files with one and its key (tls_cert, tls_key)"


class ServerRefused(Exception):
    """The server can't be used as it is. The message says why, and what to do."""


class ServerGone(ServerRefused):
    """The server does not answer. It may be started later."""


class ServerUnwritable(ServerRefused):
    """The server takes no writes now: its memory is full, it can't save its data, is a replica, lacks replicas, or runs
    a script for long. That may pass."""


def permissions(prefix: str) -> str:
    """The command that gives a user of the server all that a crawl with this prefix needs there."""
    return (
        f"ACL SETUSER onceover on >PASSWORD resetkeys ~{{{prefix}:* ~{prefix}:* -@all +@connection +@read "
        "+@write -@dangerous +eval +evalsha +script|load +info +time +config|get +command +cluster|slots"
    )


@asynccontextmanager
async def checked(server: Server, *, prefix: str, also_full: bool = False) -> AsyncIterator[Client]:
    """A client of a server that a crawl can use, in keys that begin with `{PREFIX:`. With `also_full`, any server will
    do that answers: one whose memory is full, for example. Raises `ServerRefused`, and `ValueError` for what is
    no URL of a server.

    Errors of the block are not translated."""
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(connected(server))
            async with asyncio.timeout(TIMEOUT_S):
                information = await _information(client, server)
                if not also_full:
                    _check(information)
                    await _probe(client, server, prefix)
        except FAILURES as error:
            raise _refusal(server, prefix, error) from error
        yield client


def _check(information: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `ServerRefused` if a crawl can't use a server, or `ServerUnwritable` if it can't now."""
    for place, found in information.items():
        if (message := complaint(found, place)) is not None:
            raise ServerRefused(message)
        if (message := why_unwritable(found, place)) is not None:
            raise ServerUnwritable(message)


def _refusal(server: Server, prefix: str, error: BaseException) -> ServerRefused:
    """What an error of the client means for a crawl."""
    if isinstance(error, NoPermissionError):
        return ServerRefused(
            f"the user of Redis at {server} lacks a permission: {error}. Give it what a crawl needs, on each node "
            f"of a cluster: {permissions(prefix)}"
        )
    # The client hides the cause of some.
    if isinstance(error, AuthenticationError) or isinstance(error.__cause__, AuthenticationError):
        said = f"Redis at {server} refuses the password: {str(error).rstrip('.')}"
        return ServerRefused(f"{said}; name a file (password_file) or a variable (password_env) with the right one")
    if isinstance(error, ResponseError) and may_pass(error):
        return ServerUnwritable(f"Redis at {server} takes no writes now: {reason_of(error)}")
    return _out_of_reach(server, error)


def _out_of_reach(server: Server, error: BaseException) -> ServerRefused:
    to_correct = _to_correct(error)
    is_gone = to_correct is None and not isinstance(error, ResponseError)
    way_out = to_correct or f"start it, or {_to_try(server, error) or 'correct the URL'}"
    kind = ServerGone if is_gone else ServerRefused
    return kind(f"Redis at {server} can't be reached: {reason_of(error)}; {way_out}")


def _to_correct(error: BaseException) -> str | None:
    """What to change at the settings; None if they may be right."""
    said = str(error)
    if "certificate has expired" in said or "certificate is not yet valid" in said:
        return "give the server a certificate that holds now, or set the clock of this machine"
    if "certificate is not valid for" in said:
        return "name the server in the URL as its certificate does"
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return "name a file with the certificate of who has signed the server's (tls_ca)"
    if "WRONG_VERSION_NUMBER" in said:
        return _WITHOUT_TLS
    if "CERTIFICATE_REQUIRED" in said:
        return _WITH_CERTIFICATE
    if "[X509" in said or "PEM" in said:
        return "expected certificates in tls_ca and tls_cert, and in tls_key the key of the second one, all as PEM"
    return None


def _to_try(server: Server, error: BaseException) -> str | None:
    """What may be wrong with the settings, if the server is there."""
    if isinstance(error, TimeoutError):
        return _WITHOUT_TLS if server.has_tls else None
    if any(word in str(error) for word in ("closed", "reset", "lost")):
        return _WITH_CERTIFICATE if server.has_tls else "if it asks for TLS, use rediss:// instead of redis://"
    return None


async def _information(client: Client, server: Server) -> dict[str, dict[str, Any]]:
    """What each server tells about itself, by its place."""
    if isinstance(client, RedisCluster):
        # Asked for all nodes, the client would not name the node of a cluster of one.
        nodes = client.get_primaries()
        found: list[dict[str, Any]] = await asyncio.gather(*(client.info(target_nodes=node) for node in nodes))
        return {
            f"{node.name}, a node of the cluster at {server},": each for node, each in zip(nodes, found, strict=True)
        }
    return {str(server): await client.info()}


def complaint(found: Mapping[str, Any], place: str) -> str | None:
    """What has to be changed at a server that tells this about itself; None if it can be used."""
    version = str(found.get("redis_version", "0"))
    if tuple(int(number) for number in version.split(".")[:2]) < _MIN_VERSION:
        return f"expected Redis 6.2 or newer at {place}, found {version}"
    return why_evicting(found, place)


def why_evicting(found: Mapping[str, Any], place: str) -> str | None:
    """What has to be changed at a server that may delete what it holds; None if it keeps everything."""
    policy = found.get("maxmemory_policy", "noeviction")
    if policy == "noeviction":
        return None
    return (
        f"Redis at {place} deletes what it holds when its memory is full ({policy}); put "
        "`maxmemory-policy noeviction` into its configuration"
    )


def why_unwritable(found: Mapping[str, Any], place: str) -> str | None:
    """What has to be changed at a server that takes no writes: it is a replica, or its memory is full, or nearly. None
    if it takes some."""
    if found.get("role") == "slave":
        master = f"{found.get('master_host')}:{found.get('master_port')}"
        return (
            f"Redis at {place} is a replica, which takes no links; use the URL of its master, {master}, or one of "
            "Sentinels, which know the master also after a failover"
        )
    limit, used = int(found.get("maxmemory", 0)), int(found.get("used_memory", 0))
    if limit and limit - used < HEADROOM_BYTES:
        return (
            f"Redis at {place} uses {used / 2**20:.1f} MB of the {limit / 2**20:.1f} MB that it may use; expected "
            f"{HEADROOM_BYTES >> 20} MB to be free. Put `maxmemory {(used + 4 * HEADROOM_BYTES) >> 20}mb` or more into "
            "its configuration"
        )
    return None


async def _probe(client: Client, server: Server, prefix: str) -> None:
    """Do once what a crawl does there. Raises `NoPermissionError` for a user that may not."""
    key = f"{{{prefix}:probe:{secrets.token_hex(8)}}}"
    try:
        await client.eval(_PROBE, 1, key, 1000)
    except ResponseError as error:
        if NOT_PERMITTED in str(error):
            raise NoPermissionError(str(error)) from error
        if "MISCONF" in str(error):
            raise ServerUnwritable(
                f"Redis at {server} refuses writes, because it can't save its data; look into its log. If it "
                'only carries links between parts, which need no saved data, `save ""` in its configuration will do'
            ) from error
        raise
