"""Tables of pages and links: what they hold, in which forms, and how an export goes on."""

import csv
import gc
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import duckdb
import msgspec
import pyarrow.parquet
import pytest
from click.testing import Result

from crawler.disk.layout import Layout, write_layout
from crawler.export import tables, writers
from crawler.export.aside import locked_folder, written_aside
from crawler.export.links import COLUMNS as LINK_COLUMNS
from crawler.export.pages import COMMON_COLUMNS, OWN_COLUMNS, pages_table
from crawler.export.writers import ExportRefused
from crawler.page import LinkDetail, PageRecord
from tests.invoking import invoke
from tests.unit.export.written import FULL, PAGE_URL, linking, record, write_crawl

COMMON = {
    "url_surtkey": "uk,co,example,shop,www:8443)/a/b.html?x=1&y=2",
    "url": PAGE_URL,
    "url_host_name": "www.shop.example.co.uk",
    "url_host_tld": "uk",
    "url_host_2nd_last_part": "co",
    "url_host_3rd_last_part": "example",
    "url_host_4th_last_part": "shop",
    "url_host_5th_last_part": "www",
    "url_host_registry_suffix": "co.uk",
    "url_host_registered_domain": "example.co.uk",
    "url_host_private_suffix": "co.uk",
    "url_host_private_domain": "example.co.uk",
    "url_host_name_reversed": "uk.co.example.shop.www",
    "url_protocol": "https",
    "url_port": 8443,
    "url_path": "/a/b.html",
    "url_query": "x=1&y=2",
    "fetch_time": "2026-11-20T18:38:16.352Z",
    "fetch_status": 200,
    "fetch_redirect": "https://example.org/next",
    "content_digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
    "content_mime_type": "text/plain",
    "content_mime_detected": "text/html",
    "content_charset": "utf-8",
    "content_languages": "de",
    "content_truncated": "length",
    "warc_filename": "warc/a.warc.gz",
    "warc_record_offset": 300,
    "warc_record_length": 50,
    "warc_segment": None,
    "crawl": "site",
    "subset": "warc",
}


def run(directory: Path, form: str, to: Path, *options: str) -> Result:
    """Export. Raises what the command raises."""
    return invoke("export", directory, "--format", form, "--to", to, *options)


def page_row(of: PageRecord) -> dict[str, Any]:
    table = pages_table(lambda url, fetched_at: None, crawl="site")
    [row] = table.rows(msgspec.json.encode(of))
    return dict(zip([column.name for column in table.columns], row, strict=True))


def csv_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


