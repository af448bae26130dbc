"""Bodies that earlier crawls, or earlier runs of this one, have archived."""

import base64
import gzip
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import Page, body_digest
from crawler.page.digests import digest_text
from crawler.write.cdxj.lines import REVISIT, CaptureFacts, line_of, parse
from crawler.write.cdxj.making import archives, index_of
from crawler.write.dedupe.originals import Originals, open_originals
from crawler.write.dedupe.own import bodies_archived_last
from crawler.write.dedupe.sources import check_beginnings, response_of, responses_in, sha1_of, sources_in
from crawler.write.warc import WarcOptions, WarcSink
from crawler.write.warc_reader import captures_at
from crawler.write.warc_records import Original
from tests.unit.write.samples import NOON, Archived, archived, page, record_of

MAIN = ("response", "revisit")


def later(found: Page, by_s: float) -> Page:
    return msgspec.structs.replace(found, fetched_at=found.fetched_at + by_s)


async def written(directory: Path, *pages: Page, options: WarcOptions = WarcOptions()) -> list[Archived]:  # noqa: B008
    """The responses and revisits of a run in which these pages were archived."""
    sink = WarcSink(directory, options, clock=lambda: NOON)
    await sink.begin()
    for number, each in enumerate(pages, 1):
        await sink.write(each, record_of(each, number))
    await sink.aclose()
    return [each for each in archived(directory) if each.kind in MAIN]


def against(*places: Path, min_bytes: int = 0) -> WarcOptions:
    return WarcOptions(earlier=tuple(map(str, places)), dedupe_min_bytes=min_bytes)


def index(path: Path, *lines: tuple[str, str, bytes, str]) -> Path:
    """An index of captures: URL, time, body, type."""
    path.write_bytes(
        b"".join(
            line_of(CaptureFacts(url, at, mime, 200, body_digest(body)), offset=0, length=9, filename="a.warc.gz")
            + b"\n"
            for url, at, body, mime in lines
        )
    )
    return path


def found_in(path: Path, *places: Path, body: bytes) -> Original | None:
    originals = open_originals(path, places)
    try:
        return originals.find(body_digest(body))
    finally:
        originals.close()


async def test_a_body_of_an_earlier_crawl_becomes_a_revisit_that_says_where_it_is(tmp_path: Path) -> None:
    earlier = page(1, b"the same" * 50)
    await written(tmp_path / "earlier", earlier, page(2, b"another"))
    again = later(page(3, b"the same" * 50), 1e6)
    for _ in range(2):  # also after a restart
        found = (await written(tmp_path / "now", again, page(4, b"new"), options=against(tmp_path / "earlier")))[-2:]
        assert [each.kind for each in found] == ["revisit", "response"]
        fields = found[0].fields
        assert fields["WARC-Profile"].endswith("identical-payload-digest")
        assert fields["WARC-Refers-To-Target-URI"] == earlier.url
        assert fields["WARC-Refers-To-Date"] == "2023-11-14T22:13:21Z"
        assert fields["WARC-Payload-Digest"] == body_digest(b"the same" * 50)
        assert found[0].payload == b""


async def test_a_body_that_was_cut_off_an_earlier_archive_is_archived_again(tmp_path: Path) -> None:
    pages = [page(1, b"a" * 99), page(2, b"b" * 99)]
    earlier = tmp_path / "earlier"
    await written(earlier, *pages)
    assert kinds(await written(tmp_path / "now", *pages, options=against(earlier))) == ["revisit"] * 2
    [archive] = archives(earlier)
    last = max(parse(line)[2].place()[0] for line in index_of(archive).read_bytes().splitlines())
    os.truncate(archive, last + 20)
    assert kinds(await written(tmp_path / "now", *pages, options=against(earlier)))[2:] == ["revisit", "response"]


async def test_small_bodies_empty_ones_and_revisits_are_archived_again(tmp_path: Path) -> None:
    body = b"the same" * 50
    await written(tmp_path / "earlier", page(1, body), page(2, b"small"), page(3, b""))
    pages = [page(4, body), page(5, b"small"), page(6, b"")]
    found = await written(tmp_path / "now", *pages, options=against(tmp_path / "earlier", min_bytes=100))
    assert [each.kind for each in found] == ["revisit", "response", "response"]
    # `now` has only a revisit of the body.
    found = await written(tmp_path / "next", page(7, body), options=against(tmp_path / "now"))
    assert [each.kind for each in found] == ["response"]


