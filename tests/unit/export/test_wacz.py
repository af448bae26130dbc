"""An archive in one file: what is in it, where each record is, and that it lacks nothing."""

import asyncio
import gzip
import hashlib
import io
import json
import re
import shutil
import time
import zipfile
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from warcio.archiveiterator import ArchiveIterator

from crawler.disk.layout import Layout, write_layout
from crawler.export import tables
from crawler.export.wacz import index, packing
from crawler.export.wacz.package import Package
from crawler.export.writers import ExportRefused
from crawler.page import NotModified, Page, PageRecord
from crawler.write.cdxj.surt_key import surt_key
from crawler.write.warc import WarcOptions, WarcSink
from tests.unit.export.test_tables import csv_rows, run
from tests.unit.export.written import write_crawl
from tests.unit.write.samples import NOON, page, record_of

VALIDATOR = shutil.which("wacz")


async def archived_crawl(
    directory: Path, *pages: Page, max_bytes: int = 1 << 20, duplicates: int = 0, against: Sequence[Path] = ()
) -> Path:
    """A crawl that has fetched these pages; their numbers count from 1. The first one is the seed."""
    records = [
        msgspec.structs.replace(record_of(each, number), url=each.url, kind="seed" if number == 1 else "link")
        for number, each in enumerate(pages, 1)
    ]
    write_crawl(directory, records)
    earlier = tuple(str(each) for each in against)
    sink = WarcSink(directory / "warc", WarcOptions(max_bytes=max_bytes, revisits=duplicates, earlier=earlier))
    await sink.begin()
    for each, record in zip(pages, records, strict=True):
        await sink.write(each, record)
    await sink.aclose()
    return directory


