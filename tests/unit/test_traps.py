import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.discover import traps
from crawler.discover.quota import (
    PAGES,
    OverQuota,
    PageLimits,
    PageQuota,
    SitemapLimits,
    SitemapQuota,
    pattern_of,
)
from crawler.discover.traps import Trap, Traps, _repeats
from crawler.page import LinkKind
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.url import hrefs
from crawler.url.hrefs import may_repeat
from crawler.url.urls import BadUrl, UrlReader
from frontier.memory.notes import MemoryNotes

READER = UrlReader()
TRAPS = Traps(calendar_years=10, year=2026)


def refusal(path: str, traps: Traps = TRAPS) -> Trap | None:
    return traps.refusal(READER.seed(f"https://example.org{path}"))


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("/a/a/x", None),
        ("/a/a/a/x", None),
        ("/a/a/a/a/x", Trap.REPEATED_SEGMENTS),
        ("/transparenz/transparenz/transparenz", None),
        ("/jobs/all/all/all/", None),
        ("/-/-/-/", None),
        ("/100/100/100", None),
        ("/x/a/b/a/b/", None),
        ("/x/a/b/a/b/a/b/", Trap.REPEATED_SEGMENTS),
        ("/x/a/b/c/a/b/c/a/b/c", Trap.REPEATED_SEGMENTS),
        ("/2011/11/11/11/", None),
        ("/1/1/1/1/1", Trap.REPEATED_SEGMENTS),
        ("////", None),
        ("/" + "/".join("abcdefghijklmnopqrst"), None),
        ("/" + "/".join("abcdefghijklmnopqrst") + "/", None),
        ("/" + "/".join("abcdefghijklmnopqrstu"), Trap.TOO_MANY_SEGMENTS),
        ("/?a=1&a=2&a=3", None),
        ("/?c[]=&c[]=&c[]=", None),
        ("/?a=1&&&&b=2", None),
        ("/?a=1&amp;&amp;&amp;b=2", None),
        ("/?" + "&".join(f"a{n}=" for n in range(40)), None),
        ("/?a=1&a=1&a=1", Trap.QUERY_GROWTH),
        ("/?" + "&".join(f"a{n}=1" for n in range(30)), None),
        ("/?" + "&".join(f"a{n}=1" for n in range(31)), Trap.QUERY_GROWTH),
        ("/calendar/2036/12", None),
        ("/calendar/2037/01", Trap.CALENDAR),
        ("/calendar/2015/12/31", None),
        ("/calendar/3000/01", Trap.CALENDAR),
        ("/calendar/2040/5/week/", Trap.CALENDAR),
        ("/kalender.php?jahr=2040", Trap.CALENDAR),
        ("/calendar/yoga-2040-05-01/", Trap.CALENDAR),
        ("/Desktop-Calendar/3000-2086_4-75300293.html", None),
        ("/2013/05/Kalender2048-150x150.jpg", None),
        ("/2040/05/", Trap.CALENDAR),
        ("/rooms/2040/05/01/", Trap.CALENDAR),
        ("/rooms/2040-05-01T10:00", Trap.CALENDAR),
        ("/rss/articles/article/2055/10", None),
        ("/29916/2045/1/home", None),
        ("/gnome-2048/gnome-2048_3.38.2-3_amd64.deb", None),
        ("/photo-1365x2048-1.jpg", None),
        ("/x/0f8fad5b-2045-11cb-a165-70867728950e", None),
        ("/events/month/2040-05", Trap.CALENDAR),
        ("/events/2040-15", None),
        ("/news/1998/05/31/a-story.html", None),
        ("/events/2040-05-01", Trap.CALENDAR),
        ("/?view=month&date=2040-05-01", Trap.CALENDAR),
        ("/?tribe-bar-date=2040-05", Trap.CALENDAR),
        ("/?d=01.05.2040", Trap.CALENDAR),
        ("/?from=5%2F1%2F2040&x=1", Trap.CALENDAR),
        ("/?day=20400501", Trap.CALENDAR),
        ("/?id=20400501", None),
        ("/?month=5&year=2040", Trap.CALENDAR),
        ("/?month=5&year=1999", None),
        ("/film?year=2040", None),
        ("/4505-3512_7-20670895.html?tag=2050-prmo", None),
        ("/cleo.js?date=2014-12-01", None),
        ("/products/3000/12", None),
        ("/products/20401/12", None),
        ("/a/b-2040.html", None),
    ],
)
def test_a_url_that_shows_a_trap_is_refused_by_its_name(path: str, trap: Trap | None) -> None:
    assert refusal(path) is trap