async def test_folders_indexes_and_archives_without_index_are_read(tmp_path: Path) -> None:
    body = b"the same" * 50
    await written(tmp_path / "plain", page(1, body), options=WarcOptions(index=False))
    assert [Path(each.path).suffix for each in sources_in([tmp_path / "plain"])] == [".gz"]
    found = await written(tmp_path / "a", page(2, body), options=against(tmp_path / "plain"))
    assert [each.kind for each in found] == ["revisit"]
    (tmp_path / "indexes").mkdir()
    alone = index(tmp_path / "indexes" / "all.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", body, "text/html"))
    for place in (alone, alone.parent):
        found = await written(tmp_path / f"b-{place.name}", page(2, body), options=against(place))
        assert found[0].fields["WARC-Refers-To-Date"] == "2020-01-01T00:00:00Z"
    packed = alone.with_name("some.cdxj.gz")
    packed.write_bytes(gzip.compress(alone.read_bytes()[:50]) + gzip.compress(alone.read_bytes()[50:]))
    alone.unlink()
    for place in (packed, packed.parent):
        found = await written(tmp_path / f"c-{place.name}", page(2, body), options=against(place))
        assert found[0].fields["WARC-Refers-To-Date"] == "2020-01-01T00:00:00Z"
    packed.write_bytes(packed.read_bytes()[:-10])
    with pytest.raises(OSError, match=r"some\.cdxj\.gz can't be read"):
        list(responses_in(packed))
    for empty in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match=r"expected the directory of a crawl, a folder with \*\.warc\.gz or"):
            sources_in([empty])


@pytest.mark.parametrize(
    "declared",
    [
        "Content-Type: application/http;msgtype=response\r\n",
        "content-type: Application/HTTP; msgtype=response\r\n",
        "Content-Type:\r\n",
        "",
    ],
    ids=["declared", "in other cases", "empty", "left out"],
)
def test_a_revisit_names_what_wget_has_archived_without_its_angle_brackets(tmp_path: Path, declared: str) -> None:
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.test/x>\r\nWARC-Date: 2026-11-20T18:38:16Z\r\n"
        f"WARC-Payload-Digest: {body_digest(b'body')}\r\n{declared}\r\n"
    )
    (tmp_path / "wget.warc.gz").write_bytes(gzip.compress(f"{head}HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n".encode()))
    [source] = sources_in([tmp_path])
    assert [each.url for each in responses_in(Path(source.path))] == ["http://a.test/x"]


def test_an_older_revisit_with_the_angle_brackets_of_wget_refers_to_the_same_url(tmp_path: Path) -> None:
    head = (
        "WARC/1.1\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://b.test/\r\nX-Onceover-Number: 1\r\n"
        "WARC-Refers-To-Target-URI: <http://a.test/x>\r\nWARC-Refers-To-Date: 2026-11-20T18:38:16Z\r\n\r\n"
    )
    path = tmp_path / "now.warc.gz"
    path.write_bytes(gzip.compress(head.encode()))
    [found] = captures_at(path, 0, max_bytes=10_000)
    assert found.refers_to == ("http://a.test/x", "2026-11-20T18:38:16Z")


async def test_an_archive_that_its_crawl_completes_or_deletes_meanwhile_is_no_error(tmp_path: Path) -> None:
    body = b"the same" * 50
    await written(tmp_path, page(1, body))
    [complete] = tmp_path.glob("*.warc.gz")
    being_written = complete.with_name(f"{complete.name}.open")
    complete.rename(being_written)
    [found] = sources_in([tmp_path])
    assert Path(found.path) == being_written
    being_written.rename(complete)
    assert [each.url for each in responses_in(being_written)] == [page(1, body).url]
    complete.unlink()
    index_of(complete).unlink()
    assert list(responses_in(being_written)) == []


