"""Whoever reads the output of a command may have enough, as `head` has."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.crawling import COMPLETE, FAILED, ONCEOVER, USAGE, environment
from tests.e2e.test_compare import QUICK
from tests.unit.operate.stored_crawls import StoredCrawl, make
from tests.unit.operate.test_report_lists import record
from tests.unit.operate.test_report_orphans import written


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    return make(tmp_path / "crawl", parts=3)


def unread(*command: str | Path) -> tuple[int, str]:
    """Run a command whose output nobody reads. Returns its exit code and what it complains of."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [ONCEOVER, *command], stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False
        )
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr.decode()


def test_a_list_that_is_cut_is_no_failure_and_what_is_wrong_stays_so(crawl: StoredCrawl) -> None:
    assert unread("frontier", "export", "--pending", crawl.directory) == (COMPLETE, "")
    assert unread("inspect", crawl.directory, "queues") == (COMPLETE, "")
    shutil.rmtree(crawl.directory / "part-1" / "frontier")
    assert unread("inspect", crawl.directory, "fsck") == (FAILED, "")


@pytest.mark.parametrize("list_of", [("queues",), ("next", "host-0.test")], ids=["queues", "next"])
def test_how_much_a_list_leaves_out_is_said_although_nobody_reads_it(
    crawl: StoredCrawl, list_of: tuple[str, ...]
) -> None:
    code, told = unread("inspect", crawl.directory, *list_of, "--limit", "1")
    assert (code, told.partition(" ")[0]) == (COMPLETE, "and")


@pytest.mark.parametrize("options", [(), ("--csv",)])
def test_the_notes_of_a_comparison_are_said_although_nobody_reads_what_differs(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    crawls = [make(tmp_path / name).directory for name in ("a", "b")]
    for number, directory in enumerate(crawls):
        shutil.rmtree(directory / "records")
        written(directory / "records", record(1, f"/{number}"))
    code, told = unread("diff", *crawls, *options)
    assert (code, told.partition(" ")[0]) == (COMPLETE, "note:")


def test_all_urls_are_added_although_nobody_reads_what_became_of_the_first_ones(
    crawl: StoredCrawl, tmp_path: Path
) -> None:
    urls = {f"http://host-0.test/new/{number:0>99}" for number in range(2000)}  # more than fit into one request
    (tmp_path / "urls").write_text("\n".join(sorted(urls)))
    assert unread("add", crawl.directory, "--force", "--from", tmp_path / "urls") == (COMPLETE, "")
    assert urls <= {line["url"] for line in crawl.exported()}


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_damaged_copy_is_a_failure_although_nobody_reads_what_is_damaged(
    crawl: StoredCrawl, tmp_path: Path, options: tuple[str, ...]
) -> None:
    copy = tmp_path / "copy"
    assert unread("backup", crawl.directory, "--to", copy, *options) == (COMPLETE, "")
    largest = max((path for path in copy.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    largest.write_bytes(b"damaged")
    code, _ = unread("restore", copy, "--check", *options)
    assert code == FAILED


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_wrong_configuration_is_one_although_nobody_reads_of_those_before_it(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('crawl.seeds = ["https://site.test/"]\nfetch.user_agent = "bot (+https://site.test/)"\n')
    bad.write_text("crawl.seed = 1\n")
    assert unread("config", "check", good, *options) == (COMPLETE, "")
    code, _ = unread("config", "check", good, bad, *options)
    assert code == USAGE


@pytest.mark.parametrize("options", [(), ("--json",), ("--csv",)])
def test_a_list_with_rows_fails_a_build_although_nobody_reads_them(tmp_path: Path, options: tuple[str, ...]) -> None:
    crawl = make(tmp_path / "crawl")
    shutil.rmtree(crawl.directory / "records")
    written(crawl.directory / "records", record(1, "/"), record(2, "/gone", status=404))
    assert unread("report", crawl.directory, "dead-links", *options) == (COMPLETE, "")
    assert unread("report", crawl.directory, "dead-links", "--exit-code", *options) == (FAILED, "")


@pytest.mark.parametrize(
    "command", [("plugins",), ("compare", "--advise", "--urls-expected", "2e6", "--memory", "1GiB")]
)
def test_a_table_that_nobody_reads_is_no_failure(command: tuple[str, ...]) -> None:
    assert unread(*command) == (COMPLETE, "")


def test_a_comparison_that_nobody_reads_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("".join(f"http://site.test/{number}\n" for number in range(50)))
    code, told = unread(
        "compare", "--urls", tmp_path / "urls", *QUICK, "--backend", "exact", "--dir", tmp_path / "compared"
    )
    assert (code, told.splitlines()[-1:]) == (COMPLETE, [f"Report in {tmp_path / 'compared'}"])


def test_a_list_of_which_a_line_is_read_is_no_failure() -> None:
    # It is longer than the buffer of a pipe, so the command still writes when nobody reads any more. Without a buffer
    # of its own, as in many containers, nothing is left to be printed then.
    command = [str(ONCEOVER), "simweb", "--hosts", "40", "--expected"]
    pipe, unbuffered = subprocess.PIPE, environment(PYTHONUNBUFFERED="1")
    with subprocess.Popen(command, bufsize=0, stdout=pipe, stderr=pipe, env=unbuffered) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(1) == b"{"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == COMPLETE