class Opened:
    """A WACZ file, read by others than ours."""

    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path)
        self.package = json.loads(self.zip.read("datapackage.json"))
        self.index = self._read_index()
        header, *pages = self.zip.read("pages/pages.jsonl").decode().splitlines()
        self.header, self.pages = json.loads(header), [json.loads(line) for line in pages]

    def _read_index(self) -> list[str]:
        """The lines of all blocks. Fails if the table of blocks is wrong."""
        blocks = self.zip.read("indexes/index.cdx.gz")
        meta, *table = self.zip.read("indexes/index.idx").decode().splitlines()
        assert meta == '!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}'
        lines: list[str] = []
        for entry in table:
            key, timestamp, content = entry.split(" ", 2)
            block = json.loads(content)
            data = blocks[block["offset"] : block["offset"] + block["length"]]
            assert block["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
            in_block = gzip.decompress(data).decode().splitlines()
            assert in_block[0].startswith(f"{key} {timestamp} {{")
            lines += in_block
        return lines

    def close(self) -> None:
        self.zip.close()

    def archive(self, name: str) -> bytes:
        return self.zip.read(f"archive/{name}")

    def captures(self) -> list[tuple[str, str, str]]:
        """Kind, URL and payload of what each line of the index leads to, in its order. Fails if the line is wrong."""
        found = []
        for line in self.index:
            key, timestamp, content = line.split(" ", 2)
            entry: dict[str, Any] = json.loads(content)
            assert key == surt_key(entry["url"])
            start, length = int(entry["offset"]), int(entry["length"])
            member = io.BytesIO(self.archive(entry["filename"])[start : start + length])
            [record] = ArchiveIterator(member)
            fields = dict(record.rec_headers.headers)
            date = re.sub(r"\D", "", fields["WARC-Date"])
            assert (fields["WARC-Target-URI"], date[:14]) == (entry["url"], timestamp)
            found.append((record.rec_type, entry["url"], entry["mime"]))
        return found

    def payloads(self) -> dict[str, bytes]:
        """What replay shows for each URL in the index, from this file alone. Fails if a revisit leads nowhere."""
        bodies: dict[tuple[str, str], bytes] = {}
        revisits: list[tuple[str, tuple[str, str]]] = []
        for line in self.index:
            entry: dict[str, Any] = json.loads(line.split(" ", 2)[2])
            start, length = int(entry["offset"]), int(entry["length"])
            record = next(iter(ArchiveIterator(io.BytesIO(self.archive(entry["filename"])[start : start + length]))))
            fields = dict(record.rec_headers.headers)
            if record.rec_type == "revisit":
                to, at = fields["WARC-Refers-To-Target-URI"], fields["WARC-Refers-To-Date"]
                revisits.append((entry["url"], (to, re.sub(r"\D", "", at)[:14])))
            else:
                key = (entry["url"], re.sub(r"\D", "", fields["WARC-Date"])[:14])
                bodies[key] = record.content_stream().read()
        return {url: body for (url, _), body in bodies.items()} | {url: bodies[key] for url, key in revisits}


@pytest.fixture
def same() -> tuple[Page, Page]:
    """Two pages with the same body."""
    return page(1, b"the same" * 100), page(2, b"the same" * 100)


async def test_the_main_page_is_the_first_seed_or_where_it_redirects_to(tmp_path: Path) -> None:
    """Seeds may be fetched in any order."""
    records = [
        msgspec.structs.replace(record_of(page(number), number), kind=kind, depth=depth)
        for number, kind, depth in ((4, "redirect", 1), (5, "link", 1), (3, "redirect", 0), (2, "seed", 0))
    ]
    write_crawl(tmp_path / "crawl", records)
    sink = WarcSink(tmp_path / "crawl" / "warc", WarcOptions())
    await sink.begin()
    for record in records:
        await sink.write(page(record.number), record)
    await sink.aclose()
    run(tmp_path / "crawl", "wacz", tmp_path / "a.wacz")
    opened = Opened(tmp_path / "a.wacz")
    assert {each["id"] for each in opened.pages if each.get("seed")} == {"2", "3"}
    assert opened.package["mainPageUrl"] == records[3].url


async def test_pages_that_the_archive_does_not_have_are_not_listed(tmp_path: Path) -> None:
    """As of a crawl that had no archive at first, or has deleted its oldest files."""
    crawl = await archived_crawl(tmp_path / "crawl", page(2))
    write_crawl(crawl, [record_of(page(number), number) for number in (1, 2)])
    result = run(crawl, "wacz", tmp_path / "a.wacz")
    assert result.stdout.startswith("1 WARC file, 1 capture, 1 page: ")
    assert "the list of pages leaves 1 out" in result.stderr
    assert [each["url"] for each in Opened(tmp_path / "a.wacz").pages] == [page(2).url]


async def test_visits_that_the_archive_does_not_have_are_not_listed(tmp_path: Path) -> None:
    """Of a page that was fetched again after `output.keep_bytes` had deleted the archive of the first time."""
    later = page(1)
    earlier = msgspec.structs.replace(later, fetched_at=later.fetched_at - 60)
    crawl = await archived_crawl(tmp_path / "crawl", later)
    records = [record_of(each, number) for number, each in enumerate((earlier, later), 1)]
    write_crawl(crawl, [msgspec.structs.replace(each, url=later.url) for each in records])
    result = run(crawl, "wacz", tmp_path / "a.wacz")
    assert "the list of pages leaves 1 out" in result.stderr
    assert [each["ts"] for each in Opened(tmp_path / "a.wacz").pages] == [records[1].fetched_at]


async def test_a_wacz_holds_the_archive_as_it_is_with_index_pages_and_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_LINES", 2)
    missing = page(3, status=404, reason="Not Found")
    crawl = await archived_crawl(tmp_path / "crawl", page(2), page(1), missing, max_bytes=1)
    result = run(crawl, "wacz", tmp_path / "a.wacz")
    assert result.stdout == f"3 WARC files, 3 captures, 2 pages: {tmp_path / 'a.wacz'}\n"
    opened = Opened(tmp_path / "a.wacz")
    archives = {path.name: path.read_bytes() for path in (crawl / "warc").glob("*.warc.gz")}
    for name, content in archives.items():
        assert opened.archive(name) == content
        assert opened.zip.getinfo(f"archive/{name}").compress_type == zipfile.ZIP_STORED
    urls = [page(number).url for number in (1, 2, 3)]
    assert opened.captures() == [("response", url, "text/html") for url in urls]
    assert opened.index == sorted(opened.index)
    assert opened.header["format"] == "json-pages-1.0"
    assert [(each["url"], each.get("seed", False)) for each in opened.pages] == [(urls[1], True), (urls[0], False)]
    assert (opened.package["wacz_version"], opened.package["mainPageUrl"]) == ("1.1.1", urls[1])
    described = {each["path"]: each for each in opened.package["resources"]}
    own = {"datapackage.json", "datapackage-digest.json"}
    assert described.keys() == {*opened.zip.namelist()} - own
    for path, resource in described.items():
        content = opened.zip.read(path)
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    digest = json.loads(opened.zip.read("datapackage-digest.json"))
    package_hash = hashlib.sha256(opened.zip.read("datapackage.json")).hexdigest()
    assert digest == {"path": "datapackage.json", "hash": f"sha256:{package_hash}"}
    opened.close()
    with pytest.raises(ExportRefused, match="exists: name another file"):
        run(crawl, "wacz", tmp_path / "a.wacz")
    run(crawl, "wacz", tmp_path / "a.wacz", "--overwrite")


async def test_what_a_running_crawl_has_not_finished_and_what_is_damaged_is_left_out(tmp_path: Path) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1), page(2))
    [whole] = (crawl / "warc").glob("*.warc.gz")
    content = whole.read_bytes()
    whole.with_name(whole.name + ".open").write_bytes(content + content[: len(content) // 2])
    damaged = whole.with_name("x-20200101000000000-00000.warc.gz")
    damaged.write_bytes(content[:1500] + b"\0" * 20 + content[1520:])
    whole.unlink()
    result = run(crawl, "wacz", tmp_path / "a.wacz")
    assert f"{damaged}: bytes" in result.stderr
    opened = Opened(tmp_path / "a.wacz")
    taken = opened.archive(whole.name)
    assert content == taken[: len(content)]
    assert len(taken) < len(content) * 1.5
    assert {url for _, url, _ in opened.captures()} == {page(1).url, page(2).url}
    opened.close()


async def test_what_revisit_records_refer_to_is_copied_from_earlier_crawls(
    tmp_path: Path, same: tuple[Page, Page]
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", *same, page(3), max_bytes=1, duplicates=9)
    run(crawl, "wacz", tmp_path / "whole.wacz")
    kinds = [("response", same[0].url, "text/html"), ("revisit", same[1].url, "warc/revisit")]
    whole = Opened(tmp_path / "whole.wacz")
    assert whole.captures()[:2] == kinds
    whole.close()

    first = min((crawl / "warc").glob("*.warc.gz"))
    earlier = await archived_crawl(tmp_path / "earlier", page(9))
    first.rename(earlier / "warc" / first.name)
    with pytest.raises(ExportRefused, match=r"refer to 1 body that .* for example that of http://h1"):
        run(crawl, "wacz", tmp_path / "a.wacz")
    assert not list(tmp_path.glob("a.wacz*"))
    run(crawl, "wacz", tmp_path / "lacking.wacz", "--incomplete")
    for place in (earlier, earlier / "warc"):
        run(crawl, "wacz", tmp_path / "a.wacz", "--earlier", str(place), "--overwrite")
        opened = Opened(tmp_path / "a.wacz")
        assert opened.captures()[:2] == kinds
        assert page(9).url not in {url for _, url, _ in opened.captures()}
        referred = [each.rec_type for each in ArchiveIterator(io.BytesIO(opened.archive("referred.warc.gz")))]
        assert referred == ["warcinfo", "response"]
        opened.close()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportRefused, match=r"expected the directory of a crawl, or WARC files"):
        run(crawl, "wacz", tmp_path / "b.wacz", "--earlier", str(tmp_path / "empty"))


async def test_a_crawl_that_was_compared_with_earlier_ones_is_whole_in_its_wacz(
    tmp_path: Path, same: tuple[Page, Page]
) -> None:
    earlier = await archived_crawl(tmp_path / "earlier", same[0], page(9))
    later = msgspec.structs.replace(same[1], fetched_at=NOON + 999)
    crawl = await archived_crawl(tmp_path / "crawl", later, page(3), against=[earlier / "warc"])
    [index] = (earlier / "warc").glob("*.cdxj")
    for number, named in enumerate((earlier, earlier / "warc", index)):
        settings = f"[output]\ndedupe_against = [{str(named)!r}, '/gone']\n"
        (crawl / "crawl.toml").write_text(settings)
        run(crawl, "wacz", tmp_path / f"{number}.wacz")
        opened = Opened(tmp_path / f"{number}.wacz")
        assert len(opened.captures()) == 3
        assert opened.payloads()[later.url] == later.body == same[0].body
        opened.close()
    both = await archived_crawl(
        tmp_path / "both", later, msgspec.structs.replace(later, url=page(4).url), against=[earlier / "warc"]
    )
    for directory in (crawl, both):
        (directory / "crawl.toml").write_text("[output]\n")
        with pytest.raises(ExportRefused, match="revisit records refer to 1 body that"):
            run(directory, "wacz", tmp_path / "lacking.wacz")


@pytest.mark.parametrize("is_large", [False, True])
async def test_replay_finds_members_by_the_central_directory_alone_or_is_told_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    """wabac.js takes it that the head of a member has no extra fields, unless the central directory has some."""
    if is_large:
        monkeypatch.setattr(packing, "_LARGE_BYTES", 1)
    crawl = await archived_crawl(tmp_path / "crawl", page(1))
    run(crawl, "wacz", tmp_path / "a.wacz")
    opened, content = Opened(tmp_path / "a.wacz"), (tmp_path / "a.wacz").read_bytes()
    for member in opened.zip.infolist():
        head = content[member.header_offset :]
        length = int.from_bytes(head[28:30], "little")
        assert (length > 0, bool(member.extra)) == (is_large, is_large)
    assert len(opened.captures()) == 1
    opened.close()


async def test_the_table_of_pages_tells_where_an_archive_has_them_with_an_index_and_without(
    tmp_path: Path, same: tuple[Page, Page]
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", *same, page(3), duplicates=9)
    [warc] = (crawl / "warc").glob("*.warc.gz")
    content = warc.read_bytes()
    assert run(crawl, "csv", tmp_path / "indexed.csv").stderr == ""
    rows = csv_rows(tmp_path / "indexed.csv")
    assert len(rows) == 3
    for row in rows:
        assert row["warc_filename"] == f"warc/{warc.name}"
        start, length = int(row["warc_record_offset"]), int(row["warc_record_length"])
        [record] = ArchiveIterator(io.BytesIO(content[start : start + length]))
        assert dict(record.rec_headers.headers)["WARC-Target-URI"] == row["url"]
        assert record.rec_type == ("revisit" if row["url"] == same[1].url else "response")

    warc.with_name(warc.name + ".cdxj").unlink()
    warc.rename(warc.with_name(warc.name + ".open"))
    assert "has no index (.cdxj), so it is read" in run(crawl, "csv", tmp_path / "pages.csv").stderr
    assert csv_rows(tmp_path / "pages.csv") == rows
    run(crawl, "csv", tmp_path / "pages.csv", "--no-locations", "--overwrite")
    assert {row["warc_filename"] for row in csv_rows(tmp_path / "pages.csv")} == {""}


@pytest.mark.parametrize(("at", "year"), [(0.0, 1980), (-1e9, 1980), (5e9, 2107)])
def test_a_package_is_written_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: float, year: int
) -> None:
    now = time.gmtime(at)
    monkeypatch.setattr(time, "gmtime", lambda: now)
    with (tmp_path / "a.wacz").open("wb") as file, Package(file, is_large=False) as package:
        package.finish({})
    with zipfile.ZipFile(tmp_path / "a.wacz") as opened:
        assert {each.date_time[0] for each in opened.infolist()} == {year}


async def test_replay_does_not_look_up_that_a_page_has_not_changed(tmp_path: Path) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1))
    unchanged = NotModified(url=page(1).url, status=304, headers=[], fetched_at=NOON + 9, duration_s=0.1)
    sink = WarcSink(crawl / "warc")
    await sink.write(unchanged, PageRecord(number=1, url=page(1).url, state="done", depth=0, kind="seed"))
    await sink.aclose()
    run(crawl, "wacz", tmp_path / "a.wacz")
    opened = Opened(tmp_path / "a.wacz")
    assert [kind for kind, _, _ in opened.captures()] == ["response"]
    opened.close()