@pytest.mark.parametrize("is_compiled", sorted({hrefs.IS_COMPILED, False}))
@given(
    segments=st.lists(st.sampled_from(["a", "b", "cc", "1", "", "\udce9"]), min_size=1, max_size=12),
    limit=st.integers(1, 4),
)
def test_no_repetition_is_overlooked(segments: list[str], limit: int, is_compiled: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hrefs, "IS_COMPILED", is_compiled)
        assert may_repeat("/" + "/".join(segments), limit) or not _repeats(segments, limit)


_LIMITS = st.sampled_from([None, 0, 1, 2, 9])


@given(
    st.lists(st.sampled_from(["a", "a", "b", "1", "2040", "05", "-", "?", "&a=", "", "/"]), max_size=12).map("/".join),
    st.builds(Traps, max_segments=_LIMITS, max_repeats=_LIMITS, calendar_years=st.just(10), year=st.just(2026)),
    st.sampled_from(LinkKind),
)
@example("?", Traps(max_repeats=0), LinkKind.LINK)
def test_a_url_that_needs_no_look_for_each_trap_shows_none(path: str, limits: Traps, kind: LinkKind) -> None:
    target = READER.seed(f"https://example.org/{path}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traps, "_few_slashes", lambda *_: -1)
        expected = limits.refusal(target, kind=kind)
    assert limits.refusal(target, kind=kind) is expected


def test_limits_that_are_unset_refuse_nothing() -> None:
    none = Traps(max_segments=None, max_repeats=None, max_parameters=None)
    for path in ("/a" * 100, "/?" + "a=1&" * 100, "/calendar/2999/01"):
        assert refusal(path, none) is None


LONG = "/" + "/".join("abcdefghijklmnopqrstuvwxyz")
RESIZED = "/9/7/7/7/7/7/7/7/a95f.jpg"
COMBINED = "/combo?" + "&".join(f"yui:{number}/min.js" for number in range(60))


@pytest.mark.parametrize("path", [LONG, RESIZED, COMBINED, "/fit/fit/fit/fit/fit/a.jpg", "/cleo.js?date=2040-05-01"])
def test_what_a_page_is_shown_with_may_have_more_of_everything(path: str) -> None:
    assert refusal(path) is not None
    for kind in (LinkKind.EMBED, LinkKind.CSS):
        assert TRAPS.refusal(READER.seed(f"https://example.org{path}"), kind=kind) is None


@pytest.mark.parametrize("path", [4 * LONG, "/css" * 10, f"/{'&'.join(['?a=1'] + ['a=1'] * 9)}"])
def test_also_a_style_sheet_that_names_itself_comes_to_an_end(path: str) -> None:
    assert TRAPS.refusal(READER.seed(f"https://example.org{path}"), kind=LinkKind.CSS) is not None


def test_what_somebody_has_listed_is_no_calendar_without_end() -> None:
    target = READER.seed("https://example.org/events/2040-05-01")
    for kind in LinkKind:
        listed = kind in (LinkKind.SEED, LinkKind.LISTED, LinkKind.SITEMAP, LinkKind.EMBED, LinkKind.CSS)
        assert TRAPS.refusal(target, kind=kind) is (None if listed else Trap.CALENDAR)


def test_hardly_any_url_that_people_made_shows_a_trap(corpora: Path) -> None:
    refused: list[tuple[str, Trap]] = []
    count = 0
    for path in sorted((corpora / "url-lists").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines):
                if number % 20:
                    continue
                target = READER.read(line.strip(), "https://example.org/")
                if isinstance(target, BadUrl):
                    continue
                count += 1
                if trap := TRAPS.refusal(target):
                    refused.append((target.url, trap))
    assert count > 20_000
    assert len(refused) < 0.0001 * count, refused
    assert not [url for url, trap in refused if trap is Trap.CALENDAR]


@given(st.text("/a1?&=-", max_size=60))
def test_no_url_breaks_the_traps(path: str) -> None:
    refusal(f"/{path}")


@pytest.mark.timeout(MAX_WAIT_S)
def test_a_hostile_url_takes_no_hostile_time() -> None:
    reader = UrlReader(max_length=100_000)
    for path in (
        "/a" * 40_000,
        "/2" * 40_000,
        "/?" + "year" * 20_000,
        "/?" + "&" * 80_000,
        "/2024-" * 15_000,
        "/2040/05" * 10_000,
        "/?" + "date" * 20_000 + "=2040",
        "/?" + "day=2040-05&" * 5_000,
        "/calendar" + "-2040-05" * 5_000,
        "/calendar" + "?" * 80_000 + "2040",
    ):
        target = reader.read(f"https://example.org{path}", "https://example.org/")
        assert not isinstance(target, BadUrl)
        Traps(max_segments=None, max_repeats=1000, max_parameters=None, calendar_years=10, year=2026).refusal(target)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", "/"),
        ("/a/17.html?page=2&q=x", "/a/0.html?page&q"),
        ("/x/0f8fad5b-d9cb-469f-a165-70867728950e/y", "/x/0/y"),
        ("/facade/deadbeef", "/facade/0"),
        ("/show.php?17-a-title", "/show.php?0-a-title"),
        ("/f?filter[12]=x&0f8fad5b-d9cb-469f-a165-70867728950e", "/f?filter[0]&0"),
    ],
)
def test_a_pattern_leaves_out_what_machines_count(path: str, pattern: str) -> None:
    assert pattern_of(path) == pattern


