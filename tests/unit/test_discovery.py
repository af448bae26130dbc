from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.links import filter as link_filter
from crawler.discover.links.filter import LinkRefusal, LinkRules
from crawler.discover.links.followed import MAX_NESTED_SITEMAPS, FollowedLinks
from crawler.discover.scope import (
    Reach,
    Scope,
    ScopeRefusal,
    Within,
)
from crawler.discover.traps import Trap, Traps
from crawler.page import Link, LinkKind, Redirect
from crawler.protocols import Discovery
from crawler.steps import run_all
from crawler.url.components import NamedRule, UrlComponents
from crawler.url.urls import BadUrl, UrlReader
from frontier import CrawlUrl, UrlBatch, canonicals_of

PAGE = "https://example.org/a/page.html"


def discovery(
    *,
    within: Within = "host",
    exclude: Sequence[str] = (),
    max_depth: int | None = None,
    max_links_per_page: int = 6000,
    max_redirects: int = 5,
    obey_nofollow: bool = False,
    check_external: bool = False,
    kinds: frozenset[LinkKind] = frozenset(LinkKind),
    offsite_embeds: bool = False,
    places: Sequence[str] = (),
    remembered_links: int = 1000,
    traps: Traps | None = None,
) -> ScopedDiscovery:
    reader = UrlReader()
    reach = Reach(exclude=exclude, max_depth=max_depth)
    scope = Scope(
        within=within,
        seeds=[reader.seed("https://example.org/")],
        reach=lambda _: reach,
        offsite_embeds=offsite_embeds,
        places=places,
    )
    return ScopedDiscovery(
        urls=reader,
        scope=scope,
        traps=None if traps is None else lambda _: traps,
        rules=LinkRules(
            kinds=kinds,
            obey_nofollow=obey_nofollow,
            check_external=check_external,
            max_links_per_page=max_links_per_page,
            max_redirects=max_redirects,
        ),
        remembered_links=remembered_links,
    )


def page(url: str = PAGE, *, depth: int = 3, redirects: int = 0) -> CrawlUrl:
    return CrawlUrl(url=url, canonical=url, queue_key="org,example", depth=depth, redirects=redirects, precedence=depth)


def links(*hrefs: str, kind: LinkKind = LinkKind.LINK, rel: str = "") -> list[Link]:
    return [Link(href, kind, f"to {href}", rel) for href in hrefs]


def redirect(location: str, *, url: str = PAGE) -> Redirect:
    return Redirect(url=url, status=302, headers=[], fetched_at=0.0, duration_s=0.1, location=location)


def test_it_is_a_discovery() -> None:
    made: Discovery = discovery()
    assert made.seeds([]) == []


def test_canonical_urls_beyond_ascii_are_followed_as_any_other_and_told_of() -> None:
    """The frontier then checks whether it can store them."""

    def mark(url: UrlComponents) -> UrlComponents:
        return msgspec.structs.replace(url, path=url.path.replace("mark", "m\xe4rk"))

    reader = UrlReader(rules=[NamedRule("mark", mark)])
    made = ScopedDiscovery(urls=reader, scope=Scope(within="any", seeds=[reader.seed(PAGE)]))
    for _ in range(2):  # the second time, what hrefs mean is known
        plain = run_all(made.links(PAGE, links("a", "b", "a"), parent=page())).urls
        marked = run_all(made.links(PAGE, links("a", "mark", "b", "mark"), parent=page())).urls
        assert isinstance(plain, UrlBatch)
        assert isinstance(marked, UrlBatch)
        assert [plain.is_ascii, marked.is_ascii, marked[1:].is_ascii] == [True, False, False]
        assert canonicals_of(marked) == [f"https://example.org/a/{name}" for name in ("a", "m\xe4rk", "b")]
        assert [url.link_count for url in marked] == [1, 2, 1]


def test_a_link_that_is_no_url_to_crawl_is_refused_also_where_it_is_the_page_itself() -> None:
    url = f"https://example.org/{'x' * 2100}"
    found = run_all(discovery().links(url, links(url, url), parent=page(url)))
    assert found.refusals == [(url, BadUrl.TOO_LONG)]


def test_seeds_are_of_depth_zero_and_kept_once_in_their_order() -> None:
    seeds = discovery().seeds(["https://b.test/", " https://a.test/x#y", "https://b.test/?utm_source=x"])
    assert [(seed.url, seed.depth, seed.kind, seed.precedence) for seed in seeds] == [
        ("https://b.test/", 0, "seed", 0),
        ("https://a.test/x", 0, "seed", 0),
    ]


def test_a_bad_seed_is_named() -> None:
    with pytest.raises(ValueError, match=r"intranet"):
        discovery().seeds(["https://example.com/", "intranet"])


def test_links_carry_what_must_travel_with_them() -> None:
    found = run_all(discovery().links(PAGE, links("b.html?utm_source=x#top"), parent=page())).urls
    assert found == [
        CrawlUrl(
            url="https://example.org/a/b.html?utm_source=x",
            canonical="https://example.org/a/b.html",
            queue_key="org,example",
            depth=4,
            via=PAGE,
            kind="link",
            anchor="to b.html?utm_source=x#top",
            precedence=4,
        )
    ]


def test_white_space_before_a_fragment_belongs_to_the_url() -> None:
    found = run_all(discovery().links(PAGE, links("b.html #top", "b.html", "#top"), parent=page())).urls
    assert [each.url for each in found] == ["https://example.org/a/b.html%20", "https://example.org/a/b.html"]


def test_links_come_in_document_order_without_repeats_and_without_the_page_itself() -> None:
    found = run_all(
        discovery().links(PAGE, links("z", "/y", "#top", "z#x", "page.html", "", "./z", "x"), parent=page())
    )
    assert [url.url for url in found.urls] == [
        "https://example.org/a/z",
        "https://example.org/y",
        "https://example.org/a/x",
    ]
    assert found.refused == {}


