"""A report of a crawl that goes on while its records are read tells of one moment."""

from pathlib import Path

import msgspec
import pytest

from crawler.operate.report.counted import Counted
from crawler.operate.report.lists.making import make_lists
from crawler.operate.report.visits import may_have_repeats, recorded_visits
from crawler.write.records import extents_now, record_files


class GoingOn:
    """Visits the home page of a crawl again. It is the crawl's rule for names too: so the visits come while the records
    are read."""

    def __init__(self, directory: Path, *, after: int) -> None:
        directory.mkdir()
        self._file = directory / "records-00000.jsonl"
        self._after = after
        self._visits = 0
        self.calls = 0

    def visit(self, path: str = "/") -> None:
        self._visits += 1
        record: dict[str, object] = {
            "number": self._visits,
            "url": f"http://a.test{path}",
            "state": "done",
            "kind": "link",
            "status": 200,
            "digest": f"sha1:{path}",
            "size_bytes": 7,
            "received_bytes": 7,
        }
        if path == "/" and self._visits > 1:
            record["visit"] = self._visits
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def __call__(self, url: str, /) -> str:
        self.calls += 1
        if self.calls == self._after:
            self.visit()
        return url


@pytest.mark.parametrize("after", range(1, 8))
def test_a_page_that_is_visited_again_meanwhile_counts_once(after: int, tmp_path: Path) -> None:
    crawl = GoingOn(tmp_path / "records", after=after)
    for path in ("/", "/", "/other"):
        crawl.visit(path)
    counted = Counted()
    counted.add_records([tmp_path / "records"], crawl)
    (host,) = counted.hosts.table(1, has_bytes=True).rows
    assert (counted.totals.pages, host.urls) == (2, 2)
    assert counted.totals.visits == 3


@pytest.mark.parametrize("after", range(1, 12))
def test_a_page_that_is_visited_again_meanwhile_is_no_duplicate_of_itself(after: int, tmp_path: Path) -> None:
    crawl = GoingOn(tmp_path / "records", after=after)
    for path in ("/", "/", "/other"):
        crawl.visit(path)
    lists = make_lists([tmp_path / "records"], ["duplicates", "largest"], crawl, None)
    assert lists.duplicates == []
    assert [row.url for row in lists.largest or ()] == ["http://a.test/", "http://a.test/other"]


def test_a_file_that_is_deleted_meanwhile_is_left_out(tmp_path: Path) -> None:
    crawl = GoingOn(tmp_path / "records", after=0)
    for path in ("/", "/other"):
        crawl.visit(path)
    (old,) = record_files(tmp_path / "records")
    old.with_name("records-00001.jsonl").write_bytes(old.read_bytes().replace(b'"number":', b'"visit":2,"number":1'))
    extents = extents_now(tmp_path / "records")
    old.unlink()
    assert may_have_repeats(extents)
    assert [visit.number for visit in recorded_visits(extents)] == [11, 12]


@pytest.mark.parametrize("before", range(5))
def test_a_repeat_is_found_wherever_its_record_stands(
    before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.operate.report.visits._BLOCK_BYTES", 5)
    (tmp_path / "records-00000.jsonl").write_bytes(b"x" * before + b'"visit":2')
    assert may_have_repeats(extents_now(tmp_path))
    (tmp_path / "records-00000.jsonl").write_bytes(b"x" * before + b'"visi":2')
    assert not may_have_repeats(extents_now(tmp_path))