def test_pages_are_counted_per_host_and_pattern_over_restarts() -> None:
    notes = MemoryNotes()
    quota = PageQuota(notes, lambda _: PageLimits(per_host=4, per_pattern=2))
    for number in range(2):
        assert quota.refusal(f"https://a.test/{number}") is None
        quota.spend(f"https://a.test/{number}")
    assert quota.refusal("https://a.test/3") is OverQuota.PATTERN
    quota = PageQuota(notes, lambda _: PageLimits(per_host=4, per_pattern=2))
    assert quota.refusal("http://a.test/4") is OverQuota.PATTERN
    assert quota.refusal("https://b.test/4") is None
    assert quota.refusal("https://a.test/x") is None
    for name in ("x", "y"):
        quota.spend(f"https://a.test/{name}")
    assert quota.refusal("https://a.test/z") is OverQuota.HOST
    assert PageQuota(notes, lambda _: PageLimits()).refusal("https://a.test/z") is None


def test_the_pages_of_a_host_are_counted_together_whatever_port_they_come_from() -> None:
    quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=2))
    quota.spend("http://a.test/1")
    quota.spend("http://a.test:8080/2")
    assert quota.refusal("https://a.test:8443/") is OverQuota.HOST
    assert quota.refusal("https://b.test:8443/") is None


def test_a_host_with_a_trailing_dot_is_the_same_host() -> None:
    quota = PageQuota(MemoryNotes(), lambda _: PageLimits(per_host=2, per_pattern=1))
    quota.spend("https://a.test./1")
    assert quota.refusal("https://a.test/2") is OverQuota.PATTERN
    quota.spend("https://a.test/x")
    assert quota.refusal("https://a.test./y") is OverQuota.HOST


def test_pages_and_sitemaps_are_counted_per_domain_whatever_names_its_hosts_have() -> None:
    notes = MemoryNotes()
    pages = PageQuota(notes, lambda _: PageLimits(per_domain=3))
    sitemaps = SitemapQuota(notes, lambda _: SitemapLimits(per_domain=2))
    sizes = SitemapQuota(MemoryNotes(), lambda _: SitemapLimits(bytes_per_domain=10))
    for number in range(3):
        url = f"https://w{number}.example.org/sitemap.xml"
        assert pages.refusal(url) is None
        assert sitemaps.refusal(url) is (OverQuota.DOMAIN_SITEMAPS if number == 2 else None)
        assert sizes.refusal(url) is (OverQuota.DOMAIN_SITEMAP_BYTES if number == 2 else None)
        pages.spend(url)
        sitemaps.spend(url)
        sizes.spend(url, 5)
    assert pages.refusal("https://example.org/") is OverQuota.DOMAIN
    assert pages.refusal("https://example.net/") is None
    assert [PAGES.host_of(key) for key in ("*.example.org", "a.test:8080/x", "a.test")] == [
        "example.org",
        "a.test",
        "a.test",
    ]
    assert sitemaps.refusal("https://example.net/") is None