def test_each_refused_link_is_counted_once_under_its_reason() -> None:
    made = discovery(exclude=(r"\.iso$",))
    hrefs = (
        "mailto:a@b.test",
        "mailto:a@b.test",
        "http://[",
        "https://other.test/",
        "https://other.test/",
        "a.iso",
        "b",
    )
    found = run_all(made.links(PAGE, links(*hrefs), parent=page()))
    assert [url.url for url in found.urls] == ["https://example.org/a/b"]
    assert found.refused == {
        BadUrl.SCHEME: 1,
        BadUrl.INVALID: 1,
        ScopeRefusal.OUT_OF_SCOPE: 1,
        ScopeRefusal.EXCLUDED: 1,
    }


@pytest.mark.parametrize("offsite_embeds", [False, True])
def test_links_and_embeds_are_judged_each_by_its_rule(offsite_embeds: bool) -> None:
    hrefs = ("https://other.test/a", "b", "c")
    given = [*links(*hrefs[:2]), *links(*hrefs, kind=LinkKind.EMBED), *links("b#d", "e", kind=LinkKind.CSS)]
    made = discovery(offsite_embeds=offsite_embeds)
    for _ in range(2):
        found = run_all(made.links(PAGE, given, parent=page()))
        assert [(url.url, url.kind, url.link_count) for url in found.urls] == [
            ("https://example.org/a/b", "link", 3),
            *([("https://other.test/a", "embed", 2)] if offsite_embeds else []),
            ("https://example.org/a/c", "embed", 1),
            ("https://example.org/a/e", "css", 1),
        ]
        assert found.refused == {ScopeRefusal.OUT_OF_SCOPE: 1}


@pytest.mark.parametrize("check_external", [False, True])
def test_a_link_out_of_scope_keeps_no_embed_of_the_same_url_from_being_fetched(check_external: bool) -> None:
    made = discovery(offsite_embeds=True, check_external=check_external)
    image = "https://cdn.test/a.png"
    for before in (links(image, image, f"{image}#x", "https://cdn.test/b", "https://cdn.test/b"), links(image)):
        found = run_all(made.links(PAGE, [*before, *links(image, kind=LinkKind.EMBED)], parent=page()))
        assert [(url.url, url.kind, url.link_count) for url in found.urls] == [
            (image, "embed", 1 + sum("a.png" in link.href for link in before))
        ]
        others = list(dict.fromkeys(link.href.partition("#")[0] for link in before))
        assert found.refusals == [(url, ScopeRefusal.OUT_OF_SCOPE) for url in others]
        assert [url.url for url in found.checks] == (others if check_external else [])


def test_a_url_is_refused_once_however_it_is_linked_to() -> None:
    made = discovery(max_depth=4, obey_nofollow=True)
    image = "x/x/x/x/" * 3 + "y.png"
    given = [*links("b", image), *links("b", image, kind=LinkKind.EMBED), *links("b", image, rel="nofollow")]
    found = run_all(made.links(PAGE, [*given, *links("c"), *links("c", rel="nofollow")], parent=page(depth=9)))
    assert [(url.rpartition("/")[2], reason) for url, reason in found.refusals] == [
        ("b", ScopeRefusal.TOO_DEEP),
        ("y.png", ScopeRefusal.TOO_DEEP),
        ("c", ScopeRefusal.TOO_DEEP),
    ]


def test_traps_are_refused_by_their_names() -> None:
    made = discovery()
    found = run_all(made.links(PAGE, links("x/x/x/x/", "?a=1&a=1&a=1", "b"), parent=page()))
    assert [url.url for url in found.urls] == ["https://example.org/a/b"]
    assert found.refused == {Trap.REPEATED_SEGMENTS: 1, Trap.QUERY_GROWTH: 1}
    assert made.redirect(redirect("/x/x/x/x/"), parent=page()) is Trap.REPEATED_SEGMENTS


@pytest.mark.parametrize("within", ["host", "prefix"])
def test_traps_judge_by_the_kind_of_a_link_also_where_another_kind_was_judged_before(within: Within) -> None:
    made = discovery(within=within, traps=Traps(calendar_years=10, year=2026))
    image, page_ahead = "/a/x/x/x/x/y.png", "/a/events/2040-05-01"
    for _ in range(2):
        given = [*links(image, page_ahead), Link(image, LinkKind.EMBED), Link(page_ahead, LinkKind.LISTED)]
        found = run_all(made.links(PAGE, given[:2], parent=page()))
        assert found.refused == {Trap.REPEATED_SEGMENTS: 1, Trap.CALENDAR: 1}
        found = run_all(made.links(PAGE, given[2:], parent=page()))
        assert [url.kind for url in found.urls] == [LinkKind.EMBED, LinkKind.LISTED]
    both = [*links(image, image), Link(image, LinkKind.EMBED)]
    found = run_all(made.links(PAGE, both, parent=page()))
    assert ([url.kind for url in found.urls], found.refused) == ([LinkKind.EMBED], {Trap.REPEATED_SEGMENTS: 1})
    listed = msgspec.structs.replace(page(), kind=LinkKind.LISTED)
    assert isinstance(made.redirect(redirect(page_ahead), parent=listed), CrawlUrl)
    assert made.redirect(redirect(page_ahead), parent=page()) is Trap.CALENDAR


def test_links_too_deep_are_refused() -> None:
    made = discovery(max_depth=4)
    assert len(run_all(made.links(PAGE, links("b"), parent=page(depth=3))).urls) == 1
    assert run_all(made.links(PAGE, links("b", "c"), parent=page(depth=4))).refused == {ScopeRefusal.TOO_DEEP: 2}


