"""The exchange between processes of many machines: streams in Redis, or Valkey.

A part that can be reached has two keys: its *registration*, a random number that expires `LEASE_S` after it was last
renewed, and its *stream*, into which the others write. A script writes only while the registration stands, so nothing
is ever written for a process that is gone. Registering begins with an empty stream.

Redis stores nothing that is not elsewhere too. Whenever it can't be reached, has lost a registration, or lost frames (a
flush, a restart, a failover), the connections concerned break, and their senders send again from their outboxes. When
its memory is full, frames wait here.
"""

import asyncio
import logging
import secrets
from contextlib import suppress
from random import uniform
from typing import Final, Generic, TypeVar

import msgspec
from redis.exceptions import OutOfMemoryError

from crawler.codes.unreadable import UNREADABLE
from crawler.parts.exchange.protocol import Unreachable
from crawler.parts.exchange.redis_connection import RedisConnection
from crawler.parts.exchange.redis_streams import LEASE_S, NotConnected, Streams
from crawler.parts.exchange.way import Address, Frame, FrameKind, name_of
from crawler.parts.exchange.wire import Wire
from crawler.redis.client import FAILURES, reason_of
from crawler.redis.server import Server
from crawler.status import duration

log = logging.getLogger(__name__)

_RENEW_S: Final = LEASE_S / 4
_GOODBYE_S: Final = 1.0
_FIRST_RETRY_S: Final = 0.1
_LAST_RETRY_S: Final = 2.0
_SLOW_S: Final = 2.0
"""After how long without an answer people are told."""
_FULL: Final = "the memory of Redis is full (let it have more by `maxmemory`, or make room)"

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Frame).decode

_Message = TypeVar("_Message")


class _Forgotten(Exception):
    """Redis has no registration of this part, or that of another process."""


_FAILURES: Final = (*FAILURES, NotConnected, _Forgotten)


