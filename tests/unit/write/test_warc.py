"""Web archives, read back by warcio and FastWARC with every digest checked."""

import asyncio
import base64
import errno
import hashlib
import os
import re
import subprocess
import sys
import threading
import tracemalloc
import uuid
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import brotli
import msgspec
import pytest
from fastwarc.warc import ArchiveIterator as FastArchiveIterator
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.page import Fetched, NotModified, Page, PageRecord, Preference, Redirect, rfc3339
from crawler.record import fetched_record
from crawler.write import warc
from crawler.write.cdxj.making import archives, lines_of
from crawler.write.warc import WarcOptions, WarcSink
from crawler.write.warc_http import request_target
from crawler.write.warc_members import Urns
from crawler.write.warc_reader import Capture, captures, whole_number
from crawler.write.warc_records import Group, page_group
from frontier import MAX_LINEAGE
from tests.full_disk import no_space
from tests.unit.write.samples import HTML, NOON, SENT, Archived, archived, lease, page, record_of

BINARY = bytes(range(256)) * 9
INFO = {"software": "onceover/1.0", "operator": "Ada, archive@example.org", "robots": "obey"}


async def archive(directory: Path, *pages: Page | Redirect | NotModified, duplicates: int = 0) -> list[Archived]:
    """Write pages numbered from 1, close, check the files with two readers, and return the records."""
    sink = WarcSink(directory, WarcOptions(revisits=duplicates), info=INFO, clock=lambda: NOON)
    for number, fetched in enumerate(pages, 1):
        await sink.write(fetched, record_of(fetched, number))
    await sink.aclose()
    assert_fastwarc_agrees(directory)
    return archived(directory)


def assert_fastwarc_agrees(directory: Path) -> None:
    for path in directory.glob("*.warc.gz"):
        checked = 0
        for record in FastArchiveIterator(str(path), parse_http=False):
            assert record.verify_block_digest()
            if record.headers["WARC-Type"] == "response":
                record.parse_http(max_header_len=1 << 20, strict_mode=False)
                assert record.verify_payload_digest()
            checked += 1
        assert checked > 1


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if ".cdxj" not in path.name)


def of_kind(kind: str, records: Iterable[Archived]) -> list[Archived]:
    return [record for record in records if record.kind == kind]


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


