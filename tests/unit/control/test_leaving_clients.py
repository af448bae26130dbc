"""Clients that go away before they have their reply."""

import asyncio
from pathlib import Path

import msgspec

from crawler.control.replies import PauseState
from crawler.control.requests import AnyRequest, Forget, Recrawl, Reload, Stop, TakeCheckpoint
from crawler.control.server import Bounds
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.control.answering import raw, serving

_LINE = b'{"version":1,"request":%s}\n'
_CHANGES = (
    b'{"type":"forget","urls":["http://h/"]}',
    b'{"type":"recrawl","which":{}}',
    b'{"type":"checkpoint"}',
    b'{"type":"reload"}',
)


async def test_a_client_that_goes_away_does_not_cancel_what_it_has_changed(tmp_path: Path) -> None:
    ended, may_end, began = list[type[AnyRequest]](), asyncio.Event(), asyncio.Event()
    gone = asyncio.Event()

    async def wait(request: AnyRequest) -> msgspec.Struct:
        began.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            gone.set()
            raise
        ended.append(type(request))
        if len(ended) == len(_CHANGES):
            gone.set()
        return PauseState(paused=None, running=True)

    async with serving(tmp_path, wait, bounds=Bounds(heartbeat_s=0)):
        for request in (b'{"type":"status"}', *_CHANGES):
            began.clear()
            _, writer = await raw(tmp_path)
            writer.write(_LINE % request)
            await began.wait()
            writer.transport.abort()
            if request not in _CHANGES:
                await gone.wait()
        gone.clear()
        # Their heart beats fail, and they go on nevertheless.
        for _ in range(20):
            reader, writer = await raw(tmp_path)
            writer.write(b"nonsense\n")
            await reader.readline()
            writer.close()
        may_end.set()
        await gone.wait()
    assert ended == [Forget, Recrawl, TakeCheckpoint, Reload]


async def test_changes_that_do_not_end_keep_nobody_from_stopping_the_crawl_when_their_clients_are_gone(
    tmp_path: Path,
) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def wait(request: AnyRequest) -> msgspec.Struct:
        if not isinstance(request, Stop):
            began.set()
            await may_end.wait()
        return PauseState(paused=None, running=True)

    async def ask(request: bytes) -> bytes:
        reader, writer = await raw(tmp_path)
        writer.write(_LINE % request)
        async with asyncio.timeout(MAX_WAIT_S):
            answer = await reader.readline()
        writer.close()
        return answer

    async with serving(tmp_path, wait, bounds=Bounds(clients=1, heartbeat_s=0.001)):
        _, writer = await raw(tmp_path)
        writer.write(_LINE % _CHANGES[0])
        await began.wait()
        writer.transport.abort()
        assert b'"paused":null' in await ask(b'{"type":"stop"}')
        assert b"1 change of clients that are gone must end first" in await ask(b'{"type":"checkpoint"}')
        may_end.set()
