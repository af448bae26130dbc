"""Who reads the texts of an export, and who may not."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from crawler.cli import onceover
from crawler.export.writers import ExportRefused
from tests.unit.export.written import record, write_crawl


def export(crawl: Path, *options: str, to: str = "out") -> Result:
    arguments = ["export", str(crawl), "--to", str(crawl.parent / to), *options]
    return CliRunner().invoke(onceover, arguments, catch_exceptions=False)


def test_without_trafilatura_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    monkeypatch.delitem(sys.modules, "crawler.read.content.trafilatura_text", raising=False)
    ended = export(crawl, "--format", "jsonl", "--text-by", "trafilatura")
    assert ended.exit_code == 2
    assert "pip install 'onceover-crawler[text]'" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_only_pages_have_a_text(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    ended = export(crawl, "--format", "csv", "--table", "links", "--text-by", "turbohtml")
    assert ended.exit_code == 2
    assert "--text-by is for the table of pages, and for wacz" in ended.stderr


def test_an_export_goes_on_with_the_same_reader_alone(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1), record(2)])
    assert export(crawl, "--format", "csv", "--text-by", "turbohtml").exit_code == 0
    with pytest.raises(ExportRefused, match="another text reader: turbohtml and not None"):
        export(crawl, "--format", "csv")
