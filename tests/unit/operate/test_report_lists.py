"""Lists of a report: they name every page that links to an error, and where redirects end, as the records say."""

import asyncio
import csv
import io
import shutil
from pathlib import Path

import msgspec
import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directory
from crawler.disk.pruned import Counted as PrunedCount
from crawler.disk.pruned import Pruned, PrunedFile, write_pruned
from crawler.operate.report.counted import Counted
from crawler.operate.report.forms import External, Report
from crawler.operate.report.html.lists import sections
from crawler.operate.report.lists.forms import DeadLink
from crawler.operate.report.lists.listed import Listed
from crawler.operate.report.lists.making import MOST, SECTIONS, count_dead_checks, make_lists
from crawler.operate.report.lists.most import Most
from crawler.operate.report.text import list_lines
from crawler.page.anchors import packed
from crawler.parts.ownership import Ownership
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.write.records import record_files
from tests.e2e.operating import command_here
from tests.e2e.test_text import crawled
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, make, queue_of, url_of
from tests.unit.operate.test_report_orphans import written

ALL = (*SECTIONS,)


def record(number: int, path: str, **values: object) -> dict[str, object]:
    begin: dict[str, object] = {"number": number, "url": f"http://a.test{path}", "state": "done", "status": 200}
    return begin | {"depth": 0, "kind": "link"} | values


def links(*paths: str) -> list[str]:
    return [f"http://a.test{path}" for path in paths]


def dead_links(directory: Path) -> list[tuple[str, str | None, int | str | None, str | None]]:
    found = make_lists([directory], ["dead-links"], str, None).dead_links
    assert found is not None
    return [
        (each.url[13:], each.leads_to and each.leads_to[13:], each.status or each.reason, each.page and each.page[13:])
        for each in found.links
    ]


def test_each_page_with_a_dead_link_is_listed_through_redirects_too(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/gone", "/one", "/good", "/moved", "/gone")),
        record(2, "/one", references=links("/", "/gone", "/loop", "/self", "/hop")),
        record(3, "/gone", status=404, via="http://a.test/", anchor="Gone"),
        record(4, "/good", references=links("/never-fetched")),
        record(5, "/moved", status=301, redirect="http://a.test/good"),
        record(6, "/hop", status=301, redirect="/hop2"),
        record(7, "/hop2", status=302, redirect="http://a.test/gone"),
        record(8, "/loop", status=301, redirect="http://a.test/loop2"),
        record(9, "/loop2", status=301, redirect="http://a.test/loop"),
        record(10, "/self", status=302, redirect="http://a.test/self"),
        record(11, "/self"),  # it wanted a cookie
        record(12, "/seed", status=None, state="failed", reason="dns", kind="seed"),
        record(13, "/sitemap.xml", status=404, kind="sitemap"),
        record(14, "/maybe", status=404, kind="speculative", via="http://a.test/"),
        record(15, "/secret", status=None, state="excluded", reason="robots"),
    )
    assert dead_links(directory) == [
        ("/gone", None, 404, "/"),
        ("/gone", None, 404, "/one"),
        ("/hop", "/gone", 404, "/one"),
        ("/hop2", "/gone", 404, None),
        ("/loop", None, "redirect-loop", "/one"),
        ("/loop2", None, "redirect-loop", None),
        ("/seed", None, "dns", None),
    ]
    found = make_lists([directory], ["dead-links", "redirects"], str, None)
    assert found.dead_links is not None
    assert found.dead_links.is_whole
    first, second = found.dead_links.links[:2]
    assert (first.anchor, first.kind) == ("Gone", "link")
    assert (second.anchor, second.kind) == (None, None)
    assert found.redirects is not None
    redirects = found.redirects.links
    assert [(each.url[13:], each.hops, each.leads_to[13:], each.end_status) for each in redirects] == [
        ("/hop", 2, "/gone", 404),
        ("/hop2", 1, "/gone", 404),
        ("/loop", 2, "/loop", None),
        ("/loop2", 2, "/loop2", None),
        ("/moved", 1, "/good", 200),
    ]


def test_a_sitemap_that_an_index_names_is_dead_where_one_that_was_guessed_is_not(tmp_path: Path) -> None:
    index, named = "http://a.test/index.xml", "http://a.test/named.xml"
    details = [{"url": named, "kind": "sitemap"}, {"url": "http://a.test/maybe", "kind": "speculative"}]
    directory = written(
        tmp_path / "records",
        record(1, "/index.xml", kind="sitemap", link_details=details),
        record(2, "/named.xml", status=404, kind="sitemap", via="http://a.test/robots.txt"),
        record(3, "/sitemap.xml", status=404, kind="sitemap", via="http://a.test/robots.txt"),
        record(4, "/maybe", status=404, kind="speculative", via=index),
        record(5, "/told.xml", status=404, kind="sitemap", via="http://a.test/robots.txt", anchor="Sitemap"),
    )
    assert dead_links(directory) == [("/named.xml", None, 404, "/index.xml"), ("/told.xml", None, 404, "/robots.txt")]