async def test_the_archives_of_all_parts_are_in_one_file(tmp_path: Path) -> None:
    whole = write_crawl(tmp_path / "whole")
    write_layout(whole, Layout.begin(2))
    for number in (0, 1):
        await archived_crawl(whole / f"part-{number}", page(number))
    run(whole, "wacz", tmp_path / "a.wacz")
    opened = Opened(tmp_path / "a.wacz")
    assert {each.split("/")[1][:7] for each in opened.zip.namelist() if each.startswith("archive/")} == {
        "part-0-",
        "part-1-",
    }
    assert len(opened.captures()) == 2
    opened.close()
    assert "1 WARC file, 1 capture" in run(whole, "wacz", tmp_path / "b.wacz", "--part", "1").stdout
    with pytest.raises(click.UsageError, match="--table links is for tables"):
        run(whole, "wacz", tmp_path / "c.wacz", "--table", "links")


async def test_the_list_of_pages_has_the_text_of_each_page_read_from_the_archive(tmp_path: Path) -> None:
    article = b"<html><body><main><h1>Tides</h1><p>%s</p></main></body></html>" % (b"The sea comes and goes. " * 20)
    earlier = await archived_crawl(tmp_path / "earlier", page(1, article))
    again = msgspec.structs.replace(page(2, article), fetched_at=NOON + 999)
    crawl = await archived_crawl(tmp_path / "crawl", again, page(3), against=[earlier / "warc"])
    (crawl / "crawl.toml").write_text(f"[output]\ndedupe_against = [{str(earlier)!r}]\n")
    run(crawl, "wacz", tmp_path / "plain.wacz")
    run(crawl, "wacz", tmp_path / "text.wacz", "--text-by", "turbohtml")
    for name, has_text in (("plain", False), ("text", True)):
        opened = Opened(tmp_path / f"{name}.wacz")
        texts = {each["url"]: each.get("text", "") for each in opened.pages}
        assert ("The sea comes and goes." in texts[again.url]) is has_text
        assert texts.keys() == {again.url, page(3).url}
        opened.close()


