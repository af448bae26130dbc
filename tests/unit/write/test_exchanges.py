"""What the archive has beside pages: robots.txt files, failures, and requests without an answer."""

import gzip
from pathlib import Path

import msgspec
import pytest

from crawler.page import Failure, FailureKind, Fetched, Page, PageRecord, Redirect
from crawler.write.cdxj.lines import parse
from crawler.write.cdxj.merging import merged_index
from crawler.write.warc import WarcOptions, WarcSink
from crawler.write.warc_reader import Capture, DamagedPart, captures, captures_at
from tests.unit.write.samples import HTML, NOON, SENT, Archived, archived, page, record_of

ROBOTS = b"User-agent: *\nDisallow: /private\n" * 30


def robots(body: bytes = ROBOTS) -> Page:
    return msgspec.structs.replace(page(1, body), url="http://h1.sim.test:8080/robots.txt")


def failure(kind: FailureKind = FailureKind.TIMEOUT, *, response: Page | None = None) -> Failure:
    return Failure(
        url=page(7).url, kind=kind, message="too slow", ip="127.0.0.1", fetched_at=NOON, duration_s=2, response=response
    )


def record_of_failure(number: int, found: Failure) -> PageRecord:
    return PageRecord(number=number, url=found.url, state="failed", reason=found.kind, depth=2, kind="link", via="v")


async def written(directory: Path, *exchanges: Fetched, revisits: int = 0) -> list[Archived]:
    sink = WarcSink(directory, WarcOptions(revisits=revisits))
    for each in exchanges:
        await sink.write_exchange(each, "robots")
    await sink.aclose()
    return archived(directory)


async def test_an_exchange_is_archived_like_a_page_and_says_what_it_is_for(tmp_path: Path) -> None:
    _, response, request, metadata = await written(tmp_path, robots())
    assert [each.kind for each in (response, request, metadata)] == ["response", "request", "metadata"]
    assert response.payload == ROBOTS
    for each in (response, request, metadata):
        assert (each.fields["X-Onceover-Purpose"], each.number) == ("robots", None)
        assert each.fields["WARC-Target-URI"] == robots().url
    assert metadata.payload.decode().splitlines() == ["purpose: robots", "fetchTimeMs: 12"]
    [index] = tmp_path.glob("*.cdxj")
    [line] = index.read_bytes().splitlines()
    assert parse(line)[2].url == robots().url
    assert [each for each in captures(tmp_path, full_blocks=False) if isinstance(each, Capture)] == []
    exchanges = captures(tmp_path, full_blocks=True, with_exchanges=True)
    assert [(each.purpose, each.number) for each in exchanges if isinstance(each, Capture)] == [("robots", -1)] * 3


async def test_equal_robots_files_are_revisits_where_bodies_are_remembered(tmp_path: Path) -> None:
    found = await written(tmp_path, robots(), robots(), revisits=9)
    assert [each.kind for each in found if each.kind in ("response", "revisit")] == ["response", "revisit"]


async def test_redirects_and_errors_are_exchanges_and_what_was_not_asked_is_none(tmp_path: Path) -> None:
    redirect = Redirect(
        url=robots().url, status=301, headers=HTML, request_headers=SENT, location="/r", fetched_at=NOON, duration_s=1
    )
    found = await written(
        tmp_path,
        redirect,
        msgspec.structs.replace(robots(b"none"), status=404),
        msgspec.structs.replace(redirect, asked=False),
        failure(FailureKind.PRIVATE_ADDRESS),
    )
    heads = [each.status_line for each in found if each.kind == "response"]
    assert heads == ["301", "404 OK"]
    assert len(found) == 7


async def test_a_request_without_an_answer_leaves_a_metadata_record_that_says_why(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path)
    await sink.write(failure(), record_of_failure(7, failure()))
    await sink.write(failure(FailureKind.PORT), record_of_failure(8, failure(FailureKind.PORT)))
    await sink.aclose()
    _, metadata = archived(tmp_path)
    assert (metadata.kind, metadata.number, metadata.fields["WARC-Target-URI"]) == ("metadata", 7, page(7).url)
    lines = metadata.payload.decode().splitlines()
    assert {"failure: timeout", "message: too slow", "recordNumber: 7", "depth: 2", "via: v"} < {*lines}
    [index] = tmp_path.glob("*.warc.gz")
    assert not index.with_name(index.name + ".cdxj").exists()


