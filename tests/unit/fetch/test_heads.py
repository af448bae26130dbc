"""Heads that bend the rules: what is mended, and what is left to the parser to refuse."""

import asyncio
from typing import Any

import pytest
from aiohttp.http_parser import HttpResponseParser
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.fetch.connect.connections import Connections
from crawler.fetch.connect.handler import TolerantHandler
from crawler.fetch.connect.response_heads import (
    Headers,
    end_of_head,
    fix_head,
    may_be_head,
    read_plain_head,
    read_plain_head_in_python,
)
from crawler.testing.fetch.raw_server import head, page
from tests.framing import BODY, CASES, Reader, by_onceover, served

REFUSED = {
    "Content-Length twice, 5 and 3",
    "`0x5` as a chunk size",
    "a chunk longer than it says",
    "NUL in a header",
    "five bytes before the status line",
    "no status line, closed",
}
"""What most of Chromium, Firefox and curl refuse, what leaves the body's length in doubt, and what the parser can't."""

NAMES = st.text("abcXYZ-09", min_size=1, max_size=12).map(str.encode)
VALUES = st.binary(max_size=30).filter(lambda value: not set(value) & set(b"\r\n\0"))
FIELDS = st.lists(st.tuples(NAMES.filter(lambda name: name.lower() != b"content-length"), VALUES), max_size=8)


async def test_what_browsers_take_is_taken_and_what_is_in_doubt_is_not() -> None:
    async with served() as (url, _):
        answers = await by_onceover(url)
    taken = {name for number, name in enumerate(CASES) if answers[number] == BODY.decode()}
    assert taken == CASES.keys() - REFUSED


class Wire(asyncio.Transport):
    """A connection to nowhere."""

    def close(self) -> None: ...

    def abort(self) -> None: ...


@given(FIELDS, st.sampled_from([b"200 OK", b"404 Not Found", b"204", b"200 \xe4"]))
def test_a_sound_head_is_left_as_it_is(fields: list[tuple[bytes, bytes]], status: bytes) -> None:
    sound = head(*(b"%s: %s" % field for field in fields), b"Content-Length: 5", status=status)
    assert fix_head(sound) is sound
    assert end_of_head(sound + b"\r\n\r\n") == len(sound)


@given(
    st.lists(
        st.sampled_from(
            [b"a: b", b"no colon", b": v", b"x : y", b" folded", b"c\rd: e\rf", b"Transfer-Encoding: ,a\rb,", b""]
        ),
        max_size=6,
    )
)
def test_what_is_mended_needs_no_more_mending(lines: list[bytes]) -> None:
    once = fix_head(b"HTTP/1.9  200 OK\n" + b"".join(line + b"\r\n" for line in lines if line) + b"\n")
    assert fix_head(once) == once
    assert end_of_head(once) == len(once)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_have_an_end_or_none_wherever_the_search_goes_on(received: bytes, searched: int) -> None:
    end = end_of_head(received)
    assert end is None or received[:end].endswith((b"\n\n", b"\n\r\n"))
    if end is None or searched < end:
        assert end_of_head(received, searched) == end
    may_be_head(received)
    fix_head(received)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"X : 1", b"X: 1"),
        (b"X\t: 1", b"X: 1"),
        (b": 1", b""),
        (b"none", b""),
        (b"none\r\n folded to nothing", b""),
        (b"X: 1\r\n 2", b"X: 1\r\n 2"),
        (b"X: a\rSet-Cookie: b", b"X: a Set-Cookie: b"),
        (b"Content-Length: 5\r\ncontent-length:5", b"Content-Length: 5"),
        (b"Content-Length: 5 ,5,+5", b"Content-Length: 5"),
        (b"Content-Length: 5, 6", b"Content-Length: 5, 6"),
        (b"Content-Length: 5\r\nContent-Length: 05", b"Content-Length: 5\r\nContent-Length: 05"),
        (b"Content-Length: -5", b""),
        (b"Content-Length: ", b""),
        (b"Content-Length: x, x", b""),
        (b"Content-Length: x, y", b"Content-Length: x, y"),
        (b"Content-Length: " + b"9" * 5000, b""),
        (b"Content-Length: 5\r\n ", b"Content-Length: 5"),
        (b"Content-Length:\r\n\t5", b"Content-Length: 5"),
        (b"Content-Length: 5\r\n 6", b""),
        (b"X Any: 1\r\n folded to nothing", b""),
        (b"X(1): 1", b""),
        (b"Transfer-Encoding: \tchunked \t", b"Transfer-Encoding: chunked"),
        (b"transfer-encoding:gzip,\r\n\t, chunked,", b"Transfer-Encoding: gzip, chunked"),
        (b"Transfer-Encoding: Identity, chunked", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: identity\r\nTransfer-Encoding: ", b""),
        (b"Transfer-Encoding:", b""),
        (b"Transfer-Encoding: binary", b""),
        (b"Transfer-Encoding: 8bit,\r\n gzip, chun\rked, Chunked", b"Transfer-Encoding: gzip, Chunked"),
        (b"Transfer-Encoding: a\rb", b""),
        (b"Transfer-Encoding: chunked\0", b"Transfer-Encoding: chunked\0"),
    ],
)
def test_a_header_is_mended_where_that_leaves_no_doubt(sent: bytes, kept: bytes) -> None:
    assert fix_head(head(sent)) == (head(kept) if kept else head())


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "response",
    [
        page(BODY),
        head(status=b"103 Early Hints") + page(BODY),
        b"\r\n" + page(BODY, b"no colon"),
        b"\r\nx\r\n" + page(BODY),
        b"HTT" + page(BODY),
        b"HTTP/1.2 200 OK\nContent-Length: 5, 5\n\nhello",
        CASES["`http/1.1` in small letters"],
    ],
)
async def test_in_whatever_pieces_a_head_comes_it_is_the_same(response: bytes, size: int) -> None:
    handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
    handler.connection_made(Wire())
    handler.begin_request(may_have_body=True)
    for start in range(0, len(response), size):
        handler.data_received(response[start : start + size])
    message, payload = await handler.read()
    while message.code < 200:
        message, payload = await handler.read()
    received = b""
    while piece := await payload.readany():
        received += piece
    assert (message.code, received, handler.should_close) == (200, BODY, False)