@pytest.mark.parametrize(
    ("body", "raw_body", "coding"),
    [
        pytest.param(b"<p>plain", None, None, id="plain"),
        pytest.param(b"", None, None, id="empty"),
        pytest.param(BINARY, None, None, id="binary"),
        pytest.param(b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\nWARC/1.1\r\n", None, None, id="looks like a record"),
        pytest.param(BINARY, zlib.compress(BINARY, wbits=31), b"gzip", id="gzip"),
        pytest.param(BINARY, brotli.compress(BINARY), b"br", id="brotli"),
        pytest.param(b"x" * 3_000_000, None, None, id="large"),
    ],
)
async def test_a_body_is_archived_as_it_was_received(
    tmp_path: Path, body: bytes, raw_body: bytes | None, coding: bytes | None
) -> None:
    received = body if raw_body is None else raw_body
    headers = [*HTML, (b"Content-Length", b"%d" % len(received))]
    if coding:
        headers.append((b"Content-Encoding", coding))
    records = await archive(tmp_path, page(1, body, raw_body=raw_body, headers=headers))
    (response,) = of_kind("response", records)
    assert response.payload == received
    assert response.fields["WARC-Payload-Digest"] == sha1(received)
    assert response.http_headers == [(name.decode(), value.decode()) for name, value in headers]
    assert response.status_line == "200 OK"


async def test_no_line_break_in_a_value_begins_another_field(tmp_path: Path) -> None:
    fetched = page(1)
    record = msgspec.structs.replace(record_of(fetched, 1), content_type="text/html\r\nWARC-Truncated: length\nx: y")
    sink = WarcSink(tmp_path)
    await sink.write(fetched, record)
    await sink.aclose()
    (response,) = of_kind("response", archived(tmp_path))
    assert response.fields["WARC-Identified-Payload-Type"] == "text/html WARC-Truncated: length x: y"
    assert "WARC-Truncated" not in response.fields
    assert response.payload == fetched.body


async def test_a_page_makes_a_response_a_request_and_a_metadata_record_that_know_each_other(tmp_path: Path) -> None:
    info, response, request, metadata = await archive(tmp_path, page(1))
    assert [entry.kind for entry in (info, response, request, metadata)] == [
        "warcinfo",
        "response",
        "request",
        "metadata",
    ]
    identifier = response.fields["WARC-Record-ID"]
    assert request.fields["WARC-Concurrent-To"] == metadata.fields["WARC-Concurrent-To"] == identifier
    assert "WARC-Concurrent-To" not in response.fields
    for entry in (response, request, metadata):
        assert entry.fields["WARC-Target-URI"] == "http://h1.sim.test:8080/page/1?a=b"
        assert entry.fields["WARC-Date"] == "2023-11-14T22:13:21.250Z"
        assert entry.fields["WARC-IP-Address"] == "127.0.0.1"
        assert entry.number == 1
    assert response.fields["WARC-Identified-Payload-Type"] == "text/html"
    identifiers = [entry.fields["WARC-Record-ID"] for entry in (info, response, request, metadata)]
    assert len(set(identifiers)) == 4
    for text in identifiers:
        assert uuid.UUID(text.removeprefix("<urn:uuid:").removesuffix(">")).version == 8


async def test_every_file_begins_with_who_wrote_it_and_how(tmp_path: Path) -> None:
    info, *_ = await archive(tmp_path, page(1))
    assert info.fields["WARC-Filename"] == info.file
    assert info.fields["WARC-Date"] == "2023-11-14T22:13:20.250Z"
    assert info.payload.decode().splitlines() == [
        "software: onceover/1.0",
        "operator: Ada, archive@example.org",
        "robots: obey",
        "format: WARC File Format 1.1",
        "conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    ]


async def test_the_request_is_written_as_it_was_sent(tmp_path: Path) -> None:
    (request,) = of_kind("request", await archive(tmp_path, page(1)))
    assert request.http_version == "GET"
    assert request.status_line == "/page/1?a=b HTTP/1.1"
    assert request.http_headers == SENT


async def test_no_value_of_metadata_begins_another_field(tmp_path: Path) -> None:
    said = Preference("content-usage", "header", "\u0085depth: 0\u2028failure: x\x0bkind: seed\x1ckind: seed\r\nvia: x")
    record = msgspec.structs.replace(record_of(page(1), 1), depth=7, preferences=[said])
    sink = WarcSink(tmp_path)
    await sink.write(page(1), record)
    await sink.aclose()
    (metadata,) = [each for each in captures(tmp_path, full_blocks=True) if getattr(each, "kind", "") == "metadata"]
    assert isinstance(metadata, Capture)
    facts = metadata.metadata_fields()
    assert (facts["depth"], facts["kind"], facts.get("via")) == ("7", record.kind, record.via)
    assert "failure" not in facts


async def test_metadata_tells_what_the_crawl_knew(tmp_path: Path) -> None:
    (metadata,) = of_kind("metadata", await archive(tmp_path, page(1)))
    assert metadata.payload.decode().splitlines() == [
        "recordNumber: 1",
        "via: http://h1.sim.test:8080/",
        "kind: link",
        "depth: 2",
        "fetchTimeMs: 12",
        "charsetForLinkExtraction: UTF-8",
    ]


@pytest.mark.parametrize("level", [1, 2, 3, 4, 6, 9])
async def test_every_level_of_compression_reads_back(tmp_path: Path, level: int) -> None:
    sink = WarcSink(tmp_path, WarcOptions(level=level))
    bodies = [b"", b"x", BINARY, b"<p>the same again" * 30_000, os.urandom(300_000)]
    for number, body in enumerate(bodies):
        await sink.write(page(number, body), record_of(page(number, body), number))
    await sink.aclose()
    assert_fastwarc_agrees(tmp_path)
    assert [entry.payload for entry in of_kind("response", archived(tmp_path))] == bodies


@pytest.mark.parametrize("level", [0, 10])
def test_a_level_of_compression_that_does_not_exist_is_refused(tmp_path: Path, level: int) -> None:
    with pytest.raises(ValueError, match=rf"1 \(fast\) to 9 \(small\); found {level}"):
        WarcSink(tmp_path, WarcOptions(level=level))


async def test_an_undone_transfer_coding_is_no_longer_claimed(tmp_path: Path) -> None:
    headers = [(b"transfer-encoding", b"chunked"), *HTML]
    (response,) = of_kind("response", await archive(tmp_path, page(1, headers=headers)))
    assert response.http_headers[0] == ("X-Archive-Orig-transfer-encoding", "chunked")


@pytest.mark.parametrize("stated", [b"5000", b"0", b"-1", b"12, 12", b"nonsense"], ids=repr)
async def test_a_content_length_that_is_not_true_is_kept_under_another_name(tmp_path: Path, stated: bytes) -> None:
    headers = [(b"Content-Length", stated), *HTML]
    truncated = page(1, b"0123456789", headers=headers, truncated="length")
    (response,) = of_kind("response", await archive(tmp_path, truncated))
    assert response.payload == b"0123456789"
    assert response.fields["WARC-Truncated"] == "length"
    assert ("X-Archive-Orig-Content-Length", stated.decode()) in response.http_headers
    assert [value for name, value in response.http_headers if name == "Content-Length"] == ["10"]


@pytest.mark.parametrize("why", ["length", "time", "disconnect"])
async def test_a_body_that_is_not_whole_says_why(tmp_path: Path, why: str) -> None:
    (response,) = of_kind("response", await archive(tmp_path, page(1, truncated=why)))
    assert response.fields["WARC-Truncated"] == why


async def test_a_body_that_is_not_whole_says_why_also_where_another_page_has_the_same(tmp_path: Path) -> None:
    entries = await archive(
        tmp_path, page(1, b"x", truncated="disconnect"), page(2, b"x", truncated="disconnect"), duplicates=2
    )
    (revisit,) = of_kind("revisit", entries)
    assert revisit.fields["WARC-Truncated"] == "disconnect"


@pytest.mark.parametrize("why", [None, "encoding"])
async def test_a_body_that_was_received_whole_is_not_called_truncated(tmp_path: Path, why: str | None) -> None:
    (response,) = of_kind("response", await archive(tmp_path, page(1, truncated=why)))
    assert "WARC-Truncated" not in response.fields


async def test_duplicate_headers_keep_their_order_and_case(tmp_path: Path) -> None:
    headers = [(b"Set-Cookie", b"a=1"), (b"SET-cookie", b"b=2"), (b"X-Empty", b""), (b"Set-Cookie", b"a=1")]
    (response,) = of_kind("response", await archive(tmp_path, page(1, headers=headers)))
    assert response.http_headers == [(name.decode(), value.decode()) for name, value in headers]


async def test_header_bytes_beyond_ascii_are_archived_as_they_came(tmp_path: Path) -> None:
    headers = [(b"X-Latin", b"caf\xe9"), (b"X-Utf8", "café ☕".encode())]
    (response,) = of_kind("response", await archive(tmp_path, page(1, headers=headers)))
    assert response.http_headers == [("X-Latin", "café"), ("X-Utf8", "café ☕")]
    plain = zlib_members(tmp_path)
    assert b"X-Latin: caf\xe9\r\n" in plain


def zlib_members(directory: Path) -> bytes:
    """The bytes of all files, unpacked member by member."""
    plain = []
    for path in sorted(directory.glob("*.warc.gz")):
        data = path.read_bytes()
        while data:
            inflater = zlib.decompressobj(wbits=31)
            plain.append(inflater.decompress(data) + inflater.flush())
            data = inflater.unused_data
    return b"".join(plain)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"one\r\n two", "one two"),
        (b"one\n\ttwo", "one two"),
        (b"a\r\nEvil: b", "a Evil: b"),
        (b"a\r\n\r\n<p>", "a <p>"),
    ],
)
async def test_a_folded_header_is_joined_and_none_can_forge_another(
    tmp_path: Path, value: bytes, expected: str
) -> None:
    headers = [(b"X-Folded", value), *HTML]
    (response,) = of_kind("response", await archive(tmp_path, page(1, b"body", headers=headers, reason="O\r\nK: 1")))
    assert response.status_line == "200 O K: 1"
    assert response.http_headers[0] == ("X-Folded", expected)
    assert len(response.http_headers) == len(headers)
    assert response.payload == b"body"


