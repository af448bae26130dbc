"""Nothing is exported to where the crawl itself writes."""

import os
from pathlib import Path

import pytest

from crawler.control import address
from crawler.disk.layout import Layout, own_place, write_layout
from crawler.export.writers import ExportRefused
from tests.invoking import invoke
from tests.unit.export.written import record, write_crawl
from tests.unit.operate.stored_crawls import make


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("form", "to"),
    [
        ("jsonl", "records"),
        ("jsonl", "records/records-00000.jsonl"),
        ("csv", "records/tables"),
        ("parquet", "warc"),
        ("wacz", "warc/site.wacz"),
        ("wacz", "crawl.toml"),
        ("cdxj", "lock"),
        ("csv", "logs/pages.csv"),
        ("csv", "control"),
        ("cdxj", "lineages.json"),
        ("csv", "frontier.rebuilding/pages.csv"),
        ("csv", "frontier.repairing"),
        ("csv", "other/../sinks/pages.csv"),
    ],
)
def test_an_export_into_a_place_of_the_crawl_is_refused(form: str, to: str, tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    before = content(crawl)
    with pytest.raises(ExportRefused, match=r"belongs to the crawl itself: name another place"):
        invoke("export", crawl, "--format", form, "--to", crawl / to, "--overwrite")
    assert content(crawl) == before


def test_the_socket_of_the_crawl_is_a_place_of_its_own(tmp_path: Path) -> None:
    assert own_place(write_crawl(tmp_path), tmp_path / address.NAME) == tmp_path / address.NAME


def test_a_copy_of_the_frontier_is_no_place_for_an_export(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    (copy := crawl / "frontier.before-20261120T000000").mkdir()
    with pytest.raises(ExportRefused, match=r"belongs to the crawl itself"):
        invoke("export", crawl, "--format", "csv", "--to", copy)


def test_stdout_is_a_place_wherever_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl").directory
    monkeypatch.chdir(crawl / "records")
    before = content(crawl / "records")
    assert invoke("export", "..", "--format", "csv", "--to", "-").stdout.startswith("url_surtkey,")
    assert invoke("report", "..", "--html", "-").stdout.startswith("<!doctype html>")
    assert content(crawl / "records") == before


def test_a_link_that_leads_to_itself_is_replaced(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    (circle := tmp_path / "pages.csv").symlink_to("pages.csv")
    invoke("export", crawl, "--format", "csv", "--to", circle)
    assert not circle.is_symlink()
    assert circle.stat().st_size


def test_an_export_into_a_place_of_a_part_or_behind_a_link_is_refused(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    write_layout(crawl, Layout.begin(2))
    write_crawl(crawl)
    write_crawl(crawl / "part-0", [record(1)])
    elsewhere = tmp_path / "large disk"
    elsewhere.mkdir()
    (crawl / "part-0" / "warc").symlink_to(elsewhere)
    for place in (crawl / "part-0" / "records", elsewhere / "tables"):
        with pytest.raises(ExportRefused, match=r"belongs to the crawl itself"):
            invoke("export", crawl, "--format", "csv", "--to", place)
    assert not [*elsewhere.iterdir()]


def test_an_export_beside_what_belongs_to_the_crawl_is_made(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    for place in ("tables", "records.csv"):
        invoke("export", crawl, "--format", "csv", "--to", crawl / place)
        assert (crawl / place).exists()


def test_the_page_of_a_report_replaces_no_file_of_the_crawl(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    before = content(crawl)
    for place in ("crawl.toml", "records/records-00000.jsonl"):
        with pytest.raises(ExportRefused, match=r"belongs to the crawl itself"):
            invoke("report", crawl, "--html", crawl / place)
    assert content(crawl) == before


@pytest.mark.parametrize("form", ["cdxj", "csv", "wacz"])
def test_a_device_or_a_pipe_is_not_replaced(form: str, tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ExportRefused, match=r"is a device or a pipe: name a file; --to - is standard output"):
        invoke("export", crawl, "--format", form, "--to", pipe, "--overwrite")
    assert pipe.is_fifo()


def test_a_link_to_a_file_stays(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [record(1)])
    file, link = tmp_path / "large disk" / "pages.csv", tmp_path / "pages.csv"
    file.parent.mkdir()
    file.touch()
    link.symlink_to(file)
    invoke("export", crawl, "--format", "csv", "--to", link, "--overwrite")
    assert link.is_symlink()
    assert file.stat().st_size
    assert [*file.parent.iterdir()] == [file]
