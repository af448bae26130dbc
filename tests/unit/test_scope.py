from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.discover.scope import (
    Reach,
    Scope,
    ScopeRefusal,
    Within,
    refusal_while_waiting,
)
from crawler.page import LinkKind
from crawler.url.patterns import compile_pattern
from crawler.url.ports import Ports
from crawler.url.urls import Target, UrlReader
from frontier import CrawlUrl

READER = UrlReader()


def url(text: str) -> Target:
    return READER.seed(text)


def scope(
    within: Within,
    *seeds: str,
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    max_depth: int | None = None,
    offsite_embeds: bool = False,
) -> Scope:
    reach = Reach(include=include, exclude=exclude, max_depth=max_depth)
    return Scope(
        within=within,
        seeds=[url(seed) for seed in seeds],
        reach=lambda _: reach,
        offsite_embeds=offsite_embeds,
    )


def refusal(limits: Scope, target: Target, *, kind: LinkKind = LinkKind.LINK) -> ScopeRefusal | None:
    return limits.judge(target, kind=kind)[0]


@pytest.mark.parametrize(
    ("within", "seed", "inside", "outside"),
    [
        ("host", "https://a.example.org/x/", ["http://a.example.org/"], ["https://b.example.org/", "https://example.org/"]),
        ("host", "http://127.0.0.1:8001/", ["http://127.0.0.1:8001/x"], ["http://127.0.0.1:8002/", "http://127.0.0.1/"]),
        ("domain", "https://a.example.co.uk/", ["https://b.c.example.co.uk/"], ["https://other.co.uk/"]),
        (
            "domain",
            "https://example.org:8443/",
            ["http://a.example.org:8443/"],
            ["https://example.org/", "https://a.example.org:8080/"],
        ),
        ("domain", "http://192.0.2.1/", ["http://192.0.2.1/x"], ["http://192.0.2.2/"]),
        (
            "prefix",
            "https://example.org/docs/start.html?x=1",
            ["https://example.org/docs/", "http://example.org/docs/a/b"],
            ["https://example.org/docs", "https://example.org/", "https://docs.example.org/docs/"],
        ),
        ("any", "https://example.org/", ["https://elsewhere.test/"], []),
    ],
)  # fmt: skip
def test_a_url_must_lie_within_what_the_seeds_span(
    within: Within, seed: str, inside: list[str], outside: list[str]
) -> None:
    limits = scope(within, seed)
    for each in inside:
        assert refusal(limits, url(each)) is None, each
    for each in outside:
        assert refusal(limits, url(each)) is ScopeRefusal.OUT_OF_SCOPE, each


def test_the_right_one_of_many_prefixes_is_found() -> None:
    limits = scope("prefix", *(f"https://example.org/{name}/" for name in ("b", "a", "a/c", "ab", "d")))
    for inside in ("a/x", "a/c/x", "ab/x", "b/", "d/e/f"):
        assert refusal(limits, url(f"https://example.org/{inside}")) is None
    for outside in ("", "aa/", "c/", "abc/", "e/"):
        assert refusal(limits, url(f"https://example.org/{outside}")) is ScopeRefusal.OUT_OF_SCOPE


def test_include_narrows_and_exclude_wins() -> None:
    limits = scope("host", "https://example.org/", include=("/docs/", "/api/"), exclude=(r"\.iso$", "/api/private"))
    assert refusal(limits, url("https://example.org/docs/a")) is None
    assert refusal(limits, url("https://example.org/api/a")) is None
    assert refusal(limits, url("https://example.org/blog/")) is ScopeRefusal.NOT_INCLUDED
    assert refusal(limits, url("https://example.org/docs/a.iso")) is ScopeRefusal.EXCLUDED
    assert refusal(limits, url("https://example.org/api/private/x")) is ScopeRefusal.EXCLUDED
    assert refusal(limits, url("https://elsewhere.test/docs/")) is ScopeRefusal.OUT_OF_SCOPE


def test_depth_is_limited() -> None:
    limits = scope("host", "https://example.org/", max_depth=2)
    assert limits.judge(url("https://example.org/")) == (None, 2)


def test_embeds_from_elsewhere_are_admitted_when_asked_for() -> None:
    image = url("https://images.test/a.png")
    assert refusal(scope("host", "https://example.org/"), image, kind=LinkKind.EMBED) is ScopeRefusal.OUT_OF_SCOPE
    limits = scope("host", "https://example.org/", offsite_embeds=True, exclude=(r"\.gif$",))
    assert refusal(limits, image, kind=LinkKind.EMBED) is None
    assert refusal(limits, image, kind=LinkKind.LINK) is ScopeRefusal.OUT_OF_SCOPE
    assert refusal(limits, url("https://images.test/a.gif"), kind=LinkKind.EMBED) is ScopeRefusal.EXCLUDED