async def test_a_response_may_have_a_thousand_headers_and_very_long_ones(tmp_path: Path) -> None:
    headers = [(b"X-%d" % number, b"v" * 20) for number in range(1000)] + [(b"X-Long", b"w" * 30_000)]
    (response,) = of_kind("response", await archive(tmp_path, page(1, headers=headers)))
    assert len(response.http_headers) == 1001
    assert response.http_headers[-1] == ("X-Long", "w" * 30_000)


async def test_no_header_at_all_is_fine(tmp_path: Path) -> None:
    (response,) = of_kind("response", await archive(tmp_path, page(1, b"old", headers=[])))
    assert response.http_headers == []
    assert response.payload == b"old"


@pytest.mark.parametrize("reason", ["Не найдено", "Trouvé", "OK", ""])
async def test_a_reason_phrase_is_archived_whatever_its_language(tmp_path: Path, reason: str) -> None:
    await archive(tmp_path, page(1, b"body", reason=reason))
    [response] = [each for each in captures(tmp_path, full_blocks=True) if isinstance(each, Capture)][:1]
    written = response.http()[1].encode("latin-1")
    assert response.http()[0] == 200
    assert reason in (written.decode("latin-1"), written.decode("utf-8", "replace"))


@pytest.mark.parametrize(("version", "written"), [("1.0", "HTTP/1.0"), ("1.1", "HTTP/1.1"), ("2", "HTTP/1.1")])
async def test_the_status_line_has_the_version_of_http_that_the_block_is_written_in(
    tmp_path: Path, version: str, written: str
) -> None:
    missing = page(1, http_version=version, status=404, reason="")
    (response,) = of_kind("response", await archive(tmp_path, missing))
    assert response.http_version == written
    assert response.status_line == "404"


