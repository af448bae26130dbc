"""Mislisted URLs are those that a sitemap names, and should not."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.operate.report.lists.forms import ListName, Lists, MislistedList
from crawler.operate.report.lists.making import make_lists
from crawler.operate.report.text import list_lines
from tests.unit.operate.test_report_orphans import page, redirect, url_of, written
from tests.unit.operate.test_report_unlisted import sitemap, stored

Row = tuple[str, str, int | None, str | None, str]
_MAP = "/sitemap-90.xml"


def failed(number: int, path: str, reason: str) -> dict[str, object]:
    return {"number": number, "url": url_of(path), "state": "failed", "reason": reason, "kind": "listed", "depth": 1}


def excluded(number: int, path: str, reason: str) -> dict[str, object]:
    return failed(number, path, reason) | {"state": "excluded"}


def gone(number: int, path: str, kind: str = "listed", status: int = 404) -> dict[str, object]:
    return page(number, path, kind, status=status, content_type=None, link_details=None)


def refusing(number: int, **refused: str) -> dict[str, object]:
    """A sitemap with URLs that the crawl did not follow, by their names."""
    links = [{"url": url_of(f"/{path}"), "kind": "listed", "refused": why} for path, why in refused.items()]
    return sitemap(number, link_details=links)


def found_in(directory: Path, section: ListName = "mislisted") -> list[Row]:
    found = make_lists([directory], [section], str, None).mislisted
    assert found is not None
    assert not found.unread
    return [_row(msgspec.to_builtins(each)) for each in found.entries]


def _row(values: dict[str, str | int | None]) -> Row:
    short = [each.removeprefix("http://a.test") if isinstance(each, str) else each for each in values.values()]
    url, reason, status, leads_to, _, _, of = short
    return url, reason, status, leads_to, of  # type: ignore[return-value]


def mislisted(tmp_path: Path, *records: dict[str, object]) -> list[Row]:
    return found_in(written(tmp_path / "records", *records))


def test_what_is_no_page_for_search_engines_is_listed_with_the_reason(tmp_path: Path) -> None:
    paths = ("/", "/copy", "/down", "/gone", "/hidden", "/old", "/picture", "/private", "/self", "/waits")
    assert mislisted(
        tmp_path,
        page(1, "/", "seed"),
        page(2, "/copy", "link", canonical=url_of("/")),
        failed(3, "/down", "timeout"),
        gone(4, "/gone"),
        page(5, "/hidden", "link", noindex=True, canonical=url_of("/")),
        redirect(6, "/old", "/older", "link"),
        redirect(7, "/older", "/", "redirect"),
        page(8, "/picture", "listed", content_type="image/png", link_details=None),
        excluded(9, "/private", "robots"),
        page(10, "/self", "link", canonical=url_of("/self")),
        gone(11, "/unnamed", "link"),
        sitemap(90, *paths),
    ) == [
        ("/copy", "canonical", 200, "/", _MAP),
        ("/down", "timeout", None, None, _MAP),
        ("/gone", "error", 404, None, _MAP),
        ("/hidden", "noindex", 200, None, _MAP),
        ("/old", "redirect", 301, "/", _MAP),
        ("/private", "robots", None, None, _MAP),
    ]


def test_noindex_in_a_header_and_redirects_that_lead_nowhere_count(tmp_path: Path) -> None:
    lost = redirect(2, "/lost", "", "listed") | {"redirect": None}
    assert mislisted(
        tmp_path,
        page(1, "/hidden.pdf", "listed", content_type="application/pdf", noindex=True, link_details=None),
        lost,
        redirect(3, "/a", "/b", "listed"),
        redirect(4, "/b", "/a", "redirect"),
        sitemap(90, "/hidden.pdf", "/lost", "/a"),
    ) == [
        ("/a", "redirect", 301, "/a", _MAP),
        ("/hidden.pdf", "noindex", 200, None, _MAP),
        ("/lost", "error", 301, None, _MAP),
    ]


def test_the_answer_at_the_end_of_a_redirect_is_told(tmp_path: Path) -> None:
    ends = {"/a": "/gone", "/b": "/private", "/c": "/c", "/d": "/unknown", "/e": "/a", "/f": "/page"}
    directory = written(
        tmp_path / "records",
        *(redirect(number, path, end, "listed") for number, (path, end) in enumerate(ends.items(), 1)),
        gone(11, "/gone", "redirect"),
        excluded(12, "/private", "robots"),
        page(13, "/page", "redirect"),
        page(14, "/copy", "listed", canonical=url_of("/gone")),
        sitemap(90, *ends, "/copy"),
    )
    lists = make_lists([directory], ["mislisted"], str, None)
    assert lists.mislisted is not None
    assert [(each.url[-2:], each.end_status, each.end_reason) for each in lists.mislisted.entries] == [
        ("/a", 404, None),
        ("/b", None, "robots"),
        ("/c", None, "redirect-loop"),
        ("py", None, None),
        ("/d", None, None),
        ("/e", 404, None),
        ("/f", 200, None),
    ]
    text = "\n".join(list_lines(lists))
    assert f"301  {url_of('/e')} -> {url_of('/gone')}  404\n" in text
    assert f"301  {url_of('/d')} -> {url_of('/unknown')}\n" in text


def test_each_sitemap_that_names_a_url_has_a_row(tmp_path: Path) -> None:
    feed = page(3, "/feed.rss", "sitemap", ("/gone", "feed"), content_type="application/rss+xml")
    other = page(4, "/other.rss", "alternate", ("/gone", "feed"), content_type="application/rss+xml")
    text = page(5, "/list.txt", "seed", ("/gone", "listed"), content_type="text/plain")
    alternate = page(6, "/langs.xml", "sitemap", ("/a", "listed"), ("/gone", "alternate"), content_type="text/xml")
    records = gone(1, "/gone"), page(2, "/a", "link", ("/gone", "link")), feed, other, text, alternate
    rows = mislisted(tmp_path, *records, sitemap(91, "/gone", "/gone"), sitemap(90, "/gone"))
    assert [row[-1] for row in rows] == ["/feed.rss", "/list.txt", "/sitemap-90.xml", "/sitemap-91.xml"]


def test_what_was_not_fetched_is_listed_unless_because_of_limits(tmp_path: Path) -> None:
    """A URL that one sitemap has in vain may be fetched because of another link, as one that is too old."""
    limits = {"old": "outdated", "deep": "too-deep", "dull": "irrelevant", "image": "unwanted-kind"}
    limits |= {"a/a/a/a/a": "repeated-segments", "p": "query-growth", "news": "too-many-links"}
    assert mislisted(
        tmp_path,
        page(1, "/met", "link"),
        page(2, "/checked", "external", content_type=None, link_details=None),
        gone(3, "/dead", "external"),
        excluded(4, "/many", "pages-per-host"),
        excluded(5, "/barred", "unreachable"),
        excluded(6, "/used", "preferences"),
        excluded(7, "/left", "excluded"),
        sitemap(89, "/many", "/barred", "/used", "/left", "/waits"),
        refusing(
            90, met="outdated", checked="out-of-scope", dead="out-of-scope", out="excluded", port="port", **limits
        ),
    ) == [
        ("/left", "excluded", None, None, "/sitemap-89.xml"),
        ("/checked", "out-of-scope", 200, None, _MAP),
        ("/dead", "error", 404, None, _MAP),
        ("/out", "excluded", None, None, _MAP),
        ("/port", "port", None, None, _MAP),
    ]


def test_the_url_is_that_of_the_sitemap_and_a_canonical_form_is_the_same_page(tmp_path: Path) -> None:
    links = [
        {"url": url_of("/gone?s=1"), "canonical": url_of("/gone"), "kind": "listed"},
        {"url": url_of("/a?s=1"), "canonical": url_of("/a"), "kind": "listed"},
    ]
    records = gone(1, "/gone"), page(2, "/a", "link", canonical=url_of("/a?s=2")), sitemap(90, link_details=links)
    directory = written(tmp_path / "records", *records)
    found = make_lists([directory], ["mislisted"], lambda url: url.partition("?")[0], None).mislisted
    assert found is not None
    assert [each.url for each in found.entries] == [url_of("/gone?s=1")]


def test_the_last_visits_to_sitemaps_and_to_pages_count(tmp_path: Path) -> None:
    assert mislisted(
        tmp_path,
        gone(1, "/mended"),
        page(2, "/broken", "link"),
        page(3, "/hidden", "link", noindex=True),
        gone(4, "/dropped"),
        sitemap(90, "/mended", "/broken", "/hidden"),
        sitemap(91, "/dropped"),
        page(5, "/mended", "listed", visit=2),
        gone(6, "/broken", "link", status=410) | {"visit": 2},
        page(7, "/hidden", "link", status=304, visit=2, link_details=None),
        page(92, "/sitemap-90.xml", "sitemap", status=304, visit=2, link_details=None),
        page(93, "/sitemap-91.xml", "sitemap", visit=2, content_type="text/xml"),
    ) == [("/broken", "error", 410, None, _MAP), ("/hidden", "noindex", 200, None, _MAP)]


@pytest.mark.parametrize(
    ("records", "why", "found"),
    [
        (
            (gone(1, "/gone"), sitemap(2, "/gone"), sitemap(3, link_details=None, references=[])),
            "1 sitemap was fetched without output.link_details",
            MislistedList(sitemaps=1, unread=1, entries=[]),
        ),
        (
            (page(1, "/", "seed"), gone(2, "/gone")),
            "No sitemap that names a page was read with output.link_details.",
            MislistedList(sitemaps=0, unread=0, entries=[]),
        ),
    ],
    ids=["unread", "none"],
)
def test_what_is_not_known_is_said(
    tmp_path: Path, records: tuple[dict[str, object], ...], why: str, found: MislistedList
) -> None:
    crawl = stored(tmp_path, *records)
    told = crawl.do("report", "mislisted", "--csv")
    assert told.out == "url,reason,status,leads_to,end_status,end_reason,sitemap\n"
    assert why in told.err
    assert why in crawl.do("report", "mislisted").out
    assert crawl.do("report", "--html", "-").out.count(why) == 2
    assert msgspec.json.decode(crawl.do("report", "mislisted", "--json").out, type=Lists).mislisted == found
    assert crawl.do("report", "mislisted", "--exit-code").code == 1


def test_the_command_lists_mislisted_urls_in_each_form(tmp_path: Path) -> None:
    crawl = stored(
        tmp_path,
        page(1, "/", "seed"),
        redirect(2, "/old", "/", "listed"),
        gone(3, "/gone"),
        excluded(4, "/private", "robots"),
        sitemap(5, "/old", "/gone", "/private"),
    )
    told = crawl.do("report", "mislisted", "--csv", "--exit-code")
    named = url_of("/sitemap-5.xml")
    assert (told.code, told.out.splitlines()[1:]) == (
        1,
        [
            f"{url_of('/gone')},error,404,,,,{named}",
            f"{url_of('/old')},redirect,301,{url_of('/')},200,,{named}",
            f"{url_of('/private')},robots,,,,,{named}",
        ],
    )
    text = crawl.do("report", "mislisted").out
    rows = f"404  {url_of('/gone')}", f"301  {url_of('/old')} -> {url_of('/')}  200", f"robots  {url_of('/private')}"
    assert "\n      ".join((f"mislisted URLs\n  {named}", *rows)) in text
    shown = crawl.do("report", "--html", "-").out
    assert f'>{url_of("/old")}</a></td><td>301</td><td><a href="{url_of("/")}"' in shown
    assert f">{url_of('/private')}</a></td><td>robots</td><td>–</td>" in shown
    assert f'<tr><td></td><td><a href="{url_of("/old")}"' in shown
    short = make_lists([crawl.directory / "records"], ["mislisted"], str, 1)
    assert short.more == {"mislisted": 2}
    assert "and 2 more; a larger --limit shows them" in "\n".join(list_lines(short))


def test_the_exit_code_is_0_if_sitemaps_name_pages_alone(tmp_path: Path) -> None:
    crawl = stored(tmp_path, page(1, "/a", "link"), sitemap(2, "/a"))
    assert crawl.do("report", "mislisted", "--exit-code").code == 0


_PATHS = ("/a", "/b", "/c", "/d")
_SORTS = ("page", "gone", "hidden", "copy", "robots", "down", "moved", "waits")


def _record(number: int, path: str, sort: str) -> dict[str, object] | None:
    match sort:
        case "page":
            return page(number, path, "link")
        case "gone":
            return gone(number, path)
        case "hidden":
            return page(number, path, "link", noindex=True)
        case "copy":
            return page(number, path, "link", canonical=url_of("/other"))
        case "robots":
            return excluded(number, path, "robots")
        case "down":
            return failed(number, path, "dns")
        case "moved":
            return redirect(number, path, "/other", "link")
        case _:
            return None


_REASONS = {"gone": "error", "hidden": "noindex", "copy": "canonical", "robots": "robots", "down": "dns"}


@given(
    sorts=st.fixed_dictionaries({path: st.sampled_from(_SORTS) for path in _PATHS}),
    named=st.lists(st.sets(st.sampled_from(_PATHS)), max_size=3),
)
def test_a_url_is_mislisted_once_for_each_sitemap_and_unlisted_if_none_names_it(
    tmp_path_factory: pytest.TempPathFactory, sorts: dict[str, str], named: list[set[str]]
) -> None:
    records = [_record(number, path, sort) for number, (path, sort) in enumerate(sorts.items(), 1)]
    maps = [sitemap(10 + number, *sorted(paths)) for number, paths in enumerate(named)]
    directory = written(tmp_path_factory.mktemp("any"), *maps, *(each for each in records if each is not None))
    lists = make_lists([directory], ["mislisted", "unlisted"], str, None)
    assert lists.mislisted is not None
    assert lists.unlisted is not None
    reasons = _REASONS | {"moved": "redirect"}
    assert [(each.sitemap, each.url, each.reason) for each in lists.mislisted.entries] == [
        (url_of(f"/sitemap-{10 + number}.xml"), url_of(path), reasons[sorts[path]])
        for number, paths in enumerate(named)
        for path in sorted(paths)
        if sorts[path] in reasons
    ]
    known = set[str]().union(*named)
    assert [each.url for each in lists.unlisted.pages] == [
        url_of(path) for path in _PATHS if known and sorts[path] == "page" and path not in known
    ]