def test_an_admitted_page_lends_its_own_place_to_its_links() -> None:
    limits = scope("host", "https://example.org/", exclude=("/private",))
    parent = url("https://www.example.org/")
    near, private = url("https://www.example.org/a"), url("https://www.example.org/private")
    assert refusal(limits, near) is refusal(limits, private) is ScopeRefusal.OUT_OF_SCOPE
    assert limits.is_near(near, parent)
    assert limits.rule_refusal(near) is None
    assert limits.is_near(private, parent)
    assert limits.rule_refusal(private) is ScopeRefusal.EXCLUDED
    assert not limits.is_near(url("https://elsewhere.test/"), parent)
    limits = scope("prefix", "https://example.org/docs/")
    parent = url("https://www.example.org/docs/index.html")
    assert limits.is_near(url("https://www.example.org/docs/a/b"), parent)
    assert not limits.is_near(url("https://www.example.org/blog/"), parent)


@pytest.mark.parametrize("pattern", ["(", r"(?=a)", r"(a)\1", "a{1,100000}", r"\Qa", "a)|(?:b"])
def test_a_pattern_that_cannot_run_in_linear_time_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"scope\.exclude: .* is not a pattern") as caught:
        scope("host", "https://example.org/", exclude=("ok", pattern))
    assert repr(pattern) in str(caught.value)


def test_a_quotation_ends_with_its_pattern() -> None:
    limits = scope("host", "https://example.org/", exclude=(r"\Qa.b\E", "private"))
    assert refusal(limits, url("https://example.org/private")) is ScopeRefusal.EXCLUDED
    assert refusal(limits, url("https://example.org/a.b")) is ScopeRefusal.EXCLUDED
    with pytest.raises(ValueError, match=r"\\Qa' is not a pattern"):
        scope("host", "https://example.org/", exclude=(r"\Qa", r"\Qb\E"))


def test_patterns_that_are_too_large_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.discover.scope._PATTERN_MEMORY_BYTES", 100_000)
    scope("host", "https://example.org/", exclude=("a{1000}", "b{1000}"))
    with pytest.raises(ValueError, match=r"scope\.exclude: RE2 can't search for all 9 at once .*too large"):
        scope("host", "https://example.org/", exclude=tuple(f"{letter}{{1000}}" for letter in "abcdefghi"))


def test_a_pattern_that_is_too_large_alone_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.discover.scope._PATTERN_MEMORY_BYTES", 10_000)
    with pytest.raises(ValueError, match=r"'a\{1000\}' is not a pattern .*too large"):
        scope("host", "https://example.org/", exclude=("b", "a{1000}"))