FRAMING = st.sampled_from(
    [
        (b"Content-Length", b"5"),
        (b"content-length", b"07"),
        (b"Content-Length", b"5, 5"),
        (b"Content-Length", b"99999999999999999999"),
        (b"Connection", b"close"),
        (b"Connection", b"Keep-Alive"),
        (b"connection", b"keep-alive, close"),
        (b"Proxy-Connection", b"close"),
        (b"Transfer-Encoding", b"chunked"),
        (b"transfer-encoding", b"Chunked "),
        (b"Transfer-Encoding", b"gzip"),
        (b"Upgrade", b"h2,h2c"),
        (b"Connection", b"Upgrade"),
        (b"Connection", b"Upgrade, Keep-Alive"),
        (b"Connection", b"upgrade, close"),
        (b"Empty", b""),
        (b"Spaced", b"  \t a \t "),
        (b"Umlaut", b"\xc3\xa4\xe4"),
    ]
)


VERSIONS = st.sampled_from([b"HTTP/1.0", b"HTTP/1.1"])
STATUSES = st.sampled_from([b"200 OK", b"200", b"404 ", b"301 a  b ", b"500 \xe4", b"200  two", b"304 No", b"199 x"])
FIELDS = st.lists(st.one_of(FRAMING, st.tuples(NAMES, VALUES)), max_size=8)


@given(VERSIONS, STATUSES, FIELDS, st.integers(0, 300), st.binary(max_size=3), st.sampled_from([0, 0, 0, 1]))
@example(b"HTTP/1.1", b"200 OK", [(b"Content-Length", b"5"), (b"Long", b"x" * 16_338)], 0, b"", 0)
@example(b"HTTP/1.1", b"200 OK", [(b"Content-Length", b"5"), (b"Long", b"x" * 16_339)], 0, b"", 0)
def test_a_plain_head_is_read_the_same_with_and_without_the_extension(
    version: bytes, status: bytes, fields: list[tuple[bytes, bytes]], place: int, other: bytes, removed: int
) -> None:
    sent = b"%s %s\r\n%s\r\n" % (version, status, b"".join(b"%s: %s\r\n" % field for field in fields))
    damaged = sent[:place] + other + sent[place + removed :]
    for received in (sent, damaged):
        assert read_plain_head(received) == read_plain_head_in_python(received)