def test_the_deepest_pages_have_what_they_need_to_be_shown() -> None:
    made = discovery(max_depth=4)
    given = [*links("a.css", kind=LinkKind.EMBED), *links("b.png", "c", "c"), *links("b.png", kind=LinkKind.CSS)]
    given += links("d", kind=LinkKind.FRAME)
    found = run_all(made.links(PAGE, given, parent=page(depth=4)))
    assert [(url.url[-5:], url.depth, url.link_count) for url in found.urls] == [("a.css", 5, 1), ("b.png", 5, 2)]
    assert found.refused == {ScopeRefusal.TOO_DEEP: 3}
    for depth, followed in ((8, 1), (9, 0)):
        found = run_all(made.links(PAGE, links("b.css", kind=LinkKind.CSS), parent=page(depth=depth)))
        assert (len(found.urls), found.refused.get(ScopeRefusal.TOO_DEEP, 0)) == (followed, 1 - followed)


@pytest.mark.parametrize("rel", ["prefetch", "enclosure", "prefetch nofollow"])
def test_what_a_page_names_for_later_is_no_deeper_than_pages(rel: str) -> None:
    made = discovery(max_depth=4)
    for depth, followed in ((3, 1), (4, 0)):
        found = run_all(made.links(PAGE, links("b", kind=LinkKind.EMBED, rel=rel), parent=page(depth=depth)))
        assert (len(found.urls), found.refused) == (followed, {} if followed else {ScopeRefusal.TOO_DEEP: 1})
    given = [*links("b", kind=LinkKind.EMBED, rel=rel), *links("./b", kind=LinkKind.EMBED)]  # it also shows it
    assert [url.link_count for url in run_all(made.links(PAGE, given, parent=page(depth=4))).urls] == [2]


@pytest.mark.parametrize("rel", ["stylesheet prefetch", "prefetch shortcut icon", "modulepreload prefetch"])
def test_what_a_page_shows_now_is_needed_also_if_it_is_named_for_later_too(rel: str) -> None:
    given = links("a", kind=LinkKind.EMBED, rel=rel)
    assert len(run_all(discovery(max_depth=4).links(PAGE, given, parent=page(depth=4))).urls) == 1


@pytest.mark.parametrize("kind", [LinkKind.SITEMAP, LinkKind.SEED])
def test_images_of_sitemaps_are_as_deep_as_the_pages_that_these_list(kind: LinkKind) -> None:
    given = [*links("b.png", kind=LinkKind.EMBED), *links("b", kind=LinkKind.LISTED)]
    for depth, followed in ((3, 2), (4, 0)):
        sitemap = msgspec.structs.replace(page(depth=depth), kind=kind)
        found = run_all(discovery(max_depth=4).links(PAGE, given, parent=sitemap))
        assert (len(found.urls), found.refused.get(ScopeRefusal.TOO_DEEP, 0)) == (followed, 2 - followed)


def test_a_page_may_not_have_more_links_than_the_limit() -> None:
    found = run_all(discovery(max_links_per_page=2).links(PAGE, links("a", "b", "a", "c", "d"), parent=page()))
    assert [url.url[-1] for url in found.urls] == ["a", "b"]
    assert found.refused == {LinkRefusal.TOO_MANY_LINKS: 2}


def test_nofollow_is_obeyed_where_configured_unless_the_link_stands_there_without_it_too() -> None:
    given = [*links("a", "b", rel="external nofollow"), *links("b")]
    assert len(run_all(discovery().links(PAGE, given, parent=page())).urls) == 2
    found = run_all(discovery(obey_nofollow=True).links(PAGE, given, parent=page()))
    assert [url.url for url in found.urls] == ["https://example.org/a/b"]
    assert found.refused == {LinkRefusal.NOFOLLOW: 2}


def test_kinds_that_are_not_wanted_are_refused() -> None:
    made = discovery(kinds=frozenset({LinkKind.LINK}))
    found = run_all(made.links(PAGE, [*links("a.png", kind=LinkKind.EMBED), *links("b")], parent=page()))
    assert [url.url for url in found.urls] == ["https://example.org/a/b"]
    assert found.refused == {LinkRefusal.UNWANTED_KIND: 1}


def test_links_beyond_any_number_are_each_found_once() -> None:
    given = links(*(f"/{number % 10_001}" for number in range(20_100)), "http://[", *["x"] * 10_000, "http://[", "y")
    found = run_all(discovery(max_links_per_page=100_000).links(PAGE, given, parent=page()))
    assert [url.url.rpartition("/")[2] for url in found.urls] == [*map(str, range(10_001)), "x", "y"]
    assert found.refusals == [("http://[", BadUrl.INVALID)]


def test_precedence_grows_with_depth_to_its_end() -> None:
    assert run_all(discovery().links(PAGE, links("b"), parent=page(depth=300))).urls[0].precedence == 255


def test_what_is_remembered_of_one_document_does_not_reach_into_another() -> None:
    made = discovery()
    cases = [
        ("x", "https://example.org/a/1.html", "https://example.org/a/x"),
        ("x", "https://example.org/b/1.html", "https://example.org/b/x"),
        ("?p=2", "https://example.org/a/1.html", "https://example.org/a/1.html?p=2"),
        ("?p=2", "https://example.org/a/2.html", "https://example.org/a/2.html?p=2"),
        ("http:?p=3", "http://example.org/a/1.html", "http://example.org/a/1.html?p=3"),
        ("http:?p=3", "http://example.org/a/2.html", "http://example.org/a/2.html?p=3"),
        ("\t?p=4", "https://example.org/a/1.html", "https://example.org/a/1.html?p=4"),
        ("\t?p=4", "https://example.org/a/2.html", "https://example.org/a/2.html?p=4"),
        ("//example.org/c", "https://example.org/a/", "https://example.org/c"),
        ("//example.org/c", "http://example.org/a/", "http://example.org/c"),
        ("/d", "https://example.org/a/?q=/x/y", "https://example.org/d"),
        ("/d", "http://example.org/a/", "http://example.org/d"),
        ("\\e", "https://example.org/a/?q=/x/y", "https://example.org/e"),
    ]
    for _ in range(2):
        for href, base, expected in cases:
            assert [url.url for url in run_all(made.links(base, links(href), parent=page())).urls] == [expected], (
                href,
                base,
            )


