"""That messages pass the line between a part and its supervisor whole and in order, and reach their services."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from crawler.parts.ending import Answer, Report
from crawler.parts.line.line import MAX_BODY_BYTES, Line, LineBroken, open_line
from crawler.parts.line.messages import Answered, Ask, Begin, End, FromPart, Stop, ToPart, ToService, Warned
from crawler.parts.line.services import PartServices, Send, SupervisorServices


class Ping(msgspec.Struct, frozen=True, tag="ping"):
    number: int


class Pong(msgspec.Struct, frozen=True, tag="pong"):
    number: int


class Echo:
    """A part's side of a service that answers each ping."""

    name = "echo"
    messages = Ping

    def __init__(self) -> None:
        self.send: Send | None = None

    def connect(self, send: Send) -> None:
        self.send = send

    def receive(self, message: Ping) -> None:
        assert self.send is not None
        self.send(Pong(message.number + 1))

    def disconnect(self) -> None:
        self.send = None


class Caller:
    """The supervisor's side: pings each part once."""

    name = "echo"
    messages = Pong

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []
        self.lost: list[int] = []
        self.left: list[int] = []

    def connect(self, part: int, send: Send) -> None:
        send(Ping(10 * part))

    def receive(self, part: int, message: Pong) -> None:
        self.heard.append((part, message.number))

    def lose(self, part: int) -> None:
        self.lost.append(part)

    def disconnect(self, part: int) -> None:
        self.left.append(part)


@asynccontextmanager
async def two_ends() -> AsyncIterator[tuple[Line[Any, Any], Line[Any, Any]]]:
    """The supervisor's side, and the part's."""
    one, other = socket.socketpair()
    supervisor, part = await open_line(one, FromPart), await open_line(other, ToPart)
    yield supervisor, part
    await supervisor.aclose()
    await part.aclose()


async def test_messages_arrive_in_order() -> None:
    sent = [
        Begin(version="1", number=0, lineage=1, directories=["a", "b"], configuration="x"),
        Ask(wave=1, close_gate=True),
        Stop(now=False),
        End(),
    ]
    async with two_ends() as (supervisor, part):
        for message in sent:
            supervisor.send(message)
        assert [await part.receive() for _ in sent] == sent


async def test_an_answer_keeps_what_it_says_about_other_parts() -> None:
    report = Report(incarnation=2**64 - 1, transitions=3, is_idle=True, welcomed_by={1: 2**63}, unconfirmed={2: 9})
    answered = Answered(wave=4, answer=Answer(report=report, gate_is_closed=True))
    async with two_ends() as (supervisor, part):
        part.send(answered)
        assert await supervisor.receive() == answered


async def test_what_was_sent_before_the_end_arrives() -> None:
    async with two_ends() as (supervisor, part):
        part.send(Warned(kind="k", text="t" * 1_000_000))
        message = await supervisor.receive()
        await part.aclose()
        assert isinstance(message, Warned)
        assert await supervisor.receive() is None
        supervisor.send(End())  # nobody hears it


async def test_a_line_that_ends_within_a_message_has_ended() -> None:
    one, other = socket.socketpair()
    line = await open_line(one, FromPart)
    other.sendall(b"\x00\x00\x01\x00half")
    other.close()
    assert await line.receive() is None
    await line.aclose()


@pytest.mark.parametrize("sent", [(MAX_BODY_BYTES + 1).to_bytes(4, "big"), b"\x00\x00\x00\x01\xc1"])
async def test_what_is_no_message_is_refused(sent: bytes) -> None:
    one, other = socket.socketpair()
    line = await open_line(one, FromPart)
    other.sendall(sent)
    with pytest.raises(LineBroken):
        await line.receive()
    other.close()
    await line.aclose()


async def test_a_side_that_does_not_read_is_noticed() -> None:
    async with two_ends() as (supervisor, part):
        calm = [part.is_calm]
        part.send(Warned(kind="k", text="t" * 4_000_000))
        calm.append(part.is_calm)
        assert await supervisor.receive() is not None
        part.send(Warned(kind="k", text="last"))
        assert await supervisor.receive() == Warned(kind="k", text="last")
        calm.append(part.is_calm)
    assert calm == [True, False, True]


async def test_each_side_of_a_service_hears_the_other() -> None:
    echo, caller = Echo(), Caller()
    async with two_ends() as (supervisor, part):
        in_part, in_supervisor = PartServices([echo], part.send), SupervisorServices([caller])
        in_part.connect()
        in_supervisor.connect(3, supervisor.send)
        asked = await part.receive()
        assert isinstance(asked, ToService)
        in_part.receive(asked)
        answered = await supervisor.receive()
        assert isinstance(answered, ToService)
        in_supervisor.receive(3, answered)
        in_part.disconnect()
        for _ in range(2):
            in_supervisor.disconnect(3)
    assert caller.heard == [(3, 31)]
    assert caller.left == [3]
    assert echo.send is None


def test_a_part_that_was_lost_is_disconnected_once_its_process_has_ended() -> None:
    caller = Caller()
    services = SupervisorServices([caller])
    services.lose(3)  # was never there
    services.connect(3, lambda _: None)
    services.lose(3)
    services.lose(3)
    assert (caller.lost, caller.left) == ([3], [])
    services.disconnect(3)
    services.disconnect(3)
    assert (caller.lost, caller.left) == ([3], [3])
    services.connect(4, lambda _: None)
    services.lose(4)
    services.connect(4, lambda _: None)  # it is back
    services.disconnect(4)
    assert (caller.lost, caller.left) == ([3, 4], [3, 4])
    services.disconnect(5)  # it never had a process
    assert caller.left == [3, 4, 5]