class RedisExchange(Generic[_Message]):
    """The `Exchange` of part `number`, or of whoever has that name, in the keys below `prefix`, which no other crawl or
    generation may use. `wire` writes its messages."""

    def __init__(self, server: Server, number: Address, *, prefix: str, wire: Wire[_Message]) -> None:
        self._streams = Streams(server, prefix=prefix)
        self._number = number
        self._wire = wire
        self._what_is_sent = (
            "links to other parts" if isinstance(number, int) else f"messages of {number} to other machines"
        )
        self._registration: int | None = None
        """None while Redis has none of this part."""
        self._connections: dict[tuple[Address, int], RedisConnection[_Message]] = {}
        """The connections, by part and number."""
        self._to_send: dict[tuple[Address, int], list[Frame]] = {}
        """The frames that wait to be sent, by part and its registration."""
        self._has_frames = asyncio.Event()
        self._accepted: asyncio.Queue[RedisConnection[_Message] | None] = asyncio.Queue()
        self._closed = False
        self._tasks: list[asyncio.Task[None]] = []
        """What works while Redis can be used."""
        self._first_try = asyncio.Event()
        self._trouble: tuple[str, float] | None = None
        """What is wrong, and since when."""
        self._working = asyncio.get_running_loop().create_task(self._work())
        self._working.add_done_callback(self._end)

    @classmethod
    async def begin(
        cls, server: Server, number: Address, *, prefix: str, wire: Wire[_Message]
    ) -> "RedisExchange[_Message]":
        """Return when the part can be reached, or when Redis can't. Raises `ValueError` for what is no URL of a
        server."""
        exchange = cls(server, number, prefix=prefix, wire=wire)
        try:
            await exchange._first_try.wait()
        except BaseException:
            await exchange.aclose()
            raise
        if exchange._working.done():
            await exchange.aclose()  # raises what has ended it
        return exchange

    def _end(self, _: object) -> None:
        """Nothing works any more: nobody need wait."""
        self._first_try.set()
        self._accepted.put_nowait(None)

    async def connect(self, part: Address, /) -> RedisConnection[_Message]:
        if self._registration is None:
            raise Unreachable("Redis can't be reached")
        try:
            found = await self._streams.find(part)
        except _FAILURES as error:
            raise Unreachable(f"Redis can't be reached: {reason_of(error)}") from error
        if found is None or self._registration is None:
            raise Unreachable(f"{name_of(part)} has not registered in Redis")
        connection = RedisConnection(self, part, found, secrets.randbits(63), self._wire)
        self._connections[part, connection.number] = connection
        self.put(connection, FrameKind.OPEN)
        return connection

    async def accept(self) -> RedisConnection[_Message] | None:
        if self._closed:
            return None
        connection = await self._accepted.get()
        if connection is None and not self._closed:
            self._working.result()
        return connection

    @property
    def trouble(self) -> str | None:
        now = asyncio.get_running_loop().time()
        if self._trouble is not None:
            reason, since = self._trouble
            return f"{reason}, for {duration(now - since)}"
        silent_s = self._streams.silent_s
        return None if silent_s < _SLOW_S else f"Redis has not answered for {duration(silent_s)}"

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        for connection in list(self._connections.values()):
            connection.close()
        self._working.cancel()
        while not self._working.done():
            # The client of Sentinels may swallow a cancellation, and a group of tasks passes on only the first.
            for task in self._tasks:
                task.cancel()
            await asyncio.wait({self._working}, timeout=_GOODBYE_S)
        with suppress(*_FAILURES):
            async with asyncio.timeout(_GOODBYE_S):
                if self._registration is not None:
                    await self._flush(set())
                    await self._streams.leave(self._number, self._registration)
        await self._streams.disconnect()
        if not self._working.cancelled():
            self._working.result()

    # what connections ask for

    def put(self, connection: RedisConnection[_Message], kind: FrameKind, message: bytes = b"") -> None:
        """Send a frame soon."""
        if self._registration is None:
            return
        way = connection.way
        frame = Frame(self._registration, self._number, connection.number, kind, way.sent, way.taken, message)
        self._to_send.setdefault((connection.part, connection.other), []).append(frame)
        self._has_frames.set()

    def drop(self, connection: RedisConnection[_Message]) -> None:
        """Forget a connection that has ended."""
        self._connections.pop((connection.part, connection.number), None)

    # with Redis

    async def _work(self) -> None:
        wait_s, now = _FIRST_RETRY_S, asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                await self._streams.connect()
                await self._register()
                self._first_try.set()
                async with asyncio.TaskGroup() as group:
                    self._tasks = [group.create_task(work) for work in (self._read(), self._write(), self._renew())]
            except* _FAILURES as errors:
                self._break_all("; ".join(dict.fromkeys(reason_of(error) for error in errors.exceptions)))
            if self._closed:
                # The group has failed just when it was cancelled. Python 3.11 and 3.12 forget the cancellation then.
                return
            _uncancel()
            await self._streams.disconnect()
            self._first_try.set()
            if now() - began > _LAST_RETRY_S:
                wait_s = _FIRST_RETRY_S
            # Not all parts begin again at the same moment.
            await asyncio.sleep(wait_s * uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, _LAST_RETRY_S)

    async def _register(self) -> None:
        registration = secrets.randbits(63)
        await self._streams.register(self._number, registration)
        self._registration = registration

    def _break_all(self, reason: str) -> None:
        self._begin_trouble(f"Redis can't be used ({reason})")
        self._registration = None
        self._to_send.clear()
        for connection in list(self._connections.values()):
            connection.break_off(reason)

    def _begin_trouble(self, what: str) -> None:
        since = asyncio.get_running_loop().time()
        if self._trouble is None:
            log.warning("%s wait: %s", self._what_is_sent, what)
        else:
            since = self._trouble[1]
        self._trouble = what, since

    def _end_trouble(self) -> None:
        if self._trouble is not None:
            log.info("%s go on: Redis can be used again", self._what_is_sent)
        self._trouble = None

    async def _read(self) -> None:
        async for frames in self._streams.read(self._number):
            for frame in frames:
                self._take(frame)

    def _take(self, content: bytes) -> None:
        try:
            frame = _unpack(content)
        except UNREADABLE as error:
            log.warning("a frame in Redis can't be read, and was ignored: %s", error)
            return
        key = frame.part, frame.connection
        connection = self._connections.get(key)
        if connection is not None:
            connection.arrive(frame)
        elif frame.kind is FrameKind.OPEN:
            connection = RedisConnection(self, frame.part, frame.origin, frame.connection, self._wire)
            self._connections[key] = connection
            self._accepted.put_nowait(connection)
        elif frame.kind is not FrameKind.END:
            # Its opening was lost, or it has ended here: its sender is to begin again.
            self.put(RedisConnection(self, frame.part, frame.origin, frame.connection, self._wire), FrameKind.END)

    async def _write(self) -> None:
        now = asyncio.get_running_loop().time
        full: set[tuple[Address, int]] = set()
        again_at = 0.0
        """When those whose memory was full are tried again. Of a cluster, one node may be full."""
        while True:
            self._has_frames.clear()
            if now() >= again_at:
                full, again_at = set(), now() + _LAST_RETRY_S
            await self._flush(full)
            if full:
                self._begin_trouble(_FULL)
            else:
                self._end_trouble()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(again_at if full else None):
                    await self._has_frames.wait()

    async def _flush(self, full: set[tuple[Address, int]]) -> None:
        """Send to all but those whose memory is `full`. Adds those for whom it is full now."""
        for (part, other), frames in [each for each in self._to_send.items() if each[0] not in full]:
            packed = [_pack(frame) for frame in frames]
            try:
                stands = await self._streams.write(part, other, packed)
            except OutOfMemoryError:
                full.add((part, other))
                continue
            # Frames may have come meanwhile. Those that were written leave only now: a full memory loses none.
            del frames[: len(packed)]
            if not stands:
                for connection in [each for each in self._connections.values() if each.other == other]:
                    connection.break_off(f"{name_of(part)} can't be reached any more")
            if (not frames or not stands) and self._to_send.get((part, other)) is frames:
                del self._to_send[part, other]

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            if not await self._streams.renew(self._number, self._registration or 0):
                raise _Forgotten("Redis has lost the registration of this part, as after a flush or a failover")
            # Writing shows this end whether the other is still there, and a frame shows the other what was lost.
            for connection in self._connections.values():
                self._to_send.setdefault((connection.part, connection.other), [])
                if connection.way.is_waiting:
                    connection.tell()
            self._has_frames.set()


def _uncancel() -> None:
    """A group of tasks that has failed has cancelled this task, and Python 3.11 and 3.12 go on to count that. With
    3.11.2, the next timeout would then end the task."""
    this = asyncio.current_task()
    while this is not None and this.uncancel():
        pass