def test_a_dead_sitemap_that_robots_txt_names_is_listed_also_after_later_visits(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Script:
        if seen.target == "/robots.txt":
            return [page(b"Sitemap: http://a.test/told.xml", b"Content-Type: text/plain")]
        return [page(b"", status=b"200 OK" if seen.target == "/" else b"404 Not Found")]

    async def visit() -> None:
        async with raw_server(answer) as server:
            await crawled(server, crawl, {"politeness.robots": True})

    crawl = tmp_path / "crawl"
    asyncio.run(visit())
    assert dead_links(crawl / "records") == [("/told.xml", None, 404, "/robots.txt")]
    assert command_here("recrawl", str(crawl)).code == 0
    asyncio.run(visit())
    assert dead_links(crawl / "records") == [("/told.xml", None, 404, "/robots.txt")]


def test_a_redirect_without_a_location_is_dead(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/nowhere", "/to-nowhere", "/choices")),
        record(2, "/nowhere", status=302),
        record(3, "/to-nowhere", status=301, redirect="http://a.test/nowhere"),
        record(4, "/choices", status=300),
    )
    assert dead_links(directory) == [("/nowhere", None, 302, "/"), ("/to-nowhere", "/nowhere", 302, "/")]
    found = make_lists([directory], ["dead-links"], str, None)
    assert "  302 without a Location  http://a.test/nowhere" in list(list_lines(found))
    assert "<td>302 without a Location</td>" in "".join(each[2] for each in sections(found))


def test_each_page_that_links_to_a_redirect_is_listed(tmp_path: Path) -> None:
    moved = "http://a.test/moved"
    directory = written(
        tmp_path / "records",
        record(1, "/", link_details=[{"url": moved, "kind": "link", "text": "Moved"}]),
        record(2, "/one", link_details=[{"url": moved, "kind": "embed"}]),
        record(3, "/moved", status=301, redirect="http://a.test/moved2", via="http://a.test/", anchor="Moved"),
        record(4, "/moved2", status=301, redirect="http://a.test/", kind="redirect", via=moved),
        record(5, "/old", status=301, redirect="http://a.test/", kind="seed"),
        record(6, "/sitemap.xml", status=301, redirect="http://a.test/", kind="sitemap"),
    )
    found = make_lists([directory], ["redirects"], str, None)
    assert found.dead_links is None
    assert found.redirects is not None
    assert (found.redirects.urls, found.redirects.is_whole) == (4, True)
    assert [
        (each.url[13:], each.page and each.page[13:], each.anchor, each.kind) for each in found.redirects.links
    ] == [
        ("/moved", "/", "Moved", "link"),
        ("/moved", "/one", None, "embed"),
        ("/moved2", "/moved", None, "redirect"),
        ("/old", None, None, "seed"),
        ("/sitemap.xml", None, None, "sitemap"),
    ]
    lines = [*list_lines(found)]
    at = lines.index(f"  301  {moved} -> http://a.test/  2 redirects  200")
    assert lines[at + 1 : at + 3] == ['      http://a.test/  "Moved"', "      http://a.test/one  embed"]
    assert "      no page links to it" in lines
    short = make_lists([directory], ["redirects"], str, 1)
    assert "  and 4 more links; a larger --limit shows them" in [*list_lines(short)]
    ((_, _, html, _),) = sections(found)
    assert "<td>&quot;Moved&quot;</td>" in html
    assert "<td>embed</td>" in html
    assert html.count(f">{moved}<") == 2  # itself, and as the page from which the next hop was found
    assert "http://a.test/one" in html


def test_without_links_only_the_first_page_with_a_redirect_is_known(tmp_path: Path) -> None:
    moved = record(2, "/moved", status=301, redirect="http://a.test/", via="http://a.test/", anchor="Moved")
    found = make_lists([written(tmp_path / "records", record(1, "/"), moved)], ["redirects"], str, None)
    assert found.redirects is not None
    assert [(each.page, each.anchor) for each in found.redirects.links] == [("http://a.test/", "Moved")]
    assert "output.link_details" in "\n".join(list_lines(found))


def test_the_text_says_how_many_rows_the_limit_has_left_out(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/gone", "/moved", "/left")),
        record(2, "/gone", status=404),
        record(3, "/moved", status=301, redirect="http://a.test/gone"),
        record(4, "/left", status=301, redirect="http://a.test/gone"),
    )
    found = make_lists([directory], ["dead-links", "redirects"], str, 1)
    lines = [*list_lines(found)]
    assert "  and 2 more links; a larger --limit shows them" in lines
    assert lines[-1] == "  and 1 more links; a larger --limit shows them"


@pytest.mark.parametrize("kind", ["redirect", "embed"])  # of what a page shows on another site, all are embeds
def test_a_chain_of_redirects_at_whose_end_the_crawl_gave_up_is_dead(tmp_path: Path, kind: str) -> None:
    cut = {"refused": {"too-many-redirects": 1}, "kind": kind}
    chain = (
        record(1, "/", references=links("/far", "/near")),
        record(2, "/far", status=301, redirect="http://a.test/far2"),
        record(3, "/far2", status=301, redirect="/end", via="http://a.test/far", **cut),
        record(4, "/near", status=301, redirect="http://a.test/near2"),
        record(5, "/near2", status=301, redirect="/page", via="http://a.test/near", **cut),
        record(6, "/page"),  # the crawl has found it elsewhere, too
    )
    assert dead_links(written(tmp_path / "records", *chain)) == [("/far", "/end", "too-many-redirects", "/")]


@pytest.mark.parametrize(("redirect", "why"), [("http://[bad/", "invalid-url"), ("http://a..b/", "invalid-host")])
def test_a_redirect_to_what_is_no_url_is_dead(tmp_path: Path, redirect: str, why: str) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/moved", "/mail")),
        record(2, "/moved", status=302, redirect=redirect, refused={why: 1}),
        record(3, "/mail", status=302, redirect="mailto:a@b.test", refused={"scheme": 1}),
    )
    assert dead_links(directory) == [("/moved", redirect[13:], why, "/")]


def test_without_links_only_the_first_page_is_known(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/"),
        record(2, "/gone", status=410, via="http://a.test/", anchor="\x1b[2J"),
    )
    found = make_lists([directory], ["dead-links"], str, None)
    assert found.dead_links is not None
    assert not found.dead_links.is_whole
    assert [(each.page, each.anchor) for each in found.dead_links.links] == [("http://a.test/", "\x1b[2J")]
    text = "\n".join(list_lines(found))
    assert "output.link_details" in text
    assert "\x1b" not in text


