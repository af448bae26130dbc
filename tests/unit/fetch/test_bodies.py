"""Bodies whose length is announced, as they arrive."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.bodies import PlainBody


class Wire:
    """Counts how often its reading is paused."""

    def __init__(self) -> None:
        self.paused = 0
        self.is_paused = False

    def pause(self) -> None:
        assert not self.is_paused
        self.paused += 1
        self.is_paused = True

    def resume(self) -> None:
        assert self.is_paused
        self.is_paused = False

    def body(self, length: int) -> PlainBody:
        return PlainBody(length, pause=self.pause, resume=self.resume)


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=9), st.booleans()), max_size=9), st.integers(0, 5))
def test_what_arrives_is_read_once_and_in_order(pieces: list[tuple[bytes, bool]], missing: int) -> None:
    whole = b"".join(piece for piece, _ in pieces)
    ended: list[bool] = []
    body = Wire().body(len(whole) + missing)
    body.on_eof(lambda: ended.append(True))
    received = b""
    for piece, is_read in pieces:
        body.feed(piece)
        if is_read:
            received += body.read_nowait()
    assert body.is_eof() == bool(ended) == (not missing)
    if missing:
        body.feed_eof()
    assert received + body.read_nowait() == whole
    assert (body.read_nowait(), body.is_eof(), body.missing, ended) == (b"", True, missing, [True])


async def test_a_reader_waits_for_data_and_for_the_end() -> None:
    body = Wire().body(10)
    waiting = asyncio.create_task(body.readany())
    await asyncio.sleep(0)
    body.feed(b"hello")
    body.feed(b" you")
    assert await waiting == b"hello you"
    waiting = asyncio.create_task(body.readany())
    await asyncio.sleep(0)
    body.feed_eof()
    assert await waiting == b""
    assert await body.readany() == b""


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    body = Wire().body(5)
    waiting = asyncio.create_task(body.readany())
    await asyncio.sleep(0)
    body.feed(b"hel")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    body.feed(b"lo")
    assert await body.readany() == b"hello"


def test_a_server_is_not_read_from_while_half_a_megabyte_waits() -> None:
    wire = Wire()
    body = wire.body(3_000_000)
    for _ in range(10):
        body.feed(bytes(100_000))
    assert (wire.paused, wire.is_paused) == (1, True)
    assert len(body.read_nowait()) == 1_000_000
    body.feed(bytes(100_000))
    assert (wire.paused, wire.is_paused) == (1, False)
    body.feed(bytes(500_000))
    assert (wire.paused, wire.is_paused) == (2, True)
    body.feed(bytes(1_400_000))
    assert (wire.paused, wire.is_paused, body.is_eof()) == (2, False, True)
