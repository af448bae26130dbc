"""A crawl that comes back is compared with itself, also where URLs were not asked for, so that nobody knows when."""

import shutil
from pathlib import Path

import msgspec

from crawler.operate.diff.forms import Diff
from tests.unit.operate.stored_crawls import make
from tests.unit.operate.test_report_lists import record
from tests.unit.operate.test_report_orphans import written

_BEFORE, _SINCE, _AFTER = (f"2026-11-{day}T00:00:00.000Z" for day in ("01", "15", "20"))


def excluded(number: int, path: str, visit: int) -> dict[str, object]:
    return record(number, path, state="excluded", status=None, reason="robots", visit=visit)


def gone_since(directory: Path, *records: dict[str, object]) -> list[str]:
    crawl = make(directory)
    shutil.rmtree(crawl.directory / "records")
    written(crawl.directory / "records", *records)
    found = msgspec.json.decode(crawl.do("diff", "--since", _SINCE, "--json").out, type=Diff)
    assert {each.kind for each in found.differences} <= {"gone"}, found.differences
    return [each.url.removeprefix("http://a.test") for each in found.differences]


def test_a_page_that_robots_txt_excludes_by_now_is_gone(tmp_path: Path) -> None:
    first = (
        record(1, "/a", fetched_at=_BEFORE),
        record(2, "/b", fetched_at=_BEFORE),
        excluded(3, "/private", 1),
        excluded(4, "/b", 2),
        record(5, "/c", fetched_at=_BEFORE),
    )
    again = excluded(6, "/a", 2), excluded(7, "/b", 3)
    assert gone_since(tmp_path / "all", *first, *again) == ["/a"]
    assert gone_since(tmp_path / "some", *first, *again, record(8, "/c", visit=2, fetched_at=_AFTER)) == ["/a"]