def test_each_link_is_listed_with_its_text_where_records_have_it(tmp_path: Path) -> None:
    gone = "http://a.test/gone"
    directory = written(
        tmp_path / "records",
        record(
            1,
            "/",
            references=links("/gone"),
            link_details=[
                {"url": f"{gone}?s=1", "canonical": gone, "kind": "link", "text": "One"},
                {"url": gone, "kind": "link", "text": "Two"},
                {"url": gone, "kind": "link", "text": "Two"},
                {"url": gone, "kind": "embed"},
                {"url": "http://a.test/good", "kind": "link", "text": "Good"},
                {"url": "http://a.test/guess", "kind": "speculative"},
            ],
        ),
        record(2, "/gone", status=404, via="http://a.test/", anchor="One"),
        record(3, "/guess", status=404, via="http://a.test/", kind="speculative"),
    )
    found = make_lists([directory], ["dead-links"], str, None).dead_links
    assert found is not None
    assert [(each.url, each.page, each.anchor, each.kind) for each in found.links] == [
        (gone, "http://a.test/", None, "embed"),
        (gone, "http://a.test/", "One", "link"),
        (gone, "http://a.test/", "Two", "link"),
    ]


def test_copies_and_extremes_are_listed(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/a", digest="sha1:A", size_bytes=5, duration_s=0.5, refused={"scope": 2, "depth": 1},
               refusals=[("http://b.test/", "scope"), ("http://b.test/", "scope"), ("http://c.test/", "depth")]),
        record(2, "/b", digest="sha1:A", size_bytes=5, duration_s=0.1, canonical="http://a.test/a"),
        record(3, "/c", digest="sha1:B", size_bytes=7, duration_s=0.9, canonical="http://a.test/c"),
        record(4, "/empty", digest="sha1:E", size_bytes=0),
        record(5, "/also-empty", digest="sha1:E", size_bytes=0, refused={"scope": 5}),
    )  # fmt: skip
    found = make_lists([directory], ALL, str, None)
    assert found.duplicates is not None
    assert [(each.url[13:], each.of[13:], each.by) for each in found.duplicates] == [
        ("/b", "/a", "body"),
        ("/b", "/a", "canonical"),
    ]
    assert found.slowest is not None
    assert found.largest is not None
    assert [each.url[13:] for each in found.slowest] == ["/c", "/a", "/b"]
    assert [each.url[13:] for each in found.largest] == ["/c", "/a", "/b"]
    assert found.refused is not None
    assert [(each.rule, each.links, [(one.url, one.page) for one in each.examples]) for each in found.refused] == [
        ("scope", 7, [("http://b.test/", "http://a.test/a")]),
        ("depth", 1, [("http://c.test/", "http://a.test/a")]),
    ]
    short = make_lists([directory], ALL, str, 1)
    assert [len(each or ()) for each in (short.slowest, short.largest, short.duplicates, short.refused)] == [1] * 4


def test_pages_with_almost_the_same_text_are_listed_once(tmp_path: Path) -> None:
    near = {"near_duplicate_of": "http://a.test/a", "near_distance": 2}
    directory = written(
        tmp_path / "records",
        record(1, "/a", digest="sha1:A", size_bytes=5),
        record(2, "/b", digest="sha1:B", size_bytes=6, **near),
        record(3, "/c", digest="sha1:A", size_bytes=5, duplicate_of="http://a.test/a", **near),
    )
    found = make_lists([directory], ALL, str, None)
    assert [(each.url[13:], each.of[13:], each.by, each.distance) for each in found.duplicates or ()] == [
        ("/c", "/a", "body", None),
        ("/b", "/a", "text", 2),
    ]


def test_the_text_says_in_what_way_a_page_repeats_another(tmp_path: Path) -> None:
    near = {"near_duplicate_of": "http://a.test/a", "near_distance": 2}
    directory = written(
        tmp_path / "records",
        record(1, "/a", digest="sha1:A", size_bytes=5),
        record(2, "/b", digest="sha1:B", size_bytes=6, **near),
        record(3, "/c", digest="sha1:A", size_bytes=5),
        record(4, "/d", digest="sha1:D", size_bytes=7, canonical="http://a.test/gone"),
    )
    assert [line.strip() for line in list_lines(make_lists([directory], ["duplicates"], str, None))][2:] == [
        "http://a.test/c  same body as http://a.test/a",
        "http://a.test/d  canonical URL is http://a.test/gone",
        "http://a.test/b  almost the same text as http://a.test/a",
    ]


def test_of_a_url_that_was_fetched_again_the_last_copy_counts(tmp_path: Path) -> None:
    """A visit that found nothing new leaves the copy as it is."""
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/gone", "/a")),
        record(2, "/a", digest="sha1:A", size_bytes=5, duration_s=0.5, refused={"scope": 1}),
        record(3, "/b", digest="sha1:A", size_bytes=5, duration_s=0.1),
        record(4, "/gone", status=404, via="http://a.test/"),
        record(5, "/other", references=links("/gone")),
        record(6, "/", visit=2, references=links("/a")),
        record(7, "/a", visit=2, digest="sha1:A", size_bytes=5, duration_s=0.4, refused={"scope": 1}),
        record(8, "/b", visit=2, digest="sha1:B", size_bytes=6, duration_s=0.2),
        record(9, "/other", visit=2, status=304),
        record(10, "/a", visit=3, status=304),
    )
    assert dead_links(directory) == [("/gone", None, 404, "/other")]
    found = make_lists([directory], ALL, str, None)
    assert found.duplicates == []
    assert found.slowest is not None
    assert [(each.url[13:], each.duration_s) for each in found.slowest] == [("/a", 0.4), ("/b", 0.2)]
    assert found.refused is not None
    assert [(each.rule, each.links) for each in found.refused] == [("scope", 1)]


