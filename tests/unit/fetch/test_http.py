import asyncio
import gzip
import itertools
import os
import resource
import socket
import ssl
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd

from crawler.fetch.connect.connections import ConnectionLimits
from crawler.fetch.connect.routes import Routes
from crawler.fetch.http import HttpFetcher
from crawler.page import Failure, FailureKind, Fetched, NotModified, Page, Redirect, Request
from crawler.testing.fetch.raw_server import CLOSE, CUT, HANG, RESET, RawServer, Script, head, page, raw_server
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.warc_http import response_head
from tests.fetchers import Fetchers, http_fetcher
from tests.loops import LOOPS, on_each_loop
from tests.unit.fetch.test_names import FakeDns


async def fetch(fetcher: HttpFetcher, url: str, **more: Any) -> Fetched:
    return await fetcher.fetch(Request(url=url, **more))


async def answer(script: Script, **settings: Any) -> Fetched:
    """What a fetcher makes of a server that answers so."""
    async with raw_server({"/": script}) as server:
        fetcher = http_fetcher(**{"allow_private": True, **settings})
        try:
            return await fetch(fetcher, server.url())
        finally:
            await fetcher.aclose()


async def page_of(script: Script, **settings: Any) -> Page:
    answered = await answer(script, **settings)
    assert isinstance(answered, Page), answered
    return answered


async def failure_of(script: Script, **settings: Any) -> Failure:
    answered = await answer(script, **settings)
    assert isinstance(answered, Failure), answered
    assert answered.message
    return answered


async def answer_that_stops(script: Script, *limits: str, before: bool = False) -> Fetched:
    """What a fetcher makes of a server that sends no more after its headers, or `before` their end, when these limits
    have passed. On a slow machine they may pass before that much has come: then they are made longer."""
    seconds = 0.2
    while True:
        answered = await answer(script, **dict.fromkeys(limits, seconds))
        came = not isinstance(answered, Failure) or answered.answered or (before and answered.reached)
        if came or seconds > MAX_WAIT_S:
            return answered
        seconds *= 5


# what a response becomes


async def test_a_page_tells_what_was_asked_and_what_came(fetchers: Fetchers) -> None:
    async with raw_server({"/a": [page(b"<p>hi", b"Content-Type: text/html", b"X-Twice: 1", b"x-twice: 2")]}) as server:
        answered = await fetch(
            fetchers(headers={"From": "me@example.org"}), server.url("/a?b"), referer="http://r.test/"
        )
        assert isinstance(answered, Page)
        assert (answered.status, answered.reason, answered.http_version) == (200, "OK", "1.1")
        assert answered.body == b"<p>hi"
        assert answered.raw_body is answered.body
        assert answered.truncated is None
        assert answered.headers == [
            (b"Content-Length", b"5"),
            (b"Content-Type", b"text/html"),
            (b"X-Twice", b"1"),
            (b"x-twice", b"2"),
        ]
        assert (answered.ip, answered.port) == ("127.0.0.1", server.port)
        assert answered.request_headers == server.seen[0].headers
        assert dict(answered.request_headers) == {
            "Host": f"127.0.0.1:{server.port}",
            "User-Agent": "onceover/1.0",
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "From": "me@example.org",
            "Referer": "http://r.test/",
        }
        assert 0 <= answered.duration_s < 60
        assert answered.fetched_at > 1_700_000_000


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/?",
        "/a?",
        "//b//c/",
        "/%7e%zz|^`{}",
        "/x?a=b+c&d=%20'",
        "/a%2Fb;c=d?e?f",
        "/x?a=%E4&b=/../",
        "/.well-known/a!$()*,:@",
    ],
)
async def test_the_url_goes_over_the_wire_byte_for_byte(fetchers: Fetchers, target: str) -> None:
    async with raw_server(lambda _: [page()]) as server:
        await fetch(fetchers(), server.url(target))
        assert server.targets == [target]


async def test_a_fragment_stays_at_home(fetchers: Fetchers) -> None:
    async with raw_server(lambda _: [page()]) as server:
        answered = await fetch(fetchers(), server.url("/a?#top"))
        assert server.targets == ["/a?"]
        assert answered.url == server.url("/a?#top")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
async def test_a_redirect_is_returned_and_not_followed(fetchers: Fetchers, status: int) -> None:
    script = [page(b"gone", b"Location: /b c", status=b"%d Elsewhere" % status)]
    async with raw_server({"/a": script}) as server:
        answered = await fetch(fetchers(), server.url("/a"))
        assert isinstance(answered, Redirect)
        assert (answered.status, answered.location, answered.body) == (status, "/b c", b"gone")
        assert server.targets == ["/a"]


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b"/\xc3\xa4", "/ä"),
        (b"/\xe4?x=\xe4", "/%E4?x=%E4"),
        (b"/\xc3\xa4\xe4", "/ä%E4"),
        (b"  /padded ", "/padded"),
        (b"javascript:alert(1)", "javascript:alert(1)"),
    ],
)
async def test_octets_of_a_location_that_are_not_utf_8_are_asked_for_as_they_are(sent: bytes, read: str) -> None:
    answered = await answer([page(b"", b"Location: " + sent, status=b"302 Found")])
    assert isinstance(answered, Redirect)
    assert answered.location == read


@pytest.mark.parametrize(("etag", "is_sent"), [('"ä☃"'.encode(), True), (b'"\xe4"', False), (b'"\x01"', False)])
async def test_a_validator_is_sent_back_byte_for_byte_or_not_at_all(etag: bytes, is_sent: bool) -> None:
    async with raw_server({"/": [page(b"x", b"ETag: " + etag)]}) as server:
        fetcher = http_fetcher(allow_private=True)
        first = await fetch(fetcher, server.url())
        assert isinstance(first, Page)
        await fetch(fetcher, server.url(), etag=first.header("etag"))
        await fetcher.aclose()
        assert server.seen[1].header("If-None-Match") == (etag.decode("latin-1") if is_sent else None)


@pytest.mark.parametrize("status", [b"301 Nowhere", b"300 Choose", b"305 Proxy"])
async def test_a_redirect_that_says_not_where_to_is_a_page(status: bytes) -> None:
    assert (await page_of([page(b"?", status=status)])).status == int(status[:3])


