"""The index of an archive names each capture and where it lies, whatever happens to the disk or the process."""

import asyncio
import errno
import os
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawler.page import Failure, FailureKind, NotModified
from crawler.write.cdxj.lines import CaptureFacts, IndexEntry, line_of, moment_of, parse
from crawler.write.cdxj.making import archives, index_of, lines_of, make_index
from crawler.write.cdxj.merging import merged_index
from crawler.write.cdxj.open_index import OpenIndex, open_index_of
from crawler.write.cdxj.sorting import sorted_lines
from crawler.write.cdxj.surt_key import surt_key
from crawler.write.warc import WarcOptions, WarcSink
from tests.full_disk import no_space
from tests.unit.write.samples import NOON, page, record_of

Told = tuple[str, str | None, str | int | None, str | None, str | None, int, int]
"""Key, type, status and digest, and the file, offset and length of a capture."""
KEYS = [
    # what the `surt` package, version 0.3.1, makes of them
    ("http://www.example.org/", "org,example)/"),
    ("https://WWW2.Example.org:443/A/B/", "org,example)/a/b"),
    ("https://example.org:8443/x.html?", "org,example:8443)/x.html"),
    ("http://example.org:80/?b=2&a=1&a=", "org,example)/?a=&a=1&b=2"),
    ("http://user:secret@example.org/x", "org,example)/x"),
    ("http://10.0.0.1/x%20y", "1,0,0,10)/x%20y"),
    ("http://127.0.0.1:8000/x/", "1,0,0,127:8000)/x"),
    ("http://example.org/%7EMe?b&a=%20x#f", "org,example)/~me?a=%20x&b"),
    ("http://example.org", "org,example)/"),
    ("https://example.org/%E4?q=%E4", "org,example)/%e4?q=%e4"),
    ("http://liinwww.ira.uka.de/bib/", "de,uka,ira,liinwww)/bib"),
    ("http://h18012.www1.hp.com/java/", "com,hp,www1,h18012)/java"),
    ("http://example.org/a//b/./c/../d#top", "org,example)/a/b/d"),
    ("http://example.org/%2541%C3%A9", "org,example)/a%c3%a9"),
    ("http://example.org/?q=%7B%22a%22%7D", 'org,example)/?q={"a"}'),
    ("http://example.org/x?jsessionid=0123456789abcdef0123456789ABCDEF&y=1", "org,example)/x?y=1"),
    ("http://example.org/x?y=1&sid=0123456789abcdef0123456789ABCDEF", "org,example)/x?&y=1"),
    ("http://example.org/x?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&z=1&a=2", "org,example)/x?a=2&z=1"),
    ("http://example.org/x?cfid=1&cftoken=2", "org,example)/x"),
    # what ReplayWeb.page looks up
    ("urn:fullPage:https://www.Example.org/A/?b=2&a=%201", "urn:fullPage:https://www.Example.org/A/?b=2&a=%201"),
    ("http://example.org/(a(4hqa0555fwsecu455xqckv45)S(4hqa0555fwsecu455xqckv45))/Page.aspx", "org,example)/page.aspx"),
    ("http://example.org/(4hqa0555fwsecu455xqckv45)/Page.ASPX?x=1", "org,example)/page.aspx?x=1"),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_a_url_has_the_key_by_which_others_look_it_up(url: str, key: str) -> None:
    assert surt_key(url) == key


@given(st.text(max_size=80))
def test_any_text_has_a_key_of_one_line(text: str) -> None:
    key = surt_key(f"http://a.test/{text}")
    assert key.isascii()
    assert not set(key) & set(" \n\r")


def write(directory: Path, *urls: str, options: WarcOptions | None = None, close: bool = True) -> WarcSink:
    async def run() -> WarcSink:
        sink = WarcSink(directory, options or WarcOptions(), clock=lambda: NOON)
        for number, url in enumerate(urls, 1):
            fetched = msgspec.structs.replace(page(1), url=url)
            await sink.write(fetched, record_of(fetched, number))
        if close:
            await sink.aclose()
        return sink

    return asyncio.run(run())


def told_by_warcio(archive: Path) -> list[Told]:
    """As an independent reader sees the captures."""
    found: list[Told] = []
    with archive.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            if record.rec_type not in ("response", "revisit"):
                continue
            headers, http = record.rec_headers, record.http_headers
            assert http is not None
            mime = "warc/revisit" if record.rec_type == "revisit" else http.get_header("Content-Type") or ""
            record.content_stream().read()
            offset, length = records.get_record_offset(), records.get_record_length()
            found.append(
                (
                    surt_key(headers.get_header("WARC-Target-URI") or ""),
                    mime.partition(";")[0],
                    http.get_statuscode(),
                    headers.get_header("WARC-Payload-Digest"),
                    archive.name.removesuffix(".open"),
                    offset,
                    length,
                )
            )
    return sorted(found)


def filename_in(line: bytes) -> str:
    name: str = msgspec.json.decode(line.split(b" ", 2)[2])["filename"]
    return name


def told_by_index(lines: list[bytes]) -> list[Told]:
    found: list[Told] = []
    for line in lines:
        key, _, capture = parse(line)
        found.append((key, capture.mime, capture.status, capture.digest, filename_in(line), *capture.place()))
    return found


def test_an_index_says_what_an_independent_reader_finds(tmp_path: Path) -> None:
    urls = [f"http://{host}.test/{number}?q=%22" for number in range(30) for host in ("b", "a")]
    write(tmp_path, *urls, options=WarcOptions(max_bytes=20_000, revisits=3))
    files = archives(tmp_path)
    assert len(files) > 1
    for archive in files:
        lines = index_of(archive).read_bytes().splitlines()
        assert lines == sorted(lines)
        assert sorted(told_by_index(lines)) == told_by_warcio(archive)
        assert sorted(lines_of(archive)) == lines
    assert not list(tmp_path.glob("*.open"))
    merged = list(merged_index(tmp_path))
    assert merged == sorted(merged)
    assert len(merged) == len(urls)
    assert any(b'"warc/revisit"' in line for line in merged)


def test_no_line_is_lost_where_many_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.write.cdxj.open_index._LINES_AT_ONCE", 3)
    write(tmp_path, *(f"http://a.test/{number}" for number in range(8)))
    (archive,) = archives(tmp_path)
    lines = index_of(archive).read_bytes().splitlines()
    assert len(lines) == 8
    assert told_by_index(lines) == told_by_warcio(archive)


async def test_a_type_behind_long_headers_is_in_the_index_that_is_made_of_the_archive(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path)
    headers = [*((b"X-%d" % number, b"x" * 8000) for number in range(31)), (b"Content-Type", b"text/html")]
    fetched = page(1, headers=headers)
    await sink.write(fetched, record_of(fetched, 1))
    await sink.aclose()
    (archive,) = archives(tmp_path)
    (line,) = lines_of(archive)
    assert parse(line)[2].mime == "text/html"
    assert index_of(archive).read_bytes() == line + b"\n"


@pytest.mark.parametrize(
    ("declared", "mime"),
    [
        ("text/html; charset=utf-8", "text/html"),
        ("text/html charset=utf-8", "text/html"),
        (" text/html ;x", "text/html"),
        ("; charset=utf-8", "unk"),
        ("", "unk"),
    ],
)
async def test_a_declared_type_ends_where_pywb_and_cdxj_indexer_end_it(
    tmp_path: Path, declared: str, mime: str
) -> None:
    sink = WarcSink(tmp_path)
    fetched = page(1, headers=[(b"Content-Type", declared.encode())])
    await sink.write(fetched, record_of(fetched, 1))
    await sink.aclose()
    (archive,) = archives(tmp_path)
    (line,) = lines_of(archive)
    assert parse(line)[2].mime == mime
    assert index_of(archive).read_bytes() == line + b"\n"


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2020-01-02T03:04:05Z", "20200102030405"),
        ("2020-01-02T03:04:05.678901Z", "20200102030405"),
        ("2020-01-02 03:04:05", "20200102030405"),
        ("20200102030405", "20200102030405"),
        ("20200102030405678", "20200102030405"),
        ("2020-01-02T03:04Z", "202001020304"),
        ("2 Jan 2020\n", "22020"),
    ],
)
def test_any_date_is_digits(date: str, moment: str) -> None:
    assert moment_of(date) == moment


