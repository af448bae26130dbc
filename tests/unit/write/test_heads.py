"""Heads of WARC records, as other crawlers write them too."""

import pytest

from crawler.write.cdxj.heads import capture_of, read_head
from crawler.write.cdxj.lines import parse

DATE = b"WARC-Date: 2026-11-23T04:53:40Z\r\n"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML ;charset=utf-8\r\n\r\nbody"


def record(kind: bytes, *fields: bytes, block: bytes = HTTP, url: bytes = b"http://a.test/") -> bytes:
    lines = b"".join(each + b"\r\n" for each in fields)
    return b"WARC/1.0\r\nWARC-Type: %b\r\nWARC-Target-URI: %b\r\n%b%b\r\n%b" % (kind, url, DATE, lines, block)


def test_a_response_tells_its_status_and_the_type_that_the_server_declared() -> None:
    content = record(b"response", b"Content-Type: application/http;msgtype=response", url=b"<http://a.test/>")
    found = capture_of(content)
    assert found is not None
    assert (found.url, found.mime, found.status) == ("http://a.test/", "Text/HTML", 200)


def test_a_response_that_is_no_http_has_a_type_of_its_own() -> None:
    content = record(b"response", b"Content-Type: text/dns", block=b"20261123045340\r\na.test. 300 IN A 127.0.0.1")
    found = capture_of(content)
    assert found is not None
    assert (found.mime, found.status) == ("text/dns", None)


def test_only_revisits_of_equal_bodies_have_a_payload_elsewhere() -> None:
    profile = b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/"
    heads = [read_head(record(b"revisit", profile + name)) for name in (b"identical-payload-digest", b"server-not-mo")]
    assert [head is not None and head.has_payload_elsewhere for head in heads] == [True, False]


@pytest.mark.parametrize("block", [b"failure: timeout\r\n", b"depth: 1\r\nfailure: timeout\r\n"])
def test_metadata_tells_of_a_failure(block: bytes) -> None:
    head = read_head(record(b"metadata", b"Content-Type: application/warc-fields", block=block))
    assert head is not None
    assert head.tells_failure
    assert head.capture() is None


def test_a_record_without_url_or_date_has_no_head() -> None:
    assert read_head(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n" + DATE + b"\r\n") is None
    assert read_head(b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n\r\n") is None


def test_lines_of_others_may_have_numbers_and_lack_what_ours_have() -> None:
    entry = parse(b'test,a)/ 20261123045340 {"url": "http://a.test/", "offset": 7, "length": 9}')[2]
    assert (entry.place(), entry.mime, entry.status) == ((7, 9), None, None)


@pytest.mark.parametrize("fields", ['"offset": "7"', '"offset": "-7", "length": "9"', '"offset": "x", "length": "9"'])
def test_a_damaged_line_tells_no_place(fields: str) -> None:
    entry = parse(f'test,a)/ 20261123045340 {{"url": "http://a.test/", {fields}}}'.encode())[2]
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        entry.place()