async def test_what_is_still_current_is_not_modified(fetchers: Fetchers) -> None:
    async with raw_server({"/": [head(b'ETag: "1"', status=b"304 Not Modified")]}) as server:
        answered = await fetch(fetchers(), server.url(), etag='"1"', last_modified="Sat, 01 Jan 2022 00:00:00 GMT")
        assert isinstance(answered, NotModified)
        assert server.seen[0].header("If-None-Match") == '"1"'
        assert server.seen[0].header("If-Modified-Since") == "Sat, 01 Jan 2022 00:00:00 GMT"


@pytest.mark.parametrize("etag", [None, '"\x01"'], ids=["no validator", "one that can't be sent"])
async def test_a_304_that_nobody_asked_for_is_no_answer(fetchers: Fetchers, etag: str | None) -> None:
    async with raw_server({"/": [head(b'ETag: "1"', status=b"304 Not Modified")]}) as server:
        answered = await fetch(fetchers(), server.url(), etag=etag)
        assert isinstance(answered, Failure)
        assert (answered.kind, answered.reached) == (FailureKind.PROTOCOL, True)
        assert answered.message == "not HTTP: a 304 to a request that set no condition"


async def test_a_status_that_is_not_final_is_no_answer(fetchers: Fetchers) -> None:
    script = [head(b"Content-Length: 4", status=b"101 Whatever"), b"body"]
    async with raw_server({"/": script, "/next": [page(b"next")]}) as server:
        fetcher = fetchers()
        answered = await fetch(fetcher, server.url())
        assert isinstance(answered, Failure)
        assert (answered.kind, answered.message) == (FailureKind.PROTOCOL, "not HTTP: a status of 101")
        assert answered.response is None
        after = await fetch(fetcher, server.url("/next"))
        assert isinstance(after, Page)
        assert after.body == b"next"


@pytest.mark.parametrize("status", [600, 666, 999])
async def test_a_status_above_those_of_http_is_an_answer(status: int, fetchers: Fetchers) -> None:
    script = [head(b"Content-Length: 4", status=b"%d Whatever" % status), b"body"]
    async with raw_server({"/": script}) as server:
        answered = await fetch(fetchers(), server.url())
        assert isinstance(answered, Page)
        assert (answered.status, answered.reason, answered.body) == (status, "Whatever", b"body")


async def test_a_connection_that_changes_its_protocol_unasked_is_used_no_more(fetchers: Fetchers) -> None:
    # Some servers take 101 for an interim response. The final one would answer the next request.
    scripts: dict[str, Script] = {"/": [head(status=b"101 Switching Protocols")], "/next": [page(b"next")]}
    async with raw_server(scripts) as server:
        fetcher = fetchers()
        assert isinstance(await fetch(fetcher, server.url()), Failure)
        assert isinstance(await fetch(fetcher, server.url("/next")), Page)
        assert [seen.connection for seen in server.seen] == [0, 1]


@pytest.mark.parametrize("reason", [b"\xe4\xf6", "Trouvé".encode(), "Не найдено".encode(), b"\xff\xc3\xa9\x80"])
async def test_a_reason_may_be_anything_and_is_archived_as_it_came(reason: bytes) -> None:
    answered = await page_of([page(status=b"200 " + reason)])
    assert response_head(answered, body_bytes=None).startswith(b"HTTP/1.1 200 " + reason + b"\r\n")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5",
        b"Connection: a, b",
        b"Connection: a, b\r\nContent-Length: 5",
        b"Transfer-Encoding: chunked",
    ],
)
async def test_nobody_waits_for_the_body_of_a_205_whatever_its_head_says(framing: bytes) -> None:
    answered = await page_of([head(framing, status=b"205 Reset Content"), HANG])
    assert (answered.status, answered.body, answered.truncated) == (205, b"", None)


async def test_informational_responses_are_passed_over() -> None:
    hints = head(b"Link: </a.css>; rel=preload", status=b"103 Early Hints") + head(status=b"100 Continue")
    assert (await page_of([hints, page(b"final")])).body == b"final"


@pytest.mark.parametrize(
    "hint",
    [
        head(status=b"100 Continue", version=b"HTTP/1.0"),
        head(b"Connection: close", status=b"103 Early Hints"),
        head(b"Content-Length: 3", b"Transfer-Encoding: chunked", status=b"103 Early Hints"),
    ],
)
@pytest.mark.parametrize("framing", [b"Content-Length: 5", b"X-Any: 1", b"Content-Length: 5\r\nConnection: a, b"])
async def test_what_an_informational_response_says_of_the_connection_is_not_for_the_final_one(
    hint: bytes, framing: bytes
) -> None:
    assert (await page_of([hint + head(framing) + b"final", CLOSE])).body == b"final"
    assert (await page_of([hint, head(framing), b"final", CLOSE])).body == b"final"


@pytest.mark.parametrize(("referer", "told"), [("http://r.test/", "http://r.test/"), ("https://r.test/", None)])
async def test_what_was_read_over_tls_is_not_told_in_the_clear(
    fetchers: Fetchers, referer: str, told: str | None
) -> None:
    async with raw_server({"/": [page()]}) as server:
        await fetch(fetchers(), server.url(), referer=referer)
        assert server.seen[0].header("Referer") == told


async def test_cookies_are_not_kept(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"", b"Set-Cookie: a=b")]}) as server:
        fetcher = fetchers()
        await fetch(fetcher, server.url())
        await fetch(fetcher, server.url())
        assert [seen.header("Cookie") for seen in server.seen] == [None, None]


@pytest.mark.parametrize("name", ["Host", "Connection", "content-length", "X\nY", "Accept-Encoding"])
async def test_headers_that_frame_a_message_or_are_none_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="headers:"):
        http_fetcher(headers={name: "1"})


async def test_a_header_value_of_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one line"):
        http_fetcher(headers={"X": "a\r\nCookie: b"})


async def test_configured_headers_take_the_place_of_ours(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page()]}) as server:
        await fetch(fetchers(headers={"accept": "text/*", "Authorization": "Bearer x"}), server.url())
        assert [value for name, value in server.seen[0].headers if name.lower() == "accept"] == ["text/*"]