@pytest.mark.parametrize("remembered", [1, 2, 7])
def test_forgetting_changes_nothing(remembered: int) -> None:
    made = discovery(remembered_links=remembered)
    hrefs = [f"/{number}" for number in range(20)]
    first = run_all(made.links(PAGE, links(*hrefs), parent=page()))
    assert run_all(made.links(PAGE, links(*hrefs), parent=page())) == first
    assert len(first.urls) == 20


def test_a_redirect_keeps_depth_and_precedence_of_its_parent() -> None:
    parent = page(depth=3)
    found = discovery().redirect(redirect(" ../b#c "), parent=parent)
    assert found == CrawlUrl(
        url="https://example.org/b",
        canonical="https://example.org/b",
        queue_key="org,example",
        depth=3,
        via=PAGE,
        kind="redirect",
        precedence=3,
        redirects=1,
        link_count=0,
    )


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (PAGE, LinkRefusal.REDIRECT_LOOP),
        ("mailto:a@example.org", BadUrl.SCHEME),
        ("http://[", BadUrl.INVALID),
        ("https://other.test/", ScopeRefusal.OUT_OF_SCOPE),
        ("https://example.org/x.iso", ScopeRefusal.EXCLUDED),
    ],
)
def test_a_redirect_that_is_not_followed_says_why(location: str, reason: str) -> None:
    assert discovery(exclude=(r"\.iso$",)).redirect(redirect(location), parent=page()) == reason


def test_redirects_in_a_row_are_limited() -> None:
    made = discovery(max_redirects=2)
    assert isinstance(made.redirect(redirect("/b"), parent=page(redirects=1)), CrawlUrl)
    assert made.redirect(redirect("/b"), parent=page(redirects=2)) is LinkRefusal.TOO_MANY_REDIRECTS


def test_a_redirect_that_only_adds_a_session_id_is_still_fetched() -> None:
    found = discovery().redirect(redirect("/a/page.html;jsessionid=1"), parent=page())
    assert isinstance(found, CrawlUrl)
    assert found.url == "https://example.org/a/page.html;jsessionid=1"
    assert found.canonical not in (PAGE, found.url)
    assert found.canonical.startswith(PAGE)


COOKIE = [(b"Set-Cookie", b"a=b")]


def with_cookies(location: str, *, url: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> Redirect:
    """A redirect in a crawl that keeps cookies."""
    return msgspec.structs.replace(redirect(location, url=url), keeps_cookies=True, headers=list(headers))


def test_a_redirect_to_itself_that_sets_a_cookie_is_followed_to_a_limit() -> None:
    made = discovery(max_redirects=2)
    there = page()
    names = set()
    for _ in range(2):
        assert made.redirect(with_cookies(PAGE, url=PAGE), parent=there) is LinkRefusal.REDIRECT_LOOP
        without = msgspec.structs.replace(redirect(PAGE), headers=COOKIE)
        assert made.redirect(without, parent=there) is LinkRefusal.REDIRECT_LOOP
        again = made.redirect(with_cookies(PAGE, url=PAGE, headers=COOKIE), parent=there)
        assert isinstance(again, CrawlUrl)
        assert again.url == PAGE
        there = again
        names.add(there.canonical)
    assert len(names - {PAGE}) == 2
    last = made.redirect(with_cookies(PAGE, url=PAGE, headers=COOKIE), parent=there)
    assert last is LinkRefusal.TOO_MANY_REDIRECTS


def test_who_is_sent_back_with_a_cookie_fetches_the_page_again() -> None:
    made = discovery()
    door = made.redirect(redirect("/login"), parent=page())
    assert isinstance(door, CrawlUrl)
    back = made.redirect(with_cookies(PAGE, url=door.url), parent=door)
    assert isinstance(back, CrawlUrl)
    assert (back.url, back.canonical) == (PAGE, f"{PAGE}#redirect-2")
    without_cookies = made.redirect(redirect(PAGE, url=door.url), parent=door)
    assert isinstance(without_cookies, CrawlUrl)
    assert without_cookies.canonical == PAGE
    elsewhere = made.redirect(with_cookies("/b", url=door.url), parent=door)
    assert isinstance(elsewhere, CrawlUrl)
    assert elsewhere.canonical == "https://example.org/b"


def test_who_is_sent_back_with_a_cookie_over_several_urls_fetches_the_page_again() -> None:
    made = discovery()
    there = page()
    for location in ("/login", "/check", "/proved"):
        found = made.redirect(with_cookies(location, url=there.url), parent=there)
        assert isinstance(found, CrawlUrl)
        assert found.canonical == f"https://example.org{location}"
        there = found
    back = made.redirect(with_cookies(PAGE, url=there.url), parent=there)
    assert isinstance(back, CrawlUrl)
    assert (back.url, back.canonical) == (PAGE, f"{PAGE}#redirect-4")
    known = made.redirect(with_cookies("/login", url=PAGE), parent=back)
    assert isinstance(known, CrawlUrl)
    assert known.canonical == "https://example.org/login#redirect-5"
    elsewhere = made.redirect(with_cookies("/b", url=there.url), parent=there)
    assert isinstance(elsewhere, CrawlUrl)
    assert elsewhere.canonical == "https://example.org/b"


def test_where_a_seed_redirects_to_is_crawled_and_nothing_beyond() -> None:
    made = discovery()
    [seed] = made.seeds(["https://example.org/"])
    target = made.redirect(redirect("https://www.example.org/", url=seed.url), parent=seed)
    assert isinstance(target, CrawlUrl)
    assert target.depth == 0
    found = run_all(made.links(target.url, links("/a", "https://example.org/b", "https://other.test/"), parent=target))
    assert [url.url for url in found.urls] == ["https://www.example.org/a", "https://example.org/b"]
    assert found.refused == {ScopeRefusal.OUT_OF_SCOPE: 1}
    beyond = made.redirect(redirect("https://other.test/", url=found.urls[0].url), parent=found.urls[0])
    assert beyond is ScopeRefusal.OUT_OF_SCOPE


@pytest.mark.parametrize("within", ["host", "domain", "prefix"])
@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ("https://www.place.test/docs/", ["https://www.place.test/docs/a"]),
        ("test,place,www)/docs/p", ["https://www.place.test/docs/p2"]),
        (
            "www.place.test",
            ["https://www.place.test/docs/a", "https://www.place.test/docs/p2", "https://www.place.test/"],
        ),
    ],
    ids=["directory", "prefix", "host"],
)
def test_a_page_in_a_place_brings_nothing_beside_that_place_into_scope(
    within: Within, place: str, inside: list[str]
) -> None:
    made, there = discovery(within=within, places=[place]), page("https://www.place.test/docs/page")
    hrefs = [*inside, "/blog/", "https://place.test/", "https://example.org/"]
    given = links(*hrefs)
    wanted = [*inside, *(["https://www.place.test/blog/"] if "/" not in place else []), "https://example.org/"]
    assert [url.url for url in run_all(made.links(there.url, given, parent=there)).urls] == wanted
    target = made.redirect(redirect("https://place.test/", url=there.url), parent=there)
    assert target is ScopeRefusal.OUT_OF_SCOPE
    [sitemap] = run_all(made.sitemaps(links("/s.xml", kind=LinkKind.SITEMAP), parent=there)).urls
    listed = links(*hrefs, kind=LinkKind.LISTED)
    assert [url.url for url in run_all(made.links(sitemap.url, listed, parent=sitemap)).urls] == wanted


