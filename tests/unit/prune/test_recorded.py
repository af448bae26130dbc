"""After a run without records, the next one that has them tells since when they have each page."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, PartPlace, write_layout
from crawler.disk.pruned import read_pruned
from crawler.prune.recorded import recorded_since
from frontier import VisitsSince

NOW = 1_700_000_000.0
ALL = VisitsSince()
SINCE = VisitsSince(number=7, at=NOW, latest_at=NOW + 5)


def since(crawl: CrawlDirectory, *, records: bool, is_resumed: bool = True) -> VisitsSince:
    find = partial(recorded_since, crawl, next_number=lambda: 7, latest_at=lambda: NOW + 5, clock=lambda: NOW)
    return find(records=records, is_resumed=is_resumed)


def begun(folder: Path) -> CrawlDirectory:
    """A crawl that has opened its records, and written none."""
    crawl = CrawlDirectory(folder)
    crawl.records.mkdir()
    (crawl.records / "records-00000.jsonl").touch()
    return crawl


def test_all_visits_have_records_if_each_run_writes_some(tmp_path: Path) -> None:
    crawl = begun(tmp_path)
    assert since(crawl, records=True, is_resumed=False) == ALL
    (crawl.records / "records-00000.jsonl").write_bytes(b"{}\n")
    assert since(crawl, records=True) == ALL
    assert not crawl.pruned.exists()


def test_records_begin_with_the_first_run_that_writes_some(tmp_path: Path) -> None:
    crawl = CrawlDirectory(tmp_path)
    for is_resumed in (False, True):
        assert since(crawl, records=False, is_resumed=is_resumed) == ALL
    begun(tmp_path)
    assert since(crawl, records=True) == SINCE
    (crawl.records / "records-00000.jsonl").write_bytes(b"{}\n")
    assert since(crawl, records=True) == SINCE


def test_records_begin_again_after_runs_that_wrote_none(tmp_path: Path) -> None:
    crawl = begun(tmp_path)
    (crawl.records / "records-00000.jsonl").write_bytes(b"{}\n")
    for _ in range(2):
        assert since(crawl, records=False) == ALL
        assert read_pruned(crawl).lacks_records
    for _ in range(2):
        assert since(crawl, records=True) == SINCE
        assert not read_pruned(crawl).lacks_records


def divided(folder: Path, *names: str) -> list[CrawlDirectory]:
    """The parts of a crawl, whose output from before lies in `before`."""
    places = tuple(PartPlace(directory=name, lineage=lineage) for lineage, name in enumerate(names, 1))
    write_layout(folder, Layout(generation="1", parts=places, earlier=("before",), next_lineage=9))
    made = [CrawlDirectory(folder / name) for name in names]
    for each in made:
        each.path.mkdir()
    return made


def test_records_of_another_part_tell_nothing_of_the_pages_of_a_part(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    first, second = divided(tmp_path, "part-0", "part-1")
    assert since(begun(first.path), records=True) == SINCE
    (first.records / "records-00000.jsonl").write_bytes(b"{}\n")
    assert since(begun(second.path), records=True) == SINCE


@pytest.mark.parametrize("is_lacking", [False, True], ids=["records", "no records"])
def test_a_part_knows_since_when_there_are_records_from_before_the_crawl_was_divided(
    tmp_path: Path, is_lacking: bool
) -> None:
    (tmp_path / "before").mkdir()
    before = begun(tmp_path / "before")
    assert since(before, records=True) == SINCE
    (before.records / "records-00000.jsonl").write_bytes(b"{}\n")
    since(before, records=not is_lacking)
    for each in divided(tmp_path, "part-0", "part-1"):
        expected = SINCE if is_lacking else VisitsSince(at=NOW)
        assert [since(each, records=True) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize(
    "damaged",
    [
        '"records": {"began": "2026-13-01"}',
        '"cycles": [{"began": "", "first": 0}]',
        '"before": {"warc": {"last": "2026-11-3_"}}',
    ],
    ids=["records", "cycle", "archive"],
)
def test_a_damaged_moment_is_told(tmp_path: Path, damaged: str) -> None:
    crawl = CrawlDirectory(tmp_path)
    crawl.pruned.write_text(f"{{{damaged}}}")
    with pytest.raises(DirectoryRefused, match=r"pruned\.json can't be read: (month must be|Invalid isoformat)"):
        read_pruned(crawl)


def test_a_damaged_moment_of_a_record_does_not_matter(tmp_path: Path) -> None:
    crawl = CrawlDirectory(tmp_path)
    crawl.pruned.write_text('{"before": {"records": {"last": "2026-11-3_"}}}')
    assert read_pruned(crawl).total("records").last == "2026-11-3_"


def test_what_a_later_version_has_noted_stays(tmp_path: Path) -> None:
    crawl = begun(tmp_path)
    crawl.pruned.write_text('{"lacks_records": true, "noted_since": [7]}')
    assert since(crawl, records=True) == SINCE
    said = msgspec.json.decode(crawl.pruned.read_bytes())
    assert (said["lacks_records"], said["noted_since"]) == (False, [7])
