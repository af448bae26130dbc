"""Unlisted pages are those that a sitemap should name, and that none names."""

from pathlib import Path

import msgspec
import pytest

from crawler.operate.report.lists.forms import Lists, UnlistedList
from crawler.operate.report.lists.making import make_lists
from crawler.operate.report.text import list_lines
from crawler.write.records import record_files
from tests.unit.operate.stored_crawls import StoredCrawl, make
from tests.unit.operate.test_report_orphans import page, redirect, url_of, written

_SITEMAP = "http://a.test/sitemap.xml"


def sitemap(number: int, *named: str, **values: object) -> dict[str, object]:
    links = ((path, "listed") for path in named)
    return page(number, f"/sitemap-{number}.xml", "sitemap", *links, content_type="text/xml") | values


def unlisted(tmp_path: Path, *records: dict[str, object]) -> list[str]:
    found = make_lists([written(tmp_path / "records", *records)], ["unlisted"], str, None).unlisted
    assert found is not None
    assert not found.unread
    return [each.url for each in found.pages]


def test_pages_that_a_sitemap_should_name_are_listed_if_none_does(tmp_path: Path) -> None:
    assert unlisted(
        tmp_path,
        page(1, "/", "seed"),
        page(2, "/named", "link", via=url_of("/")),
        page(3, "/new", "link", canonical=url_of("/new")),
        page(4, "/copy", "link", canonical=url_of("/new")),
        page(5, "/hidden", "link", noindex=True),
        page(6, "/gone", "link", status=404, link_details=None),
        page(7, "/picture", "embed", content_type="image/png"),
        page(8, "/checked", "external"),
        redirect(9, "/old", "/moved", "listed"),
        page(10, "/moved", "redirect"),
        sitemap(11, "/", "/old"),
        sitemap(12, "/named", refused={"outdated": 1}),
        sitemap(13, status=404, link_details=None),
    ) == [url_of("/moved"), url_of("/new")]


def test_hosts_without_a_sitemap_are_left_out(tmp_path: Path) -> None:
    elsewhere = {"url": "http://b.test/", "kind": "listed"}
    assert unlisted(
        tmp_path,
        page(1, "/", "seed"),
        page(2, "/", "link", url="http://b.test/b"),
        page(3, "/sitemap.xml", "sitemap", content_type="text/xml", link_details=[elsewhere]),
    ) == ["http://b.test/b"]


def test_a_canonical_form_and_the_last_visit_count(tmp_path: Path) -> None:
    with_form = [{"url": url_of("/a?s=1"), "canonical": url_of("/a"), "kind": "listed"}]
    assert unlisted(
        tmp_path,
        page(1, "/a", "seed"),
        page(2, "/b", "link"),
        page(3, "/c", "link"),
        sitemap(4, link_details=with_form),
        sitemap(5, "/b"),
        page(6, "/c", "link", visit=2, noindex=True),
        page(7, "/b", "link", status=304, visit=2, link_details=None),
        page(8, "/sitemap-4.xml", "sitemap", status=304, visit=2, link_details=None),
        page(9, "/sitemap-5.xml", "sitemap", visit=2, content_type="text/xml"),
    ) == [url_of("/b")]


def test_a_feed_names_pages_if_it_is_named_as_a_sitemap(tmp_path: Path) -> None:
    def feed(number: int, path: str, kind: str) -> dict[str, object]:
        content_type = "application/rss+xml"
        return page(number, f"/feed-{number}.xml", kind, (path, "feed"), content_type=content_type)

    assert unlisted(
        tmp_path,
        page(1, "/", "seed"),
        page(2, "/in-sitemap", "link"),
        page(3, "/in-feed", "link"),
        feed(4, "/", "sitemap"),
        feed(5, "/in-sitemap", "sitemap"),
        feed(6, "/in-feed", "alternate"),
    ) == [url_of("/in-feed")]


def stored(tmp_path: Path, *records: dict[str, object]) -> StoredCrawl:
    crawl = make(tmp_path / "one")
    for path in record_files(crawl.directory / "records"):
        path.unlink()
    written(crawl.directory / "records", *records)
    return crawl


@pytest.mark.parametrize(
    ("records", "why", "found"),
    [
        (
            (page(1, "/", "seed"), sitemap(2, "/"), sitemap(3, link_details=None, references=[])),
            "1 sitemap was fetched without output.link_details",
            UnlistedList(sitemaps=1, unread=1, pages=[]),
        ),
        (
            (page(1, "/", "seed"), sitemap(2)),
            "No sitemap that names a page was read with output.link_details.",
            UnlistedList(sitemaps=0, unread=0, pages=[]),
        ),
        (
            (
                sitemap(1, "/"),
                page(2, "/", "listed", via=url_of("/sitemap-1.xml")),
                sitemap(3, kind="seed", link_details=None),
                page(4, "/a", "listed", via=url_of("/sitemap-3.xml"), link_details=None),
                page(5, "/b", "listed", via=url_of("/sitemap-3.xml"), link_details=None),
            ),
            "1 sitemap was fetched without output.link_details",
            UnlistedList(sitemaps=1, unread=1, pages=[]),
        ),
        (
            (page(1, "/", "link"), sitemap(2, "/"), sitemap(3, kind="seed", link_details=None)),
            "1 sitemap was fetched without output.link_details",
            UnlistedList(sitemaps=1, unread=1, pages=[]),
        ),
        (
            (page(1, "/", "link"), page(2, "/a.pdf", "seed", content_type="application/pdf", link_details=None)),
            "No sitemap that names a page was read with output.link_details.",
            UnlistedList(sitemaps=0, unread=0, pages=[]),
        ),
    ],
)
def test_what_is_not_known_is_said(
    tmp_path: Path, records: tuple[dict[str, object], ...], why: str, found: UnlistedList
) -> None:
    crawl = stored(tmp_path, *records)
    told = crawl.do("report", "unlisted", "--csv")
    assert told.out == "url,kind,via\n"
    assert why in told.err
    assert why in crawl.do("report", "unlisted").out
    assert why in crawl.do("report", "--html", "-").out
    assert msgspec.json.decode(crawl.do("report", "unlisted", "--json").out, type=Lists).unlisted == found
    assert crawl.do("report", "unlisted", "--exit-code").code == 1


def test_the_command_lists_unlisted_pages_in_each_form(tmp_path: Path) -> None:
    crawl = stored(tmp_path, page(1, "/a", "link", via=url_of("/")), page(2, "/b", "seed"), sitemap(3, "/", "/b"))
    told = crawl.do("report", "unlisted", "--csv", "--exit-code")
    assert (told.code, told.out.splitlines()[1:]) == (1, [f"{url_of('/a')},link,{url_of('/')}"])
    assert f"unlisted pages\n  {url_of('/a')}  link in {url_of('/')}\n" in crawl.do("report", "unlisted").out
    assert f">{url_of('/a')}</a></td><td>link</td>" in crawl.do("report", "--html", "-").out
    written(crawl.directory / "records", page(1, "/a", "link"), page(2, "/c", "link"), sitemap(3, "/"))
    short = make_lists([crawl.directory / "records"], ["unlisted"], str, 1)
    assert short.more == {"unlisted": 1}
    assert "and 1 more; a larger --limit shows them" in "\n".join(list_lines(short))


def test_the_exit_code_is_0_if_sitemaps_name_all_pages(tmp_path: Path) -> None:
    crawl = stored(tmp_path, page(1, "/a", "link"), sitemap(2, "/a"))
    assert crawl.do("report", "unlisted", "--exit-code").code == 0
