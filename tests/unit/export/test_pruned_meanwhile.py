"""A crawl that runs may delete old files while an export reads the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawler.export import archives, snapshot, tables
from crawler.export.wacz import packing
from crawler.export.writers import ExportRefused
from tests.unit.export.test_tables import csv_rows, run
from tests.unit.export.test_wacz import archived_crawl
from tests.unit.write.samples import page


def prune_after(take: Callable[..., Any], folder: Path, pattern: str) -> Callable[..., Any]:
    """`take`, after which the oldest of these files is deleted."""

    def take_and_prune(*arguments: Any) -> Any:
        taken = take(*arguments)
        oldest = min(folder.glob(pattern))
        for path in folder.glob(f"{oldest.name}*"):
            path.unlink()
        return taken

    return take_and_prune


async def test_an_archive_that_is_deleted_meanwhile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1), page(2), max_bytes=1)
    taking = prune_after(archives.archives_of, crawl / "warc", "*.warc.gz")
    monkeypatch.setattr(packing, "archives_of", taking)
    gone = r"00000\.warc\.gz is gone since this export began, as when the crawl has pruned it .*; begin anew"
    with pytest.raises(ExportRefused, match=gone):
        run(crawl, "wacz", tmp_path / "a.wacz")
    assert not [*tmp_path.glob("a.wacz*")]


async def test_an_archive_that_leads_to_a_missing_disk_is_not_called_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1), page(2), max_bytes=1)
    oldest = min((crawl / "warc").glob("*.warc.gz"))

    def take(*arguments: Any) -> Any:
        taken = archives.archives_of(*arguments)
        oldest.unlink()
        oldest.symlink_to(tmp_path / "missing" / oldest.name)
        return taken

    monkeypatch.setattr(packing, "archives_of", take)
    with pytest.raises(FileNotFoundError, match=oldest.name):
        run(crawl, "wacz", tmp_path / "a.wacz")


async def test_a_table_names_no_archive_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1), page(2), max_bytes=1)
    for index in (crawl / "warc").glob("*.cdxj"):
        index.unlink()  # so that the archives are read
    monkeypatch.setattr(
        "crawler.cli.operate.export.archives_of", prune_after(archives.archives_of, crawl / "warc", "*.warc.gz")
    )
    run(crawl, "csv", tmp_path / "pages.csv")
    assert [bool(row["warc_filename"]) for row in csv_rows(tmp_path / "pages.csv")] == [False, True]


async def test_records_that_are_deleted_meanwhile_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = await archived_crawl(tmp_path / "crawl", page(1))
    monkeypatch.setattr(tables, "take_snapshot", prune_after(snapshot.take_snapshot, crawl / "records", "*.jsonl"))
    with pytest.raises(ExportRefused, match=r"records-00000\.jsonl is gone from .* begin anew with --overwrite"):
        run(crawl, "csv", tmp_path / "pages.csv")
