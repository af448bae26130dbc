"""What clients can and can't do to the event loop of a crawl."""

import asyncio
import logging
import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.control import address
from crawler.control.asking import open_channel
from crawler.control.client import ConnectionLost, NoAnswer
from crawler.control.replies import PauseState, Refusal
from crawler.control.requests import Add, AnyRequest, GetStatus, Pause, Resume
from crawler.control.server import Bounds
from crawler.control.wire import MAX_REQUEST_BYTES, WORKING
from tests.loops import on_each_loop
from tests.unit.control.answering import PAUSE, raw, serving


async def reply_of(reader: asyncio.StreamReader) -> dict[str, object]:
    return msgspec.json.decode(await reader.readline(), type=dict[str, object])


def stop_reading(transport: asyncio.BaseTransport) -> None:
    assert isinstance(transport, asyncio.ReadTransport)
    transport.pause_reading()


async def write_until_dropped(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_requests_of_one_client_are_answered_in_order(tmp_path: Path) -> None:
    async with serving(tmp_path), open_channel(tmp_path) as channel:
        assert channel is not None
        asked = (channel.ask(Pause(reason=str(number))) for number in range(50))
        replies = await asyncio.gather(*asked)
    assert replies == [PauseState(paused=str(number), running=True) for number in range(50)]


async def test_requests_that_are_sent_at_once_are_answered_one_after_another(tmp_path: Path) -> None:
    async with serving(tmp_path):
        reader, writer = await raw(tmp_path)
        writer.write(PAUSE % b"a" + PAUSE % b"b")
        assert [(await reply_of(reader))["reply"] for _ in range(2)] == [
            {"paused": name, "running": True, "in_flight": 0} for name in ("a", "b")
        ]
        writer.close()


async def test_a_refusal_is_a_value_and_the_connection_lasts(tmp_path: Path) -> None:
    async with serving(tmp_path), open_channel(tmp_path) as channel:
        assert channel is not None
        assert await channel.ask(GetStatus()) == Refusal("expected pause or resume, found GetStatus")
        assert await channel.ask(Resume()) == PauseState(paused=None, running=True)


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=300), max_size=5))
def test_garbage_disturbs_nobody(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    directory = tmp_path_factory.mktemp("d")

    async def disturb() -> None:
        async with serving(directory):
            reader, writer = await raw(directory)
            writer.write(b"\n".join(pieces) + b"\n" + PAUSE % b"after")
            for _ in range(b"\n".join(pieces).count(b"\n") + 1):
                assert "error" in await reply_of(reader)
            assert "reply" in await reply_of(reader)
            writer.close()

    asyncio.run(disturb())


async def test_a_huge_line_is_refused_and_its_client_dropped(tmp_path: Path) -> None:
    async with serving(tmp_path):
        reader, writer = await raw(tmp_path)
        writer.write(b"x" * (4 * MAX_REQUEST_BYTES) + b"\n")
        error = (await reply_of(reader))["error"]
        assert "at most 1,048,576 bytes" in str(error)
        writer.close()
        async with open_channel(tmp_path) as channel:
            assert channel is not None
            assert await channel.ask(Resume()) == PauseState(paused=None, running=True)


async def test_a_line_without_an_end_is_no_request(tmp_path: Path) -> None:
    asked = []

    async def note(request: AnyRequest) -> Refusal:
        asked.append(request)
        return Refusal("noted")

    async with serving(tmp_path, note):
        reader, writer = await raw(tmp_path)
        writer.write((PAUSE % b"a")[:-1])
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
    assert asked == []


async def test_a_client_that_says_nothing_is_dropped(tmp_path: Path) -> None:
    async with serving(tmp_path, bounds=Bounds(idle_s=0.01)):
        reader, writer = await raw(tmp_path)
        with pytest.raises((EOFError, ConnectionError)):
            await reader.readexactly(1)
        writer.close()


async def test_a_client_that_does_not_read_holds_nobody_and_is_dropped(tmp_path: Path) -> None:
    answered = asyncio.Event()

    async def much(request: AnyRequest) -> msgspec.Struct:
        answered.set()
        return PauseState(paused="x" * 20_000_000 if isinstance(request, Pause) else None, running=True)

    async with serving(tmp_path, much, bounds=Bounds(reading_s=0.05)):
        _reader, writer = await raw(tmp_path)
        stop_reading(writer.transport)
        writer.write(PAUSE % b"a")
        await answered.wait()
        async with open_channel(tmp_path) as channel:
            assert channel is not None
            reply = await channel.ask(Resume())
            assert isinstance(reply, PauseState)
        with pytest.raises(ConnectionError):
            await write_until_dropped(writer)
        writer.transport.abort()


async def test_a_newcomer_takes_the_place_of_the_client_that_was_idle_longest(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, bounds=Bounds(clients=2)),
        open_channel(tmp_path) as first,
        open_channel(tmp_path) as second,
    ):
        assert first is not None
        assert second is not None
        await first.ask(Resume())
        await second.ask(Resume())
        await first.ask(Resume())
        async with open_channel(tmp_path) as third:
            assert third is not None
            assert isinstance(await third.ask(Resume()), PauseState)
            assert isinstance(await first.ask(Resume()), PauseState)
            with pytest.raises(ConnectionLost):
                await second.ask(Resume())