def test_what_another_crawler_names_breaks_no_line() -> None:
    named = 'sha1:A"\n\\B'
    line = line_of(CaptureFacts("http://a/", "", "a\nb", 200, named), offset=1, length=2, filename='"\udcff\\')
    assert b"\n" not in line
    assert parse(line)[2] == IndexEntry("http://a/", "a\nb", "200", named, "2", "1")
    assert filename_in(line) == '"?\\'


async def test_a_page_that_has_not_changed_is_in_the_index_too(tmp_path: Path) -> None:
    sink = WarcSink(tmp_path, clock=lambda: NOON)
    fetched = NotModified(
        url="http://a.test/", status=304, reason="Not Modified", headers=[(b"ETag", b"x")], fetched_at=NOON,
        duration_s=0.1,
    )  # fmt: skip
    await sink.write(fetched, record_of(fetched, 1))
    await sink.aclose()
    (archive,) = archives(tmp_path)
    [line] = index_of(archive).read_bytes().splitlines()
    _, moment, capture = parse(line)
    assert (moment, capture.mime, capture.status, capture.digest) == ("20231114221320", "warc/revisit", "304", None)
    assert list(lines_of(archive)) == [line]


def test_a_crash_leaves_an_index_that_the_next_opening_makes(tmp_path: Path) -> None:
    write(tmp_path, "http://a.test/1", "http://a.test/2", close=False)
    (archive,) = archives(tmp_path)
    assert archive.name.endswith(".open")
    assert len(list(merged_index(tmp_path))) == 2
    with archive.open("ab") as file:
        file.write(b"\x1f\x8b torn")
    write(tmp_path)
    (archive,) = archives(tmp_path)
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)
    assert not open_index_of(archive).exists()