def column(folder: Path, name: str, table: str = "pages") -> list[Any]:
    rows = duckdb.sql(f"SELECT {name} FROM '{folder}/{table}-*.parquet'").fetchall()
    return [row[0] for row in rows]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A crawl with the page `FULL`, which its archive has."""
    crawl = write_crawl(tmp_path / "crawl", [FULL])
    (crawl / "warc").mkdir()
    entry = {"url": PAGE_URL, "offset": "300", "length": "50", "filename": "a.warc.gz"}
    other = {"url": PAGE_URL, "offset": 9, "length": 9}
    lines = ["!CDXJ", f"key 20261120183816 {json.dumps(entry)}", f"key 20251120183816 {json.dumps(other)}", "torn 2026"]
    (crawl / "warc" / "a.warc.gz.cdxj").write_text("\n".join(lines))
    (crawl / "warc" / "a.warc.gz").touch()
    return crawl


def test_pages_have_the_columns_of_common_crawl_in_its_order_and_then_the_other_fields(
    full: Path, tmp_path: Path
) -> None:
    run(full, "csv", tmp_path / "pages.csv")
    [row] = csv_rows(tmp_path / "pages.csv")
    assert [each.name for each in COMMON_COLUMNS] == list(COMMON) == list(row)[:32]
    assert {name: row[name] for name in COMMON} == {
        name: "" if value is None else str(value) for name, value in COMMON.items()
    }
    assert (row["title"], row["noindex"], row["refused"], row["number"]) == (FULL.title, "true", '{"scope":2}', "1")
    said = {"references", "link_details", "refusals", "digest"}
    assert not said & {each.name for each in OWN_COLUMNS}


@pytest.mark.parametrize(("offset", "length"), [("9" * 20, "50"), (2**63, 50), (-300, 50), ("300", "9" * 5000)])
def test_a_damaged_line_of_an_index_is_passed_over(
    full: Path, tmp_path: Path, offset: int | str, length: int | str
) -> None:
    damaged = {"url": PAGE_URL, "offset": offset, "length": length, "filename": "a.warc.gz"}
    with (full / "warc" / "a.warc.gz.cdxj").open("a") as index:
        index.write(f"\nkey 20261120183816 {json.dumps(damaged)}\n")
    run(full, "csv", tmp_path / "pages.csv")
    [row] = csv_rows(tmp_path / "pages.csv")
    assert (row["warc_record_offset"], row["warc_record_length"]) == ("300", "50")


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    "damage",
    [
        ('"status":200', '"status":' + "9" * 20),
        ('"number":1', '"number":9223372036854775808'),
        ("h1.test/1", "h1.test:8x/1"),
        ("h1.test/1", "h1.test:" + "9" * 20 + "/1"),
    ],
)
def test_a_line_with_what_no_table_can_hold_is_told_and_left_out(
    tmp_path: Path, form: str, damage: tuple[str, str]
) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1), record(2)])
    records = crawl / "records" / "records-00000.jsonl"
    records.write_text(records.read_text().replace(*damage, 1))
    pages = tmp_path / f"pages.{form}"
    told = run(crawl, form, pages).stderr
    assert "records-00000.jsonl" in told
    [row] = duckdb.sql(f"SELECT number FROM '{pages}'").fetchall()
    assert row == (2,)


def test_a_parquet_file_has_types_and_the_version_of_its_table(full: Path, tmp_path: Path) -> None:
    run(full, "parquet", tmp_path / "pages.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "pages.parquet")
    row = read.to_pylist()[0]
    assert row["fetch_time"].isoformat(timespec="milliseconds") == "2026-11-20T18:38:16.352+00:00"
    assert {name: row[name] for name in COMMON if name != "fetch_time"} == {
        name: value for name, value in COMMON.items() if name != "fetch_time"
    }
    assert (row["noindex"], row["duration_s"], row["last_modified"].year) == (True, 0.25, 2026)
    assert (read.schema.metadata[b"onceover.table"], read.schema.metadata[b"onceover.schema_version"]) == (
        b"pages",
        b"1",
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://me.github.io/", ("io", "io", "github.io", "github.io", "me.github.io", None, "/", None)),
        ("http://10.0.0.1:81/x?", (None, None, None, None, None, 81, "/x", "")),
        ("http://[::1]/", (None, None, None, None, None, None, "/", None)),
        ("http://localhost/", ("localhost", "localhost", None, "localhost", None, None, "/", None)),
    ],
)
def test_parts_of_hosts_follow_the_list_of_public_suffixes(url: str, expected: tuple[Any, ...]) -> None:
    row = page_row(record(1, url=url))
    names = (
        *("url_host_tld", "url_host_registry_suffix", "url_host_registered_domain", "url_host_private_suffix"),
        *("url_host_private_domain", "url_port", "url_path", "url_query"),
    )
    assert tuple(row[name] for name in names) == expected


def test_what_was_not_fetched_has_no_subset_and_what_failed_is_for_diagnosis() -> None:
    assert page_row(record(1, status=404))["subset"] == "crawldiagnostics"
    assert page_row(record(1, status=None, state="excluded"))["subset"] is None


def test_the_last_record_of_each_number_is_exported_and_damage_is_told(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1, title="old"), record(2)], [record(3), record(1, title="new")])
    with (crawl / "records" / "records-00001.jsonl").open("ab") as records:
        records.write(b'{"number":9,"url":5}\nnothing\n' + msgspec.json.encode(record(4))[:-5])
    result = run(crawl, "csv", tmp_path / "pages.csv")
    rows = csv_rows(tmp_path / "pages.csv")
    assert [(row["number"], row["title"]) for row in rows] == [("2", ""), ("3", ""), ("1", "new")]
    assert len(re.findall(r"records-00001.jsonl: the line at byte \d+ is not a record", result.stderr)) == 2
    run(crawl, "jsonl", tmp_path / "pages.jsonl")
    lines = (tmp_path / "pages.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=PageRecord).number for line in lines] == [2, 3, 1]


def test_a_crawl_in_parts_is_exported_whole_or_by_part(full: Path, tmp_path: Path) -> None:
    whole = write_crawl(tmp_path / "whole")
    write_layout(whole, Layout.begin(2))
    full.rename(whole / "part-0")
    write_crawl(whole / "part-1", [record(1 << 41)])
    run(whole, "csv", tmp_path / "pages.csv")
    rows = [(row["number"], row["warc_filename"], row["warc_segment"]) for row in csv_rows(tmp_path / "pages.csv")]
    assert rows == [("1", "part-0/warc/a.warc.gz", "part-0"), (str(1 << 41), "", "")]
    run(whole, "csv", tmp_path / "part.csv", "--part", "1")
    assert [row["number"] for row in csv_rows(tmp_path / "part.csv")] == [str(1 << 41)]
    with pytest.raises(click.UsageError, match="no part 2"):
        run(whole, "csv", tmp_path / "none.csv", "--part", "2")


def test_a_file_with_the_ending_of_another_format_is_refused(full: Path, tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match=r"has the ending \.parquet, and --format is csv"):
        run(full, "csv", tmp_path / "pages.parquet")
    assert not (tmp_path / "pages.parquet").exists()


def test_an_interrupted_export_keeps_its_files_and_goes_on_with_the_same_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = list(range(10))
    crawl = write_crawl(
        tmp_path / "crawl", [record(each) for each in numbers[:7]], [record(each) for each in numbers[7:]]
    )
    to = tmp_path / "tables"
    options = ("--rows-per-file", "3")
    told = tables._Folder._write_files
    seen: list[list[int]] = []

    def break_off(folder: Any, manifest: Any, *rest: Any) -> Any:
        if manifest.files:
            seen.append(column(to, "number"))
        if len(manifest.files) == 2:
            (to / "pages-00002.parquet.open").write_bytes(b"begun")
            raise KeyboardInterrupt
        return told(folder, manifest, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(tables._Folder, "_write_files", break_off)
        with pytest.raises(click.Abort):
            run(crawl, "parquet", to, *options)
    assert seen == [numbers[:3], numbers[:6]]  # DuckDB reads what is complete
    first = (to / "pages-00000.parquet").stat()
    with (crawl / "records" / "records-00001.jsonl").open("ab") as records:
        records.write(msgspec.json.encode(record(99)) + b"\n")
    result = run(crawl, "parquet", to, *options)
    assert "kept: 2 files with 6 rows" in result.stderr
    assert result.stdout == f"10 rows in 4 files: {to}\n"
    assert column(to, "number") == numbers
    assert (to / "pages-00000.parquet").stat().st_mtime_ns == first.st_mtime_ns
    assert sorted(path.name for path in to.iterdir()) == [
        "_pages.export.json",
        *(f"pages-0000{each}.parquet" for each in range(4)),
    ]
    again = run(crawl, "parquet", to, *options).stderr
    assert "is complete, and the crawl has other records by now; --overwrite begins anew" in again
    assert run(crawl, "parquet", to, *options, "--overwrite").stdout == f"11 rows in 4 files: {to}\n"
    assert "is complete; --overwrite begins anew" in run(crawl, "parquet", to, *options).stderr


def test_an_export_refuses_what_would_mix_two_exports(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1), record(2)])
    to = tmp_path / "tables"
    run(crawl, "csv", to, "--rows-per-file", "1")
    for options, why in (
        (("csv", "--rows-per-file", "2"), "another rows per file: 1 and not 2"),
        (("jsonl", "--rows-per-file", "1"), "another format: csv and not jsonl"),
    ):
        with pytest.raises(ExportRefused, match=why):
            run(crawl, options[0], to, *options[1:])
    (to / "pages-00001.csv").write_text("changed")
    with pytest.raises(ExportRefused, match=r"pages-00001\.csv is not as this export left it"):
        run(crawl, "csv", to, "--rows-per-file", "1")
    (to / "_pages.export.json").write_text("{")
    with pytest.raises(ExportRefused, match="nobody knows what was exported"):
        run(crawl, "csv", to)
    (to / "_pages.export.json").unlink()
    with pytest.raises(ExportRefused, match=r"pages-00000\.csv is of another export"):
        run(crawl, "csv", to)
    with locked_folder(to), pytest.raises(ExportRefused, match="another export writes to"):
        run(crawl, "csv", to, "--overwrite")
    assert run(crawl, "csv", to, "--overwrite").stdout == f"2 rows in 1 file: {to}\n"
    run(crawl, "csv", tmp_path / "pages.csv")
    with pytest.raises(ExportRefused, match="exists: name another file"):
        run(crawl, "csv", tmp_path / "pages.csv")
    assert run(crawl, "csv", tmp_path / "pages.csv", "--overwrite").stdout == f"2 rows: {tmp_path / 'pages.csv'}\n"


def test_links_come_from_details_or_else_from_references(tmp_path: Path) -> None:
    detailed = LinkDetail(
        url="http://x.test/?s=1", canonical="http://x.test/", kind="embed", rel="me", fragment="f", refused="scope"
    )
    crawl = write_crawl(
        tmp_path / "crawl",
        [linking(1, "http://a.test/", "http://b.test/"), record(2), record(3, references=["http://c.test/"])],
        [record(4, link_details=[detailed], references=["http://d.test/"])],
    )
    run(crawl, "parquet", tmp_path / "t", "--table", "links", "--rows-per-file", "1")
    rows = duckdb.sql(f"SELECT * FROM '{tmp_path}/t/links-*.parquet'").fetchall()
    source = "http://h1.test/"
    assert rows == [
        (f"{source}1", "http://a.test/", "to http://a.test/", None, "link", "http://a.test/", None, None, 1, 0),
        (f"{source}1", "http://b.test/", "to http://b.test/", None, "link", "http://b.test/", None, None, 1, 1),
        (f"{source}3", "http://c.test/", None, None, None, "http://c.test/", None, None, 3, 0),
        (f"{source}4", "http://x.test/?s=1", None, "me", "embed", "http://x.test/", "f", "scope", 4, 0),
    ]
    run(crawl, "jsonl", tmp_path / "links.jsonl", "--table", "links")
    last = json.loads((tmp_path / "links.jsonl").read_text().splitlines()[-1])
    assert last == {k: v for k, v in zip([c.name for c in LINK_COLUMNS], rows[-1], strict=True) if v is not None}


def test_a_crawl_without_links_or_records_gives_empty_tables(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [])
    result = run(crawl, "parquet", tmp_path / "t", "--table", "links")
    assert "crawl with output.link_details = true" in result.stderr
    assert column(tmp_path / "t", "target", "links") == []
    with (crawl / "crawl.toml").open("a") as configuration:
        configuration.write("\n[output]\nlink_details = true\n")
    result = run(crawl, "csv", tmp_path / "links.csv", "--table", "links")
    assert (result.stderr, result.stdout) == ("", f"0 rows: {tmp_path / 'links.csv'}\n")
    with pytest.raises(Exception, match="there is no crawl in"):
        run(tmp_path, "csv", tmp_path / "x.csv")


def test_memory_for_a_parquet_file_is_bounded_by_groups_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "_GROUP_ROWS", 4)
    crawl = write_crawl(tmp_path / "crawl", [record(each) for each in range(10)])
    run(crawl, "parquet", tmp_path / "pages.parquet")
    assert pyarrow.parquet.ParquetFile(tmp_path / "pages.parquet").num_row_groups == 3


def test_parquet_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(writers, "import_module", missing)
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    with pytest.raises(ExportRefused, match=r"pip install 'onceover-crawler\[parquet\]'"):
        run(crawl, "parquet", tmp_path / "pages.parquet")


def test_the_page_on_output_names_each_column(repository: Path) -> None:
    text = (repository / "docs" / "output.md").read_text(encoding="utf-8")
    tables_text = text[text.index("## Tables") : text.index("## Web archives")]
    rows = re.findall(r"(?m)^\| (`.+?) \|", tables_text)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert named == [each.name for each in (*COMMON_COLUMNS, *LINK_COLUMNS)]
    records_text = text[text.index("## Records") : text.index("### Finding dead links")]
    assert not [each.name for each in OWN_COLUMNS if f"`{each.name}`" not in records_text]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_file_that_is_given_up_is_freed_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: writers.Format
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def give_up() -> None:
        with written_aside(tmp_path / f"pages.{form}") as file:
            table = pages_table(lambda url, fetched_at: None, crawl="site")
            writer = writers.make_writer(form, table)(file)
            raise ExportRefused(f"pruned while it was written: {writer}")

    with pytest.raises(ExportRefused, match="pruned"):
        give_up()
    gc.collect()
    assert told == []
    assert list(tmp_path.iterdir()) == []
