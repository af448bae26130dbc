"""That a directory tells whether its crawl is in parts, and where these are."""

from pathlib import Path

import msgspec
import pytest

from crawler.control.address import NAME, listen
from crawler.disk.clearing import clear_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.earlier import earlier_places
from crawler.disk.layout import (
    Layout,
    output_directories,
    part_at,
    part_directories,
    read_layout,
    record_directories,
    whole_crawl,
    write_layout,
)
from crawler.library.opening import check_is_no_part
from crawler.parts.exchange.local import NAME as LINKS
from frontier import Part
from tests.e2e.crawling import USAGE, assert_told
from tests.e2e.operating import command_here


def test_a_crawl_without_a_layout_is_not_in_parts(tmp_path: Path) -> None:
    assert read_layout(tmp_path) is None
    assert read_layout(tmp_path / "none") is None
    assert part_directories(tmp_path) == [tmp_path]
    assert output_directories(tmp_path) == [tmp_path]


def test_a_layout_tells_the_directories_of_the_parts(tmp_path: Path) -> None:
    layout = Layout.begin(3)
    write_layout(tmp_path, layout)
    assert read_layout(tmp_path) == layout
    assert part_directories(tmp_path) == [tmp_path / f"part-{number}" for number in range(3)]
    assert output_directories(tmp_path) == part_directories(tmp_path)


def test_a_part_that_has_archived_nothing_is_no_place_to_compare_with(tmp_path: Path) -> None:
    write_layout(tmp_path, Layout.begin(3))
    for part in ("part-0", "part-1"):
        (tmp_path / part / "warc").mkdir(parents=True)
    assert earlier_places([str(tmp_path)]) == [tmp_path]
    (tmp_path / "part-1" / "warc" / "a.warc.gz").touch()
    assert earlier_places([str(tmp_path)]) == [tmp_path / "part-1" / "warc"]


def test_no_part_has_the_lineage_of_a_crawl_that_is_not_in_parts() -> None:
    layout = Layout.begin(4)
    assert [place.lineage for place in layout.parts] == [1, 2, 3, 4]
    assert layout.next_lineage == 5
    assert Layout.begin(4).generation != layout.generation


def test_output_from_before_a_division_comes_first(tmp_path: Path) -> None:
    write_layout(tmp_path, msgspec.structs.replace(Layout.begin(1), earlier=(".", "part-7")))
    assert output_directories(tmp_path) == [tmp_path, tmp_path / "part-7", tmp_path / "part-0"]


def test_a_directory_tells_which_part_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_layout(tmp_path, Layout.begin(2))
    expected = Part(number=1, parts=2, lineage=2)
    assert part_at(tmp_path / "part-1") == expected
    assert part_at(tmp_path) is part_at(tmp_path / "part-2") is part_at(tmp_path / "part-1" / "x") is None
    elsewhere = tmp_path / "disk" / "volume"
    elsewhere.mkdir(parents=True)
    (tmp_path / "part-1").symlink_to(elsewhere)
    assert part_at(tmp_path / "part-1") == expected
    (tmp_path / "part-0").mkdir()
    monkeypatch.chdir(tmp_path / "part-0")
    assert part_at(Path()) == Part(number=0, parts=2, lineage=1)


def test_what_only_a_whole_crawl_can_do_is_refused_to_a_part_with_the_place_of_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_layout(tmp_path, Layout.begin(2))
    (tmp_path / "part-0").mkdir()
    monkeypatch.chdir(tmp_path / "part-0")
    with pytest.raises(DirectoryRefused, match=rf"the crawl in {tmp_path}, .* `onceover crawl --dir {tmp_path}`"):
        check_is_no_part(Path())
    assert_told(command_here("stop", "."), USAGE, f"`onceover stop {tmp_path}` stops all")