def test_lines_of_others_are_read_and_what_is_no_response_is_not() -> None:
    line = b'org,a)/ 20200101000000 {"url": "http://a.org/", "status": %s, "digest": "%s", "length": 7, "mime": "%s"}'
    sha1 = b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    for status, digest in ((b"200", b"sha1:" + sha1), (b'"200"', sha1)):
        found = response_of(line % (status, digest, b"text/html"))
        assert found is not None
        assert (found.url, found.moment, len(found.sha1)) == ("http://a.org/", "20200101000000", 20)
    assert response_of((line % (b"200", sha1, b"x")).replace(b"}", b', "filename": "\xe9.warc.gz"}')) is not None
    for wrong in (
        line % (b'"-"', sha1, b"x"),
        line % (b"200", b"sha256:abc", b"x"),
        line % (b"200", b"1" * 32, b"x"),
        line % (b"200", "é".encode() * 32, b"x"),
        line % (b"200", sha1, REVISIT.encode()),
        line.replace(b"20200101000000", b"2020") % (b"200", sha1, b"x"),
    ):
        assert response_of(wrong) is None
    too_deep = b'org,a)/ 20200101000000 {"url": "http://a.org/", "x": ' + b"[" * 100_000
    for unreadable in (too_deep, b"!meta 0 {}", b"{", b"", b"\xff \xff \xff"):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever msgspec says
            response_of(unreadable)


@given(st.binary(min_size=20, max_size=20))
def test_a_digest_is_read_as_it_was_written(sha1: bytes) -> None:
    text = digest_text(sha1)
    assert sha1_of(text) == sha1_of(text.removeprefix("sha1:")) == base64.b32decode(text.removeprefix("sha1:")) == sha1


@pytest.mark.parametrize(
    "wrong",
    ["A" * 31, "A" * 31 + "=", "A" * 31 + "1", "a" * 32, "_A" * 16, " " + "A" * 31, "+" + "A" * 31, "\ud800" * 32],
)
def test_another_digest_is_none(wrong: str) -> None:
    assert sha1_of(wrong) is None