@pytest.mark.parametrize("truncated", [None, "disconnect"])
async def test_a_redirect_is_a_response_with_its_body(tmp_path: Path, truncated: str | None) -> None:
    redirect = Redirect(
        url="http://h1.sim.test:8080/old",
        status=301,
        reason="Moved",
        headers=[(b"Location", b"/new")],
        request_headers=SENT,
        fetched_at=NOON,
        duration_s=0.01,
        location="/new",
        body=b"moved",
        raw_body=b"moved",
        truncated=truncated,
    )
    (response,) = of_kind("response", await archive(tmp_path, redirect))
    assert response.payload == b"moved"
    assert response.fields.get("WARC-Truncated") == truncated
    assert "WARC-IP-Address" not in response.fields


async def test_not_modified_is_a_revisit(tmp_path: Path) -> None:
    current = NotModified(
        url="http://h1.sim.test:8080/page/1",
        status=304,
        reason="Not Modified",
        headers=[(b"ETag", b'"a"'), (b"Content-Length", b"500")],
        request_headers=[*SENT, ("If-None-Match", '"a"')],
        ip="127.0.0.1",
        fetched_at=NOON,
        duration_s=0.01,
    )
    (revisit,) = of_kind("revisit", await archive(tmp_path, current))
    assert revisit.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit.fields["WARC-Refers-To-Target-URI"] == current.url
    assert revisit.http_headers == [("ETag", '"a"'), ("Content-Length", "500")]
    assert revisit.payload == b""


async def test_the_same_payload_again_is_a_revisit_of_the_first_where_that_is_asked_for(tmp_path: Path) -> None:
    records = await archive(
        tmp_path, page(1, b"same"), page(2, b"same"), page(3, b"other"), page(4, b""), page(5, b""), duplicates=10
    )
    assert [entry.number for entry in of_kind("response", records)] == [1, 3, 4, 5]
    (revisit,) = of_kind("revisit", records)
    original = of_kind("response", records)[0]
    assert revisit.number == 2
    assert revisit.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit.fields["WARC-Refers-To"] == original.fields["WARC-Record-ID"]
    assert revisit.fields["WARC-Refers-To-Target-URI"] == original.fields["WARC-Target-URI"]
    assert revisit.fields["WARC-Refers-To-Date"] == original.fields["WARC-Date"]
    assert revisit.fields["WARC-Payload-Digest"] == original.fields["WARC-Payload-Digest"] == sha1(b"same")
    assert revisit.payload == b""


async def test_the_same_payload_again_is_written_whole_by_default(tmp_path: Path) -> None:
    records = await archive(tmp_path, page(1, b"same"), page(2, b"same"))
    assert len(of_kind("response", records)) == 2


async def test_only_the_newest_payloads_are_remembered(tmp_path: Path) -> None:
    bodies = [b"1", b"2", b"3", b"1", b"3"]
    records = await archive(tmp_path, *(page(n, body) for n, body in enumerate(bodies, 1)), duplicates=2)
    assert [entry.number for entry in of_kind("revisit", records)] == [5]


