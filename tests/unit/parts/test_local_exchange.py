"""The Unix sockets of the parts of a crawl: where they lie, and what may stand there; and bytes that are no message."""

import asyncio
import socket
import stat
import struct
from pathlib import Path
from zlib import crc32

import pytest

from crawler.control.address import SocketRefused, address
from crawler.parts.exchange.local import NAME, LocalExchange
from crawler.parts.exchange.protocol import ExchangeBroken
from crawler.parts.exchange.wire import MAGIC, MAX_BODY_BYTES, encode
from crawler.parts.messages import Refused
from crawler.testing.loops import in_event_loop

GOOD = encode(Refused(message="good"))


def directory_below(base: Path, name: str = "part") -> Path:
    directory = base / name
    directory.mkdir(parents=True)
    return directory


@in_event_loop
async def test_sockets_lie_in_directories_of_any_depth_and_belong_to_their_owner(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    directories = [directory_below(deep, f"{number}") for number in range(2)]
    exchanges = [LocalExchange(directory, lambda part: directories[part]) for directory in directories]
    assert stat.S_IMODE((directories[0] / NAME).stat().st_mode) == 0o600
    connection = await exchanges[0].connect(1)
    accepted = await exchanges[1].accept()
    assert accepted is not None
    await connection.send(Refused(message="here"))
    assert await accepted.receive() == Refused(message="here")
    for exchange in exchanges:
        await exchange.aclose()
    assert not (directories[0] / NAME).exists()


@in_event_loop
async def test_what_a_dead_process_left_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    directory = directory_below(tmp_path)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(directory / NAME))
    left.close()
    exchange = LocalExchange(directory, lambda _: directory)
    await exchange.aclose()
    (directory / NAME).write_text("mine")
    with pytest.raises(SocketRefused, match="expected nothing, or the socket of an earlier run, found a file"):
        LocalExchange(directory, lambda _: directory)
    assert (directory / NAME).read_text() == "mine"


def frame(body: bytes, *, magic: bytes = MAGIC, length: int | None = None) -> bytes:
    return struct.pack(">4sII", magic, len(body) if length is None else length, crc32(body)) + body


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (GOOD[:5], "in the middle of a message"),
        (GOOD[:-1], "in the middle of a message"),
        (GOOD[:-1] + b"?", "its checksum is wrong"),
        (b"GET / HTTP/1.1\r\n\r\n", "expected a message that begins with"),
        (frame(b"x", magic=b"OOP2"), "another version"),
        (frame(b"x", length=MAX_BODY_BYTES + 1), "at most"),
        (frame(b"\xc1"), "can't be read"),
        (frame(b"\x81\xa4type\xa5other"), "can't be read"),
        (frame(GOOD[12:] + b"\0"), "can't be read"),
    ],
)
@in_event_loop
async def test_bytes_that_are_no_message_break_the_connection(sent: bytes, message: str, tmp_path: Path) -> None:
    directory = directory_below(tmp_path)
    exchange = LocalExchange(directory, lambda _: directory)
    with address(directory, NAME) as short:
        _, writer = await asyncio.open_unix_connection(short)
    accepted = await exchange.accept()
    assert accepted is not None
    writer.write(GOOD + sent)
    writer.close()
    await writer.wait_closed()
    assert await accepted.receive() == Refused(message="good")
    with pytest.raises(ExchangeBroken, match=message):
        await accepted.receive()
    await exchange.aclose()