def test_after_a_crash_the_archive_is_read_once_for_its_repair_and_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "http://a.test/2", "http://a.test/1", close=False)
    (archive,) = archives(tmp_path)
    with archive.open("ab") as file:
        file.write(b"\x1f\x8b\x08 torn")
    # What the crash left of the index counts for nothing.
    open_index_of(archive.with_name(archive.name.removesuffix(".open"))).write_bytes(
        b"a line of a record that is lost\n"
    )
    expected = sorted(lines_of(archive))

    def read_again(path: Path) -> None:
        raise AssertionError(f"{path} is read a second time")

    monkeypatch.setattr("crawler.write.cdxj.open_index.make_index", read_again)
    write(tmp_path)
    assert index_of(archive).read_bytes().splitlines() == expected
    assert not list(tmp_path.glob("*.open"))


def test_a_crash_after_the_archive_was_complete_is_mended_too(tmp_path: Path) -> None:
    write(tmp_path, "http://a.test/1")
    (archive,) = archives(tmp_path)
    expected = index_of(archive).read_bytes()
    index_of(archive).unlink()
    assert list(merged_index(tmp_path)) == expected.splitlines()
    open_index_of(archive).write_bytes(b"torn")
    write(tmp_path)
    assert index_of(archive).read_bytes() == expected


def test_an_archive_that_a_crash_left_open_gets_an_index_even_if_no_open_one_is_left(tmp_path: Path) -> None:
    write(tmp_path, "http://a.test/1", close=False)
    [path] = tmp_path.glob("*.cdxj.open")
    path.unlink()
    write(tmp_path)
    (archive,) = archives(tmp_path)
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)