async def test_large_and_small_pages_written_at_once_keep_their_records_together(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, WarcOptions(max_bytes=400_000))
    sizes = [3_000_000 if number % 7 == 0 else 200 for number in range(28)]
    pages = [page(number, b"%d" % (number % 10) * size) for number, size in enumerate(sizes)]

    async def write(number: int) -> None:
        await sink.write(pages[number], record_of(pages[number], number))

    await asyncio.gather(*(write(number) for number in range(28)))
    await sink.aclose()
    records = [entry for entry in archived(tmp_path) if entry.kind != "warcinfo"]
    triples = [records[start : start + 3] for start in range(0, len(records), 3)]
    assert sorted(response.number or 0 for response, _, _ in triples) == list(range(28))
    for response, request, metadata in triples:
        assert response.number == request.number == metadata.number
        assert response.payload == pages[response.number or 0].body


async def test_files_are_rotated_by_size_named_in_order_and_closed_under_their_final_name(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, WarcOptions(prefix="docs.example", max_bytes=5000), clock=lambda: NOON)
    for number in range(20):
        await sink.write(page(number), record_of(page(number), number))
    names = names_in(tmp_path)
    assert [name.endswith(".open") for name in names] == [False] * (len(names) - 1) + [True]
    await sink.aclose()
    names = names_in(tmp_path)
    assert names[0] == "docs.example-20231114221320250-00000.warc.gz"
    assert [name[-13:] for name in names] == [f"{serial:05d}.warc.gz" for serial in range(len(names))]
    assert len(names) > 3
    records = archived(tmp_path)
    assert len(of_kind("warcinfo", records)) == len(names)
    assert all(entry.fields["WARC-Filename"] == entry.file for entry in of_kind("warcinfo", records))
    assert all((tmp_path / name).stat().st_size <= 5000 for name in names)


async def test_a_new_sink_never_reuses_a_serial(tmp_path: Path) -> None:
    for _ in range(3):
        sink = WarcSink(tmp_path, clock=lambda: NOON)
        await sink.write(page(1), record_of(page(1), 1))
        await sink.aclose()
    assert len(names_in(tmp_path)) == 3


async def test_a_sink_that_wrote_nothing_leaves_nothing(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path / "warc")
    await sink.write(None, PageRecord(number=1, url="http://x/", state="excluded", depth=0, kind="seed"))
    await sink.aclose()
    assert names_in(tmp_path / "warc") == []


async def left_open(directory: Path, *pages: Page) -> Path:
    """The file of a crawl that died."""
    sink = WarcSink(directory, clock=lambda: NOON)
    for number, fetched in enumerate(pages, 1):
        await sink.write(fetched, record_of(fetched, number))
    (path,) = directory.glob("*.warc.gz.open")
    whole = path.read_bytes()
    await sink.aclose()
    for finished in directory.glob("*.warc.gz"):
        finished.unlink()
    path.write_bytes(whole)
    return path


