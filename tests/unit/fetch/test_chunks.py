"""Bodies in chunks: what is accepted, what is refused, and when the connection is used again."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpResponseParser
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.bodies import PARSER_OPTIONS
from crawler.fetch.connect.connections import Connections
from crawler.fetch.connect.failures import BodyBroken
from crawler.fetch.connect.handler import TolerantHandler
from crawler.page import FailureKind, Page, Request
from crawler.testing.fetch.raw_server import CLOSE, HANG, RESET, Script, head, page, raw_server
from tests.fetchers import Fetchers
from tests.framing import Reader

HEAD = head(b"Transfer-Encoding: chunked")
WHOLE = b"5\r\nhello\r\n0\r\n\r\n"


class Wire(asyncio.Transport):
    """A connection to nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = 0
        self.resumed = 0
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self.paused += 1

    def resume_reading(self) -> None:
        self.resumed += 1


class Received:
    """What a handler made of a response that came in these pieces."""

    def __init__(self, *pieces: bytes, asked: str = "GET", lost: bool = False) -> None:
        self.wire = Wire()
        self.handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
        self.handler.connection_made(self.wire)
        self.handler.begin_request(may_have_body=asked != "HEAD")
        for piece in pieces:
            self.handler.data_received(piece)
        [[[self.message, content], _], *_] = self.handler._buffer
        self.content: Any = content
        if lost:
            self.handler.connection_lost(None)
        self.broken = self.handler.body_end.broken
        self.has_ended = self.content.is_eof()
        self.body = self.content.read_nowait()
        self.is_reusable = self.has_ended and not self.wire.is_aborted
        self.handler._buffer.clear()
        self.is_reusable &= not self.handler.should_close


def cut(sent: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(sent), *(place % (len(sent) + 1) for place in places)})
    return [sent[start:end] for start, end in pairwise(marks)]


def chunk(data: bytes, *, form: str = "%x", extension: bytes = b"") -> bytes:
    return (form % len(data)).encode() + extension + b"\r\n" + data + b"\r\n"


DATA = st.binary(min_size=1, max_size=40) | st.sampled_from([b"\r\n", b"0\r\n\r\n", b"x" * 300])
SIZES = st.sampled_from(["%x", "%X", "0%x", "%020x"])
EXTENSIONS = st.sampled_from(
    [b"", b"", b";a", b" ; name=value", b"\t;\ta = b", b';a="b; c"', b';a="b \\" c";d', b";" + b"x" * 200]
)
TRAILERS = st.lists(st.sampled_from([b"X: y", b"Content-Length: 5", b"Empty:", b"Long: " + b"y" * 300]), max_size=3)
PLACES = st.lists(st.integers(0, 2000), max_size=12)


@given(st.lists(st.tuples(DATA, SIZES, EXTENSIONS), max_size=5), EXTENSIONS, TRAILERS, PLACES)
async def test_chunks_in_any_pieces_are_the_same_body_and_the_connection_is_kept(
    chunks: list[tuple[bytes, str, bytes]], last: bytes, trailers: list[bytes], places: list[int]
) -> None:
    sent = b"".join(chunk(data, form=form, extension=extension) for data, form, extension in chunks)
    sent += b"00%s\r\n" % last + b"".join(b"%s\r\n" % trailer for trailer in trailers) + b"\r\n"
    received = Received(*cut(HEAD + sent, places))
    assert received.body == b"".join(data for data, _, _ in chunks)
    assert (received.is_reusable, received.broken) == (True, None)
    received.handler.begin_request(may_have_body=True)
    received.handler.data_received(page(b"next"))
    _, content = await received.handler.read()
    assert await content.readany() == b"next"