def test_a_page_that_was_forgotten_and_fetched_anew_is_listed_once(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", digest="X", size_bytes=9, content_type="text/html"),
        record(2, "/", visit=2, status=304),
        record(3, "/", digest="X", size_bytes=9, content_type="text/html"),
        record(4, "/", visit=2, status=304),
    )
    lists = make_lists([directory], ["duplicates", "largest"], str, None, has_forgotten=True)
    assert lists.duplicates == []
    assert [row.url for row in lists.largest or ()] == ["http://a.test/"]
    counted = Counted()
    counted.add_records([directory], str, has_forgotten=True)
    assert (counted.totals.statuses.counts(), counted.totals.types.counts()) == ({"304": 1}, {"text/html": 1})


def test_a_page_that_redirects_to_itself_counts_beside_that_redirect_when_a_url_was_forgotten(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", status=302, redirect="http://a.test/"),
        record(2, "/", kind="redirect", via="http://a.test/"),
        record(3, "/", status=302, redirect="http://a.test/"),
        record(4, "/", kind="redirect", via="http://a.test/"),
        record(5, "/", visit=2, kind="redirect", via="http://a.test/"),
    )
    counted = Counted()
    counted.add_records([directory], str, has_forgotten=True)
    assert counted.totals.statuses.counts() == {"302": 1, "200": 1}


SELF = {"status": 302, "redirect": "http://a.test/"}
TARGET = {"kind": "redirect", "via": "http://a.test/"}


@pytest.mark.parametrize(
    ("visits", "statuses", "broken"),
    [
        ([SELF, TARGET, {"visit": 2}, TARGET | {"visit": 2}], {"200": 1}, [4]),
        ([SELF, TARGET, TARGET | {"visit": 2}, {"visit": 2}], {"200": 1}, [4]),
        ([SELF, TARGET, {"visit": 2}], {"200": 1}, [3]),
        ([SELF, TARGET, {"visit": 2}, TARGET | {"visit": 2, "status": 304}], {"304": 1}, [3]),
        ([SELF, TARGET, SELF | {"visit": 2}, TARGET | {"visit": 2}], {"302": 1, "200": 1}, [4]),
        ([SELF, TARGET, TARGET | {"visit": 2}, SELF | {"visit": 2}], {"302": 1, "200": 1}, [3]),
        ([SELF, TARGET, TARGET | SELF | {"visit": 2}, {"visit": 2}], {"302": 1, "200": 1}, [4]),
        ([SELF, TARGET, {"visit": 2}, SELF | {"visit": 3}, TARGET | {"visit": 2}], {"302": 1, "200": 1}, [5]),
    ],
    ids=["both", "target-first", "page-alone", "304", "each-time", "target-first-each-time", "swapped", "again"],
)
def test_a_page_that_once_redirected_to_itself_counts_once(
    tmp_path: Path, visits: list[dict[str, object]], statuses: dict[str, int], broken: list[int]
) -> None:
    """The crawl knows it by two names, and asks for both again."""
    rows = [
        record(at, "/", **({"broken_fragments": [f"of-{at}"]} if "redirect" not in visit else {}) | visit)
        for at, visit in enumerate(visits, 1)
    ]
    directory = written(tmp_path / "records", *rows)
    counted = Counted()
    counted.add_records([directory], str)
    assert counted.totals.statuses.counts() == statuses
    found = make_lists([directory], ["broken-anchors"], str, None).broken_anchors
    assert found is not None
    assert [each.url for each in found.links] == [f"http://a.test/#of-{at}" for at in broken]


def test_a_page_to_which_a_login_leads_back_counts_once_also_if_the_crawl_has_a_new_name_for_it(tmp_path: Path) -> None:
    to_login, login = {"status": 302, "redirect": "http://a.test/login"}, {"status": 302, "redirect": "http://a.test/"}
    back = {"kind": "redirect", "via": "http://a.test/login"}
    directory = written(
        tmp_path / "records",
        record(1, "/", **to_login),
        record(2, "/login", **login),
        record(3, "/", **back),
        record(4, "/login", visit=2, **login),
        record(5, "/", visit=2),
        record(6, "/", visit=2, **back),
        record(7, "/", **back),
    )
    counted = Counted()
    counted.add_records([directory], str)
    assert counted.totals.statuses.counts() == {"200": 1, "302": 1}


def test_a_page_that_redirects_to_itself_at_the_first_visit_alone_is_no_duplicate_of_itself(tmp_path: Path) -> None:
    """The second visit has the cookie that the redirect has set."""
    page = {"digest": "sha1:A", "size_bytes": 5, "content_type": "text/html"}
    directory = written(
        tmp_path / "records",
        record(1, "/", status=302, redirect="http://a.test/"),
        record(2, "/", kind="redirect", via="http://a.test/", **page),
        record(3, "/", visit=2, **page),
        record(4, "/", visit=2, status=304, kind="redirect", via="http://a.test/"),
    )
    assert make_lists([directory], ["duplicates"], str, None).duplicates == []


def test_types_and_refused_links_are_those_of_the_copy_that_is_current(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", content_type="text/html", refused={"scope": 2}),
        record(2, "/a", content_type="text/html", refused={"scope": 9}),
        record(3, "/b", content_type="image/png"),
        record(4, "/", visit=2, status=304),
        record(5, "/a", visit=2, content_type="text/plain", refused={"scope": 1}),
        record(6, "/b", visit=2, status=404),
        record(7, "/a", visit=3, status=304),
    )
    counted = Counted()
    counted.add_records([directory], str)
    totals = counted.totals
    assert (totals.pages, totals.statuses.counts()) == (2, {"304": 2, "404": 1})
    assert totals.types.counts() == {"text/html": 1, "text/plain": 1}
    refused = make_lists([directory], ["refused"], str, None).refused or ()
    assert totals.refused.counts() == {each.rule: each.links for each in refused} == {"scope": 3}


