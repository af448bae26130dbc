"""The registrations and streams of parts in Redis, and what is done with them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from redis.asyncio import RedisCluster

from crawler.parts.exchange.redis_connection import keys_of
from crawler.parts.exchange.way import Address
from crawler.redis.client import FAILURES, TIMEOUT_S, Client, close, connected
from crawler.redis.server import Server

LEASE_S: Final = 10.0
"""How long a part can be reached after it has last renewed its registration."""
_LEASE_MS: Final = int(LEASE_S * 1000)
_REGISTRATION_DIGITS: Final = 19
"""A registration is below 2^63."""
_BLOCK_MS: Final = 2000
"""How long a read waits in Redis."""
_READ_FRAMES: Final = 128

_REGISTER: Final = """
redis.call('DEL', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
"""
# The stream of a process that was killed expires, too, but never before its registration. Expiring a key is permitted
# when the memory is full; setting one is not.
_RENEW: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
WRITE: Final = f"""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for at = 2, #ARGV do redis.call('XADD', KEYS[2], '*', 'f', ARGV[at]) end
if redis.call('PTTL', KEYS[2]) < 0 then redis.call('PEXPIRE', KEYS[2], {_LEASE_MS}) end
return 1
"""
_LEAVE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
"""


class NotConnected(Exception):
    """There is no connection to Redis now."""


class Streams:
    """Those below `prefix`. All that asks the server raises `FAILURES` and `NotConnected`."""

    def __init__(self, server: Server, *, prefix: str) -> None:
        self._server = server
        self._prefix = prefix
        self._client: Client | None = None
        self._life = AsyncExitStack()
        """Closes the client."""
        self._asked_at: dict[object, float] = {}
        """When those commands were sent that are not answered yet."""

    @property
    def silent_s(self) -> float:
        """The time for which a command has not been answered."""
        now = asyncio.get_running_loop().time()
        return now - min(self._asked_at.values(), default=now)

    async def connect(self) -> None:
        """Begin again: after a failure, another server may answer, or be the one that takes writes."""
        self._client = await self._life.enter_async_context(connected(self._server))

    async def disconnect(self) -> None:
        self._client = None
        with suppress(*FAILURES):
            await self._life.aclose()

    async def register(self, part: Address, registration: int) -> None:
        await self._eval(_REGISTER, part, registration, _LEASE_MS)

    async def renew(self, part: Address, registration: int) -> bool:
        """Returns whether the registration stands."""
        return bool(await self._eval(_RENEW, part, registration, _LEASE_MS))

    async def leave(self, part: Address, registration: int) -> None:
        await self._eval(_LEAVE, part, registration)

    async def find(self, part: Address) -> int | None:
        """The registration of a part that can be reached; None if something else stands there."""
        client = self._reached
        try:
            async with asyncio.timeout(TIMEOUT_S):
                found = await client.get(self._keys(part)[0])
        finally:
            if client is not self._client:
                # It was closed while this was connecting.
                with suppress(*FAILURES):
                    await close(client)
        if found is None or not found.isdigit() or len(found) > _REGISTRATION_DIGITS:
            return None
        return int(found)

    async def write(self, part: Address, registration: int, frames: list[bytes]) -> bool:
        """Write frames for a part. Returns whether its registration stands; if not, nothing was written."""
        return bool(await self._eval(WRITE, part, registration, *frames))

    async def read(self, part: Address) -> AsyncIterator[list[bytes]]:
        """The frames for a part, from the beginning of its stream. Those that were read are deleted. What another
        program has written there is an empty one."""
        stream, after = self._keys(part)[1], "0"
        while True:
            async with asyncio.timeout(TIMEOUT_S):
                found = await self._xread(stream, after)
            for _, entries in found:
                yield [fields.get(b"f", b"") for _, fields in entries]
                after = entries[-1][0].decode()
                milliseconds, _, count = after.partition("-")
                async with asyncio.timeout(TIMEOUT_S):
                    await self._reached.xtrim(stream, minid=f"{milliseconds}-{int(count) + 1}", approximate=False)

    async def _xread(self, stream: str, after: str) -> Any:
        """The client of a cluster does not know by itself where this command leads to."""
        client, options = self._reached, {}
        if isinstance(client, RedisCluster):
            options = {"target_nodes": client.get_node_from_key(stream)}
        arguments = ("COUNT", _READ_FRAMES, "BLOCK", _BLOCK_MS, "STREAMS", stream, after)
        return await client.execute_command("XREAD", *arguments, **options) or []

    @property
    def _reached(self) -> Client:
        if self._client is None:
            raise NotConnected("there is no connection to Redis")
        return self._client

    async def _eval(self, script: str, part: Address, registration: int, *rest: bytes | int) -> int | None:
        asked = object()
        self._asked_at[asked] = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer: int | None = await self._reached.eval(script, 2, *self._keys(part), registration, *rest)
        finally:
            del self._asked_at[asked]
        return answer

    def _keys(self, part: Address) -> tuple[str, str]:
        return keys_of(self._prefix, part)
