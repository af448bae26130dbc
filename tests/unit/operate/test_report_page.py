"""The report as a page: one file, which shows what strangers have written and does nothing that they want."""

import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.disk.layout import part_directories
from crawler.operate.report.counting import ActivityCount
from crawler.operate.report.html.page import html_page
from crawler.operate.report.html.plots import Line, bars, line_plot
from crawler.operate.report.html.tables import table, text, url
from crawler.testing.disks import mounted
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import HOSTS, PARTS, SETTLED, make
from tests.unit.operate.test_report import report_of, visit

HOSTILE = "</td></svg></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e\x1b[31m"


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_is_harmless(html: str) -> None:
    for tag, attributes in Elements(html).found:
        assert tag not in ("script", "img", "iframe", "link", "object", "base", "form")
        assert not any(name.startswith("on") or name in ("src", "style") for name in attributes)
        href = attributes.get("href")
        assert href is None or href.lower().startswith(("http://", "https://"))
    assert "\u202e" not in html
    assert "\x1b" not in html


@pytest.mark.parametrize("parts", [1, PARTS])
def test_the_page_has_all_sections_in_one_file(tmp_path: Path, parts: int) -> None:
    crawl = make(tmp_path / "crawl", parts=parts) if parts > 1 else make(tmp_path / "crawl")
    file = tmp_path / "report.html"
    told = crawl.do("report", "--html", str(file), "--limit", "2")
    assert told.code == 0, told.err
    html = file.read_text()
    assert_is_harmless(html)
    for name in ("hosts", "dead-links", "redirects", "duplicates", "refused", "slowest", "largest"):
        assert f'<section id="{name}">' in html
    (command,) = re.findall(f"{len(HOSTS) - 2:,} more: <code>onceover (report [^<]* hosts [^<]*)</code>", html)
    _, _, *options = shlex.split(command)
    assert options[-1] == str(len(HOSTS))
    rest = crawl.do("report", *options).out
    assert all(f"{host}," in rest for host in HOSTS)
    assert crawl.do("report", "--html", "-", "--limit", "2").out.startswith("<!doctype html>")