def test_an_embed_from_elsewhere_opens_no_way_into_its_host() -> None:
    made = discovery(offsite_embeds=True)
    [style] = run_all(made.links(PAGE, links("https://cdn.test/a.css", kind=LinkKind.EMBED), parent=page())).urls
    found = run_all(made.links(style.url, [*links("b.png", kind=LinkKind.CSS), *links("/about")], parent=style))
    assert [url.url for url in found.urls] == ["https://cdn.test/b.png"]
    assert found.refused == {ScopeRefusal.OUT_OF_SCOPE: 1}


@pytest.mark.parametrize("start", ["https://cdn.test/a.png", "https://example.org/a.png"])
def test_a_page_to_which_an_embed_from_elsewhere_redirects_opens_no_way_into_its_host(start: str) -> None:
    made = discovery(offsite_embeds=True)
    [there] = run_all(made.links(PAGE, links(start, kind=LinkKind.EMBED), parent=page())).urls
    for location in ("https://cdn.test/b", "https://other.test/"):
        target = made.redirect(redirect(location, url=there.url), parent=there)
        assert isinstance(target, CrawlUrl)
        assert (target.kind, target.via, target.redirects) == (LinkKind.EMBED, there.url, there.redirects + 1)
        there = target
    found = run_all(made.links(there.url, [*links("/c.css", kind=LinkKind.EMBED), *links("/d")], parent=there))
    assert ([url.url for url in found.urls], found.refused) == (
        ["https://other.test/c.css"],
        {ScopeRefusal.OUT_OF_SCOPE: 1},
    )


def test_an_embed_of_a_page_that_lends_its_host_may_redirect_there() -> None:
    made = discovery()
    lending = page("https://www.example.org/page", depth=1)
    [embed] = run_all(made.links(lending.url, links("/a.png", kind=LinkKind.EMBED), parent=lending)).urls
    target = made.redirect(redirect("/b.png", url=embed.url), parent=embed)
    assert isinstance(target, CrawlUrl)
    assert (target.url, target.kind) == ("https://www.example.org/b.png", LinkKind.EMBED)
    assert made.redirect(redirect("https://other.test/", url=embed.url), parent=embed) is ScopeRefusal.OUT_OF_SCOPE


def test_an_embed_from_elsewhere_leads_to_no_sitemaps_of_its_host() -> None:
    given = links("/sitemap.xml", "https://example.org/sitemap.xml", kind=LinkKind.SITEMAP)
    for url, offsite_embeds, number in (
        ("https://cdn.test/a.png", True, 0),
        ("https://example.org/a.png", True, 1),
        ("https://www.example.org/a.png", False, 2),  # of a page that lends its host
    ):
        embed = msgspec.structs.replace(page(url), kind=LinkKind.EMBED)
        assert len(run_all(discovery(offsite_embeds=offsite_embeds).sitemaps(given, parent=embed)).urls) == number
    assert len(run_all(discovery(offsite_embeds=True).sitemaps(given, parent=page("https://cdn.test/"))).urls) == 2


def test_an_embed_that_redirects_within_the_scope_is_a_redirect_unless_embeds_may_come_from_anywhere() -> None:
    embed = msgspec.structs.replace(page(), kind=LinkKind.EMBED)
    for offsite_embeds, kind in ((False, LinkKind.REDIRECT), (True, LinkKind.EMBED)):
        target = discovery(offsite_embeds=offsite_embeds).redirect(redirect("/b"), parent=embed)
        assert isinstance(target, CrawlUrl)
        assert target.kind is kind


def test_an_embed_may_redirect_within_the_scope_before_it_leads_elsewhere() -> None:
    made, there = discovery(offsite_embeds=True), page()
    [there] = run_all(made.links(PAGE, links("/logo", kind=LinkKind.EMBED), parent=there)).urls
    for location in ("/logo.png", "https://cdn.test/logo.png"):
        target = made.redirect(redirect(location, url=there.url), parent=there)
        assert isinstance(target, CrawlUrl)
        there = target
    assert (there.url, there.kind) == ("https://cdn.test/logo.png", LinkKind.EMBED)
    refused = discovery().redirect(redirect("https://cdn.test/logo.png", url=PAGE), parent=page())
    assert refused is ScopeRefusal.OUT_OF_SCOPE


