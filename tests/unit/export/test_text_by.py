"""Who reads the texts of an export, and who may not."""

import sys
from pathlib import Path

import msgspec
import pytest

from crawler.page import rfc3339
from crawler.write.warc import WarcOptions, WarcSink
from tests.e2e.crawling import COMPLETE, REFUSED, USAGE, Ended, assert_told
from tests.e2e.operating import command_here
from tests.unit.export.written import record, write_crawl
from tests.unit.write.samples import page


def export(crawl: Path, *options: str, to: str = "out") -> Ended:
    return command_here("export", str(crawl), "--to", str(crawl.parent / to), *options)


def test_without_trafilatura_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    monkeypatch.delitem(sys.modules, "crawler.read.content.trafilatura_text", raising=False)
    ended = export(crawl, "--format", "jsonl", "--text-by", "trafilatura")
    assert_told(ended, USAGE, "pip install 'onceover-crawler[text]'")
    assert not (tmp_path / "out").exists()


def test_only_pages_have_a_text(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    ended = export(crawl, "--format", "csv", "--table", "links", "--text-by", "turbohtml")
    assert_told(ended, USAGE, "--text-by is for the table of pages, and for wacz")


def test_an_export_goes_on_with_the_same_reader_alone(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1), record(2)])
    assert_told(export(crawl, "--format", "csv", "--text-by", "turbohtml"), COMPLETE)
    assert_told(export(crawl, "--format", "csv"), REFUSED, "another text reader: turbohtml and not None")


async def test_a_revisit_of_the_body_of_another_page_has_its_own_links(tmp_path: Path) -> None:
    body = b"<p>A text with a <a href=next>link</a>" + b" words" * 400_000
    sink = WarcSink(tmp_path / "crawl" / "warc", WarcOptions(revisits=10))
    told = "read slowly; its text is that of the first 2,000,000 bytes"
    records = []
    for number, path in enumerate(("a/", "b/"), 1):
        found = msgspec.structs.replace(page(number, body), url=f"http://h1.test/{path}")
        fields = {"url": found.url, "fetched_at": rfc3339(found.fetched_at), "content_type": "text/html"}
        records.append(record(number, **fields, message=told))
        await sink.write(found, records[-1])
    await sink.aclose()
    crawl = write_crawl(tmp_path / "crawl", records)

    ended = export(crawl, "--format", "jsonl", "--text-by", "turbohtml", to="out.jsonl")
    assert_told(ended, COMPLETE)
    exported = [msgspec.json.decode(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    for each, path in zip(exported, ("a/", "b/"), strict=True):
        assert f"[link](http://h1.test/{path}next)" in each["markdown"]
        assert each["message"].startswith(f"{told}; its text is cut at")  # what the crawl has told comes once
        assert each["message"].count("its text is") == 2


@pytest.mark.parametrize("later_s", [100, 0.2], ids=["much later", "within a second"])
async def test_a_text_whose_body_an_earlier_crawl_has_archived_is_read_there(tmp_path: Path, later_s: float) -> None:
    found = page(1, b"<p>A text that comes again")
    earlier, crawl = tmp_path / "earlier", tmp_path / "crawl"
    for directory, places in ((earlier, ()), (crawl, (str(earlier / "warc"),))):
        sink = WarcSink(directory / "warc", WarcOptions(earlier=places))
        await sink.begin()
        found = msgspec.structs.replace(found, fetched_at=found.fetched_at + later_s)
        written = record(1, url=found.url, fetched_at=rfc3339(found.fetched_at), content_type="text/html")
        await sink.write(found, written)
        await sink.aclose()
        write_crawl(directory, [written])
    with (crawl / "crawl.toml").open("a") as configuration:
        configuration.write(f'[output]\ndedupe_against = ["{earlier}"]\n')
    ended = export(crawl, "--format", "jsonl", "--text-by", "turbohtml", to="out.jsonl")
    assert "lacks" not in ended.err
    assert msgspec.json.decode((tmp_path / "out.jsonl").read_bytes())["text"] == "A text that comes again"


@pytest.mark.parametrize("is_revisit", [False, True])
async def test_the_text_of_a_page_is_not_what_another_page_has_loaded_in_the_same_second(
    tmp_path: Path, is_revisit: bool
) -> None:
    crawl = tmp_path / "crawl"
    sink = WarcSink(crawl / "warc", WarcOptions(revisits=9))
    found = page(1, b"<p>The text of the page")
    before, after = (msgspec.structs.replace(found, body=body, raw_body=body) for body in (b"<p>Before", b"<p>After"))
    if is_revisit:
        await sink.write_exchange(found, "load")
    await sink.write_exchange(before, "load")
    written = record(1, url=found.url, fetched_at=rfc3339(found.fetched_at), content_type="text/html")
    await sink.write(found, written)
    await sink.write_exchange(after, "load")
    await sink.aclose()
    write_crawl(crawl, [written])
    ended = export(crawl, "--format", "jsonl", "--text-by", "turbohtml", to="out.jsonl")
    assert_told(ended, COMPLETE)
    assert msgspec.json.decode((tmp_path / "out.jsonl").read_bytes())["text"] == "The text of the page"