def test_a_page_that_does_not_fit_the_disk_leaves_the_earlier_one(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    with mounted("-o", "size=8k", at=tmp_path / "mount") as mount:
        file = mount / "report.html"
        file.write_text("earlier")
        told = crawl.do("report", "--html", str(file))
        assert told.code == 1
        assert f"{file} can't be written: No space left on device" in told.err
        assert [(path.name, path.read_text()) for path in mount.iterdir()] == [("report.html", "earlier")]


def test_a_page_can_be_written_into_a_device(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("report", "--html", "/dev/null").code == 0
    assert "/dev/full can't be written: No space left on device" in crawl.do("report", "--html", "/dev/full").err


def test_the_page_names_the_parts_that_it_lacks(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    assert "Note: " not in crawl.do("report", "--html", "-").out
    assert "notes" not in crawl.do("report", "--json").json()
    part_directories(crawl.directory)[1].rename(tmp_path / "aside")
    note = "without part 1 of the crawl, whose directory is missing or can't be used"
    told = crawl.do("report", "--html", "-")
    assert f"note: {note}\n" in told.err
    assert f"Note: {text(note)}." in told.out
    assert crawl.do("report", "--json").json()["notes"] == [note]


def test_without_records_the_page_tells_what_the_ledger_knows(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    shutil.rmtree(crawl.directory / "records")
    told = crawl.do("report", "--html", "-")
    assert told.code == 0, told.err
    assert "from its ledger, because it has no records" in told.out
    assert '<section id="hosts">' in told.out
    assert '<section id="dead-links">' not in told.out
    assert_is_harmless(told.out)
    assert crawl.do("report", "dead-links").code == 5


def test_a_crawl_that_is_not_there_is_not_said_to_lack_records(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    crawl.directory.rename(tmp_path / "elsewhere")
    for arguments in (["dead-links"], ["--html", "-"]):
        told = crawl.do("report", *arguments)
        assert told.code != 0
        assert "there is no crawl in" in told.err


def test_the_folder_of_a_daemon_is_told_from_a_crawl(tmp_path: Path) -> None:
    (tmp_path / "daemon").mkdir()
    told = command_here("report", str(tmp_path))
    assert told.code == 5
    assert f"name the directory of one of its crawls, as {tmp_path}/crawls/NAME" in told.err
    told = command_here("status", str(tmp_path))
    assert told.code == 5
    assert told.err.startswith(f"onceover: no daemon serves {tmp_path}: ")


def test_a_folder_of_crawls_names_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for run in ("20261128T105800Z", "20261128T110000Z"):
        make(tmp_path / "docs" / run)
    told = command_here("status", str(tmp_path / "docs"))
    assert told.code == 5
    assert f"there are crawls in it: name one of them, as {tmp_path}/docs/20261128T110000Z" in told.err


def test_the_page_is_for_all_sections_and_for_a_place_that_can_be_written(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    assert crawl.do("report", "hosts", "--html", "-").code == 2
    told = crawl.do("report", "--html", str(tmp_path / "missing" / "report.html"))
    assert told.code == 1
    assert "can't be written" in told.err


def test_what_strangers_have_written_stays_text(tmp_path: Path) -> None:
    found = report_of(make(tmp_path / "crawl"))
    link = {"leads_to": HOSTILE, "status": None, "reason": HOSTILE, "page": f"http://a.test/{HOSTILE}", "kind": HOSTILE}
    counts = {HOSTILE: 1, "x" * 500: 2}
    hostile = msgspec.to_builtins(found) | {
        "directory": HOSTILE,
        "dead_links": {
            "urls": 1,
            "is_whole": False,
            "links": [{"url": "javascript:alert(1)", "anchor": HOSTILE, **link}],
        },
        "redirects": {
            "urls": 1,
            "is_whole": False,
            "links": [{"url": HOSTILE, "hops": 1, "end_status": 1, "end_reason": None, "anchor": HOSTILE, **link}],
        },
        "duplicates": [{"url": HOSTILE, "of": HOSTILE, "by": "body", "bytes": 1}],
        "refused": [{"rule": HOSTILE, "links": 1, "examples": [{"url": HOSTILE, "page": HOSTILE}]}],
        "more": {"refused": 3},
    }
    hostile["summary"] |= {"statuses": counts, "types": counts, "depths": counts, "failures": counts, "refused": counts}
    hostile["hosts"]["most_pages"][0] |= {"host": HOSTILE, "statuses": {HOSTILE: 1}}
    html = html_page(msgspec.convert(hostile, type(found)))
    assert_is_harmless(html)
    assert "javascript:alert(1)" in html
    assert "3 more" in html


@given(st.text())
def test_any_text_can_be_shown(value: str) -> None:
    assert_is_harmless(table([value], [[value, url(value), url(f"https://a.test/{value}")]]))
    assert "<" not in text(value)
    assert_is_harmless(bars([(value, 1.0)], label=lambda number: f"{number:g}", name=value) or "")


@given(st.lists(st.tuples(st.floats(0, 1e12), st.floats(0, 1e12)), max_size=20))
def test_any_points_can_be_plotted(points: list[tuple[float, float]]) -> None:
    plot = line_plot([Line("a", sorted(points), is_area=True)], label_x=str, label_y=str, name="a")
    assert (plot is None) == (len({x for x, _ in points}) < 2)
    assert plot is None or "nan" not in plot


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=200))
def test_activity_is_bounded_and_counts_everything(seconds: list[int]) -> None:
    activity = ActivityCount(max_bins=8)
    for second in seconds:
        at = f"2026-{1 + second % 12:02}-{1 + second % 28:02}T{second % 24:02}:00:{second % 60:02}.000Z"
        activity.add(msgspec.structs.replace(visit(received_bytes=3), fetched_at=at))
    found = activity.found()
    assert len(found) <= 8
    assert sum(each.pages for each in found) == len(seconds)
    assert sum(each.bytes_received for each in found) == 3 * len(seconds)
    assert [each.at for each in found] == sorted(each.at for each in found)


def test_a_url_that_was_fetched_again_counts_once(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = report_of(crawl).summary
    (path,) = (crawl.directory / "records").iterdir()
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    first = next(line for line in lines if line.get("status") == 200)
    again = [
        first | {"number": 10**6 + visit, "visit": visit, "status": status} for visit, status in ((2, 200), (3, 404))
    ]
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(line) + b"\n" for line in again)
    found = report_of(crawl)
    after = found.summary
    assert (after.pages, after.visits) == (before.pages - 1, before.visits + 2)
    assert after.statuses == {"200": before.statuses["200"] - 1, "404": 1}
    assert sum(row.urls for row in found.hosts.most_pages) == len(HOSTS) * SETTLED