def test_an_embed_from_elsewhere_that_is_asked_for_again_with_a_cookie_opens_no_way_into_its_host() -> None:
    made, there = discovery(offsite_embeds=True), "https://cdn.test/a.png"
    [embed] = run_all(made.links(PAGE, links(there, kind=LinkKind.EMBED), parent=page())).urls
    again = made.redirect(with_cookies(there, url=there, headers=COOKIE), parent=embed)
    assert isinstance(again, CrawlUrl)
    assert (again.canonical, again.kind) == (f"{there}#redirect-1", LinkKind.EMBED)
    found = run_all(made.links(there, links("/about"), parent=again))
    assert (list(found.urls), found.refused) == ([], {ScopeRefusal.OUT_OF_SCOPE: 1})


def named(*hrefs: str, made: ScopedDiscovery | None = None) -> Sequence[CrawlUrl]:
    parent = page("https://www.example.org/page", depth=3)
    return run_all(
        (made or discovery(exclude=(r"\.iso",))).sitemaps(
            [Link(href, LinkKind.SITEMAP) for href in hrefs], parent=parent
        )
    ).urls


def test_sitemaps_that_robots_txt_names_are_fetched_from_anywhere_at_the_depth_of_the_page() -> None:
    found = named("/sitemap.xml", "map.txt", "https://cdn.test/s.xml.gz", "https://cdn.test/s.iso", "mailto:x@y.z")
    assert [(url.url, url.depth, url.kind, url.via, url.redirects) for url in found] == [
        (url, 3, "sitemap", "https://www.example.org/robots.txt", 0)
        for url in (
            "https://www.example.org/sitemap.xml",
            "https://www.example.org/map.txt",
            "https://cdn.test/s.xml.gz",
        )
    ]
    assert run_all(discovery().sitemaps([Link("/s.xml", LinkKind.SITEMAP)], parent=page(depth=0))).urls[0].depth == 0


def test_a_sitemap_keeps_the_text_by_which_robots_txt_names_it() -> None:
    told = [Link("/s.xml", LinkKind.SITEMAP, "Sitemap"), Link("/guessed.xml", LinkKind.SITEMAP)]
    assert [url.anchor for url in run_all(discovery().sitemaps(told, parent=page())).urls] == ["Sitemap", None]


def test_a_sitemap_without_a_scheme_lies_on_the_host_that_it_begins_with() -> None:
    found = named("www.example.org/s.xml", "Example.org/s.xml.gz", "cdn.example.org:8443/s.xml", "other.test/s.xml")
    assert [url.url for url in found] == [
        "https://www.example.org/s.xml",
        "https://example.org/s.xml.gz",
        "https://cdn.example.org:8443/s.xml",
        "https://www.example.org/other.test/s.xml",
    ]


def test_what_a_sitemap_lists_is_judged_from_where_it_was_named_and_its_host_lends_nothing() -> None:
    made = discovery(max_links_per_page=1)
    [foreign] = named("https://cdn.test/s.xml", made=made)
    hrefs = ("https://example.org/a", "https://www.example.org/b", "https://cdn.test/c", "https://other.test/")
    found = run_all(made.links(foreign.url, links(*hrefs, kind=LinkKind.LISTED), parent=foreign))
    assert [(url.url, url.depth, url.kind) for url in found.urls] == [
        ("https://example.org/a", 4, "listed"),
        ("https://www.example.org/b", 4, "listed"),
    ]
    assert found.refused == {ScopeRefusal.OUT_OF_SCOPE: 2}


def test_sitemaps_may_be_nested_to_a_limit_and_redirected() -> None:
    made = discovery(max_redirects=10)
    [sitemap] = named("https://cdn.test/0.xml", made=made)
    for level in range(1, MAX_NESTED_SITEMAPS + 1):
        nested = Link(f"{level}.xml", LinkKind.SITEMAP, last_modified="2026")
        [sitemap] = run_all(made.links(sitemap.url, [nested], parent=sitemap)).urls
        assert (sitemap.depth, sitemap.kind, sitemap.via) == (3, "sitemap", "https://www.example.org/robots.txt")
    beyond = run_all(made.links(sitemap.url, links("x.xml", kind=LinkKind.SITEMAP), parent=sitemap))
    assert (beyond.urls, beyond.refused) == ([], {LinkRefusal.NESTED_SITEMAP: 1})
    among_pages = [Link("/a", LinkKind.LISTED), Link("/x.xml", LinkKind.SITEMAP), Link("/b", LinkKind.LISTED)]
    found = run_all(made.links("https://example.org/s.xml", among_pages, parent=sitemap))
    assert [url.url for url in found.urls] == ["https://example.org/a", "https://example.org/b"]
    assert found.refused == {LinkRefusal.NESTED_SITEMAP: 1}
    moved = made.redirect(redirect("https://elsewhere.test/s.xml", url=sitemap.url), parent=sitemap)
    assert isinstance(moved, CrawlUrl)
    assert (moved.kind, moved.via) == ("sitemap", "https://www.example.org/robots.txt")
    assert run_all(made.links(moved.url, links("/x", kind=LinkKind.LISTED), parent=moved)).refused == {
        ScopeRefusal.OUT_OF_SCOPE: 1
    }


def test_the_date_that_a_sitemap_gives_travels_with_the_url() -> None:
    [sitemap] = named("/s.xml", made=(made := discovery()))
    [found] = run_all(
        made.links(
            sitemap.url,
            [Link("/a", LinkKind.LISTED, last_modified="2026-01-02", change_frequency="daily")],
            parent=sitemap,
        )
    ).urls
    assert (found.last_modified, found.change_frequency) == ("2026-01-02", "daily")


def references(made: ScopedDiscovery, found_on_page: Sequence[Link]) -> list[str]:
    """The last parts of the paths of all references of the page."""
    found = run_all(made.links(PAGE, found_on_page, parent=page()))
    return [url.rpartition("/")[2] for url in run_all(made.references(PAGE, found_on_page, found, parent=page()))]


def test_references_are_all_links_that_are_followed_as_often_as_they_stand_there() -> None:
    stood = links("b", "c", "b#x", "https://example.org/a/b?utm_source=x", "page.html", "#top", "c", "mailto:x@y")
    assert references(discovery(), stood) == ["b", "c", "b", "b", "page.html", "c"]