async def test_a_header_is_sent_once_in_whatever_case_it_is_configured(
    fetchers: Fetchers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_LOGIN", "anna:secret")
    configured = {"AUTHORIZATION": "Bearer x", "referer": "http://other.test/", "if-none-match": "old", "RANGE": "x"}
    async with raw_server({"/": [page()]}) as server:
        fetcher = fetchers(headers=configured, routes=Routes(logins={"127.0.0.1": "env:SITE_LOGIN"}))
        await fetch(fetcher, server.url(), referer="http://from.test/", etag='"new"', is_check=True)
        sent = {"authorization": "", "referer": "http://from.test/", "if-none-match": '"new"', "range": "bytes=0-0"}
        for name, value in sent.items():
            found = [each for key, each in server.seen[0].headers if key.lower() == name]
            assert len(found) == 1, (name, found)
            assert found[0].startswith(value or "Basic ")


async def test_credentials_are_sent_and_not_recorded(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page()]}) as server:
        answered = await fetch(fetchers(headers={"Authorization": "Bearer x"}), server.url())
        assert isinstance(answered, Page)
        assert server.seen[0].header("Authorization") == "Bearer x"
        assert "Authorization" not in dict(answered.request_headers)


async def test_configured_headers_that_may_be_secret_are_sent_and_not_recorded(fetchers: Fetchers) -> None:
    configured = {"X-Api-Key": "secret", "accept-LANGUAGE": "de"}
    wanted = (("X-Requested-With", "script"), ("x-api-KEY", "theirs"))
    async with raw_server({"/": [page()], "/bad": [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"]}) as server:
        for path in ("/", "/bad"):
            answered = await fetch(fetchers(headers=configured), server.url(path), headers=wanted)
            found = answered.response if isinstance(answered, Failure) else answered
            assert isinstance(found, Page)
            assert server.seen[-1].header("X-Api-Key") == "secret"
            recorded = {name.lower(): value for name, value in found.request_headers}
            assert "x-api-key" not in recorded
            assert (recorded["accept-language"], recorded["x-requested-with"]) == ("de", "script")


# bodies

TEXT = b"It was the best of times, it was the worst of times. " * 40


@pytest.mark.parametrize(
    ("coding", "coded"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstd.compress(TEXT)),
        ("gzip, br", brotli.compress(gzip.compress(TEXT))),
    ],
    ids=["gzip", "members", "deflate", "raw-deflate", "br", "zstd", "both"],
)
async def test_a_coded_body_comes_both_ways(coding: str, coded: bytes) -> None:
    answered = await page_of([page(coded, b"Content-Encoding: " + coding.encode())])
    assert answered.body == TEXT
    assert answered.raw_body == coded
    assert answered.truncated is None


async def test_a_large_coded_body_is_decoded_too() -> None:
    text = b"".join(b"%d " % (number * 7919 % 1_000_003) for number in range(100_000))
    coded = gzip.compress(text)
    assert len(coded) > 100_000
    answered = await page_of([page(coded, b"Content-Encoding: gzip")])
    assert answered.body == text


async def test_a_body_that_is_not_coded_as_it_says_is_a_failure() -> None:
    failure = await failure_of([page(TEXT, b"Content-Encoding: gzip")])
    assert failure.kind is FailureKind.ENCODING
    assert failure.ip == "127.0.0.1"
    assert failure.response is not None
    assert (failure.response.raw_body, failure.response.status, failure.response.truncated) == (TEXT, 200, None)


async def test_a_body_that_breaks_while_it_is_decoded_is_kept_in_part() -> None:
    coded = bytearray(gzip.compress(bytes(range(256)) * 4000, compresslevel=0))
    coded[-8] ^= 0xFF
    answered = await page_of([page(bytes(coded), b"Content-Encoding: gzip")])
    assert answered.truncated == "encoding"
    assert answered.raw_body == coded
    assert answered.body == bytes(range(256)) * 4000


@pytest.mark.parametrize("transfer", ["length", "chunked", "close"])
async def test_a_body_over_the_limit_is_cut_and_marked(transfer: str) -> None:
    body = b"x" * 300_000
    scripts: dict[str, Script] = {
        "length": [page(body)],
        "chunked": [head(b"Transfer-Encoding: chunked"), b"%x\r\n%s\r\n" % (len(body), body), b"0\r\n\r\n"],
        "close": [head(), body, CLOSE],
    }
    script = scripts[transfer]
    answered = await page_of(script, max_body_bytes=1000)
    assert answered.body == b"x" * 1000
    assert answered.truncated == "length"
    assert (await page_of(script, max_body_bytes=300_000)).truncated is None


async def test_a_sitemap_may_be_longer_than_a_page(fetchers: Fetchers) -> None:
    packed = page(gzip.compress(b"x" * 3000), b"Content-Encoding: gzip")
    async with raw_server({"/": [page(b"x" * 3000)], "/gz": [packed]}) as server:
        fetcher = fetchers(max_body_bytes=1000, max_sitemap_bytes=2000)
        for path in ("/", "/gz"):
            found = [await fetch(fetcher, server.url(path), is_sitemap=is_sitemap) for is_sitemap in (False, True)]
            assert [len(each.body) for each in found if isinstance(each, Page)] == [1000, 2000]
        generous = fetchers(max_body_bytes=10_000, max_sitemap_bytes=2000)
        found = [await fetch(generous, server.url("/"), is_sitemap=True)]
        assert [len(each.body) for each in found if isinstance(each, Page)] == [3000]


async def test_a_small_body_over_the_limit_is_cut_too() -> None:
    answered = await page_of([page(b"12345")], max_body_bytes=3)
    assert (answered.body, answered.truncated) == (b"123", "length")
    assert "fetch.max_body_bytes" in (answered.message or "")


async def test_a_body_without_end_is_cut_at_the_limit() -> None:
    answered = await page_of([head(), itertools.repeat(b"abc" * 1000)], max_body_bytes=100_000)
    assert len(answered.body) == 100_000
    assert answered.truncated == "length"


async def test_a_bomb_is_cut_at_the_limit_on_decoded_bytes() -> None:
    bomb = gzip.compress(bytes(30_000_000))
    answered = await page_of([page(bomb, b"Content-Encoding: gzip")], max_body_bytes=2_000_000)
    assert len(answered.body) == 2_000_000
    assert answered.raw_body == bomb
    assert answered.truncated == "length"
    assert "fetch.max_body_bytes" in (answered.message or "")


async def test_a_body_that_is_cut_for_its_compression_says_so() -> None:
    answered = await page_of([page(gzip.compress(bytes(10_000_000)), b"Content-Encoding: gzip")], max_ratio=10.0)
    assert (answered.truncated, answered.message) == (
        "length",
        "cut because it decompresses to more than 10 times its size",
    )


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    answered = await page_of([head(version=b"HTTP/1.0"), b"all ", b"of it", CLOSE])
    assert answered.body == b"all of it"
    assert answered.truncated is None
    assert answered.http_version == "1.0"


@pytest.mark.parametrize(
    "script",
    [
        [head(b"Content-Length: 100"), b"half", CLOSE],
        [head(b"Transfer-Encoding: chunked"), b"4\r\nhalf\r\n", CLOSE],
    ],
)
async def test_a_body_that_breaks_off_is_kept_and_marked(script: Script) -> None:
    answered = await page_of(script)
    assert answered.body == b"half"
    assert answered.truncated == "disconnect"


@pytest.mark.parametrize(
    ("transfer", "content"),
    [(b"gzip, chunked", None), (b"Gzip,Chunked", None), (b"deflate, chunked", None), (b"gzip, chunked", b"br")],
)
async def test_a_transfer_coding_is_undone_and_a_content_coding_remains(transfer: bytes, content: bytes | None) -> None:
    made = TEXT if content is None else brotli.compress(TEXT)
    sent = zlib.compress(made) if transfer.startswith(b"deflate") else gzip.compress(made)
    headers = [b"Transfer-Encoding: " + transfer, *([] if content is None else [b"Content-Encoding: " + content])]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (sent[:9], sent[9:])) + b"0\r\n\r\n"
    answered = await page_of([head(*headers) + chunks])
    assert (answered.body, answered.raw_body, answered.truncated) == (TEXT, made, None)
    broken = await failure_of([head(*headers) + b"4\r\nnone\r\n0\r\n\r\n"])
    assert broken.kind is FailureKind.ENCODING


async def test_a_transfer_coding_that_ends_with_the_connection_is_undone_too() -> None:
    coded = gzip.compress(TEXT)
    answered = await page_of([head(b"Transfer-Encoding: gzip"), coded, CLOSE])
    assert (answered.body, answered.truncated) == (TEXT, None)
    torn = await page_of([head(b"Transfer-Encoding: gzip"), coded[: len(coded) // 2], CLOSE])
    assert torn.truncated == "disconnect"


async def test_a_body_whose_transfer_coding_can_not_be_undone_is_archived_as_it_came() -> None:
    answered = await answer([head(b"Transfer-Encoding: gzip"), b"no gzip", CLOSE])
    assert isinstance(answered, Failure)
    assert (answered.kind, getattr(answered.response, "raw_body", None)) == (FailureKind.ENCODING, b"no gzip")
    missing = await page_of([head(b"Transfer-Encoding: gzip", status=b"404 Not Found"), b"no gzip", CLOSE])
    assert (missing.status, missing.body, missing.raw_body) == (404, b"", b"no gzip")


@pytest.mark.parametrize(
    ("content_range", "truncated"),
    [
        (b"Content-Range: bytes 0-99/100", None),
        (b"content-range: Bytes 0-99/100", None),
        (b"Content-Range: bytes 0-99/200", "partial"),
        (b"Content-Range: bytes 100-199/200", "partial"),
        (b"Content-Range: bytes 0-99/*", "partial"),
        (b"Content-Range: bytes 0-%s/100" % (b"9" * 5_000), "partial"),
        (b"X-Nothing: 1", "partial"),
    ],
)
async def test_a_part_of_a_document_that_nobody_asked_for_is_marked(
    content_range: bytes, truncated: str | None
) -> None:
    part = head(content_range, b"Content-Length: 100").replace(b"200 OK", b"206 Partial Content")
    answered = await page_of([part, b"x" * 100])
    assert (answered.status, answered.body, answered.truncated) == (206, b"x" * 100, truncated)


LIST = b"<!doctype html><html><ul>" + b"".join(b"<li><a href=/%d>%d</a>" % (n, n * n * 7919) for n in range(300))
LIST += b"</ul></html>\n"
CODERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"gzip": gzip.compress,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"zstd": zstd.compress,
}


@pytest.mark.parametrize("coding", CODERS)
async def test_a_compressed_body_that_breaks_off_is_marked_though_it_has_no_length(coding: bytes) -> None:
    coded = CODERS[coding](LIST)
    headers = head(b"Content-Type: text/html", b"Content-Encoding: " + coding)
    assert (await page_of([headers, coded, CLOSE])).truncated is None
    torn = await page_of([headers, coded[: len(coded) // 2], CLOSE])
    assert torn.truncated == "disconnect"
    assert torn.message == "the compressed body has no end"
    assert torn.raw_body == coded[: len(coded) // 2]
    assert LIST.startswith(torn.body)


@pytest.mark.parametrize("coding", CODERS)
async def test_a_compressed_body_without_its_end_in_a_whole_message_is_decoded_in_part(coding: bytes) -> None:
    torn = await page_of([page(CODERS[coding](LIST)[:-20], b"Content-Encoding: " + coding)])
    assert torn.truncated == "encoding"


@pytest.mark.parametrize(("more", "end", "truncated"), [(0, CLOSE, None), (0, HANG, None), (1, CLOSE, "disconnect")])
@pytest.mark.parametrize("coding", CODERS)
async def test_a_compressed_body_is_whole_though_its_length_is_that_of_the_document(
    coding: bytes, more: int, end: Any, truncated: str | None
) -> None:
    headers = head(b"Content-Encoding: " + coding, b"Content-Length: %d" % (len(LIST) + more))
    answered = await answer_that_stops([headers, CODERS[coding](LIST), end], "window_s")
    assert isinstance(answered, Page), answered
    assert (answered.body, answered.truncated, answered.message is None) == (LIST, truncated, truncated is None)


@pytest.mark.parametrize("body", [b"5\r\nhello\r\n", b""])
@pytest.mark.parametrize("trailers", [b"", b"X: y\r\n", b"X: y"])
async def test_a_body_is_whole_with_its_last_chunk_though_the_end_of_its_trailers_never_comes(
    body: bytes, trailers: bytes
) -> None:
    sent = head(b"Transfer-Encoding: chunked") + body + b"0\r\n" + trailers
    answered = await answer_that_stops([sent, HANG], "window_s")
    assert isinstance(answered, Page), answered
    assert (answered.body, answered.truncated, answered.message) == (b"hello" if body else b"", None, None)


async def test_a_compressed_document_with_its_end_is_whole_though_its_stream_has_none() -> None:
    coder = zlib.compressobj(wbits=31)
    flushed = coder.compress(LIST) + coder.flush(zlib.Z_SYNC_FLUSH)
    whole = await page_of([head(b"Content-Encoding: gzip"), flushed, CLOSE])
    assert (whole.body, whole.truncated) == (LIST, None)


@pytest.mark.parametrize("framing", [(), (b"Content-Length: 100",), (b"Transfer-Encoding: chunked",)])
async def test_a_body_that_ends_with_a_reset_is_kept_and_marked(framing: tuple[bytes, ...]) -> None:
    script: Script = [head(*framing), b"4\r\nhalf\r\n" if framing and b"chunked" in framing[0] else b"half", RESET]
    answered = await page_of(script)
    assert (answered.body, answered.truncated) == (b"half", "disconnect")
    assert answered.message == "closed before the body was whole"


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_body_of_broken_chunks_is_kept_up_to_them(at_once: bool) -> None:
    headers, chunks = head(b"Transfer-Encoding: chunked"), b"4\r\nhalf\r\nnot a length\r\n"
    answered = await page_of([headers + chunks, HANG] if at_once else [headers, chunks, HANG])
    assert (answered.body, answered.truncated, answered.cut_by) == (b"half", "disconnect", FailureKind.PROTOCOL)


@pytest.mark.parametrize("end", [CLOSE, RESET])
async def test_a_body_of_which_nothing_came_is_a_failure(end: Any) -> None:
    failure = await failure_of([head(b"Content-Length: 100"), end])
    assert failure.kind is FailureKind.DISCONNECTED
    assert failure.response is not None
    assert (failure.response.headers, failure.response.raw_body) == ([(b"Content-Length", b"100")], b"")
    assert failure.response.truncated == "disconnect"


async def test_a_body_that_takes_too_long_is_kept_and_marked() -> None:
    answered = await answer_that_stops([head(b"Content-Length: 100") + b"half", HANG], "timeout_s")
    assert isinstance(answered, Page), answered
    assert answered.body == b"half"
    assert answered.truncated == "time"
    assert "fetch.timeout_s" in (answered.message or "")


async def test_a_length_may_have_any_number_of_leading_zeros() -> None:
    for length in (b"5", b"05", b"0" * 5000 + b"5"):
        assert (await page_of([head(b"Content-Length: " + length), b"hello", HANG])).body == b"hello"


async def test_a_redirect_whose_body_breaks_off_is_a_redirect() -> None:
    answered = await answer([head(b"Content-Length: 9", b"Location: /b", status=b"302 Found"), CLOSE])
    assert isinstance(answered, Redirect)
    assert (answered.location, answered.truncated) == ("/b", "disconnect")


CUT_HEADS = pytest.mark.parametrize(
    "cut",
    [
        pytest.param(b"HTTP/1.1 302 Found\r\nLocation: /b\r\n", id="plain"),
        pytest.param(b"HTTP/1.0 302 Found\nLocation : /b\nX-Any", id="mended"),
        pytest.param(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /b\r\n\r", id="no body"),
        pytest.param(b"HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\nLocation: /b\r\n", id="chunks"),
    ],
)


@CUT_HEADS
async def test_a_head_without_its_end_is_its_status_if_the_server_closes(cut: bytes) -> None:
    answered = await answer([cut, CLOSE])
    assert isinstance(answered, Redirect), answered
    assert (answered.location, answered.body) == ("/b", b"")
    assert not (await failure_of([cut, RESET])).answered
    assert (await page_of([cut.replace(b"302 Found", b"404"), CLOSE])).status == 404
    for cut_short in (cut.replace(b"302 Found", b"200 OK"), cut[: cut.index(b"/b")]):
        assert not (await failure_of([cut_short, CLOSE])).answered


@pytest.mark.parametrize(
    ("coding", "length", "end", "truncated"),
    [(b"gzip", 5, HANG, "encoding"), (b"identity", 9, CLOSE, "disconnect"), (b"gzip", 9, HANG, "time")],
)
async def test_an_answer_other_than_a_success_is_its_status_though_its_body_cannot_be_read(
    coding: bytes, length: int, end: Any, truncated: str
) -> None:
    fields = [b"Content-Encoding: " + coding, b"Content-Length: %d" % length, b"Retry-After: 60"]
    body = b"plain" if length == 5 else b""
    script: Script = [head(*fields, status=b"503 Service Unavailable") + body, end]
    refused = await answer_that_stops(script, "timeout_s", "head_timeout_s")
    assert isinstance(refused, Page), refused
    assert (refused.status, refused.body, refused.truncated) == (503, b"", truncated)
    assert refused.raw_body == body
    assert refused.header("retry-after") == "60"


async def test_a_redirect_whose_body_is_not_coded_as_it_says_is_a_redirect() -> None:
    fields = [b"Content-Encoding: gzip", b"Location: /b"]
    answered = await answer([page(b"moved", *fields, status=b"301 Moved Permanently")])
    assert isinstance(answered, Redirect)
    assert (answered.location, answered.body, answered.raw_body) == ("/b", b"", b"moved")


# what is no response


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ([CLOSE], FailureKind.DISCONNECTED),
        ([RESET], FailureKind.DISCONNECTED),
        ([b"HTTP/1.1 200 OK\r\nContent-Le", CLOSE], FailureKind.DISCONNECTED),
        ([b"<html>no headers at all, as in 1991</html>", CLOSE], FailureKind.PROTOCOL),
        ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", CLOSE], FailureKind.PROTOCOL),
        ([b"SSH-2.0-OpenSSH_9.2p1\r\n", CLOSE], FailureKind.PROTOCOL),
        ([b"HTTP/1.1 abc OK\r\n\r\n", CLOSE], FailureKind.PROTOCOL),
        ([head(b"Content-Length: 1", b"Content-Length: 2"), b"ab", CLOSE], FailureKind.PROTOCOL),
        ([head(b"A: \0b"), CLOSE], FailureKind.PROTOCOL),
        ([head(b"A: " + b"x" * 1_000_000), CLOSE], FailureKind.PROTOCOL),
        ([head(*[b"A%d: b" % number for number in range(100_000)]), CLOSE], FailureKind.PROTOCOL),
        ([b"HTTP/1.1 200 OK\r\n", (b"A%d: b\r\n" % number for number in itertools.count())], FailureKind.PROTOCOL),
    ],
)
async def test_what_is_no_response_is_a_failure_with_its_kind(script: Script, kind: FailureKind) -> None:
    failure = await failure_of(script)
    assert failure.kind is kind
    assert not any(raw in failure.message for raw in ("b'", 'b"', "^", "Error", "[Errno", "Got more"))
    assert failure.reached
    assert failure.message.isprintable()
    assert len(failure.message) <= 200


@pytest.mark.parametrize("script", [[HANG], [b"HTTP/1.1 200 OK\r\n", HANG]])
async def test_a_server_that_does_not_come_to_the_point_times_out(script: Script) -> None:
    failure = await answer_that_stops(script, "timeout_s", before=True)
    assert isinstance(failure, Failure), failure
    assert failure.kind is FailureKind.TIMEOUT
    assert (failure.reached, failure.answered) == (True, False)


async def test_a_server_that_sends_headers_alone_times_out_and_has_answered() -> None:
    failure = await answer_that_stops([head(b"Content-Length: 9"), HANG], "timeout_s")
    assert isinstance(failure, Failure), failure
    assert failure.kind is FailureKind.TIMEOUT
    assert (failure.reached, failure.answered) == (True, True)


@pytest.mark.parametrize(
    ("script", "answered"),
    [
        ([CLOSE], False),
        ([b"HTTP/1.1 200 OK\r\nContent-Le", CLOSE], False),
        ([head(b"Content-Length: 9"), CLOSE], True),
    ],
)
async def test_a_connection_lost_after_the_headers_is_an_answer_that_broke_off(
    script: Script, *, answered: bool
) -> None:
    failure = await failure_of(script)
    assert (failure.kind, failure.answered) == (FailureKind.DISCONNECTED, answered)


async def test_a_header_of_32_kilobytes_is_read() -> None:
    answered = await page_of([page(b"", b"Content-Security-Policy: " + b"x" * 32_000)])
    assert len(answered.header("content-security-policy") or "") == 32_000


async def test_a_server_that_is_down_is_a_failure(fetchers: Fetchers) -> None:
    async with raw_server({}) as server:
        url = server.url()
    failure = await fetch(fetchers(), url)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.no_connection) == (FailureKind.CONNECT, True)
    assert "127.0.0.1" not in failure.message


async def test_no_server_is_to_blame_if_no_more_files_can_be_opened(fetchers: Fetchers) -> None:
    """Its URLs would be given up, and its host would count as dead."""
    async with raw_server({"/": [page(b"")]}) as server:
        fetcher = fetchers()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            with pytest.raises(OSError, match=rf"Too many open files: this process may have {free} .ulimit -n.; raise"):
                await fetch(fetcher, server.url())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert isinstance(await fetch(fetcher, server.url()), Page)


@pytest.mark.parametrize("url", ["ftp://example.org/", "http://", "/relative", "", "http://a:b/", "http://a:70000/"])
async def test_what_is_no_web_url_is_a_failure_that_reached_nobody(fetchers: Fetchers, url: str) -> None:
    failure = await fetch(fetchers(), url)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BAD_URL
    assert not failure.reached


async def test_a_name_of_several_addresses_that_all_refuse_says_so_in_words(fetchers: Fetchers) -> None:
    async with raw_server({}) as server:
        port = server.port
    dns = FakeDns(both_test=["127.0.0.1", "127.0.0.2", "::1"])
    failure = await fetch(fetchers(resolver=dns), f"http://both.test:{port}/")
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.CONNECT
    assert failure.message in ("Connection refused", "no connection to any of its addresses")


async def test_a_name_that_does_not_exist_is_a_failure_that_reached_nobody(fetchers: Fetchers) -> None:
    failure = await fetch(fetchers(), "http://nowhere.invalid/")
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.DNS
    assert not failure.reached


# connections


async def test_a_connection_is_used_again(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers()
        answers = [await fetch(fetcher, server.url()) for _ in range(3)]
        assert server.connections == 1
        assert [(each.ip, getattr(each, "port", None)) for each in answers] == [("127.0.0.1", server.port)] * 3


@pytest.mark.parametrize(
    "first",
    [
        [head(b"Content-Length: 5", status=b"204 No Content"), b"extra"],
        [head(b"Content-Length: 5", status=b"205 Reset Content"), b"extra"],
        [head(b"Content-Length: 5", status=b"304 Not Modified"), b"extra"],
        [page(b"short") + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"],
        [page(b"short") + b" and more than was announced"],
    ],
)
async def test_what_comes_behind_a_response_is_taken_for_no_other(fetchers: Fetchers, first: Script) -> None:
    async with raw_server({"/first": first, "/second": [page(b"second")]}) as server:
        fetcher = fetchers()
        await fetch(fetcher, server.url("/first"))
        answered = await fetch(fetcher, server.url("/second"))
        assert isinstance(answered, Page)
        assert answered.body == b"second"


@pytest.mark.parametrize("end", [CLOSE, RESET])
async def test_a_server_that_closes_a_new_connection_is_asked_once(fetchers: Fetchers, end: Any) -> None:
    async with raw_server({"/": [end]}) as server:
        failure = await fetch(fetchers(), server.url())
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.DISCONNECTED
        assert len(server.seen) == 1


async def test_a_host_gets_no_more_connections_than_allowed(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(per_host=2)
        await asyncio.gather(*(fetch(fetcher, server.url()) for _ in range(10)))
        assert server.connections == 2


async def test_a_host_of_several_queues_gets_the_connections_of_each(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server, raw_server({"/": [page(b"x")]}) as other:
        fetcher = fetchers(per_host=2, queues_of=lambda url: 3 if url == server.url("/") else 1)
        await asyncio.gather(*(fetch(fetcher, each.url("/")) for each in (server, other) for _ in range(10)))
        assert (server.connections, other.connections) == (6, 2)


async def test_where_many_connections_are_open_new_ones_are_not_kept(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(hosts={"*.sim.test": f"127.0.0.1:{server.port}"}, limits=ConnectionLimits(count=3))
        for number in range(10):
            await fetch(fetcher, f"http://h{number}.sim.test/")
        assert server.connections == 10
        # The last of them may still be closing.
        assert server.open <= 4


async def test_closing_closes_every_connection_and_twice_is_harmless() -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = http_fetcher(allow_private=True)
        await fetch(fetcher, server.url())
        assert server.open == 1
        await fetcher.aclose()
        await fetcher.aclose()
        await server.gone.wait()


# names and addresses


async def test_a_static_name_leads_to_its_address_and_port_whatever_the_url_says(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(hosts={"*.sim.test": f"127.0.0.1:{server.port}"}, allow_private=False)
        answered = await fetch(fetcher, "http://h1.sim.test/")
        assert isinstance(answered, Page)
        assert server.seen[0].header("Host") == "h1.sim.test"
        assert (answered.ip, answered.port) == ("127.0.0.1", server.port)
        assert isinstance(await fetch(fetcher, "http://h1.sim.test:81/"), Page)
        assert server.seen[1].header("Host") == "h1.sim.test:81"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "127.1", "2130706433"]
)
async def test_no_spelling_of_this_machine_is_connected_to(fetchers: Fetchers, host: str) -> None:
    async with raw_server({"/": [page(b"secret")]}) as server:
        fetcher = fetchers(hosts={"*.sim.test": f"127.0.0.1:{server.port}"}, allow_private=False)
        failure = await fetch(fetcher, server.url(host=host))
        assert isinstance(failure, Failure)
        assert failure.kind in (FailureKind.PRIVATE_ADDRESS, FailureKind.BAD_URL)
        assert not failure.reached
        assert server.connections == 0


async def test_a_network_can_be_opened(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(allow_private=False, allow_networks=["127.0.0.0/8"])
        assert isinstance(await fetch(fetcher, server.url()), Page)
        failure = await fetch(fetcher, "http://10.0.0.1/")
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.PRIVATE_ADDRESS


# TLS


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    """Self-signed, for localhost and *.sim.test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("localhost.pem"))
    return context


async def test_a_certificate_that_nobody_vouches_for_is_a_failure(fetchers: Fetchers, tls: ssl.SSLContext) -> None:
    async with raw_server({"/": [page(b"x")]}, tls=tls) as server:
        failure = await fetch(fetchers(), server.url())
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.TLS_SELF_SIGNED
        assert failure.message == "certificate: self-signed certificate"
        assert not server.seen


async def test_certificates_can_go_unverified(fetchers: Fetchers, tls: ssl.SSLContext) -> None:
    async with raw_server({"/": [page(b"x")]}, tls=tls) as server:
        answered = await fetch(fetchers(routes=Routes(unverified=("127.0.0.1",))), server.url())
        assert isinstance(answered, Page)
        assert answered.ip == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "end", "truncated", "told"),
    [
        (LIST, CLOSE, None, None),
        (LIST, CUT, None, "can't tell"),
        (LIST[:5000], CLOSE, None, None),
        (LIST[:5000], CUT, "disconnect", "no end"),
        (b"no document shows its end", CUT, None, "can't tell"),
        (LIST[:5000], RESET, "disconnect", "closed before"),
    ],
)
@on_each_loop
async def test_over_tls_a_body_that_shows_no_end_must_be_closed_in_order(
    tls: ssl.SSLContext, body: bytes, end: Any, truncated: str | None, told: str | None
) -> None:
    async with raw_server({"/": [head(b"Content-Type: text/html"), body, end]}, tls=tls) as server:
        fetcher = http_fetcher(allow_private=True, routes=Routes(unverified=("127.0.0.1",)))
        try:
            answered = await fetch(fetcher, server.url())
        finally:
            await fetcher.aclose()
    assert isinstance(answered, Page), answered
    assert (answered.body, answered.truncated) == (body, truncated)
    assert told in (answered.message or "") if told else answered.message is None


async def test_over_tls_a_head_without_its_end_must_be_closed_in_order(fetchers: Fetchers, tls: ssl.SSLContext) -> None:
    cut = b"HTTP/1.1 302 Found\r\nLocation: /b\r\n"
    async with raw_server({"/closed": [cut, CLOSE], "/cut": [cut, CUT]}, tls=tls) as server:
        fetcher = fetchers(routes=Routes(unverified=("127.0.0.1",)))
        assert isinstance(await fetch(fetcher, server.url("/closed")), Redirect)
        assert isinstance(await fetch(fetcher, server.url("/cut")), Failure)


async def test_a_server_that_speaks_no_tls_is_a_failure(fetchers: Fetchers) -> None:
    async with raw_server({}, greeting=page(status=b"400 Bad Request")) as server:
        failure = await fetch(fetchers(), server.url().replace("http:", "https:"))
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.TLS


def refuses_all(refused: str) -> ssl.SSLContext:
    """Of a server. TLS 1.2 asks for a certificate within the handshake, TLS 1.3 refuses who has none after it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("localhost.pem"))
    if refused == "version":
        with warnings.catch_warnings(action="ignore"):
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
    else:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(Path(__file__).with_name("localhost.pem"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2 if refused == "TLS 1.2" else ssl.TLSVersion.TLSv1_3
    return context


@contextmanager
def blocking_server(tls: ssl.SSLContext) -> Iterator[str]:
    """A server for one connection, which tells a client by an alert why it is refused: its URL."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection.dup() as raw:
            with suppress(OSError), tls.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1000)
            while raw.recv(1000):  # closed before all is read, it would be reset, and the alert be lost
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/"
        thread.join()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ("TLS 1.2", "the server refuses the handshake: no cipher in common, or it wants a certificate"),
        ("TLS 1.3", "the server wants a certificate"),
        ("version", "no version of TLS in common"),
    ],
)
def test_a_client_that_is_refused_by_an_alert_fails_for_tls(loop: str, refused: str, message: str) -> None:
    async def asked(url: str) -> Fetched:
        fetcher = http_fetcher(allow_private=True, routes=Routes(unverified=("127.0.0.1",)))
        try:
            return await fetch(fetcher, url)
        finally:
            await fetcher.aclose()

    with (
        blocking_server(refuses_all(refused)) as url,
        asyncio.Runner(loop_factory=LOOPS[loop]) as runner,
    ):
        failure = runner.run(asked(url))
    assert isinstance(failure, Failure), failure
    kind = FailureKind.TLS_VERSION if refused == "version" else FailureKind.TLS
    assert (failure.kind, failure.message, failure.may_pass) == (kind, message, False)


async def test_a_server_that_refuses_a_version_without_a_word_fails_for_tls_and_may_be_tried_again(
    fetchers: Fetchers,
) -> None:
    """Servers with asyncio close the connection, and send no alert."""
    async with raw_server({"/": [page(b"x")]}, tls=refuses_all("version")) as server:
        failure = await fetch(fetchers(routes=Routes(unverified=("127.0.0.1",))), server.url())
    assert isinstance(failure, Failure), failure
    assert (failure.kind, failure.may_pass) == (FailureKind.TLS, True)
    assert failure.message.startswith("closed in the TLS handshake")


async def test_a_handshake_that_hangs_times_out(fetchers: Fetchers) -> None:
    async with raw_server({}) as server:
        failure = await fetch(fetchers(connect_timeout_s=0.2), server.url().replace("http:", "https:"))
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.TIMEOUT
        assert failure.message == "no connection in time"


# our own faults


async def test_an_error_nobody_expects_is_a_failure_and_logged(
    fetchers: Fetchers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fetcher = fetchers()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("crawler.fetch.http.interpret", broken)
    async with raw_server({"/": [page(b"x")]}) as server:
        failure = await fetch(fetcher, server.url())
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.UNEXPECTED
    assert failure.message == "an error of our own (RuntimeError); the log says more"
    assert "a bug" in caplog.text
    assert "unexpected error" in caplog.text


def test_raw_server_is_what_it_says() -> None:
    assert RawServer(80, "http").url("/a") == "http://127.0.0.1:80/a"


# where it would be asked


async def test_the_address_of_a_url_is_that_which_a_fetch_would_go_to(fetchers: Fetchers) -> None:
    fetcher = fetchers(
        hosts={"a.test": "192.0.2.1:8080", "web1": "192.0.2.2"},
        routes=Routes(proxies={"far.test": "http://192.0.2.9:3128"}),
        resolver=FakeDns(),
    )
    assert await fetcher.address("http://web1/x") == "192.0.2.2"
    assert await fetcher.address("http://a.test/x") == "192.0.2.1"
    assert await fetcher.address("http://127.0.0.1:8080/x") == "127.0.0.1"
    assert await fetcher.address("http://[2001:db8::1]/x") == "2001:db8::1"
    assert await fetcher.address("http://far.test/") is None
    assert await fetcher.address("http://nowhere.test/") is None


async def test_the_address_of_a_host_is_that_which_took_its_last_request(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")], "/gone": [CLOSE]}) as server:
        for path in ("/", "/gone"):
            fetcher = fetchers(resolver=FakeDns(two_test=["127.0.0.2", "127.0.0.1"]))
            url = server.url(path, host="two.test")
            assert await fetcher.address(url) == "127.0.0.2"
            fetched = await fetch(fetcher, url)
            assert fetched.ip == ("127.0.0.1" if path == "/" else None)
            assert await fetcher.address(url) == "127.0.0.1"


async def test_an_ipv4_address_within_ipv6_is_that_address(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(resolver=FakeDns(mapped_test=["::ffff:127.0.0.1"]))
        assert await fetcher.address("http://[::ffff:7f00:1]/") == "127.0.0.1"
        assert await fetcher.address("http://mapped.test/") == "127.0.0.1"
        fetched = await fetch(fetcher, server.url(host="[::ffff:7f00:1]"))
        assert isinstance(fetched, Page) is socket.has_dualstack_ipv6()
        assert fetched.ip == ("127.0.0.1" if socket.has_dualstack_ipv6() else None)


async def test_a_request_adds_headers_to_those_of_the_crawl(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"")]}) as server:
        fetcher = fetchers(headers={"x-site": "ours"})
        wanted = (("accept", "application/json"), ("X-Site", "theirs"), ("X-Token", "t"), ("user-agent", "theirs"))
        await fetch(fetcher, server.url(), headers=wanted)
    names = [name.lower() for name, _ in server.seen[0].headers]
    assert len(names) == len(set(names))
    seen = server.seen[0]
    assert [seen.header(name) for name in ("Accept", "X-Site", "X-Token")] == ["application/json", "ours", "t"]
    assert seen.header("User-Agent") == "onceover/1.0"


async def test_nobody_is_asked_for_what_the_user_agent_is_not_good_enough_for(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        hosts = {"*.test": f"127.0.0.1:{server.port}"}
        fetcher = fetchers(may_ask=lambda host: host == "free.test:8080", hosts=hosts)
        failure = await fetch(fetcher, "http://taken.test/")
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.NO_CONTACT
        assert "fetch.user_agent" in failure.message
        assert not failure.reached
        assert isinstance(await fetch(fetcher, "http://free.test:8080/free"), Page)
        assert server.targets == ["/free"]
