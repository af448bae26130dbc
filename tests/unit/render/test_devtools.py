"""The protocol, against what a browser may say."""

import asyncio
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest

from crawler.render.devtools import MAX_MESSAGE_BYTES, BrowserGone, CommandRefused, Devtools, Event

Pair = tuple[Devtools, asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    ours, theirs = socket.socketpair()
    devtools = await Devtools.over(ours)
    reader, writer = await asyncio.open_connection(sock=theirs)
    yield devtools, reader, writer
    devtools.give_up("the test is over")
    writer.close()
    await asyncio.sleep(0)


async def command(reader: asyncio.StreamReader) -> dict[str, object]:
    return msgspec.json.decode((await reader.readuntil(b"\0"))[:-1], type=dict[str, object])


async def test_a_command_gets_its_answer_whatever_comes_between(pair: Pair) -> None:
    devtools, reader, writer = pair
    heard: list[Event] = []
    devtools.hear = heard.append
    async with asyncio.TaskGroup() as group:
        one = group.create_task(devtools.ask("A.one", {"x": 1}, session="s"))
        two = group.create_task(devtools.ask("A.two"))
        assert await command(reader) == {"id": 1, "method": "A.one", "params": {"x": 1}, "sessionId": "s"}
        assert await command(reader) == {"id": 2, "method": "A.two", "params": {}}
        for part in (
            b'{"id":2,"result":{"a":',
            b'2}}\0{"method":"E.e","par',
            b'ams":{"b":3},"sessionId":"s"}\0{"id":9}\0',
        ):
            writer.write(part)
            await writer.drain()
        writer.write(b'{"id":1,"result":{}}\0')
    assert (one.result(), two.result()) == ({}, {"a": 2})
    assert heard == [Event("E.e", {"b": 3}, "s")]


async def test_an_error_is_raised_to_who_asked(pair: Pair) -> None:
    devtools, _, writer = pair
    writer.write(b'{"id":1,"error":{"code":-32000,"message":"no such target"}}\0')
    with pytest.raises(CommandRefused, match="no such target"):
        await devtools.ask("A.one")


@pytest.mark.parametrize("said", [b"{\0", b'"text"\0', b"\xff\xfe\0", b'{"id":"x"}\0', bytes(10) + b"[\0"])
async def test_a_browser_that_speaks_nonsense_is_given_up(pair: Pair, said: bytes) -> None:
    devtools, _, writer = pair
    writer.write(said)
    with pytest.raises(BrowserGone, match="an invalid message"):
        await devtools.ask("A.one")
    with pytest.raises(BrowserGone, match="an invalid message"):
        await devtools.ask("A.two")


async def test_of_a_message_that_is_too_long_only_the_ends_count(pair: Pair) -> None:
    devtools, _, writer = pair
    heard: list[Event] = []
    devtools.hear = heard.append
    long = b"x" * MAX_MESSAGE_BYTES
    paused = b'{"method":"Fetch.requestPaused","params":{"requestId":"job-1.0","request":{"postData":"%s"}},%s}\0'
    writer.write(paused % (long, b'"sessionId":"AB"'))
    writer.write(b'{"method":"Page.windowOpen","params":{"url":"%s"},"sessionId":"AB"}\0' % long)
    writer.write(b"x%s\0" % long)
    writer.write(b'{"id":1,"result":{}}\0')
    assert await devtools.ask("A.one") == {}
    assert [each for each in heard if each.method] == [Event("Fetch.requestPaused", {"requestId": "job-1.0"}, "AB")]


async def test_an_answer_that_is_too_long_is_refused(pair: Pair) -> None:
    devtools, _, writer = pair
    writer.write(b'{"id":1,"result":{"data":"%s"}}\0' % (b"x" * MAX_MESSAGE_BYTES))
    with pytest.raises(CommandRefused, match="more than 32000000 bytes"):
        await devtools.ask("A.one")
    writer.write(b'{"id":2,"result":{}}\0')
    assert await devtools.ask("A.two") == {}


async def test_whoever_waits_is_told_when_the_browser_ends(pair: Pair) -> None:
    devtools, reader, writer = pair
    asking = asyncio.ensure_future(devtools.ask("A.one"))
    await command(reader)
    writer.close()
    with pytest.raises(BrowserGone, match="it ended"):
        await asking
    assert await devtools.gone == "it ended"
    devtools.post("A.two")