PARTS = st.sampled_from(
    [
        *(
            b"5",
            b"05",
            b"3",
            b"0",
            b"a",
            b"1A",
            b"-1",
            b"0x5",
            b"+5",
            b"g",
            b"5_0",
            b"f" * 16,
            b"0" * 40,
            b"\0",
            b"\xb2",
        ),
        *(b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\t", b"  ", b"\x0b"),
        *(b"hello", b"hello\r\n", b"x" * 26, b"abc", b"5\r\nhello\r\n", b"3\r\nabc\r\n", b"0\r\n\r\n", b"0\r\n"),
        *(b";", b";a=b", b' ; a="b c"', b"X: y\r\n", b": z\r\n", b" folded\r\n", b"none\r\n", b"X: a\rb\r\n"),
    ]
)

SOUND = [
    pytest.param(b"5\r\nhello\r\n0\r\n\r\n", id="plain"),
    pytest.param(b"00000000000000000005\r\nhello\r\n000\r\n\r\n", id="leading zeros"),
    pytest.param(b"5 ; name=value\r\nhello\r\n0\t;a\r\n\r\n", id="white space around a semicolon"),
    pytest.param(b'5;a="b; \\"c"\r\nhello\r\n0\r\n\r\n', id="a quoted value"),
    pytest.param(b"5;\r\nhello\r\n0;\r\n\r\n", id="an empty extension"),
    pytest.param(b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", id="a trailer"),
]
ODD = [
    pytest.param(b"5  \r\nhello\r\n0 \r\n\r\n", id="spaces behind the size"),
    pytest.param(b"5\nhello\n0\n\n", id="line feeds alone"),
    pytest.param(b"5\r\nhello\n0\r\n\r\n", id="a line feed alone behind the data"),
    pytest.param(b"5\r\nhello\r\n0\n\r\n", id="a line feed alone behind the last size"),
    pytest.param(b"5\r\nhello\r\n0\r\n\n", id="a line feed alone at the end"),
    pytest.param(b"5\r\nhello\r\n0\r\nX: y\n\r\n", id="a line feed alone in the trailers"),
    pytest.param(b"5\r\nhello\r\n0\r\nno colon\r\n\r\n", id="a trailer without colon"),
    pytest.param(b"5;a\rb\r\nhello\r\n0\r\n\r\n", id="a bare CR in an extension"),
    pytest.param(b"5;a\0b\r\nhello\r\n0\r\n\r\n", id="NUL in an extension"),
]
ALTERED = st.builds(
    lambda whole, place, part: whole[:place] + part + whole[place:],
    st.sampled_from([each.values[0] for each in (*SOUND, *ODD)]),
    st.integers(0, 40),
    PARTS | st.just(b""),
)
"""Bodies that are whole, or would be without one part: random ones never are."""


@given(st.lists(PARTS, max_size=9).map(b"".join) | st.binary(max_size=20) | ALTERED, PLACES)
async def test_what_the_parser_of_aiohttp_accepts_is_the_same_body_and_other_bytes_are_as_wrong_in_any_pieces(
    sent: bytes, places: list[int]
) -> None:
    whole, pieces = Received(HEAD + sent), Received(*cut(HEAD + sent, places))
    for field in ("body", "has_ended", "is_reusable"):
        assert getattr(whole, field) == getattr(pieces, field)
    assert isinstance(whole.broken, BodyBroken) == isinstance(pieces.broken, BodyBroken)
    reader: Any = Reader()
    parser = HttpResponseParser(reader, asyncio.get_running_loop(), 2**16, **PARSER_OPTIONS)
    [[_, content]], _, _ = parser.feed_data(HEAD)
    try:
        more, _, _ = parser.feed_data(sent)
    except HttpProcessingError:
        return
    if content.is_eof() and not more:
        assert (whole.body, whole.has_ended, whole.broken) == (content.read_nowait(), True, None)
    elif not more:
        assert (whole.body, whole.has_ended) == (content.read_nowait(), False)


@pytest.mark.parametrize("sent", SOUND)
async def test_a_connection_is_kept_after_sound_chunks(fetchers: Fetchers, sent: bytes) -> None:
    assert await connections_of_two(fetchers(), [HEAD + sent]) == [0, 0]


@pytest.mark.parametrize("sent", ODD)
@pytest.mark.parametrize("apart", [False, True])
async def test_odd_chunks_are_accepted_and_their_connection_is_closed(
    fetchers: Fetchers, sent: bytes, apart: bool
) -> None:
    script = [HEAD, *(bytes([each]) for each in sent)] if apart else [HEAD + sent]
    assert await connections_of_two(fetchers(), script) == [0, 1]


async def connections_of_two(fetcher: Any, script: Script) -> list[int]:
    """The connections of two requests, of which the first gets this response, whose body is `hello`."""
    async with raw_server({"/first": script, "/next": [page(b"next")]}) as server:
        for path, body in (("/first", b"hello"), ("/next", b"next")):
            answer = await fetcher.fetch(Request(url=server.url(path)))
            assert isinstance(answer, Page)
            assert (answer.body, answer.truncated) == (body, None)
        return [seen.connection for seen in server.seen]


@pytest.mark.parametrize("length", [b"5", b"3", b"15", b"500", b"-1"])
async def test_chunks_count_and_not_a_length_beside_them_but_their_connection_is_closed(
    fetchers: Fetchers, length: bytes
) -> None:
    headers = [b"Content-Length: " + length, b"Transfer-Encoding: chunked"]
    for each in (headers, headers[::-1]):
        assert await connections_of_two(fetchers(), [head(*each) + WHOLE]) == [0, 1]


async def test_chunks_of_http_1_0_are_read_but_their_connection_is_closed(fetchers: Fetchers) -> None:
    old = head(b"Connection: keep-alive", b"Transfer-Encoding: chunked", version=b"HTTP/1.0")
    assert await connections_of_two(fetchers(), [old + WHOLE]) == [0, 1]


@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize("tail", [b"0\r\n", b"0\n", b"0\r\n\r", b"0\r\nX: y\r\n", b"0\r\nX: half"])
async def test_a_body_is_complete_with_its_last_chunk_though_no_empty_line_follows(
    fetchers: Fetchers, tail: bytes, end: Any
) -> None:
    async with raw_server({"/": [HEAD + b"5\r\nhello\r\n", tail, end]}) as server:
        answer = await fetchers().fetch(Request(url=server.url()))
    assert isinstance(answer, Page)
    assert (answer.body, answer.truncated, answer.message) == (b"hello", None, None)


@pytest.mark.parametrize(
    "sent", [b"5\r\nhel", b"5\r\nhello", b"5\r\nhello\r\n", b"5\r\nhello\r\n0", b"5\r\nhello\r\n0\r"]
)
async def test_a_connection_that_is_lost_before_the_last_chunk_breaks_the_body(sent: bytes) -> None:
    received = Received(HEAD + sent, lost=True)
    assert (received.body, received.has_ended) == (b"hello"[: len(sent) - 3], True)
    assert received.broken is not None
    assert not isinstance(received.broken, BodyBroken)


@pytest.mark.parametrize(
    "line",
    [
        *(b"-5\r\n", b"+5\r\n", b"0x5\r\n", b"5_0\r\n", b" 5\r\n", b"\r\n", b"\n", b";a\r\n", b"5 5\r\n", b"5\r\r\n"),
        *(b"5\0\r\n", b"\0\r\n", b"5\xa0\r\n", b"5\x0b\r\n", b"5,a\r\n", b"g\r\n", b"1" + b"0" * 16 + b"\r\n"),
        *(b"5;" + b"x" * 16_400 + b"\r\n", b"<p>no chunks", b"-", b"x", b"5;" + b"x" * 16_400, b"0" * 16_400),
    ],
)
@pytest.mark.parametrize("size", [1, 1000, 100_000])
async def test_an_invalid_size_breaks_the_body_at_once(line: bytes, size: int) -> None:
    sent = b"4\r\nhalf\r\n" + line
    received = Received(HEAD, *(sent[at : at + size] for at in range(0, len(sent), size)))
    assert (received.body, received.has_ended, received.is_reusable) == (b"half", True, False)
    assert isinstance(received.broken, BodyBroken)
    assert received.wire.is_aborted


@pytest.mark.parametrize("rest", [b"llo\r\n", b"\rlo", b"0\r\n", b"\r\r\n", b"x"])
async def test_a_chunk_that_is_longer_than_it_says_breaks_the_body(rest: bytes) -> None:
    received = Received(HEAD + b"2\r\nhe" + rest)
    assert received.body == b"he"
    assert isinstance(received.broken, BodyBroken)


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"X: y\r\n" * 1000, id="trailers"),
        pytest.param(b"x" * 16_300 + b"\n", id="lines without colon"),
        pytest.param(b"x" * 1000, id="a trailer"),
    ],
)
async def test_trailers_without_end_break_the_body(piece: bytes) -> None:
    received = Received(HEAD + b"4\r\nhalf\r\n0\r\n", *[piece] * 700)
    assert (received.body, received.wire.is_aborted) == (b"half", True)
    assert isinstance(received.broken, BodyBroken)


