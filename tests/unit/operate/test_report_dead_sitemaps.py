"""A dead sitemap is a dead link as long as robots.txt names it."""

import time
from pathlib import Path

import msgspec
import pytest

from crawler.control.replies import RobotsForm, RobotsList
from crawler.control.requests import InspectRobots
from crawler.disk.layout import part_directories
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.status import RobotsStatus
from crawler.operate.opening import lock_stored
from crawler.operate.report.waiting import sitemaps_of
from crawler.wiring.storage import open_state
from crawler.write.records import record_files
from tests.unit.operate.answering import answering
from tests.unit.operate.stored_crawls import HOSTS, PARTS, StoredCrawl, make
from tests.unit.operate.test_report_orphans import page, written

HOST = HOSTS[0]
ROBOTS = f"http://{HOST}/robots.txt"


def dead_sitemap(number: int, path: str) -> dict[str, object]:
    begin: dict[str, object] = {"number": number, "url": f"http://{HOST}{path}", "state": "done", "status": 404}
    return begin | {"kind": "sitemap", "depth": 0, "via": ROBOTS, "anchor": "Sitemap"}


def crawl_with(
    directory: Path, *robots: RobotsStatus, parts: int = 1, more: tuple[dict[str, object], ...] = ()
) -> StoredCrawl:
    """A crawl with two dead sitemaps and `more` records. The last requests for the robots.txt of their host ended like
    this, first over http, then over https."""
    crawl = make(directory, parts=parts)
    first, *_ = part_directories(crawl.directory)
    for place in part_directories(crawl.directory):
        for path in record_files(place / "records"):
            path.unlink()
    written(first / "records", dead_sitemap(1, "/a.xml"), dead_sitemap(2, "/b.xml"), *more)
    with lock_stored(first) as (opened, loaded):
        state = open_state(loaded.config, opened)
        cache = RobotsCache(state.notes, agent="onceover")
        for origin, status in zip((f"http://{HOST}", f"https://{HOST}"), robots, strict=False):
            cache.note(origin, status)
        state.close()
    return crawl


def dead_links(crawl: StoredCrawl) -> list[tuple[str, str | None, str | None]]:
    told = crawl.do("report", "dead-links", "--json")
    assert told.code == 0, told.err
    found = msgspec.json.decode(told.out, type=dict[str, msgspec.Raw])["dead_links"]
    links = msgspec.json.decode(found, type=dict[str, msgspec.Raw])["links"]
    rows = msgspec.json.decode(links, type=list[dict[str, str | int | bool | None]])
    return [(str(row["url"]).removeprefix(f"http://{HOST}"), row["page"], row["anchor"]) for row in rows]  # type: ignore[misc]


def status(text: str | None, **values: object) -> RobotsStatus:
    now = time.time()
    return msgspec.structs.replace(RobotsStatus(expires_at=now + 1e6, text=text, asked_at=now), **values)


A = ("/a.xml", ROBOTS, "Sitemap")
B = ("/b.xml", ROBOTS, "Sitemap")


@pytest.mark.parametrize(
    ("robots", "expected"),
    [
        ([], [A, B]),
        ([status(f"Sitemap: http://{HOST}/b.xml")], [B]),
        ([status("Sitemap: /b.xml")], [B]),
        ([status(f"Sitemap: {HOST}/b.xml\nSitemap: http://{HOST}/c.xml")], [B]),
        ([status("User-agent: *\nDisallow:")], []),
        ([status(None)], []),
        ([status(None, failures=1, failing_since=1.0)], [A, B]),
        ([status(None, refused="address")], [A, B]),
        ([status("Sitemap: /b.xml"), status(f"Sitemap: http://{HOST}/a.xml")], [A, B]),
    ],
    ids=["unknown", "one", "relative", "without scheme", "none", "no file", "failing", "refused", "two origins"],
)
def test_a_dead_sitemap_is_listed_while_robots_txt_names_it_or_nobody_knows(
    robots: list[RobotsStatus], expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    assert dead_links(crawl_with(tmp_path / "crawl", *robots)) == expected


def test_a_dead_sitemap_that_an_index_still_names_is_listed(tmp_path: Path) -> None:
    index = page(3, "/index.xml", "sitemap", content_type="text/xml", url=f"http://{HOST}/index.xml")
    index["link_details"] = [{"url": f"http://{HOST}/a.xml", "kind": "sitemap"}]
    crawl = crawl_with(tmp_path / "crawl", status("Sitemap: /index.xml"), more=(index,))
    assert dead_links(crawl) == [("/a.xml", f"http://{HOST}/index.xml", None)]


def test_a_dead_sitemap_that_a_page_has_named_is_listed_whatever_robots_txt_names(tmp_path: Path) -> None:
    """By `<link rel="sitemap" title="Map">`, in a crawl without link details."""
    named = dead_sitemap(3, "/c.xml") | {"via": f"http://{HOST}/", "anchor": "Map"}
    crawl = crawl_with(tmp_path / "crawl", status("User-agent: *"), more=(named,))
    assert dead_links(crawl) == [("/c.xml", f"http://{HOST}/", "Map")]


def test_the_parts_of_a_crawl_that_runs_tell_what_robots_txt_names(tmp_path: Path) -> None:
    crawl = crawl_with(tmp_path / "crawl", status("Sitemap: /b.xml"), parts=PARTS)
    assert dead_links(crawl) == [B]
    with answering(crawl.directory, range(PARTS)):
        assert dead_links(crawl) == [B]


def test_few_robots_txt_files_are_in_memory_at_once() -> None:
    class Counting:
        asked = 0

        def ask(self, request: InspectRobots, /) -> RobotsList:
            self.asked += len(request.hosts)
            known = {"robots": "allowed", "asked_at": None, "crawl_delay_s": None, "sitemaps": ["/a"]}
            return RobotsList(hosts=[msgspec.convert({"host": host, **known}, RobotsForm) for host in request.hosts])

    crawl = Counting()
    files = [f"http://h{number}.test/robots.txt" for number in range(100)]
    found = sitemaps_of(crawl, files)  # type: ignore[arg-type]
    assert next(found) == (files[0], ["http://h0.test/a"])
    assert crawl.asked < 10
    assert [file for file, _ in found] == files[1:]