@settings(max_examples=40)
@given(st.data())
async def test_a_damaged_bit_costs_one_record_and_what_is_damaged_is_kept_aside(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("warc")
    path = await left_open(directory, *(page(number, Random(number).randbytes(300)) for number in range(1, 6)))
    whole = bytearray(path.read_bytes())
    last = whole.rindex(b"\x1f\x8b\x08\0\0\0\0\0")
    damaged = int(len(whole) * data.draw(st.floats(0, 1, exclude_max=True)))
    whole[damaged] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    sink = WarcSink(directory, clock=lambda: NOON)
    await sink.aclose()
    asides = sorted(directory.glob("*.damaged-*"))
    (final,) = directory.glob("*.warc.gz")
    moved = sum(aside.stat().st_size for aside in asides)
    torn = len(whole) - moved - final.stat().st_size
    # Damage may have the last member seem to go on: then it is taken for what a crash left unfinished.
    assert torn in ((0, len(whole) - last) if damaged >= last else (0,))
    assert len(archived(directory)) == 1 + 5 * 3 - bool(torn or moved)
    assert len(asides) <= 1
    for aside in asides:
        start = int(aside.name.rpartition("-")[2])
        assert aside.read_bytes() == whole[start : start + moved]
    assert names_in(directory) == sorted([final.name, *(aside.name for aside in asides)])


async def test_a_file_that_is_damaged_and_torn_is_set_aside_and_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await left_open(tmp_path, *(page(number) for number in range(1, 4)))
    whole = bytearray(path.read_bytes())
    whole[30] ^= 1
    path.write_bytes(whole[:-40])
    sink = WarcSink(tmp_path, clock=lambda: NOON)
    await sink.aclose()
    records = archived(tmp_path)
    assert [entry.kind for entry in records] == ["response", "request", "metadata"] * 2 + ["response", "request"]
    assert "was moved to" in caplog.text
    assert "of a record that a crash left incomplete" in caplog.text


@pytest.mark.parametrize("torn_bytes", [0, 30])
async def test_a_complete_archive_is_not_replaced_by_a_copy_from_when_it_was_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, torn_bytes: int
) -> None:
    earlier = await left_open(tmp_path / "earlier", page(1), page(2))
    sink = WarcSink(tmp_path / "now", clock=lambda: NOON)
    await sink.write(page(1), record_of(page(1), 1))
    (open_file,) = archives(tmp_path / "now")
    half = open_file.read_bytes()
    await sink.write(page(2), record_of(page(2), 2))
    await sink.aclose()
    (complete,) = archives(tmp_path / "now")
    before = {path.name: path.read_bytes() for path in (tmp_path / "now").iterdir()}

    open_file.write_bytes(half[: len(half) - torn_bytes])
    assert archives(tmp_path / "now") == [complete]
    assert len(archived(tmp_path / "now")) == 1 + 2 * 3
    await WarcSink(tmp_path / "now", clock=lambda: NOON).aclose()
    assert {path.name: path.read_bytes() for path in (tmp_path / "now").iterdir()} == before
    assert "is complete, and it has all of that" in caplog.text

    other = earlier.read_bytes()
    open_file.write_bytes(other)
    await WarcSink(tmp_path / "now", clock=lambda: NOON).aclose()
    aside = complete.with_name(complete.name.replace(".warc.gz", ".damaged-0"))
    after = {path.name: path.read_bytes() for path in (tmp_path / "now").iterdir()}
    assert after == before | {aside.name: other}
    assert f"what it lacks was moved to {aside.name}" in caplog.text