def test_what_a_page_says_is_bounded_and_stays_in_its_row(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/", refused={"scheme": 1}, refusals=[("data:" + "x" * 100_000, "scheme")]),
        record(2, "/gone", status=404, via="http://a.test/", anchor="one\rtwo"),
    )
    found = make_lists([directory], ALL, str, None)
    assert found.refused is not None
    assert len(found.refused[0].examples[0].url) < 3_000
    crawl = make(tmp_path / "one")
    for path in record_files(crawl.directory / "records"):
        path.unlink()
    (directory / "records-00000.jsonl").rename(crawl.directory / "records" / "records-00000.jsonl")
    told = crawl.do("report", "dead-links", "--csv").out
    assert "one two" in told
    assert "\r" not in told


def test_the_text_of_the_first_link_is_known_after_later_visits(tmp_path: Path) -> None:
    page = "http://a.test/"
    directory = written(
        tmp_path / "records",
        record(1, "/"),
        record(2, "/gone", status=404, via=page, anchor="Gone"),
        record(3, "/moved", status=301, redirect="http://a.test/gone", via=page, anchor="Moved"),
        record(4, "/new", status=404, via=page, anchor="New"),
        record(5, "/", visit=2),
        record(6, "/gone", visit=2, status=404, via=page),
        record(7, "/moved", visit=2, status=301, redirect="http://a.test/gone", via=page),
        record(8, "/new", visit=2, status=404, via="http://a.test/other"),
        record(9, "/gone", visit=3, status=404, via=page),
    )
    found = make_lists([directory], ["dead-links", "redirects"], str, None)
    assert found.dead_links is not None
    assert found.redirects is not None
    assert [(each.url[13:], each.anchor) for each in found.dead_links.links] == [
        ("/gone", "Gone"),
        ("/moved", "Moved"),
        ("/new", None),
    ]
    assert [(each.url[13:], each.anchor) for each in found.redirects.links] == [("/moved", "Moved")]


def test_of_many_only_the_highest_are_kept() -> None:
    most = Most(MOST, lambda listed: listed.duration_s)
    for number in range(1000):
        most.add(
            Listed(number=number, url=str(number), state="done", kind="link", duration_s=float(number * 7919 % 1000))
        )
    assert [each.duration_s for each in most.rows()] == [float(999 - each) for each in range(MOST)]


def test_the_command_lists_the_same_of_a_crawl_in_parts(tmp_path: Path) -> None:
    one, parts = make(tmp_path / "one"), make(tmp_path / "parts", parts=PARTS)
    told = [msgspec.json.decode(each.do("report", "--json", *ALL).out, type=dict[str, object]) for each in (one, parts)]
    for each in told:
        assert {"summary", "hosts"}.isdisjoint(each)
        del each["at"], each["directory"], each["slowest"], each["largest"]
    assert told[0] == told[1]
    expected = [
        DeadLink(url=dead, leads_to=None, status=None, reason="dns", page=url_of(host, number), anchor=None, kind=None)
        for host in HOSTS
        for dead in [url_of(host, SETTLED - 1)]
        for number in range(SETTLED - 1)
    ]
    lines = list(csv.reader(io.StringIO(parts.do("report", "dead-links", "--csv").out)))
    assert lines[0] == list(DeadLink.__struct_fields__)
    assert [(line[0], line[4]) for line in lines[1:]] == [(each.url, each.page) for each in expected]
    assert {line[-1] for line in lines[1:]} == {"false"}
    text = parts.do("report", "dead-links").out
    assert text.count("dns") == len(HOSTS)
    assert EACH > SETTLED
    whole = msgspec.json.decode(one.do("report", "--json").out, type=Report)
    assert whole.dead_links is None


@pytest.mark.parametrize(
    ("section", "columns", "unknown"),
    [
        ("broken-anchors", "url,page,", "No page tells its anchors"),
        ("dead-links", "url,leads_to,", "Each is shown with one page"),
        ("redirects", "url,status,", "Each is shown with one page"),
    ],
)
def test_csv_says_beside_the_rows_what_the_crawl_does_not_know(
    tmp_path: Path, section: str, columns: str, unknown: str
) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    moved = record(3, "/old", status=301, via="http://a.test/", redirect="http://a.test/")
    written(crawl.directory / "records", record(1, "/"), record(2, "/gone", status=404, via="http://a.test/"), moved)
    told = crawl.do("report", section, "--csv")
    assert told.out.startswith(columns)
    assert unknown not in told.out
    assert unknown in told.err