def test_tens_of_thousands_of_patterns_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling each by itself would take much longer, and the crawl stands still meanwhile."""
    compiled: list[str] = []

    def counted(pattern: str, problem: str, *, max_bytes: int) -> Any:
        compiled.append(pattern)
        return compile_pattern(pattern, problem, max_bytes=max_bytes)

    monkeypatch.setattr("crawler.discover.scope.compile_pattern", counted)
    limits = scope("host", "https://example.org/", exclude=tuple(f"/{number}/a*$" for number in range(10_000)))
    assert refusal(limits, url("https://example.org/9999/aa")) is ScopeRefusal.EXCLUDED
    assert len(compiled) == 1


def test_one_patterns_flags_do_not_reach_the_next() -> None:
    limits = scope("host", "https://example.org/", exclude=("(?i)PDF$", "Private"))
    assert refusal(limits, url("https://example.org/a.pdf")) is ScopeRefusal.EXCLUDED
    assert refusal(limits, url("https://example.org/private")) is None


def test_an_unknown_extent_is_refused() -> None:
    with pytest.raises(ValueError, match="host, domain, prefix or any"):
        scope("planet")  # type: ignore[arg-type]


@pytest.mark.parametrize("port", [1, 21, 22, 25, 81, 1023, 6000, 6667, 10080])
def test_a_port_that_no_web_server_has_is_refused_unless_somebody_names_it(port: int) -> None:
    seed = READER.seed("http://a.test/")
    target = READER.seed(f"https://a.test:{port}/x")
    for within in ("any", "domain"):
        refused = Scope(within=within, seeds=[seed])
        assert refusal(refused, target) is ScopeRefusal.PORT
        assert refused.rule_refusal(target) is ScopeRefusal.PORT
        assert refused.exclusion(target) is ScopeRefusal.PORT
    named = Scope(within="any", seeds=[seed], ports=Ports([port]))
    assert refusal(named, target) is None
    assert named.exclusion(target) is None


@pytest.mark.parametrize(
    "url",
    ["http://a.test:443/", "https://a.test:80/", "http://a.test:8080/", "http://[2001:db8::1]/", "http://a.test/"],
)
def test_usual_ports_are_crawled(url: str) -> None:
    scope = Scope(within="any", seeds=[READER.seed("http://a.test/")])
    assert refusal(scope, READER.seed(url)) is None


_SOME_URLS = st.builds(
    "https://{}{}{}".format,
    st.sampled_from(["example.org", "www.example.org", "a.www.example.org", "other.test", "127.0.0.1:8001"]),
    st.sampled_from(["/", "/docs/", "/docs/a/", "/docs2/", "/x/docs/"]),
    st.sampled_from(["", "index.html", "a?b=/c/"]),
).map(url)


@given(
    st.sampled_from(["host", "domain", "any"]), st.lists(_SOME_URLS, max_size=3), st.lists(_SOME_URLS), st.booleans()
)
def test_what_is_remembered_of_a_site_holds_for_each_of_its_urls(
    within: Within, seeds: list[Target], targets: list[Target], has_patterns: bool
) -> None:
    reach = Reach(exclude=["a"] if has_patterns else [], max_depth=3)
    limits: dict[str, Any] = {"within": within, "seeds": seeds, "ports": Ports([81])}
    remembering, by_site = Scope(**limits, reach=lambda _: reach), Scope(**limits, reach=reach)
    # So that each URL is looked at:
    thorough = Scope(**limits, reach=lambda _: reach, exclude_places=["http://never.test/"])
    assert (by_site.judge_site is None) == has_patterns
    assert (remembering.judge_site, thorough.judge_site) == (None, None)
    for target in [*targets, url("http://e.org:81/"), url("http://e.org:22/"), *targets]:
        assert remembering.judge(target) == by_site.judge(target) == thorough.judge(target)


@given(st.sampled_from(["host", "domain", "prefix"]), _SOME_URLS, _SOME_URLS, _SOME_URLS)
def test_a_page_that_lends_nothing_has_no_url_out_of_scope_near_it(
    within: Within, seed: Target, page: Target, target: Target
) -> None:
    limits = scope(within, seed.url)
    outside = limits.judge(target)[0] is ScopeRefusal.OUT_OF_SCOPE
    assert limits.lends(page) or not (outside and limits.is_near(target, page))
    assert not limits.lends(seed)


@pytest.mark.parametrize(
    ("path", "depth", "kind", "expected"),
    [
        ("a.iso", 1, LinkKind.LINK, ScopeRefusal.EXCLUDED),
        ("a.iso", 0, LinkKind.REDIRECT, ScopeRefusal.EXCLUDED),
        ("a.iso", 1, LinkKind.EXTERNAL, ScopeRefusal.EXCLUDED),
        ("a.iso", 0, LinkKind.SEED, None),
        ("other/", 1, LinkKind.LINK, ScopeRefusal.NOT_INCLUDED),
        ("other/", 0, LinkKind.REDIRECT, None),
        ("other/", 1, LinkKind.SITEMAP, None),
        ("docs/", 1, LinkKind.LINK, None),
    ],
)
def test_what_waits_must_pass_the_patterns_of_now_but_not_the_rest_of_the_scope(
    path: str, depth: int, kind: LinkKind, expected: ScopeRefusal | None
) -> None:
    found = f"https://elsewhere.test/{path}"
    waiting = CrawlUrl(url=found, canonical=found, queue_key="test,elsewhere", depth=depth, kind=kind)
    limits = scope("host", "https://example.org/", include=("/docs/",), exclude=(r"\.iso$",), max_depth=0)
    assert refusal_while_waiting(waiting, scope=limits, urls=READER) == expected
    assert refusal_while_waiting(waiting, scope=scope("host", "https://example.org/"), urls=READER) is None


def test_a_place_may_be_excluded_while_its_urls_wait() -> None:
    limits = Scope(within="any", seeds=[], exclude_places=["*.elsewhere.test"])
    found = "https://www.elsewhere.test/"
    waiting = CrawlUrl(url=found, canonical=found, queue_key="test,elsewhere", depth=1)
    assert refusal_while_waiting(waiting, scope=limits, urls=READER) is ScopeRefusal.EXCLUDED