async def test_an_archive_in_a_page_gives_no_records_when_its_own_is_damaged(tmp_path: Path) -> None:
    theirs = zlib.compress(b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n", 6, wbits=31)
    holder = bytearray(zlib.compress(b"WARC/1.1\r\nX-Onceover-Number: 2\r\n\r\n" + theirs * 3, 0, wbits=31))
    holder[-5] ^= 1  # its checksum
    path = await left_open(tmp_path, page(1))
    whole = path.read_bytes()
    path.write_bytes(whole + holder + whole)
    sink = WarcSink(tmp_path, clock=lambda: NOON)
    await sink.aclose()
    (final,) = tmp_path.glob("*.warc.gz")
    assert final.read_bytes() == whole + whole


async def test_an_archive_of_ours_in_a_page_gives_no_records_when_a_crash_tears_its_own(tmp_path: Path) -> None:
    theirs = await left_open(
        tmp_path / "theirs", *(page(number, Random(number).randbytes(99_000)) for number in (8, 9))
    )
    path = await left_open(tmp_path / "now", page(1))
    whole = path.read_bytes()
    # What can't be compressed is stored as it is.
    holder = zlib.compress(b"WARC/1.1\r\nX-Onceover-Number: 2\r\n\r\n" + theirs.read_bytes(), 0, wbits=31)
    path.write_bytes(whole + holder[:-30])
    assert {found.number for found in captures(path.parent, full_blocks=False) if isinstance(found, Capture)} == {1}
    assert [found for found in captures(path.parent, full_blocks=False) if not isinstance(found, Capture)] == []
    assert len(list(lines_of(path))) == 1
    await WarcSink(path.parent, clock=lambda: NOON).aclose()
    assert names_in(path.parent) == [path.name.removesuffix(".open")]
    assert path.with_suffix("").read_bytes() == whole


async def test_records_after_changed_settings_are_the_crawl_s_own_and_those_in_a_torn_page_are_not(
    tmp_path: Path,
) -> None:
    """The torn page follows a record that is larger than what is told of it, in a file with two warcinfo records."""
    theirs = await left_open(tmp_path / "theirs", page(8))
    sink = WarcSink(tmp_path / "now", info={"software": "1"})
    await sink.write(page(1), record_of(page(1), 1))
    sink.tell({"software": "2"})
    large = page(2, Random(2).randbytes(2_000_000))
    await sink.write(large, record_of(large, 2))
    await sink.aclose()
    (path,) = archives(tmp_path / "now")
    whole = path.read_bytes()
    holder = zlib.compress(b"WARC/1.1\r\nX-Onceover-Number: 3\r\n\r\n" + theirs.read_bytes(), 0, wbits=31)
    path.write_bytes(whole + holder[:-30])
    found = [*captures(path.parent, full_blocks=False)]
    assert [each.number for each in found if isinstance(each, Capture) and each.kind == "response"] == [1, 2]
    (damaged,) = (each for each in found if not isinstance(each, Capture))
    assert (damaged.start, damaged.end) == (len(whole), len(whole + holder) - 30)


async def test_mending_that_is_broken_off_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await left_open(tmp_path, *(page(number) for number in range(1, 4)))
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"\x1f\x8b\x08", len(whole) // 2) + 30] ^= 1  # behind a header, where a bit may not matter
    path.write_bytes(whole)
    fsync, left = os.fsync, 1

    def full(fd: int) -> None:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left -= 1
        fsync(fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            WarcSink(tmp_path, clock=lambda: NOON)
    assert path.read_bytes() == whole
    sink = WarcSink(tmp_path, clock=lambda: NOON)
    await sink.aclose()
    assert len(archived(tmp_path)) == 1 + 3 * 3 - 1
    assert not list(tmp_path.glob("*.open"))


async def test_what_a_crash_left_is_on_the_disk_before_it_is_called_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await left_open(tmp_path, page(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    synced: dict[str, int] = {}
    fsync = os.fsync

    def note(descriptor: int) -> None:
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced[file.name] = file.stat().st_size
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    await WarcSink(tmp_path, clock=lambda: NOON).aclose()
    assert synced[path.name] == len(whole)
    assert names_in(tmp_path) == [path.name.removesuffix(".open")]


async def test_a_file_that_a_crash_left_with_nothing_whole_in_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / "onceover-20231114221320250-00004.warc.gz.open").write_bytes(b"\x1f\x8b\x08")
    sink = WarcSink(tmp_path)
    assert names_in(tmp_path) == []
    await sink.aclose()


@pytest.mark.parametrize("prefix", ["", "a/b", "a b", "é"], ids=repr)
def test_a_prefix_that_makes_no_file_name_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"found {prefix!r}")):
        WarcSink(tmp_path, WarcOptions(prefix=prefix))


async def test_text_with_line_breaks_or_surrogates_forges_no_field(tmp_path: Path) -> None:
    fetched = page(1)
    odd = msgspec.structs.replace(lease(1).url, url="http://x/\udc80", canonical="http://x/\udc80")
    record = fetched_record(msgspec.structs.replace(lease(1), url=odd), fetched)
    evil = PageRecord(
        number=1,
        url=record.url,
        state="done",
        depth=0,
        kind="link",
        via="http://x/\r\nEvil: 1",
        content_type="a\r\nEvil: 1",
    )
    sink = WarcSink(tmp_path)
    await sink.write(fetched, evil)
    await sink.aclose()
    for entry in archived(tmp_path):
        assert "Evil" not in entry.fields
        assert b"\nEvil" not in entry.payload


header_text = st.binary(max_size=30).map(lambda raw: raw.replace(b"\0", b""))
header_names = st.from_regex(rb"\A[A-Za-z][A-Za-z0-9-]{0,15}\Z")


@given(st.lists(st.tuples(header_names, header_text), max_size=8), st.binary(max_size=200), st.booleans())
async def test_whatever_headers_and_body_come_the_body_reads_back(
    tmp_path_factory: pytest.TempPathFactory, headers: list[tuple[bytes, bytes]], body: bytes, known: bool
) -> None:
    directory = tmp_path_factory.mktemp("warc")
    fetched: Fetched = page(1, body, headers=headers)
    sink = WarcSink(directory, WarcOptions(revisits=2 if known else 0))
    assert isinstance(fetched, Page)
    await sink.write(fetched, record_of(fetched, 1))
    await sink.aclose()
    (response,) = of_kind("response", archived(directory))
    assert response.payload == body
    assert response.status_line == "200 OK"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h/", "/"),
        ("http://h", "/"),
        ("http://h/a?b=/c#d", "/a?b=/c"),
        ("http://h?q", "/?q"),
        ("http://h#f/x", "/"),
        ("https://user@h:8/a//b", "/a//b"),
    ],
)
def test_the_request_target_is_what_follows_the_host(url: str, target: str) -> None:
    assert request_target(url) == target