def test_the_page_says_of_both_lists_that_only_the_first_page_is_known(tmp_path: Path) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    moved = record(3, "/old", status=301, via="http://a.test/", redirect="http://a.test/")
    written(crawl.directory / "records", record(1, "/"), record(2, "/gone", status=404, via="http://a.test/"), moved)
    assert (
        crawl.do("report", "--html", "-").out.count("Each is shown with one page, where the crawl found it first") == 2
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--csv"], "expected its name, such as dead-links; found none\n"),
        (
            ["summary", "--csv"],
            "--csv prints one section, which is not summary: expected its name, such as dead-links; found summary\n",
        ),
        (
            ["dead-links", "redirects", "--csv"],
            "one section, which is not summary: expected its name, such as dead-links; found dead-links, redirects\n",
        ),
        (["hosts", "--csv", "--json"], "expected --csv or --json, found both\n"),
    ],
)
def test_csv_is_of_one_table(tmp_path: Path, arguments: list[str], said: str) -> None:
    told = make(tmp_path / "one").do("report", *arguments)
    assert told.code == 2
    assert told.err.endswith(said)


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        (["orphans"], 0),
        (["summary", "orphans", "slowest"], 0),
        (["redirects", "dead-links"], 1),
        (["dead-links", "--limit", "1", "--csv"], 1),
        (["broken-anchors"], 1),  # no page tells its anchors
    ],
)
def test_the_exit_code_tells_whether_a_list_has_rows(tmp_path: Path, sections: list[str], code: int) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    seed = record(1, "/", kind="seed", link_details=[{"url": "http://a.test/gone", "kind": "link", "rel": ""}])
    written(crawl.directory / "records", seed, record(2, "/gone", status=404, via="http://a.test/"))
    assert crawl.do("report", *sections).code == 0
    assert crawl.do("report", *sections, "--exit-code").code == code
    assert (
        crawl.do("report", *sections, "--exit-code", "--json" if "--csv" not in sections else "--limit=1").code == code
    )


def note_pruned(directory: Path, *, records: int) -> None:
    old = PrunedFile(
        name="records/records-00009.jsonl",
        bytes=9,
        records=records,
        first=None,
        last=None,
        digest="",
        reason="",
        pruned_at="",
    )
    write_pruned(CrawlDirectory(directory), Pruned(before={"records": PrunedCount().add(old)}))


def test_deleted_records_are_told_also_if_a_part_has_no_others(tmp_path: Path) -> None:
    """As of a crawl that was divided: nothing is added to what it wrote before."""
    crawl = make(tmp_path / "parts", parts=PARTS)
    number = Ownership(PARTS).owner(queue_of(HOSTS[0]))
    part = part_directory(crawl.directory, number)
    deleted = sum(path.read_bytes().count(b"\n") for path in record_files(part / "records"))
    for path in record_files(part / "records"):
        path.unlink()
    note_pruned(part, records=deleted)
    assert f"{deleted} old records were deleted, and not counted" in crawl.do("report", "summary").out
    report = msgspec.json.decode(crawl.do("report", "--json").out, type=Report)
    assert (report.summary.pruned, report.source) == (deleted, "records")
    note = f"old records of {deleted} URLs were deleted, so the lists lack what these would tell"
    assert crawl.do("report", "dead-links").err == f"note: {note}\n"


@pytest.mark.parametrize("is_known", [False, True])
def test_the_exit_code_is_1_if_records_that_would_tell_were_pruned(tmp_path: Path, is_known: bool) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    # The ledger knows 27 URLs. A newer visit tells of each, or some were never fetched again.
    seen = range(len(HOSTS) * SETTLED - (0 if is_known else 2))
    written(crawl.directory / "records", *(record(100 + number, f"/{number}", visit=2) for number in seen))
    note_pruned(crawl.directory, records=27)
    told = crawl.do("report", "dead-links", "--exit-code")
    notes = [] if is_known else ["old records of 2 URLs were deleted, so the lists lack what these would tell"]
    assert (told.code, told.err) == (int(not is_known), "".join(f"note: {note}\n" for note in notes))
    assert msgspec.json.decode(crawl.do("report", "dead-links", "--json").out).get("notes", []) == notes


@pytest.mark.parametrize(
    ("path", "how", "note"),
    [
        (
            "/a",
            {"state": "excluded", "status": None, "reason": "unreachable"},
            "robots.txt could not be fetched for 1 URL",
        ),
        ("/", {"state": "excluded", "status": None, "reason": "robots"}, "the crawl has no page"),
    ],
)
def test_the_exit_code_is_1_if_the_site_was_not_looked_at(
    tmp_path: Path, path: str, how: dict[str, object], note: str
) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    records = {"/": record(1, "/", kind="seed", link_details=[])} | {path: record(2, path, **how)}
    written(crawl.directory / "records", *records.values())
    told = crawl.do("report", "dead-links", "--exit-code")
    assert told.code == 1
    assert f"note: {note}" in told.err
    assert crawl.do("report", "summary").err == ""


def test_the_exit_code_of_a_part_without_urls_is_0(tmp_path: Path) -> None:
    parts = len(HOSTS) + 1
    crawl = make(tmp_path / "many", parts=parts)
    (without, *_) = {*range(parts)} - {Ownership(parts).owner(queue_of(host)) for host in HOSTS}
    told = crawl.do("report", "--part", str(without), "dead-links", "--exit-code")
    assert (told.code, told.err) == (0, "")


def test_the_exit_code_of_a_part_with_urls_and_no_page_is_0(tmp_path: Path) -> None:
    crawl = make(tmp_path / "many", parts=PARTS)
    part = Ownership(PARTS).owner(queue_of(HOSTS[0]))
    shutil.rmtree(records := part_directory(crawl.directory, part) / "records")
    written(records, record(1, "/", status=301, redirect="http://b.test/", kind="seed"))
    told = crawl.do("report", "--part", str(part), "dead-links", "--exit-code")
    assert (told.code, told.err) == (0, "")


def test_the_exit_code_is_of_lists_that_may_be_empty(tmp_path: Path) -> None:
    told = make(tmp_path / "one").do("report", "hosts", "slowest", "--exit-code")
    assert told.code == 2
    assert told.err.endswith("a list that may be empty, such as dead-links; found hosts, slowest\n")


def test_lists_need_records(tmp_path: Path) -> None:
    crawl = make(tmp_path / "one")
    for path in record_files(crawl.directory / "records"):
        path.unlink()
    told = crawl.do("report", "dead-links", "slowest")
    assert told.code == 5
    assert "dead-links, slowest" in told.err
    assert "output.records" in told.err
    assert crawl.do("report").code == 0