@pytest.mark.parametrize(("form", "module"), [("wacz", packing), ("csv", tables)])
async def test_what_another_export_writes_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, module: Any
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1))
    really_take = module.take_snapshot
    to = tmp_path / f"a.{form}"

    def slowly(*args: Any) -> Any:
        to.write_bytes(b"theirs")
        return really_take(*args)

    monkeypatch.setattr(module, "take_snapshot", slowly)
    with pytest.raises(ExportRefused, match="exists: name another file"):
        run(crawl, form, to)
    assert to.read_bytes() == b"theirs"
    assert not to.with_name(f"{to.name}.open").exists()
    run(crawl, form, to, "--overwrite")
    assert to.read_bytes() != b"theirs"


def test_a_crawl_without_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportRefused, match=r"has no archive to pack: crawl with output.warc = true"):
        run(write_crawl(tmp_path / "crawl", []), "wacz", tmp_path / "a.wacz")


@pytest.mark.long
@pytest.mark.skipif(VALIDATOR is None, reason="needs the command `wacz`, in an environment of its own, on PATH")
async def test_the_validator_of_others_finds_it_valid(tmp_path: Path, same: tuple[Page, Page]) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", *same, page(3), max_bytes=1, duplicates=9)
    run(crawl, "wacz", tmp_path / "a.wacz")
    assert VALIDATOR is not None
    process = await asyncio.create_subprocess_exec(VALIDATOR, "validate", "-f", tmp_path / "a.wacz", stdout=PIPE)
    told, _ = await process.communicate()
    assert (process.returncode, b"the passed WACZ is valid" in told) == (0, True), told.decode()