async def test_clients_beyond_the_limit_wait_while_all_others_are_busy(tmp_path: Path) -> None:
    may_end = asyncio.Event()
    busy = asyncio.Event()

    async def wait(request: AnyRequest) -> msgspec.Struct:
        if isinstance(request, Pause):
            busy.set()
            await may_end.wait()
        return PauseState(paused=None, running=True)

    async with serving(tmp_path, wait, bounds=Bounds(clients=1)), open_channel(tmp_path) as first:
        assert first is not None
        pausing = asyncio.create_task(first.ask(Pause(reason="x")))
        await busy.wait()
        async with open_channel(tmp_path) as second:
            assert second is not None
            resuming = asyncio.create_task(second.ask(Resume()))
            done, _ = await asyncio.wait({resuming}, timeout=0.05)
            assert not done
            may_end.set()
            assert isinstance(await pausing, PauseState)
            assert isinstance(await resuming, PauseState)


async def test_a_client_hears_that_its_request_is_worked_on(tmp_path: Path) -> None:
    may_end = asyncio.Event()

    async def work(request: AnyRequest) -> msgspec.Struct:
        await may_end.wait()
        return PauseState(paused=None, running=True)

    async with serving(tmp_path, work, bounds=Bounds(heartbeat_s=0.001)):
        reader, writer = await raw(tmp_path)
        writer.write(PAUSE % b"a")
        assert await reader.readline() == WORKING
        may_end.set()
        while (line := await reader.readline()) == WORKING:
            pass
        assert b"reply" in line
        writer.close()


async def test_a_question_ends_with_its_client(tmp_path: Path) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def work(request: AnyRequest) -> msgspec.Struct:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with serving(tmp_path, work, bounds=Bounds(heartbeat_s=0.001)):
        _, writer = await raw(tmp_path)
        writer.write(b'{"version":1,"request":{"type":"status"}}\n')
        await began.wait()
        writer.transport.abort()
        await ended.wait()


@on_each_loop
async def test_a_client_that_dies_before_it_has_read_all_ends_nothing(tmp_path: Path) -> None:
    running = asyncio.get_running_loop()
    unread, ended = asyncio.Event(), asyncio.Event()

    async def work(request: AnyRequest) -> msgspec.Struct:
        if isinstance(request, GetStatus):
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
        return PauseState(paused=None, running=True)

    async with serving(tmp_path, work, bounds=Bounds(heartbeat_s=0.02)):
        with socket.socket(socket.AF_UNIX) as client, address.address(tmp_path) as short:
            client.setblocking(False)
            await running.sock_connect(client, short)
            await running.sock_sendall(client, b'{"version":1,"request":{"type":"status"}}\n')
            running.add_reader(client, unread.set)
            await unread.wait()
            running.remove_reader(client)
        await ended.wait()
        async with open_channel(tmp_path) as channel:
            assert channel is not None
            assert isinstance(await channel.ask(Resume()), PauseState)


@on_each_loop
async def test_all_who_wait_for_their_turn_hear_that_the_connection_is_lost(tmp_path: Path) -> None:
    with address.listen(tmp_path) as listening:
        async with open_channel(tmp_path) as channel:
            assert channel is not None
            asked = [asyncio.create_task(channel.ask(Resume())) for _ in range(3)]
            (await asyncio.get_running_loop().sock_accept(listening))[0].close()
            answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ConnectionLost] * 3


async def test_a_bug_in_an_answer_ends_neither_server_nor_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(request: AnyRequest) -> msgspec.Struct:
        if isinstance(request, Add):
            raise OSError("no such luck")
        return PauseState(paused="\ud800" if isinstance(request, Pause) else None, running=True)

    async with serving(tmp_path, fail), open_channel(tmp_path) as channel:
        assert channel is not None
        with caplog.at_level(logging.ERROR):
            refusal = await channel.ask(Add(urls=[]))
            unwritable = await channel.ask(Pause(reason="x"))
        assert refusal == Refusal("no such luck; the log of the crawl says more", 1)
        assert "a request could not be answered: Add" in caplog.text
        assert isinstance(unwritable, Refusal)
        assert "a request could not be answered: Pause" in caplog.text
        assert isinstance(await channel.ask(Resume()), PauseState)


async def test_a_crawl_that_ends_closes_its_connections(tmp_path: Path) -> None:
    async with open_channel(tmp_path) as nobody:
        assert nobody is None
    async with serving(tmp_path):
        reader, writer = await raw(tmp_path)
        writer.write(PAUSE % b"a")
        await reader.readline()
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await reader.readexactly(1)
    writer.close()


async def test_a_cancelled_request_leaves_no_reply_for_the_next_one(tmp_path: Path) -> None:
    async def wait(request: AnyRequest) -> msgspec.Struct:
        await asyncio.sleep(0.01)
        return PauseState(paused="late", running=True)

    async with serving(tmp_path, wait), open_channel(tmp_path) as channel:
        assert channel is not None
        asking = asyncio.create_task(channel.ask(Pause(reason="x")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        with pytest.raises(ConnectionLost):
            await channel.ask(Resume())


async def test_a_crawl_that_says_nothing_does_not_answer(tmp_path: Path) -> None:
    async def wait(request: AnyRequest) -> msgspec.Struct:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(tmp_path, wait), open_channel(tmp_path, silence_s=0.05) as channel:
        assert channel is not None
        with pytest.raises(NoAnswer, match="it hangs, or the machine is overloaded"):
            await channel.ask(Resume())
