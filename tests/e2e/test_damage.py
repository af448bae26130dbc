"""What damage to a crawl's files costs: it is told and mended, and nothing is missing then, or it is said what is."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.simweb.process import running
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    LIMIT,
    REFUSED,
    Web,
    assert_sound,
    assert_told,
    fetched,
    onceover,
    setting,
)
from tests.e2e.damaging import WORLD, Case


def half_done(folder: Path, web: Web, *settings: str) -> Path:
    """A crawl that was stopped when half of its pages had been fetched."""
    ended = onceover("crawl", *web.options, *setting(*settings), "--dir", "crawl", "--max-pages", "20", cwd=folder)
    assert ended.code == LIMIT, ended.err
    return folder / "crawl"


def repair(directory: Path, *options: str) -> str:
    """What a repair says; the state is sound after it."""
    ended = onceover("inspect", directory, "fsck", "--repair", *options, cwd=directory.parent)
    assert ended.code == COMPLETE, (ended.out, ended.err)
    return ended.err


def assert_crawls_to_its_end(directory: Path, web: Web) -> None:
    ended = onceover("crawl", "--dir", directory, cwd=directory.parent)
    assert ended.code == COMPLETE, (ended.out, ended.err)
    assert set(fetched(directory)) == web.pages


@pytest.mark.parametrize(
    ("lost", "output"),
    [
        ("CURRENT", ()),
        ("MANIFEST-*", ()),
        ("*.log", ()),
        ("all", ()),
        ("all", ("output.links=true", "output.warc=false")),
    ],
)
def test_a_frontier_of_which_files_are_deleted_is_refused_and_brought_back(
    tmp_path: Path, web: Web, lost: str, output: tuple[str, ...]
) -> None:
    directory = half_done(tmp_path, web, *output)
    if lost == "all":
        shutil.rmtree(directory / "frontier")
    else:
        for path in (directory / "frontier").glob(lost):
            path.unlink()
    ended = onceover("crawl", "--dir", directory, cwd=tmp_path)
    assert ended.code in (FAILED, REFUSED), ended.err
    assert_told(ended, ended.code, "fsck --repair")
    repair(directory)
    before = fetched(directory)
    assert_crawls_to_its_end(directory, web)
    again = {url: count for url, count in fetched(directory).items() if count > 1 and before[url]}
    assert len(again) <= 1, "what the output has is not fetched again"


def test_where_the_output_does_not_tell_what_was_found_the_crawl_is_not_called_complete(
    tmp_path: Path, web: Web
) -> None:
    directory = half_done(tmp_path, web, "output.warc=false")
    shutil.rmtree(directory / "frontier")
    ended = onceover("inspect", directory, "fsck", "--repair", cwd=tmp_path)
    assert_told(ended, FAILED, "pages are not known: output.links was off")
    assert "missing: " in ended.out
    ended = onceover("crawl", "--dir", directory, cwd=tmp_path)
    assert ended.code == FAILED
    assert "The crawl is not complete" in ended.out
    assert "lost to damage" in ended.out


def test_a_frontier_is_made_anew_from_the_output_alone(tmp_path: Path, web: Web) -> None:
    directory = half_done(tmp_path, web)
    ended = onceover("frontier", "rebuild", directory, "--from-records", cwd=tmp_path)
    assert ended.code == COMPLETE, ended.err
    assert "kept in" in ended.err
    assert [path for path in directory.iterdir() if path.name.startswith("frontier.before-")]
    assert_crawls_to_its_end(directory, web)


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("records/*", "and has no record"),
        ("records/* cut", "and has no record"),
        ("records/* zeroed", "and has no record"),
        ("records/* altered", "and has no record"),
        ("warc/*", "and is not in the archive"),
        ("warc/* zeroed", "and is not in the archive"),
    ],
)
def test_fsck_tells_what_is_missing_in_the_output_and_has_it_fetched_again(
    tmp_path: Path, web: Web, lost: str, words: str
) -> None:
    assert onceover("crawl", *web.options, "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    directory = tmp_path / "crawl"
    assert_sound(directory)
    pattern, _, how = lost.partition(" ")
    for path in directory.glob(pattern):
        content = path.read_bytes()
        third = len(content) // 3
        match how:
            case "":
                path.unlink()
            case "cut":
                path.write_bytes(content[:third])
            case "altered":
                path.write_bytes(content.replace(b'"status":200', b'"status":201', 1))
            case _:
                path.write_bytes(content[:third] + bytes(third) + content[2 * third :])
    ended = onceover("inspect", directory, "fsck", cwd=tmp_path)
    assert ended.code == FAILED
    assert re.search(f"{words}.*; `fsck --refetch` has it fetched again$", ended.out, re.MULTILINE)
    assert "no problems" not in ended.out
    first = onceover("inspect", directory, "fsck", "--limit", "1", "--json", cwd=tmp_path).json()
    assert [first["problem_count"]] == [int(each) for each in re.findall(r"(\d+) problems?$", ended.out, re.MULTILINE)]
    assert isinstance(problems := first["problems"], list)
    assert len(problems) == 1
    ended = onceover("inspect", directory, "fsck", "--refetch", cwd=tmp_path)
    assert_told(ended, COMPLETE, "will be fetched again")
    assert onceover("crawl", "--dir", directory, cwd=tmp_path).code == COMPLETE
    assert_sound(directory)
    assert set(fetched(directory)) == web.pages
    ended = onceover("inspect", directory, "verify", cwd=tmp_path)
    assert (ended.code, ended.out.splitlines()[-1]) == (COMPLETE, "no problems")


def test_what_is_lost_for_good_is_found_again_by_fetching_what_leads_there(tmp_path: Path, web: Web) -> None:
    directory = half_done(tmp_path, web, "output.warc=false")
    shutil.rmtree(directory / "frontier")
    assert onceover("inspect", directory, "fsck", "--repair", cwd=tmp_path).code == FAILED
    ended = onceover("inspect", directory, "fsck", "--refetch", cwd=tmp_path)
    assert_told(ended, COMPLETE, "may link to them will be fetched again")
    assert_crawls_to_its_end(directory, web)
    assert_sound(directory)


def test_an_emptied_first_log_does_not_begin_a_second_crawl_into_the_old_output(tmp_path: Path, web: Web) -> None:
    directory = half_done(tmp_path, web)
    for path in (directory / "frontier").glob("*.log"):
        path.write_bytes(b"")
    before = fetched(directory)
    assert_told(
        onceover("crawl", "--dir", directory, cwd=tmp_path), FAILED, "is empty, but the crawl has written output"
    )
    assert fetched(directory) == before
    assert "from the output: " in repair(directory)
    assert_crawls_to_its_end(directory, web)


@pytest.fixture(scope="module")
def storm_web() -> Iterator[Web]:
    with running(WORLD) as port:
        yield Web(port, WORLD)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_damaged_nothing_is_missing_in_the_end_without_being_told(
    tmp_path: Path, storm_web: Web, seed: int
) -> None:
    Case(seed, tmp_path, storm_web).run()


@pytest.mark.long
def test_a_thousand_cases_of_damage(tmp_path: Path, storm_web: Web) -> None:
    """ONCEOVER_STORM is the first seed and the number of cases, as `4000:100`."""
    first, count = map(int, os.environ.get("ONCEOVER_STORM", "1000:1000").split(":"))
    failed = []
    for seed in range(first, first + count):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        try:
            Case(seed, folder, storm_web).run()
        except (AssertionError, pytest.fail.Exception) as error:
            failed.append(str(error))
        shutil.rmtree(folder)
    assert not failed, f"{len(failed)} of {count} cases failed\n\n" + "\n\n".join(failed)
