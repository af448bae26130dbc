"""Tables of pages that are divided among folders, as readers of Hive partitions expect them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import duckdb
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.export import manifest as manifests
from crawler.export import tables
from crawler.export.columns import Column, Table
from crawler.export.partitions import Partitions
from crawler.export.writers import ExportRefused
from tests.unit.export.test_tables import csv_rows, run
from tests.unit.export.written import linking, record, write_crawl

BY = ("--partition-by", "crawl,subset")
NULL = "__HIVE_DEFAULT_PARTITION__"
STATUSES = [200, 404, None, 200, 301, 200, None, 200, 404, 200]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    records = [record(number, status=status) for number, status in enumerate(STATUSES)]
    return write_crawl(tmp_path / "crawl", records[:6], records[6:], name="site.2026")


def subset_of(status: int | None) -> str | None:
    return None if status is None else "warc" if status == 200 else "crawldiagnostics"


EXPECTED = {(number, "site.2026", subset_of(status)) for number, status in enumerate(STATUSES)}


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def by_duckdb(folder: Path) -> set[tuple[Any, ...]]:
    query = f"SELECT number, crawl, subset FROM read_parquet('{folder}/*/*/*.parquet', hive_partitioning = true)"
    return {*duckdb.sql(query).fetchall()}


def test_duckdb_and_pyarrow_read_the_partitions_with_their_columns(crawl: Path, tmp_path: Path) -> None:
    to = tmp_path / "tables"
    told = run(crawl, "parquet", to, *BY)
    assert told.stdout == f"10 rows in 3 files: {to}\n"
    assert names(to) == [
        "_pages.export.json",
        *sorted(f"crawl=site.2026/subset={each}/pages-00000.parquet" for each in ("warc", "crawldiagnostics", NULL)),
    ]
    assert by_duckdb(to) == EXPECTED
    read = pyarrow.dataset.dataset(to, format="parquet", partitioning="hive")
    rows = read.to_table(columns=["number", "crawl", "subset"]).to_pylist()
    assert {(row["number"], row["crawl"], row["subset"]) for row in rows} == EXPECTED
    found = read.to_table(columns=["number"], filter=pyarrow.dataset.field("subset") == "warc")
    assert found["number"].to_pylist() == [0, 3, 5, 7, 9]


def test_an_interrupted_export_goes_on_and_writes_no_row_twice(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to, options = tmp_path / "tables", (*BY, "--rows-per-file", "2")
    told, finished = manifests.write_manifest, []

    def break_off(path: Path, manifest: Any) -> None:
        finished.append(len(manifest.files))
        if len(finished) == 3:  # the files of the second round have their names, and are not noted
            raise KeyboardInterrupt
        told(path, manifest)

    with monkeypatch.context() as patch:
        patch.setattr(tables, "write_manifest", break_off)
        with pytest.raises(click.Abort):
            run(crawl, "parquet", to, *options)
    run(crawl, "parquet", to, *options)
    assert by_duckdb(to) == EXPECTED
    assert duckdb.sql(f"SELECT count(*) FROM '{to}/*/*/*.parquet'").fetchall() == [(10,)]
    with pytest.raises(ExportRefused, match="another partition by"):
        run(crawl, "parquet", to, "--partition-by", "subset", "--rows-per-file", "2")
    run(crawl, "parquet", to, "--partition-by", "subset", "--overwrite")
    assert not [name for name in names(to) if name.startswith("crawl=")]


def test_lines_and_csv_are_divided_too_and_lack_the_columns_of_the_folders(crawl: Path, tmp_path: Path) -> None:
    run(crawl, "jsonl", tmp_path / "lines", "--partition-by", "subset")
    [path] = (tmp_path / "lines" / "subset=warc").iterdir()
    assert [json.loads(line)["number"] for line in path.read_bytes().splitlines()] == [0, 3, 5, 7, 9]
    run(crawl, "csv", tmp_path / "csv", *BY)
    [path] = (tmp_path / "csv" / "crawl=site.2026" / "subset=crawldiagnostics").iterdir()
    rows = csv_rows(path)
    assert [row["number"] for row in rows] == ["1", "4", "8"]
    assert not {"crawl", "subset"} & set(rows[0])


def test_a_crawl_without_pages_has_no_partitions(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [])
    told = run(crawl, "parquet", tmp_path / "tables", *BY)
    assert told.stdout == f"0 rows in 0 files: {tmp_path / 'tables'}\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("parquet", "pages.parquet", *BY), "expected a folder"),
        (("parquet", "tables", "--partition-by", "title"), "expected crawl, subset, or crawl,subset, found 'title'"),
        (("parquet", "tables", "--partition-by", "crawl,crawl"), "expected crawl, subset"),
        (("parquet", "tables", *BY, "--table", "links"), "for the table of pages"),
        (("wacz", "site.wacz", *BY), "for the table of pages"),
    ],
)
def test_what_cannot_be_divided_is_refused(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    crawl = write_crawl(tmp_path / "crawl", [linking(1, "http://a.test/")])
    form, to, *rest = options
    with pytest.raises((ExportRefused, click.UsageError), match=why):
        run(crawl, form, tmp_path / to, *rest)


@pytest.mark.parametrize("place", ["file", "file/tables", "/dev/full/tables"])
def test_a_file_where_a_folder_is_expected_is_told(tmp_path: Path, place: str) -> None:
    crawl = write_crawl(tmp_path / "crawl", [linking(1, "http://a.test/")])
    (tmp_path / "file").touch()
    with pytest.raises(ExportRefused, match=r"expected a folder, or a new file whose name ends with \.csv; found .*"):
        run(crawl, "csv", tmp_path / place)


@given(st.lists(st.tuples(st.sampled_from(["a/b", "..", "ü =%", "", None, "2026"]), st.integers(0, 3)), max_size=30))
def test_any_value_names_one_folder_below_and_no_row_is_lost(rows: list[tuple[str | None, int]]) -> None:
    table = Table(name="t", version=1, columns=[Column("crawl"), Column("n", "integer")], rows=lambda _: [])
    divided: Mapping[str, Any] = Partitions(table, ["crawl"]).divide(rows)
    assert sorted(row[0] for of_one in divided.values() for row in of_one) == sorted(row[1] for row in rows)
    assert all(folder.count("/") == 1 and folder.startswith("crawl=") for folder in divided)
    assert len(divided) == len({value for value, _ in rows})