_HREFS = [
    "b",
    "./b",
    "b#x",
    "B/../b",
    "c",
    "page.html",
    "",
    "#top",
    "?x",
    "http://else.where/",
    "x/x/x/x/",
    "mailto:a@b",
]


def test_links_to_a_mere_fragment_are_told_if_a_base_lets_them_lead_to_another_page() -> None:
    base, stood, made = "https://example.org/b", links("#part", "c", ""), discovery()
    for base_url, expected in (
        (base, [base, "https://example.org/c", base]),
        (f"{PAGE}?utm_source=x", [f"{PAGE[:-9]}c"]),
    ):
        found = run_all(made.links(base_url, stood, parent=page()))
        details = run_all(made.link_details(base_url, stood, found, parent=page()))
        assert [each.url for each in details] == expected
        assert run_all(made.references(base_url, stood, found, parent=page())) == expected
        assert details[0].fragment == ("part" if base_url == base else None)


@pytest.mark.parametrize("obey_nofollow", [False, True])
def test_links_to_a_mere_fragment_of_the_page_change_nothing(obey_nofollow: bool) -> None:
    made, given = discovery(obey_nofollow=obey_nofollow), links("#a", "b", "", "#c")
    found = run_all(made.links(PAGE, given, parent=page()))
    assert found == run_all(made.links(PAGE, links("b"), parent=page()))
    assert found.self_links == 0
    of_another_name = msgspec.structs.replace(page(), canonical=f"{PAGE}#redirect")
    found = run_all(made.links(PAGE, given, parent=of_another_name))
    assert [(url.url, url.link_count) for url in found.urls] == [(PAGE, 3), ("https://example.org/a/b", 1)]


@given(
    st.lists(st.tuples(st.sampled_from(_HREFS), st.sampled_from(["", "nofollow"]), st.sampled_from(["LINK", "EMBED"]))),
    st.booleans(),
    st.booleans(),
)
def test_links_tell_how_often_each_is_referred_to(
    hrefs: list[tuple[str, str, str]], obey_nofollow: bool, embeds: bool
) -> None:
    kinds = frozenset(LinkKind) if embeds else frozenset(LinkKind) - {LinkKind.EMBED}
    made = discovery(obey_nofollow=obey_nofollow, kinds=kinds, within="domain", offsite_embeds=True)
    given = [Link(href, LinkKind[kind], rel=rel) for href, rel, kind in hrefs]
    found = run_all(made.links(PAGE, given, parent=page()))
    counts = Counter(run_all(made.references(PAGE, given, found, parent=page())))
    assert found.self_links == counts.pop(PAGE, 0)
    assert {url.canonical: url.link_count for url in found.urls} == counts


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(_HREFS), st.sampled_from(["LINK", "EMBED", "LISTED"])), max_size=30),
    st.sampled_from([PAGE, "https://example.org/base"]),
    st.booleans(),
)
def test_to_look_at_one_of_equal_links_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, hrefs: list[tuple[str, str]], base: str, offsite_embeds: bool
) -> None:
    given = [Link(href, LinkKind[kind], f"{kind} {number}") for number, (href, kind) in enumerate(hrefs)]
    with monkeypatch.context() as patch:
        patch.setattr(link_filter, "group_links", link_filter._separate)
        each = discovery(offsite_embeds=offsite_embeds, max_links_per_page=5)
        expected = run_all(each.links(base, given, parent=page()))
    for links_at_once in (2, 200):
        with monkeypatch.context() as patch:
            patch.setattr(link_filter, "LINKS_AT_ONCE", links_at_once)
            patch.setattr(link_filter, "_GROUPED_AT_ONCE", 2 * links_at_once)
            made = discovery(offsite_embeds=offsite_embeds, max_links_per_page=5)
            assert run_all(made.links(base, given, parent=page())) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["b", "./b", "c", "c#x", "page.html", "", "http://else.where/"]),
            st.sampled_from(["LINK", "EMBED"]),
            st.sampled_from(["", "prefetch"]),
        ),
        max_size=30,
    ),
    st.sampled_from([2, 3, 7, 8]),
    st.sampled_from([LinkKind.LINK, LinkKind.SITEMAP]),
    st.booleans(),
)
def test_links_that_are_too_deep_are_refused_together_as_they_are_alone(
    monkeypatch: pytest.MonkeyPatch, hrefs: list[tuple[str, str, str]], depth: int, kind: LinkKind, offsite_embeds: bool
) -> None:
    given = [Link(href, LinkKind[kind], rel=rel) for href, kind, rel in hrefs]
    made, parent = discovery(max_depth=3, offsite_embeds=offsite_embeds), page(depth=depth)
    parent = msgspec.structs.replace(parent, kind=kind)
    together = run_all(made.links(PAGE, given, parent=parent))
    with monkeypatch.context() as patch:
        patch.setattr(FollowedLinks, "_refuse_deep", lambda _self, _places, _counts, _judgements, at: at)
        assert run_all(made.links(PAGE, given, parent=parent)) == together


def test_links_of_a_url_that_only_an_embed_opens_all_count() -> None:
    image = "x/x/x/x/y.png"
    given = [*links(image, f"{image}#a", "b"), Link(f"./{image}", LinkKind.EMBED), *links(image)]
    found = run_all(discovery().links(PAGE, given, parent=page()))
    assert [(url.canonical[-5:], url.kind, url.link_count) for url in found.urls] == [
        ("g/a/b", "link", 1),
        ("y.png", "embed", 4),
    ]
    assert found.refused == {Trap.REPEATED_SEGMENTS: 1}


def test_what_no_page_links_to_has_no_hits() -> None:
    made = discovery()
    [seed] = made.seeds(["https://example.org/"])
    [named] = run_all(made.sitemaps([Link("/1.xml", LinkKind.SITEMAP)], parent=page())).urls
    [nested] = run_all(made.links(named.url, [Link("/2.xml", LinkKind.SITEMAP)], parent=named)).urls
    assert (seed.link_count, named.link_count, nested.link_count) == (0, 0, 1)


