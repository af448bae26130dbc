"""A report says what the records say, of a crawl in one part or in several, in bounded memory."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.cli.run.terminal import results_console
from crawler.control.replies import CrawlStatus
from crawler.course.forms import Remaining
from crawler.course.history import History, Point
from crawler.course.remaining import NOT_RUNNING
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import record_directories
from crawler.operate.course import write_history
from crawler.operate.report.counting import MAX_NAMES, OTHERS, Checks, CountsByName, Hosts, Totals
from crawler.operate.report.forms import External, Report
from crawler.operate.report.text import host_tables, printable
from crawler.operate.report.visits import Visit
from crawler.page import READ_IN_PART
from crawler.write.records import record_files
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, StoredCrawl, make

PAGES = len(HOSTS) * (SETTLED - 1)


def visit(url: str = "http://a.test/", *, second: int | None = None, **values: object) -> Visit:
    fetched_at = None if second is None else f"2026-11-23T00:00:{second:02}.000Z"
    return msgspec.convert(
        {"number": 1, "url": url, "state": "done", "status": 200, "fetched_at": fetched_at, **values}, Visit
    )


def counted(*visits: Visit, max_hosts: int = 10) -> tuple[Totals, Hosts]:
    totals, hosts = Totals(), Hosts(max_hosts)
    for each in visits:
        totals.add(each)
        hosts.add(each)
    return totals, hosts


def test_pages_with_incomplete_bodies_count_until_they_come_whole() -> None:
    totals, _ = counted(
        visit(truncated="length"),
        visit("http://a.test/drip", truncated="time"),
        visit("http://a.test/error", status=404, truncated="disconnect"),
        visit("http://a.test/whole"),
    )
    totals.add(visit("http://a.test/then-whole", truncated="disconnect"), is_last=False, is_current=False)
    totals.add(visit("http://a.test/then-whole"))
    totals.add(visit("http://a.test/then-304", truncated="length"), is_last=False)
    totals.add(visit("http://a.test/then-304", status=304), is_current=False)
    assert totals.truncated.counts() == {"length": 2, "time": 1}


def report_of(crawl: StoredCrawl, *arguments: str) -> Report:
    told = crawl.do("report", "--json", *arguments)
    assert told.code == 0, told.err
    return msgspec.json.decode(told.out, type=Report)


def test_each_url_counts_by_what_became_of_it() -> None:
    cut = f"broke off; {READ_IN_PART}: read the first 5 bytes"
    totals, hosts = counted(
        visit(second=10, duration_s=0.5, received_bytes=100, size_bytes=300, refused={"scope": 2}, message=cut),
        visit(second=40, duration_s=1.5, received_bytes=50, size_bytes=60, refused={"scope": 1, "robots": 1}),
        visit(second=50, status=304),
        visit("http://b.test/", second=20, status=301),
        visit("http://b.test/x", second=30, status=404),
        visit("http://b.test:8080/y", status=None, state="failed", reason="dns"),
        visit("http://c.test/", status=None, state="excluded", reason="robots"),
        visit("http://d.test/sitemap.xml", second=45, kind="sitemap"),
    )
    assert (totals.pages, totals.failed, totals.excluded, totals.read_in_part) == (3, 1, 1, 1)
    assert (totals.bytes_received, totals.bytes_decoded) == (150, 360)
    assert totals.statuses.counts() == {"200": 3, "301": 1, "304": 1, "404": 1}
    assert (totals.failures.counts(), totals.exclusions.counts()) == ({"dns": 1}, {"robots": 1})
    assert totals.refused.counts() == {"scope": 3, "robots": 1}
    times = totals.clock.times()
    assert times.first_at == "2026-11-23T00:00:10.000Z"
    assert (times.last_at, times.mean_s) == ("2026-11-23T00:00:50.000Z", 1.0)
    table = hosts.table(2, has_bytes=True)
    assert (table.count, table.is_exact) == (4, True)
    assert [(row.host, row.pages, row.bytes_received) for row in table.most_pages] == [("a.test", 3, 150)]
    assert [row.host for row in table.most_bytes] == ["a.test"]
    assert [(row.host, row.failures, row.urls) for row in table.most_failures] == [("b.test", 2, 3)]


def test_checks_out_of_scope_that_were_not_made_count_by_reason() -> None:
    checks = Checks()
    for reason in ("robots", "no-contact", "robots"):
        checks.add(visit(status=None, state="excluded", reason=reason, kind="external"))
    checks.add(visit(kind="external"))
    assert checks.found() == External(checked=1, dead=0, excluded=3, exclusions={"robots": 2, "no-contact": 1})


def test_of_very_many_hosts_the_large_ones_stay() -> None:
    large = [visit("http://large.test/") for _ in range(5)]
    small = [visit(f"http://small-{number}.test/") for number in range(100)]
    _, hosts = counted(*large, *small, *large, max_hosts=4)
    table = hosts.table(10, has_bytes=True)
    assert (table.count, table.is_exact) == (101, False)
    assert (table.most_pages[0].host, table.most_pages[0].pages) == ("large.test", 10)
    assert len(table.most_pages) <= 2 * 4


def test_of_very_many_reasons_the_later_ones_are_counted_together() -> None:
    names = CountsByName()
    for number in range(MAX_NAMES + 5):
        names.add(f"reason-{number:06}")
    assert len(names.counts()) == MAX_NAMES + 1
    assert names.counts()[OTHERS] == 5


def test_parts_are_summed_up_like_the_same_crawl_in_one(tmp_path: Path) -> None:
    one, parts = make(tmp_path / "one"), make(tmp_path / "parts", parts=PARTS)
    found = report_of(one)
    summary = found.summary
    assert (found.running, found.source) == (False, "records")
    assert (summary.urls, summary.settled, summary.pages) == (len(HOSTS) * EACH, len(HOSTS) * SETTLED, PAGES)
    assert summary.share_done == pytest.approx(SETTLED / EACH)
    assert (summary.failures, summary.statuses) == ({"dns": len(HOSTS)}, {"200": PAGES})
    assert summary.remaining == Remaining(urls=len(HOSTS) * (EACH - SETTLED), seconds=None, why=NOT_RUNNING)
    assert [row.failures for row in found.hosts.most_failures] == [1] * len(HOSTS)
    assert report_of(parts).summary == summary
    of_parts = [report_of(parts, "--part", str(number)) for number in range(PARTS)]
    assert sum(each.summary.pages for each in of_parts) == PAGES
    assert sum(each.hosts.count for each in of_parts) == len(HOSTS)


@pytest.mark.parametrize("parts", [1, PARTS])
def test_a_url_that_was_forgotten_and_fetched_anew_counts_by_its_last_visit(tmp_path: Path, parts: int) -> None:
    crawl = make(tmp_path / "crawl", parts=parts)
    before = report_of(crawl)
    (again, *_) = [line["url"] for line in crawl.exported() if line["state"] == "failed"]
    assert crawl.do("forget", str(again)).code == 0
    for directory in record_directories(crawl.directory):
        file = record_files(directory)[-1]
        for line in file.read_bytes().splitlines():
            record = msgspec.json.decode(line, type=dict[str, Any])
            if record["url"] == again:
                anew = record | {
                    "number": record["number"] + 1_000,
                    "size_bytes": 5,
                    "state": "done",
                    "reason": None,
                    "status": 200,
                }
                file.write_bytes(file.read_bytes() + msgspec.json.encode(anew) + b"\n")
    after = report_of(crawl)
    assert (after.summary.pages, after.summary.failed) == (before.summary.pages + 1, before.summary.failed - 1)
    assert sum(after.summary.statuses.values()) == sum(before.summary.statuses.values()) + 1


def test_a_record_that_was_written_again_counts_once_and_a_torn_one_not_at_all(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = report_of(crawl).summary
    (path,) = record_files(record_directories(crawl.directory)[0])
    first = path.read_bytes().splitlines(keepends=True)[0]
    with path.open("ab") as file:
        file.write(first + first[:-10])
    assert report_of(crawl).summary == before


def test_without_records_the_ledger_tells_as_much_as_it_knows(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    before = report_of(crawl).summary
    shutil.rmtree(crawl.directory / "records")
    found = report_of(crawl)
    assert found.source == "ledger"
    summary = found.summary
    assert (before.read_in_part, summary.read_in_part) == (0, None)
    assert (summary.pages, summary.failures, summary.statuses) == (PAGES, before.failures, before.statuses)
    assert (summary.bytes_received, summary.refused) == (None, None)
    assert "this is what its ledger tells" in crawl.do("report").out


def test_the_ledger_tells_pages_from_sitemaps_and_checks(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    shutil.rmtree(crawl.directory / "records")
    lines: list[dict[str, object]] = [
        {"url": f"http://{HOSTS[0]}/sitemap.xml", "state": "done", "status": 200, "kind": "sitemap"},
        {"url": "http://other.test/#external", "state": "done", "status": 404, "kind": "external"},
    ]
    (tmp_path / "urls.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    assert crawl.run("frontier", "import", "DIR", str(tmp_path / "urls.jsonl")).code == 0
    exported = {str(line["url"]): line.get("kind") for line in crawl.exported()}
    assert [exported[str(line["url"])] for line in lines] == ["sitemap", "external"]
    summary = report_of(crawl).summary
    assert summary.pages == PAGES
    assert summary.external is not None
    assert (summary.external.checked, summary.external.dead) == (1, 1)


def test_a_report_is_shown_to_people_in_sections(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    both = crawl.do("report", "--limit", "2").out
    assert f"{len(HOSTS) * SETTLED} of {len(HOSTS) * EACH} settled (42.9%), {len(HOSTS)} hosts" in both
    assert f"failed  dns: {len(HOSTS)}" in both
    assert both.count("host-") == 6  # two with most pages, two with most failures, and why two wait
    left = len(HOSTS) * (EACH - SETTLED)
    assert (
        crawl.do("report", "slowest").out.splitlines()[0].endswith(f"Z: does not run; {left} URLs wait to be fetched")
    )
    summary, hosts = crawl.do("report", "summary").out, crawl.do("report", "hosts").out
    assert ("most pages" in summary, "settled" in summary) == (False, True)
    assert ("most pages" in hosts, "settled" in hosts) == (True, False)
    shown = crawl.do("report", "hosts", "--json").json()
    assert shown.keys() == {"directory", "at", "running", "source", "course", "activity", "hosts"}
    assert crawl.do("report", "nothing").code == 2


def test_addresses_in_brackets_are_shown_as_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["[fd00::1]", "[fe80::a:b]", "[::1]"]
    _, hosts = counted(*(visit(f"http://{name}/") for name in names))
    for table in host_tables(hosts.table(10, has_bytes=True)):
        results_console().print(table)
    shown = capsys.readouterr().out
    assert all(f"{name} " in shown for name in names)


def test_the_status_tells_what_is_done_and_why_nobody_can_tell_the_rest(tmp_path: Path) -> None:
    for crawl in (make(tmp_path / "one"), make(tmp_path / "parts", parts=PARTS)):
        status = msgspec.convert(crawl.do("status", "--json").json(), CrawlStatus)
        assert status.share_done == pytest.approx(SETTLED / EACH)
        assert status.remaining == report_of(crawl).summary.remaining
        assert status.course == []
        assert "42.9% of what is known" in crawl.do("status").out


def test_the_course_of_the_last_run_is_told_with_what_changed_since(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    known, settled = len(HOSTS) * EACH, len(HOSTS) * SETTLED
    write_history(CrawlDirectory(crawl.directory).course, History(points=[Point(0.0, 1, 0), Point(60.0, known - 1, 5)]))
    course = report_of(crawl).course
    assert [(each.discovered, each.finished) for each in course] == [(1, 0), (known - 1, 5), (known, settled)]
    assert course[1].at == "1970-01-01T00:01:00.000Z"
    status = crawl.do("status").out
    assert "1970-01-01T00:01:00Z   5 of" in status
    assert f"{settled} of {known} finished" in status


def test_hosts_tell_their_answers_and_exclusions_and_why_they_wait(tmp_path: Path) -> None:
    for crawl in (make(tmp_path / "one"), make(tmp_path / "parts", parts=PARTS)):
        rows = report_of(crawl).hosts.most_pages
        assert all(row.queued == EACH - SETTLED and row.waits for row in rows)
        assert all(row.statuses == {"200": SETTLED - 1} for row in rows)
        assert f"{EACH - SETTLED} queued; " in crawl.do("report", "hosts").out
    _, hosts = counted(
        visit(status=None, state="excluded", reason="robots"),
        visit("http://a.test:8080/", status=None, state="excluded", reason="robots"),
        *(visit(status=status) for status in range(200, 230)),
    )
    (row,) = hosts.table(10, has_bytes=True).most_pages
    assert row.excluded == {"robots": 2}
    assert (len(row.statuses), row.statuses[OTHERS]) == (21, 10)


def test_words_keep_their_joiners_and_spaces_and_turn_nothing_around_them() -> None:
    kept = "\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469 so\u00adft a\u00a0b\u3000c"
    assert printable(kept) == kept
    assert printable("a\x1b[31m\u202eb\u2066c\ud800\u2028d\x00") == "a\ufffd[31m\ufffdb\ufffdc\ufffd\ufffdd\ufffd"
