"""A report tells what the robots.txt files of hosts said, and when, whether the crawl is in parts or not."""

import csv
import io
import time
from pathlib import Path

import msgspec
import pytest

from crawler.disk.layout import part_directories
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.rules import RobotsRules
from crawler.fetch.robots.status import RobotsStatus, judge_host
from crawler.operate.opening import lock_stored
from crawler.operate.report.forms import HostRow, Report
from crawler.page import rfc3339
from crawler.wiring.storage import open_state
from tests.unit.operate.answering import answering
from tests.unit.operate.stored_crawls import HOSTS, PARTS, StoredCrawl, make

NOW = time.time()
HOUR_AGO = NOW - 3600
DELAYED = "User-agent: *\nCrawl-delay: 7\nDisallow: /private"


def status(
    text: str | None = None,
    *,
    asked_at: float | None = HOUR_AGO,
    failures: int = 0,
    no_connection: bool = False,
) -> RobotsStatus:
    return RobotsStatus(
        expires_at=NOW + 1e6,
        text=text,
        asked_at=asked_at,
        failures=failures,
        failing_since=HOUR_AGO if failures else None,
        message="status 503" if failures else None,
        no_connection=no_connection,
    )


NOTED = {
    f"http://{HOSTS[0]}": status("User-agent: *\nDisallow: /\n\nUser-agent: other\nAllow: /"),
    f"http://{HOSTS[1]}": status(asked_at=None),
    f"http://{HOSTS[2]}": status(failures=3),
    # Of several, the latest counts, and the longest delay.
    f"http://{HOSTS[3]}": status(DELAYED, asked_at=HOUR_AGO - 100),
    f"https://{HOSTS[3]}:8443": status("User-agent: *\nDisallow:\nCrawl-delay: 2"),
    f"https://{HOSTS[3]}0": status("User-agent: *\nDisallow: /"),
    f"https://{HOSTS[4]}": status(DELAYED + "\n" * 70_000),
    # A seed without a scheme was tried over https first.
    f"http://{HOSTS[6]}": status(DELAYED, asked_at=HOUR_AGO - 100),
    f"http://{HOSTS[8]}": status(DELAYED, asked_at=HOUR_AGO - 100),
    f"https://{HOSTS[8]}": status(failures=1),  # its certificate is wrong
    f"https://{HOSTS[6]}": status(failures=1, no_connection=True),
    f"https://{HOSTS[7]}": status(failures=1, no_connection=True),
}


def note(crawl: StoredCrawl) -> None:
    """The same in all parts: no host is said to be of the part that has asked it."""
    for place in part_directories(crawl.directory):
        with lock_stored(place) as (directory, loaded):
            state = open_state(loaded.config, directory)
            cache = RobotsCache(state.notes, agent="onceover")
            for origin, each in NOTED.items():
                cache.note(origin, each)
            state.close()


def rows_of(crawl: StoredCrawl) -> dict[str, HostRow]:
    told = crawl.do("report", "--json")
    assert told.code == 0, told.err
    return {row.host: row for row in msgspec.json.decode(told.out, type=Report).hosts.rows}


@pytest.mark.parametrize("parts", [1, PARTS])
def test_each_host_has_what_its_robots_txt_said(tmp_path: Path, parts: int) -> None:
    crawl = make(tmp_path / "crawl", parts=parts)
    assert {row.robots for row in rows_of(crawl).values()} == {None}
    note(crawl)
    found = {host: (row.robots, row.robots_at, row.crawl_delay_s) for host, row in rows_of(crawl).items()}
    hour_ago = rfc3339(HOUR_AGO)
    assert [found[host] for host in HOSTS[:9]] == [
        ("disallowed", hour_ago, None),
        ("none", None, None),
        ("unreachable", hour_ago, None),
        ("allowed", hour_ago, 7.0),
        ("partly", hour_ago, 7.0),
        (None, None, None),
        ("partly", rfc3339(HOUR_AGO - 100), 7.0),
        ("unreachable", hour_ago, None),
        ("partly", rfc3339(HOUR_AGO - 100), 7.0),
    ]
    if parts > 1:
        with answering(crawl.directory, range(parts)):
            assert rows_of(crawl)[HOSTS[0]].robots == "disallowed"


def test_people_and_other_programs_are_told_too(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl")
    note(crawl)
    text = crawl.do("report", "hosts").out
    assert f"{HOSTS[0]}  robots.txt disallows everything, asked 1 h " in text
    assert "it asks for 7 s between requests" in text
    table = list(csv.DictReader(io.StringIO(crawl.do("report", "hosts", "--csv").out)))
    by_host = {row["host"]: (row["robots"], row["robots_at"], row["crawl_delay_s"]) for row in table}
    assert by_host[HOSTS[4]] == ("partly", rfc3339(HOUR_AGO), "7.0")
    assert by_host[HOSTS[5]] == ("", "", "")
    page = crawl.do("report", "--html", "-").out
    assert "<th>robots.txt</th>" in page
    assert "disallows everything, asked 1 h" in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User-agent: *\nDisallow: /", "disallowed"),
        ("User-agent: *\nDisallow: *", "disallowed"),
        ("User-agent: *\nDisallow: /*", "disallowed"),
        ("User-agent: *\nDisallow: /\nAllow: /open", "partly"),
        ("User-agent: *\nDisallow: /$", "partly"),
        ("User-agent: *\nDisallow:", "allowed"),
        ("User-agent: *\nDisallow: /\nUser-agent: onceover\nAllow: /", "allowed"),
        ("", "allowed"),
    ],
)
def test_a_file_is_summed_up_for_this_crawler(text: str, expected: str) -> None:
    assert judge_host(status(text), RobotsRules(text, agent="onceover"), NOW) == expected


def test_a_file_that_could_not_be_had_for_a_month_counts_as_none() -> None:
    failing = msgspec.structs.replace(status(failures=9), failing_since=NOW - 31 * 86400.0)
    assert judge_host(failing, None, NOW) == "none"