async def test_an_answer_that_ended_as_a_failure_is_archived_as_far_as_it_came(tmp_path: Path) -> None:
    broken = page(7, b"", raw_body=b"\x1f\x8bno gzip", headers=[*HTML, (b"Content-Encoding", b"gzip")])
    cut = msgspec.structs.replace(broken, raw_body=b"", truncated="disconnect")
    sink = WarcSink(tmp_path)
    for number, (kind, answer) in enumerate([(FailureKind.ENCODING, broken), (FailureKind.DISCONNECTED, cut)], start=1):
        found = failure(kind, response=answer)
        await sink.write(found, record_of_failure(number, found))
    await sink.aclose()
    records = archived(tmp_path)
    first, second = (each for each in records if each.kind == "response")
    assert (first.payload, first.number, "WARC-Truncated" in first.fields) == (b"\x1f\x8bno gzip", 1, False)
    assert (second.payload, second.number, second.fields["WARC-Truncated"]) == (b"", 2, "disconnect")
    facts = [each.payload.decode() for each in records if each.kind == "metadata"]
    assert ["failure: encoding" in facts[0], "failure: disconnected" in facts[1]] == [True, True]
    [index] = tmp_path.glob("*.cdxj")
    assert len(index.read_bytes().splitlines()) == 2


async def test_damage_costs_no_exchange_behind_it(tmp_path: Path) -> None:
    """After damage, only what is marked as ours counts."""
    sink = WarcSink(tmp_path)
    await sink.write(page(1), record_of(page(1), 1))
    await sink.write_exchange(robots(), "robots")
    await sink.aclose()
    [path] = tmp_path.glob("*.warc.gz")
    whole = list(captures(tmp_path, full_blocks=True, with_exchanges=True))
    content = bytearray(path.read_bytes())
    ends = [at for at in range(len(content)) if content.startswith(b"\x1f\x8b\x08", at)]
    content[ends[3] + 20] ^= 0xFF  # the metadata record of the page
    path.write_bytes(content)
    found = list(captures(tmp_path, full_blocks=True, with_exchanges=True))
    assert sum(isinstance(each, DamagedPart) for each in found) == 1
    assert [each for each in found if isinstance(each, Capture) and each.purpose] == whole[-3:]


async def test_a_closed_sink_takes_no_exchange(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path)
    await sink.aclose()
    with pytest.raises(ValueError, match="is closed"):
        await sink.write_exchange(robots(), "robots")


@pytest.mark.parametrize(
    ("number", "length"), [("9" * 5000, "0"), ("1", "9" * 5000), ("1", "many"), ("1", "-3"), ("1" * 20, "0")]
)
async def test_a_record_whose_numbers_are_damaged_is_none_and_the_others_are_read(
    tmp_path: Path, number: str, length: str
) -> None:
    sink = WarcSink(tmp_path)
    await sink.write(page(7), record_of(page(7), 7))
    await sink.aclose()
    [path] = tmp_path.glob("*.warc.gz")
    whole = path.read_bytes()
    head = f"WARC/1.1\r\nWARC-Type: response\r\nX-Onceover-Number: {number}\r\nContent-Length: {length}\r\n\r\n"
    path.write_bytes(gzip.compress(head.encode() + b"\r\n\r\n") + whole)
    assert [each.number for each in captures(tmp_path, full_blocks=True) if isinstance(each, Capture)] == [7] * 3
    assert list(captures_at(path, 0, max_bytes=1000)) == []


async def test_a_status_line_of_another_crawler_may_be_of_any_length(tmp_path: Path) -> None:
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2026-11-20T18:38:16Z\r\n\r\n"
    )
    path = tmp_path / "other.warc.gz"
    path.write_bytes(gzip.compress(f"{head}HTTP/1.1 {'2' * 5000} OK\r\n\r\n".encode()))
    [line] = merged_index(tmp_path)
    assert parse(line)[2].status is None
