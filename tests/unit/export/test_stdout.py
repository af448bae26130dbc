"""`--to -` writes a table or an index to stdout, and nothing beside it."""

import csv
import io
from pathlib import Path

import click
import pytest
from click.testing import Result

from crawler.write.cdxj.lines import parse
from tests.invoking import invoke
from tests.unit.export.written import FULL, record, write_crawl
from tests.unit.prune.written import whole, write


def run(directory: Path, *options: str) -> Result:
    """Export to stdout."""
    return invoke("export", directory, "--to", "-", *options)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, where a file or folder named - would lie."""
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_goes_to_stdout_and_its_summary_to_stderr(form: str, tmp_path: Path, empty: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [FULL, record(2)])
    written = run(crawl, "--format", form)
    assert written.stderr == "2 rows\n"
    if form == "jsonl":
        assert written.stdout_bytes == (crawl / "records" / "records-00000.jsonl").read_bytes()
    else:
        assert [row["title"] for row in csv.DictReader(io.StringIO(written.stdout, newline=""))] == [FULL.title, ""]
    assert not [*empty.iterdir()]


def test_an_index_goes_to_stdout(tmp_path: Path, empty: Path) -> None:
    crawl = write(write_crawl(tmp_path / "crawl"), [whole(0), whole(1)])
    written = run(crawl.path, "--format", "cdxj")
    assert [parse(line)[2].mime for line in written.stdout_bytes.splitlines()] == ["text/html"] * 2
    assert written.stderr == "2 captures\n"
    assert not [*empty.iterdir()]


def test_stdout_is_no_place_of_the_crawl_wherever_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = write_crawl(tmp_path / "crawl", [FULL])
    monkeypatch.chdir(crawl / "records")
    assert run(crawl, "--format", "csv").stderr == "1 row\n"


@pytest.mark.parametrize("form", ["parquet", "wacz"])
def test_a_form_whose_readers_need_a_file_is_refused(form: str, tmp_path: Path, empty: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [FULL])
    with pytest.raises(click.UsageError, match=rf"--to - is for csv, jsonl, cdxj: readers of {form} need a file"):
        run(crawl, "--format", form)
    assert not [*empty.iterdir()]


def test_a_divided_table_is_refused(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl", [FULL])
    with pytest.raises(click.UsageError, match="expected a folder for --to, found standard output"):
        run(crawl, "--format", "csv", "--partition-by", "crawl")