@pytest.mark.parametrize("extension", [b"", b";" + b"x" * 100])
async def test_chunks_with_much_beside_the_body_break_it(extension: bytes) -> None:
    piece = chunk(b"x", extension=extension) * 1000
    received = Received(HEAD, *[piece] * 800)
    assert isinstance(received.broken, BodyBroken)
    assert received.wire.is_aborted
    sound = Received(HEAD, *[chunk(b"x" * 100, extension=b";" + b"x" * 100) * 1000] * 20)
    assert (len(sound.body), sound.broken) == (2_000_000, None)


@pytest.mark.parametrize("more", [b"x", b"\r\n", b"HTTP/1.1 2", page(b"foreign")])
async def test_data_behind_the_last_chunk_closes_the_connection(more: bytes) -> None:
    for pieces in ([HEAD + WHOLE + more], [HEAD, WHOLE + more], [HEAD + WHOLE, more]):
        received = Received(*pieces)
        assert (received.body, received.has_ended, received.is_reusable) == (b"hello", True, False)


async def test_a_server_is_not_read_from_while_half_a_megabyte_of_chunks_waits() -> None:
    received = Received(HEAD, chunk(bytes(100_000)) * 2)
    for _ in range(3):
        received.handler.data_received(chunk(bytes(100_000)))
    assert (received.wire.paused, received.wire.resumed) == (0, 0)
    received.handler.data_received(chunk(bytes(300_000)))
    assert (received.wire.paused, received.wire.resumed) == (1, 0)
    assert len(await received.content.readany()) == 600_000
    assert (received.wire.paused, received.wire.resumed) == (1, 1)
    received.handler.data_received(b"0\r\n\r\n")
    assert await received.content.readany() == b""


