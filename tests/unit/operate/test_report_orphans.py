"""Orphans are pages that a sitemap or a list of seeds names, and to which no page links."""

from pathlib import Path

import msgspec

from crawler.operate.report.lists.forms import Lists, OrphanList
from crawler.operate.report.lists.making import make_lists
from crawler.operate.report.text import list_lines
from crawler.write.records import record_files
from tests.unit.operate.stored_crawls import make

_SITEMAP = "http://a.test/sitemap.xml"


def url_of(path: str) -> str:
    return f"http://a.test{path}"


def page(number: int, path: str, kind: str, *links: tuple[str, str], **values: object) -> dict[str, object]:
    """A page with links: where they lead, and of which kind they are."""
    details = [{"url": url_of(target), "kind": of_kind} for target, of_kind in links]
    begin: dict[str, object] = {"number": number, "url": url_of(path), "state": "done", "status": 200, "kind": kind}
    return begin | {"depth": 0, "content_type": "text/html", "link_details": details} | values


def redirect(number: int, path: str, target: str, kind: str) -> dict[str, object]:
    begin: dict[str, object] = {"number": number, "url": url_of(path), "state": "done", "status": 301, "kind": kind}
    return begin | {"depth": 0, "redirect": url_of(target)}


def written(directory: Path, *records: dict[str, object]) -> Path:
    directory.mkdir(exist_ok=True)
    lines = b"\n".join(map(msgspec.json.encode, records)) + b"\n"
    (directory / "records-00000.jsonl").write_bytes(lines)
    return directory


def orphans(tmp_path: Path, *records: dict[str, object], seeds: tuple[str, ...] = ()) -> list[str]:
    directory = written(tmp_path / "records", *records)
    found = make_lists([directory], ["orphans"], str, None, seeds=[url_of(each) for each in seeds]).orphans
    assert found is not None
    assert not found.unread
    return [each.url.removeprefix("http://a.test") for each in found.pages]


def test_pages_of_a_feed_that_is_named_as_a_sitemap_are_orphans(tmp_path: Path) -> None:
    rss = "application/rss+xml"
    assert orphans(
        tmp_path,
        page(1, "/", "seed", ("/linked", "link")),
        page(2, "/feed.rss", "sitemap", ("/linked", "feed"), ("/alone", "feed"), content_type=rss),
        page(3, "/news.rss", "alternate", ("/news", "feed"), content_type=rss),
        page(4, "/linked", "link"),
        page(5, "/alone", "feed", via=url_of("/feed.rss")),
        page(6, "/news", "feed", via=url_of("/news.rss")),
    ) == ["/alone"]


def test_pages_of_sitemaps_and_seeds_without_a_link_are_orphans(tmp_path: Path) -> None:
    links = ("/linked", "link"), ("/framed", "frame"), ("/form", "form"), ("/refreshed", "refresh")
    assert orphans(
        tmp_path,
        page(1, "/start", "seed", *links),
        page(2, "/seed", "seed"),
        *(page(number, path, "listed", via=_SITEMAP) for number, (path, _) in enumerate(links, 3)),
        page(7, "/alone", "listed", ("/island", "link"), via=_SITEMAP),
        page(8, "/island", "seed"),
        page(9, "/gone", "listed", status=404, link_details=None),
        page(10, "/picture", "listed", content_type="image/png"),
        page(11, "/", "listed"),
        seeds=("/start",),
    ) == ["/alone", "/seed"]


def test_elements_that_lead_no_visitor_are_no_links(tmp_path: Path) -> None:
    """How the crawl found a page first says nothing: its sitemap names it, too."""
    kinds = ("alternate", "canonical", "next", "header", "feed", "embed", "speculative")
    assert orphans(
        tmp_path,
        page(1, "/", "seed", *((f"/{kind}", kind) for kind in kinds)),
        *(page(number, f"/{kind}", kind) for number, kind in enumerate((*kinds, "unlisted"), 2)),
        page(20, "/sitemap.xml", "sitemap", *((f"/{kind}", "listed") for kind in kinds), content_type="text/xml"),
    ) == sorted(f"/{kind}" for kind in kinds)