def test_an_index_of_which_no_line_can_be_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    junk, empty = tmp_path / "junk.cdxj", tmp_path / "empty.cdxj"
    junk.write_bytes(b"\xff\n" * 3)
    empty.touch()
    revisit = index(tmp_path / "revisit.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"", REVISIT))
    revisit.write_bytes(b"!meta 0 {}\n" + revisit.read_bytes())
    for place in (junk, empty, revisit):
        assert list(responses_in(place)) == []
    assert [each.getMessage() for each in caplog.records] == [
        f"{junk}: none of its lines (3) can be read as a line of a CDXJ index; it may be damaged"
    ]


def test_an_index_with_other_digests_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = b'a,test)/ 20200101000000 {"url":"http://a.test/","digest":"%s","mime":"%s","status":200}\n'
    ours = index(tmp_path / "ours.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"body", "text/html"))
    theirs = tmp_path / "theirs.cdxj"
    theirs.write_bytes(line % (b"sha256:" + b"0" * 64, b"text/html") * 2 + line % (b"-", b"text/html"))
    assert [len(list(responses_in(each))) for each in (ours, theirs)] == [1, 0]
    assert [each.getMessage() for each in caplog.records] == [
        f"{theirs}: lines with another digest than SHA-1: 2 of 3; these bodies are archived again"
    ]


@pytest.mark.parametrize("name", ["junk.cdxj.gz", "junk.wacz"])
def test_a_damaged_index_is_found_without_reading_it_all(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff" * 3_000)
    with pytest.raises(OSError, match=rf"{name} can't be read: .*copy it again, or take it out of output\.dedupe"):
        check_beginnings(sources_in([tmp_path / name]))


@given(
    captures=st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.sampled_from([b"x", b"y", b"z"]), st.booleans()),
        min_size=1,
    ),
    files=st.integers(1, 3),
)
def test_the_earliest_response_counts_in_whatever_order_they_come(
    tmp_path_factory: pytest.TempPathFactory, captures: list[tuple[str, int, bytes, bool]], files: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    lines = [
        (f"http://{host}.test/", f"2020-01-01T00:00:0{second}Z", body, REVISIT if is_revisit else "text/html")
        for host, second, body, is_revisit in captures
    ]
    places = [index(folder / f"{number}.cdxj", *lines[number::files]) for number in range(files)]
    for body in (b"x", b"y", b"z"):
        expected = min(((at, url) for url, at, each, mime in lines if each == body and mime != REVISIT), default=None)
        found = found_in(folder / "found", *places, body=body)
        assert (None if found is None else (found.date, found.url)) == expected


async def test_what_was_found_is_used_again_until_the_sources_change(tmp_path: Path) -> None:
    place = index(tmp_path / "a.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"x", "text/html"))
    path = tmp_path / "found"
    assert found_in(path, place, body=b"x") == Original(None, "http://a.test/", "2020-01-01T00:00:00Z")
    made = path.stat().st_ino
    assert found_in(path, place, body=b"y") is None
    assert path.stat().st_ino == made
    index(place, ("http://b.test/", "2020-01-01T00:00:00Z", b"y", "text/html"))
    os.utime(place, ns=(1, 1))
    assert found_in(path, place, body=b"x") is None
    assert found_in(path, place, body=b"y") is not None
    assert path.stat().st_ino != made


@pytest.mark.parametrize("damage", [b"", b"no database", bytes(9000)])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    place = index(tmp_path / "a.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"x", "text/html"))
    assert found_in(tmp_path / "found", place, body=b"x") is not None
    (tmp_path / "found").write_bytes(damage)
    assert found_in(tmp_path / "found", place, body=b"x") is not None


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    source = index(tmp_path / "a.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"body", "text/html"))
    (tmp_path / "found").mkdir()
    with pytest.raises(OSError, match=r"found can't be opened .*: it is made anew"):
        open_originals(tmp_path / "found", [source])


def test_a_damaged_line_is_no_body_and_the_next_start_makes_the_file_anew(tmp_path: Path) -> None:
    place = index(tmp_path / "a.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"x", "text/html"))
    path = tmp_path / "found"
    open_originals(path, [place]).close()
    store = sqlite3.connect(path)
    with store:
        store.execute("UPDATE original SET url = 'http://b.test/'")
    store.close()
    assert found_in(path, place, body=b"x") is None
    assert not path.exists()
    assert found_in(path, place, body=b"x") == Original(None, "http://a.test/", "2020-01-01T00:00:00Z")


def test_parts_that_start_together_make_the_file_once(tmp_path: Path) -> None:
    place = index(tmp_path / "a.cdxj", ("http://a.test/", "2020-01-01T00:00:00Z", b"x", "text/html"))
    opened: list[Originals] = []
    threads = [
        threading.Thread(target=lambda: opened.append(open_originals(tmp_path / "found", [place]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.find(body_digest(b"x")) is not None for each in opened] == [True] * 4
    for each in opened:
        each.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cdxj", "found", "found.lock"]


async def test_the_bodies_that_a_crawl_remembers_survive_its_restart(tmp_path: Path) -> None:
    options = WarcOptions(revisits=2, max_bytes=1)
    bodies = [bytes([letter]) * 99 for letter in b"abc"]
    first = [later(page(number, body), number) for number, body in enumerate(bodies)]
    assert kinds(await written(tmp_path, *first, options=options)) == ["response"] * 3
    remembered = bodies_archived_last(tmp_path, 2)
    assert list(remembered) == [body_digest(body) for body in bodies[1:]]
    again = [later(page(number + 7, body), 100 + number) for number, body in enumerate(reversed(bodies))]
    found = (await written(tmp_path, *again, options=options))[3:]
    assert kinds(found) == ["revisit", "revisit", "response"]
    assert found[1].fields["WARC-Refers-To-Target-URI"] == first[1].url
    assert "WARC-Refers-To" not in found[1].fields


@pytest.mark.parametrize("is_torn", [True, False])
async def test_a_body_that_was_cut_off_is_archived_again(tmp_path: Path, is_torn: bool) -> None:
    options = WarcOptions(revisits=9, max_bytes=1)
    await written(tmp_path, page(1, b"a" * 99), page(2, b"b" * 99), options=options)
    damaged = archives(tmp_path)[0]
    offset = parse(index_of(damaged).read_bytes().splitlines()[0])[2].place()[0]
    os.truncate(damaged, offset + 20 if is_torn else 0)
    assert list(bodies_archived_last(tmp_path, 9)) == [body_digest(b"b" * 99)]


def kinds(found: Sequence[Archived]) -> list[str]:
    return [each.kind for each in found]