async def test_responses_that_have_no_body_have_none_though_they_announce_chunks() -> None:
    for status in (b"204 No Content", b"304 Not Modified"):
        received = Received(head(b"Transfer-Encoding: chunked", status=status))
        assert (received.body, received.has_ended, received.is_reusable) == (b"", True, True)
    received = Received(HEAD, asked="HEAD")
    assert (received.body, received.has_ended, received.is_reusable) == (b"", True, True)


async def test_chunks_of_nothing_that_break_are_a_failure_to_speak_http(fetchers: Fetchers) -> None:
    async with raw_server({"/": [HEAD + b"<p>no chunks", HANG]}) as server:
        answer = await fetchers().fetch(Request(url=server.url()))
    assert getattr(answer, "kind", None) is FailureKind.PROTOCOL
    assert getattr(answer, "message", "") == "not HTTP: a chunk with a wrong or invalid length"


@pytest.mark.parametrize(
    "odd",
    [
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
        head(b"Transfer-Encoding : Chunked"),
        head(b"Transfer-Encoding: identity, chunked,"),
        head(b"Transfer-Encoding: chunked", b"no colon"),
        head(b"Transfer-Encoding: chunked", b"Upgrade: h2,h2c", b"Connection: Upgrade, Keep-Alive"),
        head(b"Transfer-Encoding: chunked", b"Connection: keep-alive, X-Any"),
        head(b"Transfer-Encoding: chunked", b"Proxy-Connection: keep-alive"),
        head(b"Transfer-Encoding: deflate, chunked"),
        head(b"Transfer-Encoding: chunked", b"X-Any: 1\r\n 2"),
        head(b"Transfer-Encoding: chunked", b"X-Any: " + b"y" * 20_000),
        head(b"Transfer-Encoding: chunked", version=b"HTTP/1.0"),
    ],
)
async def test_a_body_may_have_odd_chunks_whatever_its_head_is(odd: bytes) -> None:
    for sent in (b"5\nhello\n0\n\n", b"5 ; a=b\nhello\r\n0\r\nno colon\r\n\r\n"):
        for pieces in ([odd + sent], [odd, sent], [odd, *cut(sent, list(range(len(sent))))]):
            received = Received(*pieces)
            assert (received.body, received.has_ended, received.broken) == (b"hello", True, None)
            assert not received.is_reusable
    assert Received(odd + b"5 ; a=b\r\nhello\r\n0\r\n\r\n").body == b"hello"
    assert Received(odd + WHOLE).is_reusable is not odd.startswith(b"HTTP/1.0")
    assert isinstance(Received(odd + b"3\r\nhello\r\n").broken, BodyBroken)
    assert Received(odd + b"5\r\nhel", lost=True).broken is not None


