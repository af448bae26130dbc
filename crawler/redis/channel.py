"""One connection to a server, for those who must know which memory has answered, and whether a script has run."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, Final, Protocol

from redis.asyncio import RedisCluster
from redis.asyncio.connection import Connection
from redis.exceptions import NoScriptError, RedisClusterException, ResponseError

from crawler.redis.checks import ServerGone, ServerRefused, ServerUnwritable, checked, why_evicting
from crawler.redis.client import FAILURES, TIMEOUT_S, Client, connected, may_pass, reason_of
from crawler.redis.server import Server
from visited import Unanswered, Unavailable, Unreachable, Unwritable

log = logging.getLogger(__name__)

_ELSEWHERE: Final = (
    "READONLY",
    "MOVED",
    "ASK",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "NOAUTH",
    "NOPERM",
    "UNBLOCKED",
)
"""Errors of a server that did not run a script; another connection may lead to one that does."""
_ANOTHER_KIND: Final = "WRONGTYPE"
_DELETED_AT_ONCE: Final = 1000
LOOK_INTERVAL_S: Final = 60.0
"""Between two looks at whether the server deletes keys."""


class Step(Protocol):
    """A call of a script."""

    @property
    def script(self) -> str: ...

    @property
    def keys(self) -> Sequence[str]: ...

    @property
    def arguments(self) -> Sequence[Any]: ...


class RedisChannel:
    """A channel for keys that begin with `{PREFIX:` and have one hash tag (`visited.redis.server.Channel`).

    It holds one connection and never connects by itself: so nobody takes the answer of another server, or of the same
    one after a restart, for one of the memory that `connect` has named. It repeats nothing.
    """

    def __init__(self, server: Callable[[], Server], key: str, *, prefix: str, needs_persistence: bool = False) -> None:
        """To the node that has `key`, if the server is a cluster. `server` is asked at each connection, and may raise
        `OSError` and `KeyError` for a password that is not there. If persistence is needed, a server that would lose
        everything at a restart is refused."""
        self._server = server
        self._key = key
        self._prefix = prefix
        self._needs_persistence = needs_persistence
        self._is_checked = False
        self._place = ""
        self._evicted = ""
        self._look_at = 0.0
        self._connection: Connection | None = None
        self._client: Client | None = None
        self._life = AsyncExitStack()

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def connect(self, *, also_full: bool = False) -> str:
        await self._disconnect()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                self._client = await self._life.enter_async_context(self._reached(also_full=also_full))
                self._connection = await self._life.enter_async_context(_connection(self._client, self._key))
                told = _fields(await self._ask("INFO", "server")) | _fields(await self._ask("INFO", "replication"))
                memory = _memory_of(told)
                self._evicted = await self._look(also_full=also_full)
                if self._needs_persistence and not self._is_checked and not also_full:
                    await self._check_persistence()
        except ServerGone as error:
            await self._disconnect()
            raise Unreachable(str(error)) from error
        except ServerUnwritable as error:
            await self._disconnect()
            raise Unwritable(str(error)) from error
        except (ServerRefused, ValueError, Unavailable) as error:
            await self._disconnect()
            raise Unavailable(str(error)) from error
        except FAILURES as error:
            await self._disconnect()
            raise Unreachable(f"Redis can't be reached: {reason_of(error)}") from error
        except BaseException:
            await self._disconnect()
            raise
        self._is_checked = self._is_checked or not also_full
        # What is left after the server has deleted keys is another memory, too.
        return "/".join((*memory, *filter(None, [self._evicted])))

    async def run(self, step: Step, /) -> Any:
        async with self._asking():
            await self._look_at_times()
            try:
                return await self._run(step)
            except ResponseError as error:
                await self._judge(error, step)

    def run_alone(self, step: Step, /) -> Any:
        async def ask() -> Any:
            other = RedisChannel(self._server, self._key, prefix=self._prefix)
            try:
                await other.connect()
                return await other.run(step)
            finally:
                await other.aclose()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, ask()).result()

    async def cpu_s(self) -> float:
        async with self._asking():
            found = _fields(await self._ask("INFO", "cpu"))
        return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])

    async def delete(self, start: str, /) -> None:
        place, found = "0", True
        async with self._asking():
            while found:
                place, keys = await self._ask("SCAN", place, "MATCH", f"{start}*", "COUNT", _DELETED_AT_ONCE)
                if keys:
                    await self._ask("UNLINK", *keys)
                found = int(place) != 0

    async def aclose(self) -> None:
        await self._disconnect()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        """While the connection is used. If that fails or is cancelled, it is closed: the next call would take an answer
        that is still to come for its own."""
        if self._connection is None:
            raise Unreachable("Redis is not connected")
        try:
            yield
        except (Unreachable, Unavailable):
            raise
        except FAILURES as error:
            await self._disconnect()
            raise Unanswered(f"Redis has not answered: {reason_of(error)}") from error
        except BaseException:
            await self._disconnect()
            raise

    async def _run(self, step: Step) -> Any:
        arguments = (len(step.keys), *step.keys, *step.arguments)
        try:
            return await self._ask("EVALSHA", _digest(step.script), *arguments)
        except NoScriptError:
            return await self._ask("EVAL", step.script, *arguments)

    async def _look_at_times(self) -> None:
        """The policy of a server can be changed while it runs. Raises `Unreachable` if the set may lack what it had
        when it was connected, or if nobody knows; then the channel is disconnected."""
        if asyncio.get_running_loop().time() < self._look_at:
            return
        try:
            if (evicted := await self._look()) == self._evicted:
                return
            why = "Redis has deleted keys, because its memory was full"
            if int(evicted or 0) < int(self._evicted or 0):  # by CONFIG RESETSTAT
                why = "the statistics of Redis were reset, so nobody knows whether it has deleted keys since"
        except Unreachable as error:
            why = str(error)
        except FAILURES as error:  # no script has run
            why = f"Redis can't be reached: {reason_of(error)}"
        await self._disconnect()
        raise Unreachable(why)

    async def _look(self, *, also_full: bool = False) -> str:
        """How many keys the server has deleted to get memory; empty for none. Raises `Unreachable` if it deletes some
        whenever its memory is full."""
        self._look_at = asyncio.get_running_loop().time() + LOOK_INTERVAL_S
        memory, stats = _fields(await self._ask("INFO", "memory")), _fields(await self._ask("INFO", "stats"))
        if not also_full and (why := why_evicting(memory, self._place)) is not None:
            raise Unreachable(why)
        evicted = stats.get("evicted_keys", "0")
        return "" if evicted == "0" else evicted

    async def _ask(self, *words: Any) -> Any:
        assert self._connection is not None
        async with asyncio.timeout(TIMEOUT_S):
            await self._connection.send_command(*words)
            return await self._connection.read_response()

    async def _judge(self, error: ResponseError, step: Step) -> None:
        """Raise what an error means. One that may pass is met before a script changes anything."""
        text = reason_of(error)
        if may_pass(error):
            raise Unreachable(f"Redis takes no writes now: {text}") from error
        if text.startswith(_ELSEWHERE) or type(error) is not ResponseError:
            await self._disconnect()
            raise Unreachable(f"Redis can't be used there: {text}") from error
        await self._disconnect()
        if text.startswith(_ANOTHER_KIND):
            raise Unavailable(_describe_foreign(step.keys)) from error
        raise Unavailable(f"Redis refuses a script: {text}") from error

    def _reached(self, *, also_full: bool) -> AbstractAsyncContextManager[Client]:
        try:
            server = self._server()
        except KeyError as error:
            raise Unavailable(f"the environment has no variable {error}") from error
        self._place = str(server)
        return connected(server) if self._is_checked else checked(server, prefix=self._prefix, also_full=also_full)

    async def _check_persistence(self) -> None:
        found = _fields(await self._ask("INFO", "persistence"))
        if found.get("aof_enabled") == "1":
            return
        try:
            _, saves = await self._ask("CONFIG", "GET", "save")
        except (ResponseError, ValueError):
            saves = b"?"
        if not saves:
            raise Unavailable(
                "Redis would forget the set at a restart, and with it what each crawl has fetched; put "
                "`appendonly yes` into its configuration"
            )
        log.warning(
            "Redis saves the set only now and then; after a restart, crawls add again what they have fetched. "
            "`appendonly yes` in its configuration keeps all of it"
        )

    async def _disconnect(self) -> None:
        self._connection = self._client = None
        life, self._life = self._life, AsyncExitStack()
        with suppress(*FAILURES):
            await life.aclose()


@asynccontextmanager
async def _connection(client: Client, key: str) -> AsyncIterator[Connection]:
    """A connection of its own to the server that has a key."""
    if isinstance(client, RedisCluster):
        node = client.get_node_from_key(key)
        if node is None:
            raise RedisClusterException("no node of the cluster has the set")
        connection: Any = node.connection_class(**node.connection_kwargs)
    else:
        pool: Any = client.connection_pool
        connection = pool.make_connection()
    try:
        await connection.connect()
        yield connection
    finally:
        with suppress(*FAILURES):
            await connection.disconnect(nowait=True)


def _fields(information: bytes) -> dict[str, str]:
    """What the command INFO tells."""
    lines = information.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def _memory_of(told: Mapping[str, str]) -> tuple[str, str]:
    """The process, and the history of its data: a replica that takes over begins another one."""
    try:
        return told["run_id"], told["master_replid"]
    except KeyError as error:
        raise Unavailable(
            f"expected {error} in what INFO tells, found none; use Redis or Valkey, which name the memory they have"
        ) from error


def _describe_foreign(keys: Sequence[str]) -> str:
    """What to do if one of the keys that a script got has another kind of value than it expects."""
    start = keys[0].rpartition(":")[0]
    found = keys[0] if len(keys) == 1 else f"a key that begins with {start}:"
    return (
        f"expected a visited set in Redis, found something else in {found}, as of another program; choose another name "
        "(visited.options.share or prefix), or delete what begins so, if nobody needs it: "
        f"redis-cli --scan --pattern '{start}:*' | xargs redis-cli UNLINK"
    )


@lru_cache(maxsize=64)
def _digest(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