def test_references_leave_out_what_is_refused() -> None:
    stood = [*links("b", "https://other.test/b", "c"), *links("b", rel="nofollow"), *links("b", kind=LinkKind.EMBED)]
    made = discovery(exclude=["/c$"], obey_nofollow=True)
    assert references(made, stood) == ["b", "b"]


def test_details_tell_where_each_link_leads_its_text_and_why_it_is_refused() -> None:
    stood = [
        Link("b?utm_source=x#part", LinkKind.LINK, "To b", "me"),
        Link("#top", LinkKind.LINK, "Up"),
        Link("mailto:a@b", LinkKind.LINK),
        Link("https://other.test/x?utm_source=y", LinkKind.LINK, "Far"),
        Link("https://other.test/x", LinkKind.EMBED),
        Link("page.html", LinkKind.LINK, "This"),
        Link("b", LinkKind.LINK, "Not", "nofollow"),
        Link("b", LinkKind.LINK),
    ]
    made = discovery(obey_nofollow=True)
    found = run_all(made.links(PAGE, stood, parent=page()))
    details = run_all(made.link_details(PAGE, stood, found, parent=page()))
    b, far = "https://example.org/a/b", "https://other.test/x"
    refused = str(ScopeRefusal.OUT_OF_SCOPE)
    assert [msgspec.to_builtins(each) for each in details] == [
        {"url": f"{b}?utm_source=x", "canonical": b, "kind": "link", "text": "To b", "rel": "me", "fragment": "part"},
        {"url": f"{far}?utm_source=y", "canonical": far, "kind": "link", "text": "Far", "refused": refused},
        {"url": far, "kind": "embed", "refused": refused},
        {"url": PAGE, "kind": "link", "text": "This"},
        {"url": b, "kind": "link", "text": "Not", "rel": "nofollow", "refused": "nofollow"},
        {"url": b, "kind": "link"},
    ]


@given(
    st.lists(st.tuples(st.sampled_from(_HREFS), st.sampled_from(["", "nofollow"]), st.sampled_from(["LINK", "EMBED"]))),
    st.booleans(),
)
def test_details_without_a_refusal_are_the_references(hrefs: list[tuple[str, str, str]], obey_nofollow: bool) -> None:
    made = discovery(obey_nofollow=obey_nofollow, within="domain", kinds=frozenset(LinkKind) - {LinkKind.EMBED})
    given = [Link(href, LinkKind[kind], rel=rel) for href, rel, kind in hrefs]
    found = run_all(made.links(PAGE, given, parent=page()))
    details = run_all(made.link_details(PAGE, given, found, parent=page()))
    assert [each.canonical or each.url for each in details if each.refused is None] == run_all(
        made.references(PAGE, given, found, parent=page())
    )
    assert "refused" not in {each.refused for each in details}  # the reason is always known


def test_details_of_repeated_and_refused_links_are_bounded_as_links_are() -> None:
    stood = [*links(*["b"] * 10), *links("https://other.test/"), *links("c", "d", "e")]
    made = discovery(max_links_per_page=3)
    found = run_all(made.links(PAGE, stood, parent=page()))
    details = run_all(made.link_details(PAGE, stood, found, parent=page()))
    assert "".join(each.url[-1] for each in details) == "bbbbcd"


def test_repeats_in_references_are_bounded_as_links_are() -> None:
    stood = links(*["b", "c"] * 10)
    assert references(discovery(max_links_per_page=3), stood) == ["b", "c", "b", "c", "b"]
    listed = links(*"bcdefbbbbbb", kind=LinkKind.LISTED)
    assert references(discovery(max_links_per_page=3), listed) == [*"bcdefbbb"]


def test_what_is_out_of_scope_is_checked_unless_it_is_excluded() -> None:
    made = discovery(check_external=True, exclude=["/private"], max_depth=3)
    out = ("https://other.test/", "https://other.test/#part", "https://other.test/private", "mailto:a@other.test")
    found = run_all(made.links(PAGE, links(*out, "/in"), parent=page(depth=3)))
    (check,) = found.checks
    assert (check.url, check.kind, check.via, check.link_count) == ("https://other.test/", "external", PAGE, 2)
    assert found.urls == []
    assert found.refused == {"out-of-scope": 2, "scheme": 1, "too-deep": 1}
    assert set(run_all(made.references(PAGE, links(*out), found, parent=page()))) == {"https://other.test/"}
    assert run_all(discovery().links(PAGE, links(*out), parent=page())).checks == []


def test_a_url_that_was_checked_is_still_new_to_a_crawl_that_reaches_it() -> None:
    checked = run_all(discovery(check_external=True).links(PAGE, links("https://other.test/"), parent=page())).checks
    crawled = run_all(discovery(within="any").links(PAGE, links("https://other.test/"), parent=page())).urls
    assert [url.url for url in checked] == [url.url for url in crawled]
    assert checked[0].canonical != crawled[0].canonical


def test_a_check_follows_redirects_as_checks_and_brings_nothing_into_scope() -> None:
    made = discovery(check_external=True, exclude=["/private"], max_redirects=2)
    (check,) = run_all(made.links(PAGE, links("https://other.test/"), parent=page())).checks
    for location in ("https://third.test/", "https://example.org/in", "https://other.test/?"):
        target = made.redirect(redirect(location, url=check.url), parent=check)
        assert isinstance(target, CrawlUrl)
        assert (target.kind, target.via, target.redirects) == ("external", check.url, 1)
        assert target.canonical != check.canonical
    assert made.redirect(redirect("/private", url=check.url), parent=check) == ScopeRefusal.EXCLUDED
    assert made.redirect(redirect(check.url, url=check.url), parent=check) == LinkRefusal.REDIRECT_LOOP
    from_page = made.redirect(redirect("https://other.test/"), parent=page())
    assert isinstance(from_page, CrawlUrl)
    assert from_page.kind == "external"