@pytest.mark.parametrize("coding", [b"", b" ", b" ,", b" identity"])
async def test_a_header_that_names_no_transfer_coding_hides_no_length(coding: bytes) -> None:
    received = Received(head(b"Transfer-Encoding:" + coding, b"Content-Length: 5") + b"hello")
    assert (received.body, received.is_reusable) == (b"hello", True)


@pytest.mark.parametrize("coding", [b"binary", b"xchunked", b"foo, chunked", b"chunked, foo", b"chunked;q=1"])
async def test_no_connection_is_kept_behind_a_transfer_coding_that_is_ignored(coding: bytes) -> None:
    sent = WHOLE if b"chunked" in coding.split(b", ") else b"hello"
    lines = [b"Transfer-Encoding: " + coding, *([] if sent is WHOLE else [b"Content-Length: 5"])]
    for odd in ([], [b"Proxy-Connection: keep-alive"]):
        received = Received(head(*lines, *odd) + sent)
        assert (received.body, received.has_ended, received.is_reusable) == (b"hello", True, False)


@pytest.mark.parametrize(
    "odd",
    [
        b"Upgrade: h2c\r\nConnection: Upgrade, Keep-Alive",
        b"Upgrade: h2c\r\nConnection: Upgrade, X-Any",
        b"Connection: keep-alive, close",
        b"X-Any: 1\r\n 2",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 7",
    ],
)
@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_chunks_count_and_not_the_length_whatever_else_the_head_has(odd: bytes, version: bytes) -> None:
    both = head(b"Content-Length: 3", b"Transfer-Encoding: chunked", odd, version=version)
    received = Received(both + WHOLE)
    assert (received.body, received.has_ended, received.broken) == (b"hello", True, None)
    assert not received.is_reusable
    received = Received(both, asked="HEAD")
    assert (received.body, received.has_ended, received.is_reusable) == (b"", True, False)


@pytest.mark.parametrize("coding", [b"chunked ,", b"identity, chunked"])
@pytest.mark.parametrize(
    "length", [b"Content-Length: 3", b"Content-Length: 3\r\nContent-Length: 3", b"Content-Length: 3 , 3"]
)
async def test_the_length_beside_chunks_is_kept_in_the_headers_also_if_the_head_is_mended(
    coding: bytes, length: bytes
) -> None:
    received = Received(head(length, b"Transfer-Encoding: " + coding) + WHOLE)
    assert (received.body, received.has_ended, received.broken) == (b"hello", True, None)
    assert not received.is_reusable
    assert dict(received.message.raw_headers)[b"Content-Length"] == b"3"