def test_dates_have_milliseconds_and_are_utc() -> None:
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"
    assert datetime.fromisoformat(rfc3339(NOON)) == datetime.fromtimestamp(NOON, UTC)


def test_warcio_s_own_command_accepts_the_files(tmp_path: Path) -> None:
    packed = page(3, BINARY, raw_body=zlib.compress(BINARY, wbits=31), headers=[*HTML, (b"Content-Encoding", b"gzip")])
    asyncio.run(archive(tmp_path, page(1), page(2, BINARY), packed, page(4, b"")))
    (path,) = archives(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", "-v", path], capture_output=True, text=True, check=True
    )
    assert "digest pass" in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.parametrize("failing", ["write", "fsync"])
async def test_a_disk_that_was_full_from_the_start_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    sink = WarcSink(tmp_path, durability="power")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, no_space)
        with pytest.raises(OSError, match="No space left"):
            await sink.write(page(1), record_of(page(1), 1))
    await sink.aclose()
    assert names_in(tmp_path) == []


async def test_a_disk_that_was_full_from_the_start_and_is_no_more_gets_a_proper_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = WarcSink(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: 0)
        with pytest.raises(OSError, match="check the disk"):
            await sink.write(page(1), record_of(page(1), 1))
    await sink.write(page(1), record_of(page(1), 1))
    await sink.aclose()
    assert [entry.kind for entry in archived(tmp_path)] == ["warcinfo", "response", "request", "metadata"]


def test_a_large_body_is_never_copied_whole() -> None:
    large = page(1, os.urandom(8_000_000))
    record = record_of(large, 1)
    tracemalloc.start()
    try:
        group = page_group(large, record, level=3, find=lambda _digest, _size: None, with_text=False, urns=Urns())
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(map(len, group.chunks)) >= 8_000_000  # such a body can't be packed
    assert peak_bytes < 12_000_000


async def test_a_large_body_is_read_with_two_copies_at_most(tmp_path: Path) -> None:
    large = page(1, bytes(16_000_000))
    sink = WarcSink(tmp_path)
    await sink.write(large, record_of(large, 1))
    await sink.aclose()
    tracemalloc.start()
    try:
        found = (each for each in captures(tmp_path, full_blocks=True) if isinstance(each, Capture))
        sizes = [len(each.http()[-1]) for each in found if each.kind == "response"]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sizes == [16_000_000]
    assert peak_bytes < 40_000_000


async def test_no_more_than_two_large_pages_are_packed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, gate = threading.Semaphore(0), threading.Semaphore(0)

    def waiting_group(*args: Any, **kwargs: Any) -> Group:
        entered.release()
        gate.acquire()
        return page_group(*args, **kwargs)

    monkeypatch.setattr(warc, "page_group", waiting_group)
    sink = WarcSink(tmp_path)
    large = page(1, b"x" * 300_000)
    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(sink.write(large, record_of(large, number)))
        await asyncio.to_thread(entered.acquire)
        await asyncio.to_thread(entered.acquire)
        third = await asyncio.to_thread(entered.acquire, timeout=0.05)
        gate.release(5)
    await sink.aclose()
    assert not third
    assert len(of_kind("response", archived(tmp_path))) == 5


def test_identifiers_are_different_uuids_that_begin_alike_if_they_have_one_origin() -> None:
    urns = Urns()
    drawn = [urns.of_info, *(urn for _ in range(100) for urn in urns.draw(16)), *Urns().draw(16)]
    assert len(set(drawn)) == len(drawn)
    assert len({urn[:30] for urn in drawn}) == 2
    for urn in drawn:
        found = uuid.UUID(urn.removeprefix("uuid:"))
        assert (found.version, found.variant, urn) == (8, uuid.RFC_4122, f"uuid:{found}")


def test_the_numbers_of_all_lineages_are_read_and_no_higher_ones() -> None:
    highest = (MAX_LINEAGE + 1 << 40) - 1
    assert whole_number(str(highest)) == highest
    for text in (str(highest + 1), "9" * 19, "9" * 5000, "", "-1"):
        assert whole_number(text) is None
