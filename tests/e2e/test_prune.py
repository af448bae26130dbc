"""Commands about a crawl whose old output was deleted tell that, and miss nothing."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from crawler.simweb.process import running
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    LIMIT,
    REFUSED,
    SMALL,
    USAGE,
    Ended,
    Web,
    assert_told,
    onceover,
    setting,
)
from tests.e2e.operating import command_here, operated

SETTINGS = ("output.links=true", "output.records_max_bytes=6000", "output.warc_max_bytes=20000")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that is half done, with output in many files."""
    folder = tmp_path_factory.mktemp("prune")
    with running(SMALL) as port:
        ended = onceover(
            "crawl", *Web(port, SMALL).options, *setting(*SETTINGS), "--max-pages", "30", "--dir", "crawl", cwd=folder
        )
    assert ended.code == LIMIT, ended.err
    return folder / "crawl"


@pytest.fixture
def crawl(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "crawl", ignore=shutil.ignore_patterns("control")))


def json_of(ended: Ended) -> dict[str, object]:
    assert ended.code == COMPLETE, ended.err
    return ended.json()


def files(crawl: Path) -> set[str]:
    return {str(path.relative_to(crawl)) for folder in ("records", "warc") for path in (crawl / folder).iterdir()}


def test_half_of_the_output_goes_and_nothing_is_missing(crawl: Path, tmp_path: Path) -> None:
    before = files(crawl)
    half = sum((crawl / name).stat().st_size for name in before) // 2
    keep = ("--keep-bytes", f"{half}B", "--json")
    planned = json_of(command_here("prune", str(crawl), *keep, "--dry-run"))
    assert files(crawl) == before
    done = json_of(command_here("prune", str(crawl), *keep))
    assert done == planned | {"is_dry_run": False}
    gone = {str(each["file"]) for each in msgspec.convert(done["pruned"], list[dict[str, str | int]])}
    assert gone == {name for name in before - files(crawl) if not name.endswith(".cdxj")}
    assert {name.partition("/")[0] for name in gone} == {"records", "warc"}

    verified = json_of(command_here("inspect", str(crawl), "verify", "--json"))
    told = {each["name"]: each for each in msgspec.convert(verified["told"], list[dict[str, int | str]])}
    assert verified["problem_count"] == 0
    pruned = int(told["the records"]["pruned"])
    assert pruned > 5
    assert int(told["the records"]["numbers"]) + pruned == told["the ledger"]["numbers"]
    assert int(told["the archive"]["pruned"]) > 0
    assert f"{pruned:,} that were pruned" in command_here("inspect", str(crawl), "verify").out

    refetched = command_here("inspect", str(crawl), "fsck", "--refetch", "--json")
    assert json_of(refetched)["problems"] == []
    assert "0 URLs whose output is missing" in refetched.err
    report = msgspec.convert(json_of(command_here("report", str(crawl), "--json"))["summary"], dict[str, object])
    assert report["pruned"] == pruned
    unknown = command_here("report", str(crawl), "dead-links", "--exit-code")
    assert unknown.code == FAILED
    assert f"note: old records of {pruned} URLs were deleted" in unknown.err
    exported = command_here("export", str(crawl), "--format", "jsonl", "--to", str(tmp_path / "pages.jsonl"))
    assert exported.code == COMPLETE
    assert len((tmp_path / "pages.jsonl").read_bytes().splitlines()) == told["the records"]["numbers"]

    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    assert "records were pruned (see pruned.json)" in rebuilt.err
    assert command_here("inspect", str(crawl), "fsck").code == COMPLETE

    (crawl / "pruned.json").unlink()
    missed = f"pruned: {crawl}/pruned.json: it is missing, and {crawl}/pruned has the record numbers of files"
    assert missed in command_here("inspect", str(crawl), "fsck").out


def test_less_than_the_newest_archive_deletes_nothing_and_none_at_all_deletes_them(crawl: Path) -> None:
    before = files(crawl)
    for options in ((), ("--dry-run",)):
        ended = command_here("prune", str(crawl), "--keep-bytes", "1kB", *options)
        assert ended.code == USAGE, ended.out
        assert re.search(
            r"nothing was deleted: to keep at most 1\.0 kB, all archives would have to go: \d files", ended.err
        )
        assert files(crawl) == before
    json_of(command_here("prune", str(crawl), "--keep-bytes", "1kB", "--keep", "0s", "--json", "--dry-run"))
    json_of(command_here("prune", str(crawl), "--keep-bytes", "0B", "--json"))
    assert not [name for name in files(crawl) if name.startswith("warc/")]