@given(VERSIONS, STATUSES, FIELDS)
async def test_a_plain_head_means_what_the_parser_reads_in_it(
    version: bytes, status: bytes, fields: list[tuple[bytes, bytes]]
) -> None:
    sent = b"%s %s\r\n%s\r\n" % (version, status, b"".join(b"%s: %s\r\n" % field for field in fields))
    plain = read_plain_head(sent)
    assert plain == read_plain_head(sent + b"\r\nmore: of it\r\n\r\n")
    if plain is None:
        return
    assert plain.size == len(sent) == end_of_head(sent)
    if plain.chunked and b"content-length" in plain.named:
        assert plain.should_close
        return  # the parser refuses it
    loop: Any = asyncio.get_running_loop()
    reader: Any = Reader()
    parser = HttpResponseParser(
        reader,
        loop,
        1000,
        read_until_eof=True,
        auto_decompress=False,
        max_line_size=65536,
        max_field_size=65536,
        max_headers=512,
    )
    [[message, payload]], _, _ = parser.feed_data(sent)
    assert (plain.version, plain.code, plain.reason) == (message.version, message.code, message.reason)
    assert (list(plain.raw_headers), plain.should_close) == (list(message.raw_headers), bool(message.should_close))
    assert (plain.chunked, plain.length is None) == (message.chunked, message.chunked)
    headers = Headers(plain.raw_headers, plain.named)
    for name in message.headers:
        assert headers.all(name.lower().encode()) == message.headers.getall(name)
        assert headers.first(name.lower().encode()) == message.headers[name]
    # The body is as long for both: a byte less is too few, and one more is not part of it.
    if plain.length is not None and plain.length < 10:
        parser.feed_data(b"x" * (plain.length - 1) if plain.length else b"")
        assert payload.is_eof() == (plain.length == 0)
        if plain.length:
            parser.feed_data(b"x")
            assert payload.is_eof()


@pytest.mark.parametrize(
    "field",
    [
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Content-Length: +5",
        b"Content-Length: 5\r\nConnection: close\r\nConnection: keep-alive",
        b"Content-Length: 5\r\nX: a\r\n folded",
        b"Content-Length : 5",
        b"Content-Length: 5\r\nConnection: keep-alive, close",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: identity",
        b"Transfer-Encoding: chunked\r\nProxy-Connection: close",
        b"Content-Length: 5\r\nX: " + b"y" * 20_000,
        b"X: 1",
    ],
)
def test_what_may_leave_a_doubt_is_not_plain(field: bytes) -> None:
    assert read_plain_head(head(field)) is None
    assert read_plain_head(head(b"Content-Length: 5")) is not None
    assert read_plain_head(head(b"Transfer-Encoding: chunked")) is not None
    assert read_plain_head(head(b"Transfer-Encoding: chunked", version=b"HTTP/1.0")) is None


@pytest.mark.parametrize("status", [b"204 No Content", b"205 Reset Content", b"304 Not Modified"])
def test_responses_without_a_body_are_plain_whatever_length_they_announce(status: bytes) -> None:
    for field in (b"Content-Length: 5", b"ETag: 1"):  # without a length, a kept connection would never end it
        plain = read_plain_head(head(field, status=status))
        assert plain is not None
        assert plain.length == 0
    assert read_plain_head(head(b"Content-Length: x", status=status)) is None
    assert read_plain_head(head(b"Transfer-Encoding: chunked", status=status)) is None


@pytest.mark.parametrize(
    "rubbish", [b"SSH-2.0-OpenSSH_9.2p1\r\n", b"\x15\x03\x01\0\2\2\n", b"HTTP/1.1 abc OK\r\n", b"<p>hello</p>"]
)
async def test_what_can_be_no_head_is_refused_at_once(rubbish: bytes) -> None:
    handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
    handler.connection_made(Wire())
    handler.begin_request(may_have_body=True)
    handler.data_received(rubbish)
    assert handler.exception() is not None


async def test_a_head_that_comes_just_after_its_request_was_given_up_is_dropped() -> None:
    handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
    handler.connection_made(Wire())
    handler.begin_request(may_have_body=True)
    handler.read().cancel()
    handler.data_received(page(BODY))
    assert (len(handler), handler.exception()) == (0, None)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("piece", [1000, 100_000])
async def test_empty_lines_before_a_head_are_passed_over_at_once(
    monkeypatch: pytest.MonkeyPatch, end: bytes, piece: int
) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr(TolerantHandler, "_parse", lambda _, data: parsed.append(data))
    handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
    handler.connection_made(Wire())
    handler.begin_request(may_have_body=True)
    sent = end * (200_000 // len(end)) + page(BODY)
    for at in range(0, len(sent), piece):
        handler.data_received(sent[at : at + piece])
    message, body = await handler.read()
    assert (message.code, await body.readany()) == (200, BODY)
    assert parsed == []


@pytest.mark.parametrize(
    "hint", [head(status=b"103 Early Hints"), b"HTTP/1.1 100\n\n", b"\n\nHTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_informational_responses_are_bounded(hint: bytes) -> None:
    for count, is_too_many in ((50, False), (51, True), (5000, True)):
        handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
        handler.connection_made(Wire())
        handler.begin_request(may_have_body=True)
        handler.data_received(hint * count + page(BODY))
        assert (handler.exception() is not None) == is_too_many
        assert len(handler._buffer) == min(count, 50) + (not is_too_many)