def test_a_dead_url_to_which_no_page_links_any_more_is_left_out_unless_it_is_a_seed(tmp_path: Path) -> None:
    was = "http://a.test/"
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/gone")),
        record(2, "/gone", status=404, via=was, anchor="Gone"),
        record(3, "/from-redirect", status=404, via="http://a.test/moved", kind="redirect"),
        record(4, "/moved", status=301, redirect="http://a.test/from-redirect", kind="seed"),
        record(5, "/", references=[], visit=2),
    )
    assert dead_links(directory) == [("/from-redirect", None, 404, "/moved"), ("/moved", "/from-redirect", 404, None)]


def test_a_page_links_to_what_was_found_on_it_whatever_names_its_links_have(tmp_path: Path) -> None:
    """As after a change of the rules by which URLs are canonicalized."""
    directory = written(
        tmp_path / "records",
        record(1, "/", references=links("/gone?sid=1")),
        record(2, "/gone", status=404, via="http://a.test/", anchor="Gone"),
    )
    assert dead_links(directory) == [("/gone", None, 404, "/")]


def test_a_page_is_named_by_its_url_and_not_by_its_canonical_form(tmp_path: Path) -> None:
    directory = written(
        tmp_path / "records",
        record(1, "/Page", references=links("/gone", "/moved")),
        record(2, "/Gone", status=404, via="http://a.test/Page", anchor="Gone"),
        record(3, "/Moved", status=301, redirect="http://a.test/Page"),
    )
    found = make_lists([directory], ["dead-links", "redirects"], str.lower, None)
    assert found.dead_links is not None
    assert found.redirects is not None
    page = "http://a.test/Page"
    assert [(each.url, each.page, each.anchor) for each in found.dead_links.links] == [
        ("http://a.test/Gone", page, "Gone")
    ]
    assert [(each.url, each.page) for each in found.redirects.links] == [("http://a.test/Moved", page)]


def test_a_page_that_is_gone_by_now_or_redirects_is_not_named(tmp_path: Path) -> None:
    """Unless it fails, which may pass."""
    gone, failing = "http://a.test/was", "http://a.test/busy"
    directory = written(
        tmp_path / "records",
        record(1, "/was", references=links("/one")),
        record(2, "/one", status=404, via=gone, anchor="One"),
        record(3, "/busy", references=links("/two")),
        record(4, "/two", status=404, via=failing, anchor="Two"),
        record(5, "/was", status=410, visit=2),
        record(6, "/busy", state="failed", status=503, reason="http-503", visit=2),
        record(7, "/moved", references=links("/three")),
        record(8, "/three", status=404, via="http://a.test/moved", anchor="Three"),
        record(9, "/moved", status=301, redirect="http://a.test/four", visit=2),
        record(10, "/four", status=404, via="http://a.test/moved", kind="redirect"),
    )
    assert dead_links(directory) == [
        ("/busy", None, 503, None),
        ("/four", None, 404, "/moved"),
        ("/moved", "/four", 404, None),
        ("/one", None, 404, None),
        ("/three", None, 404, None),
        ("/two", None, 404, "/busy"),
        ("/was", None, 410, None),
    ]


def test_links_out_of_scope_are_listed_as_such(tmp_path: Path) -> None:
    out = "http://b.test/"
    directory = written(
        tmp_path / "records",
        record(1, "/", link_details=[{"url": out, "kind": "link", "text": "B", "refused": "out-of-scope"}]),
        {**record(2, "/", kind="external", via="http://a.test/", status=404, duration_s=9.0), "url": out},
        {**record(3, "/", kind="external", status=416), "url": "http://empty.test/"},
    )
    found = make_lists([directory], ["dead-links", "slowest"], str, None)
    assert found.dead_links is not None
    (link,) = found.dead_links.links
    assert (link.url, link.external, link.page, link.anchor, link.kind) == (out, True, "http://a.test/", "B", "link")
    assert found.slowest == []


def test_a_dead_url_out_of_scope_counts_as_long_as_a_page_links_to_it(tmp_path: Path) -> None:
    crawl = make(tmp_path / "one")
    shutil.rmtree(crawl.directory / "records")
    details = [{"url": f"http://b.test/{path}", "kind": "link", "refused": "out-of-scope"} for path in ("a", "b")]
    checks = [
        {**record(number, "/", kind="external", via="http://a.test/", status=404), "url": details[number - 2]["url"]}
        for number in (2, 3)
    ]
    written(
        crawl.directory / "records",
        record(1, "/", kind="seed", link_details=details),
        *checks,
        record(4, "/", kind="seed", visit=2, link_details=details[:1]),
    )
    found = msgspec.json.decode(crawl.do("report", "summary", "hosts", "dead-links", "--json").out, type=Report)
    assert found.summary.external == External(checked=2, dead=1, excluded=0)
    assert found.dead_links is not None
    assert [link.url for link in found.dead_links.links] == ["http://b.test/a"]


def test_where_a_checked_redirect_leads_is_dead_as_long_as_a_page_links_to_the_redirect(tmp_path: Path) -> None:
    def check(number: int, path: str, via: str, target: str | None) -> dict[str, object]:
        values = {"status": 404} if target is None else {"status": 301, "redirect": f"http://b.test{target}"}
        return {**record(number, "/", kind="external", via=via, **values), "url": f"http://b.test{path}"}

    old, kept = (
        {"url": f"http://b.test/{name}", "kind": "link", "refused": "out-of-scope"} for name in ("old", "kept")
    )
    directory = written(
        tmp_path / "records",
        record(1, "/", kind="seed", link_details=[old, kept]),
        check(2, "/old", "http://a.test/", "/old2"),
        check(3, "/old2", "http://b.test/old", "/gone"),
        check(4, "/gone", "http://b.test/old2", None),
        check(5, "/kept", "http://a.test/", "/dead"),
        check(6, "/dead", "http://b.test/kept", None),
        record(7, "/", kind="seed", visit=2, link_details=[kept]),
    )
    found = make_lists([directory], ["dead-links"], str, None).dead_links
    assert found is not None
    assert [(link.url, link.page) for link in found.links] == [
        ("http://b.test/dead", "http://b.test/kept"),
        ("http://b.test/kept", "http://a.test/"),
    ]
    assert count_dead_checks([directory], str) == 1