def test_what_was_pruned_does_not_count_as_lost_after_a_rebuild_without_links(tmp_path: Path) -> None:
    alone = setting("output.warc=false", "output.records_max_bytes=6000")
    with running(SMALL) as port:
        command = ("crawl", *Web(port, SMALL).options, *alone, "--max-pages", "30", "--dir", "crawl")
        assert onceover(*command, cwd=tmp_path).code == LIMIT
    crawl = tmp_path / "crawl"
    before = known_urls(crawl)
    pruned = json_of(command_here("prune", str(crawl), "--keep-bytes", "6kB", "--json"))["pruned"]
    assert pruned
    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    found = re.search(r"^([\d,]+) records were pruned", rebuilt.err, re.MULTILINE)
    assert found
    missing = re.search(r"missing: (\d+):", command_here("inspect", str(crawl), "fsck").out)
    assert missing
    assert int(missing[1]) <= before - known_urls(crawl) - int(found[1])


def known_urls(crawl: Path) -> int:
    return len(command_here("frontier", "export", str(crawl)).out.splitlines())


def test_a_pruned_crawl_goes_on_to_its_end(crawl: Path) -> None:
    assert command_here("prune", str(crawl), "--keep-bytes", "40kB").code == COMPLETE
    with running(SMALL) as port:
        ended = onceover("crawl", *Web(port, SMALL).options, "--dir", "crawl", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended.err
    assert json_of(command_here("inspect", str(crawl), "verify", "--json"))["problem_count"] == 0
    assert command_here("inspect", str(crawl), "fsck").code == COMPLETE


@pytest.mark.parametrize(("form", "purpose"), [("wacz", "pack"), ("cdxj", "list")])
def test_an_export_says_that_all_of_the_archive_was_pruned(
    crawl: Path, tmp_path: Path, form: str, purpose: str
) -> None:
    command_here("prune", str(crawl), "--keep-bytes", "0B")
    assert not list((crawl / "warc").iterdir())
    ended = command_here("export", str(crawl), "--format", form, "--to", str(tmp_path / "exported"))
    assert_told(ended, REFUSED, f"has no archive to {purpose}: ", "were pruned, and none is left; pruned.json lists")
    assert "output.warc" not in ended.err


def test_without_a_bound_nothing_is_deleted_and_the_command_says_what_it_needs(crawl: Path) -> None:
    before = files(crawl)
    refused = command_here("prune", str(crawl))
    assert (refused.code, files(crawl)) == (USAGE, before)
    assert "expected --keep or --keep-bytes" in refused.err
    assert command_here("prune", str(crawl), "--keep", "many").code == USAGE
    without_unit = command_here("prune", str(crawl), "--keep", "90")
    assert (without_unit.code, files(crawl)) == (USAGE, before)
    assert "expected a number with its unit, as 90d or 12h, found '90'" in without_unit.err


def test_a_crawl_waits_while_it_takes_more_than_its_disk_space_and_goes_on_when_that_grows(tmp_path: Path) -> None:
    with operated(tmp_path, *setting("politeness.min_delay_s=1.5")) as here:
        (here.directory / "logs" / "large").write_bytes(b"x" * 2_000_000)
        assert here.do("set", "output.max_disk_bytes=1MB").code == COMPLETE
        here.crawl.wait_until(lambda: "output.max_disk_bytes is 1.0 MB" in here.do("status").out, "the reason")
        assert "the crawl waits for disk space: the crawl takes" in here.crawl.err
        assert here.do("set", "output.max_disk_bytes=100MB", "politeness.min_delay_s=0").code == COMPLETE
        assert here.crawl.wait().code == COMPLETE


def test_a_directory_without_a_crawl_is_refused_however_it_is_asked(tmp_path: Path) -> None:
    for options in (["--dry-run"], []):
        ended = command_here("prune", str(tmp_path / "mistyped"), "--keep", "90d", *options)
        assert_told(ended, REFUSED, f"there is no crawl in {tmp_path / 'mistyped'}: expected")
    assert not list(tmp_path.iterdir())


def test_diff_and_report_say_that_all_records_were_deleted(crawl: Path) -> None:
    assert command_here("parts", str(crawl), "--into", "2").code == COMPLETE  # so that no file is the one in use
    assert json_of(command_here("prune", str(crawl), "--keep-bytes", "0B", "--json"))["pruned"]
    told = command_here("diff", str(crawl), str(crawl))
    assert_told(told, REFUSED, "has no records, which would be compared: ", "deleted on purpose; restore a copy")
    told = command_here("report", str(crawl), "dead-links")
    assert_told(told, REFUSED, "from which dead-links would be made: ", "deleted on purpose; restore a copy")
    assert "output.records" not in told.err