async def test_an_index_that_could_neither_be_written_along_nor_in_the_end_is_made_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    really_open = os.open

    def full(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith(".cdxj.open"):
            raise OSError(errno.ENOSPC, "no space left on device")
        return really_open(path, *more, **named)

    def not_synced(fd: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    sink = WarcSink(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        await sink.write(page(1), record_of(page(1), 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", not_synced)
        await sink.aclose()
    (archive,) = archives(tmp_path)
    assert not index_of(archive).exists()
    assert "the next start makes it" in caplog.text
    await WarcSink(tmp_path).aclose()
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        patch.setattr(os, "fsync", not_synced)
        patch.setattr(Path, "touch", full)
        lost = OpenIndex(archive)
        lost.add(CaptureFacts("http://a.test/", "2026-11-23T00:00:00.000Z", None, None, None), offset=0, length=1)
        lost.finish()
    assert "make an empty file" in caplog.text


@pytest.mark.parametrize("is_written_along", [True, False])
async def test_an_index_for_which_there_was_no_space_is_made_at_the_end_of_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written_along: bool
) -> None:
    really_open = os.open

    def full(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith(".cdxj.open") and not is_written_along:
            raise OSError(errno.ENOSPC, "no space left on device")
        return really_open(path, *more, **named)

    def not_synced(fd: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    sink = WarcSink(tmp_path, WarcOptions(max_bytes=1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        patch.setattr(os, "fsync", not_synced)
        await sink.write(page(1), record_of(page(1), 1))
        await sink.write(page(2), record_of(page(2), 2))
        await asyncio.gather(*sink._sorting)
    first = min(archives(tmp_path))
    assert not index_of(first).exists()
    await sink.aclose()
    for archive in archives(tmp_path):
        assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)
    assert list(tmp_path.glob("*.open")) == []


def test_an_index_that_can_not_be_made_keeps_no_crawl_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "http://a.test/1")
    (archive,) = archives(tmp_path)
    expected = index_of(archive).read_bytes()
    index_of(archive).unlink()
    open_index_of(archive).touch()

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        asyncio.run(WarcSink(tmp_path).aclose())
    assert not index_of(archive).exists()
    asyncio.run(WarcSink(tmp_path).aclose())
    assert index_of(archive).read_bytes() == expected


@pytest.mark.parametrize("after_the_loss", ["the same page", "a longer page", "an exchange that fails"])
async def test_lines_of_records_that_were_taken_back_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_the_loss: str
) -> None:
    now = [NOON]
    synced = os.fsync

    def full(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").is_file():
            no_space()
        synced(fd)

    sink = WarcSink(tmp_path, clock=lambda: now[0], durability="power")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            await sink.write(page(1), record_of(page(1), 1))
    now[0] += 0.123  # so that the record with the settings, which is written again, has another length
    match after_the_loss:
        case "the same page":
            await sink.write(page(1), record_of(page(1), 1))
        case "a longer page":
            longer = page(2, Random(2).randbytes(9_000))
            await sink.write(longer, record_of(longer, 2))
        case _:
            why = Random(3).randbytes(9_000).hex()
            url = page(3).url
            failure = Failure(url=url, kind=FailureKind.CONNECT, message=why, fetched_at=NOON, duration_s=0.1)
            await sink.write_exchange(failure, "robots")
    await sink.write(page(4), record_of(page(4), 4))
    await sink.aclose()
    (archive,) = archives(tmp_path)
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)


async def test_lines_of_the_last_records_go_too_if_they_were_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    sink = WarcSink(tmp_path, clock=lambda: NOON, durability="power")
    await sink.write(page(1), record_of(page(1), 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            await sink.write(page(2), record_of(page(2), 2))
    await sink.aclose()
    (archive,) = archives(tmp_path)
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)
    assert len(told_by_warcio(archive)) == 1


def test_a_full_disk_costs_no_page_and_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = os.write

    def full(fd: int, data: bytes) -> int:
        if Path(f"/proc/self/fd/{fd}").readlink().name.endswith(".cdxj.open"):
            raise OSError(errno.ENOSPC, "no space left on device")
        return written(fd, data)

    monkeypatch.setattr(os, "write", full)
    write(tmp_path, "http://a.test/1", "http://a.test/2")
    (archive,) = archives(tmp_path)
    assert told_by_index(index_of(archive).read_bytes().splitlines()) == told_by_warcio(archive)


def test_more_lines_than_fit_into_memory_are_sorted_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(1)
    lines = [b"%016x" % random.getrandbits(64) + b" " * 200 for _ in range(20_000)]
    monkeypatch.setattr("crawler.write.cdxj.sorting._AT_ONCE_BYTES", 50_000)
    tracemalloc.start()
    ordered = sorted_lines(iter(lines), tmp_path)
    assert all(found == expected for found, expected in zip(ordered, sorted(lines), strict=True))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_500_000
    assert list(tmp_path.iterdir()) == []
    assert list(sorted_lines([b"b", b"a", b"b"])) == [b"a", b"b", b"b"]


def test_there_is_none_if_nobody_wants_one(tmp_path: Path) -> None:
    write(tmp_path, "http://a.test/1", options=WarcOptions(index=False))
    (archive,) = archives(tmp_path)
    assert list(tmp_path.iterdir()) == [archive]
    make_index(archive)
    assert len(index_of(archive).read_bytes().splitlines()) == 1


def test_many_archives_are_merged_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.write.cdxj.merging._AT_ONCE", 2)
    for number in range(5):
        write(tmp_path / str(number), f"http://a.test/{9 - number}", f"http://b.test/{number}")
    merged = list(merged_index(*(tmp_path / str(number) for number in range(5))))
    assert [parse(line)[0] for line in merged] == [
        *(f"test,a)/{number}" for number in range(5, 10)),
        *(f"test,b)/{number}" for number in range(5)),
    ]


async def test_archives_without_index_are_not_all_open_at_once(tmp_path: Path) -> None:
    for number in range(250):
        sink = WarcSink(tmp_path, WarcOptions(index=False))
        await sink.write(page(number), record_of(page(number), number))
        await sink.aclose()
    before = len([*Path("/proc/self/fd").iterdir()])
    lines = merged_index(tmp_path)
    first = next(lines)
    assert len([*Path("/proc/self/fd").iterdir()]) - before < 120
    assert len([first, *lines]) == 250
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_folder_that_may_not_be_read_does_not_count_as_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str | Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        for name in ("listdir", "scandir"):
            patch.setattr(os, name, refuse)
        with pytest.raises(PermissionError):
            archives(tmp_path)
    assert archives(tmp_path / "missing") == []