def test_a_link_of_a_page_to_itself_does_not_count(tmp_path: Path) -> None:
    assert orphans(
        tmp_path,
        page(1, "/", "seed", ("/both", "link")),
        page(2, "/alone", "listed", ("/alone", "link"), ("/old", "link"), ("/alone", "link")),
        page(3, "/both", "listed", ("/both", "link"), ("/old-both", "link")),
        redirect(4, "/old", "/alone", "link"),
        redirect(5, "/old-both", "/both", "link"),
    ) == ["/alone"]


def test_where_redirects_lead_is_named_and_linked_as_they_are(tmp_path: Path) -> None:
    assert orphans(
        tmp_path,
        page(1, "/home", "redirect", ("/hop", "link"), via=url_of("/start")),
        redirect(2, "/start", "/home", "seed"),
        redirect(3, "/hop", "/hop2", "listed"),
        redirect(4, "/hop2", "/linked", "redirect"),
        page(5, "/linked", "redirect"),
        redirect(6, "/unlinked", "/alone", "listed"),
        page(7, "/alone", "redirect", via=url_of("/unlinked")),
        seeds=("/start",),
    ) == ["/alone"]


def test_a_canonical_form_and_the_last_visit_count(tmp_path: Path) -> None:
    with_form = [{"url": url_of("/a?s=1"), "canonical": url_of("/a"), "kind": "link", "rel": "nofollow"}]
    assert orphans(
        tmp_path,
        page(1, "/", "seed", link_details=with_form, refused={"nofollow": 1}),
        page(2, "/a", "listed"),
        page(3, "/b", "listed", ("/c", "link")),
        page(4, "/c", "listed", ("/b", "link")),
        page(5, "/b", "listed", visit=2),
        page(6, "/c", "listed", status=304, visit=2, link_details=None),
    ) == ["/c"]


def test_without_all_links_no_page_is_called_an_orphan(tmp_path: Path) -> None:
    crawl = make(tmp_path / "one")
    for path in record_files(crawl.directory / "records"):
        path.unlink()
    records = page(1, "/", "seed", link_details=None, references=[]), page(2, "/a", "listed")
    written(crawl.directory / "records", *records)
    told = crawl.do("report", "orphans", "--csv")
    assert told.out == "url,kind,via\n"
    assert "1 page was fetched without output.link_details" in told.err
    assert "1 page was fetched without output.link_details" in crawl.do("report", "orphans").out
    assert "1 page was fetched without output.link_details" in crawl.do("report", "--html", "-").out
    found = msgspec.json.decode(crawl.do("report", "orphans", "--json").out, type=Lists).orphans
    assert found == OrphanList(unread=1, pages=[])


def test_the_command_lists_orphans_in_each_form(tmp_path: Path) -> None:
    crawl = make(tmp_path / "one", settings=['crawl.seeds=["http://a.test/c"]'])
    for path in record_files(crawl.directory / "records"):
        path.unlink()
    records = page(1, "/a", "listed", via=_SITEMAP), page(2, "/b", "seed"), page(3, "/c", "seed")
    written(crawl.directory / "records", *records)
    assert crawl.do("report", "orphans", "--csv").out.splitlines()[1:] == [
        f"http://a.test/a,listed,{_SITEMAP}",
        "http://a.test/b,seed,",
    ]
    text = crawl.do("report", "orphans").out
    assert f"  http://a.test/a  listed in {_SITEMAP}\n  http://a.test/b  seed\n" in text
    assert ">http://a.test/b</a></td><td>seed</td>" in crawl.do("report", "--html", "-").out
    short = make_lists([crawl.directory / "records"], ["orphans"], str, 1)
    assert short.more == {"orphans": 2}
    assert "http://a.test/a" in "\n".join(list_lines(short))