def test_checked_redirects_that_a_change_of_canonical_rules_has_made_a_circle_are_linked_by_no_page(
    tmp_path: Path,
) -> None:
    def check(number: int, url: str, via: str, target: str) -> dict[str, object]:
        values = {"kind": "external", "via": via, "status": 301, "redirect": target}
        return {**record(number, "/", **values), "url": url}

    old, new, with_id = (f"http://b.test/{path}" for path in ("old", "new", "old?id=1"))
    directory = written(
        tmp_path / "records",
        record(1, "/", kind="seed", link_details=[{"url": old, "kind": "link", "refused": "out-of-scope"}]),
        check(2, old, "http://a.test/", new),
        check(3, new, old, with_id),
        check(4, with_id, new, new),
        record(5, "/", kind="seed", visit=2, link_details=[]),
    )
    found = make_lists([directory], ["dead-links"], lambda url: url.partition("?")[0], None).dead_links
    assert found is not None
    assert (found.urls, found.links) == (2, [])


@pytest.mark.parametrize("is_checked_first", [False, True])
def test_a_page_that_was_checked_too_because_another_site_redirects_to_it_is_that_page(
    tmp_path: Path, is_checked_first: bool
) -> None:
    out, gone = "http://b.test/", "http://a.test/gone"
    details = [{"url": out, "kind": "link", "refused": "out-of-scope"}, {"url": gone, "kind": "link", "text": "Gone"}]
    both = [
        record(3, "/gone", status=404, via="http://a.test/"),
        record(4, "/gone", status=404, kind="external", via=out, visit=2),
    ]
    directory = written(
        tmp_path / "records",
        record(1, "/", kind="seed", link_details=details),
        {**record(2, "/", kind="external", via="http://a.test/", status=301, redirect=gone), "url": out},
        *(reversed(both) if is_checked_first else both),
    )
    found = make_lists([directory], ["dead-links"], str, None).dead_links
    assert found is not None
    assert [(link.url, link.leads_to, link.external, link.page, link.kind) for link in found.links] == [
        (gone, None, False, "http://a.test/", "link"),
        (out, gone, True, "http://a.test/", "link"),
    ]
    counted = Counted()
    counted.add_records([directory], str)
    assert (counted.totals.statuses.counts(), counted.hosts.count) == ({"200": 1, "404": 1}, 1)
    assert counted.checks.found() == External(checked=2, dead=1, excluded=0)


def test_redirects_of_checked_links_are_marked_as_external(tmp_path: Path) -> None:
    out = "http://b.test/moved"
    links = [{"url": out, "kind": "link", "text": "B", "refused": "out-of-scope"}]
    links.append({"url": "http://a.test/moved", "kind": "link", "text": "A"})
    directory = written(
        tmp_path / "records",
        record(1, "/", link_details=links),
        {**record(2, "/", kind="external", via="http://a.test/", status=301, redirect="http://b.test/"), "url": out},
        record(3, "/moved", status=301, redirect="http://a.test/"),
    )
    found = make_lists([directory], ["redirects"], str, None)
    assert found.redirects is not None
    assert [(link.url, link.external, link.page, link.anchor) for link in found.redirects.links] == [
        ("http://a.test/moved", False, "http://a.test/", "A"),
        (out, True, "http://a.test/", "B"),
    ]


def test_links_to_missing_parts_of_pages_are_listed_through_redirects_too(tmp_path: Path) -> None:
    def link(path: str, fragment: str | None, text: str) -> dict[str, object]:
        return {"url": f"http://a.test{path}", "kind": "link", "text": text, "fragment": fragment}

    details = [
        link("/there", "good", "Good"),
        link("/there", "bad", "Bad"),
        link("/there", "bad", "Bad"),
        link("/moved", "bad", "Moved"),
        link("/there", ":~:text=x", "Text"),
        link("/unread", "bad", "Unread"),
        link("/there", None, "Whole"),
    ]
    directory = written(
        tmp_path / "records",
        record(1, "/", link_details=details, anchors="", broken_fragments=["own"]),
        record(2, "/there", anchors=packed(["good"])),
        record(3, "/moved", status=301, redirect="/there"),
        record(4, "/unread"),
    )
    found = make_lists([directory], ["broken-anchors"], str, 2)
    assert found.broken_anchors is not None
    assert found.broken_anchors.pages == 2
    assert [(each.url[13:], each.anchor) for each in found.broken_anchors.links] == [
        ("/#own", None),
        ("/there#bad", "Bad"),
    ]
    assert found.more == {"broken-anchors": 1}
    whole = make_lists([directory], ["broken-anchors"], str, None)
    assert whole.broken_anchors is not None
    assert whole.broken_anchors.links[-1].url == "http://a.test/moved#bad"
    assert '    http://a.test/there#bad  "Bad"' in "\n".join(list_lines(whole))


def test_a_crawl_that_did_not_read_anchors_says_so(tmp_path: Path) -> None:
    found = make_lists([written(tmp_path / "records", record(1, "/"))], ["broken-anchors"], str, None)
    assert "without output.check_fragments" in "\n".join(list_lines(found))