def test_a_part_is_in_the_directory_of_its_crawl_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_layout(tmp_path, Layout.begin(2))
    (tmp_path / "part-0" / "records").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "part-0" / "records")
    for part in (tmp_path / "part-1", tmp_path / "part-0" / ".." / "part-1", Path(".."), Path("../../part-1")):
        assert whole_crawl(part) == tmp_path
    assert whole_crawl(tmp_path) == tmp_path
    assert whole_crawl(Path()) == Path()


def test_records_of_a_part_are_in_its_directory_or_from_before(tmp_path: Path) -> None:
    write_layout(tmp_path, msgspec.structs.replace(Layout.begin(2), earlier=(".",)))
    places = [path / "records" for path in (tmp_path, tmp_path / "part-0", tmp_path / "part-1")]
    for path in places[1:]:
        path.mkdir(parents=True)
    assert record_directories(tmp_path) == places[1:]
    places[0].mkdir()
    assert record_directories(tmp_path) == places
    assert record_directories(tmp_path, 1) == [places[0], places[2]]


@pytest.mark.parametrize("parts", [0, 1025])
def test_a_crawl_has_at_least_one_part_and_not_too_many(parts: int) -> None:
    with pytest.raises(ValueError, match="a crawl has 1 to 1024 parts"):
        Layout.begin(parts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "has version 2, and this onceover reads version 1"),
        ({"version": 2, "parts": {"web": 1}}, "has version 2, and this onceover reads version 1"),
        ({"parts": []}, "makes no sense"),
        ({"parts": [{"directory": "../x", "lineage": 1}]}, "makes no sense"),
        ({"parts": [{"directory": "a", "lineage": 1}, {"directory": "a", "lineage": 2}]}, "makes no sense"),
        ({"parts": [{"directory": "a", "lineage": 1}, {"directory": "b", "lineage": 1}]}, "makes no sense"),
        ({"parts": [{"directory": "a", "lineage": 9}]}, "makes no sense"),
        ({"earlier": ["/etc"]}, "makes no sense"),
        ({"parts": "many"}, "can't be read"),
    ],
)
def test_a_layout_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    written = msgspec.json.decode(msgspec.json.encode(Layout.begin(2))) | changes
    (tmp_path / "parts.json").write_bytes(msgspec.json.encode(written))
    with pytest.raises(DirectoryRefused, match=message):
        read_layout(tmp_path)


def test_a_copy_of_a_crawl_in_parts_may_lack_the_lock(tmp_path: Path) -> None:
    write_layout(tmp_path, Layout.begin(2))
    with CrawlDirectory(tmp_path):
        pass


def begin(path: Path) -> list[CrawlDirectory]:
    """A crawl in two parts that has output."""
    write_layout(path, Layout.begin(2))
    parts = [CrawlDirectory(each) for each in part_directories(path)]
    for part in parts:
        with part:
            part.records.mkdir()
            (part.records / "a.jsonl").write_text("{}\n")
    return parts


def test_clearing_deletes_the_parts_too_but_no_files_of_others(tmp_path: Path) -> None:
    first, second = begin(tmp_path)
    (second.path / "notes.txt").write_text("mine")
    with CrawlDirectory(tmp_path) as directory:
        clear_crawl(directory)
    assert read_layout(tmp_path) is None
    assert not first.path.exists()
    assert [each.name for each in second.path.iterdir()] == ["notes.txt"]


def test_clearing_deletes_the_sockets_of_parts_that_were_killed(tmp_path: Path) -> None:
    first, second = begin(tmp_path)
    for name in (NAME, LINKS):
        listen(first.path, name).close()
    with CrawlDirectory(tmp_path) as directory:
        clear_crawl(directory)
    assert not first.path.exists()
    assert not second.path.exists()


def test_nothing_is_cleared_while_a_part_runs(tmp_path: Path) -> None:
    first, second = begin(tmp_path)
    with CrawlDirectory(tmp_path) as directory, second, pytest.raises(DirectoryInUse):
        clear_crawl(directory)
    assert first.has_output()
    assert read_layout(tmp_path) is not None
