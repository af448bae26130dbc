import base64
import gc
import io
import json
import tarfile
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, Self
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.robots import groups
from crawler.fetch.robots.occurrences import Occurrences, searchable
from crawler.fetch.robots.patterns import Pattern
from crawler.fetch.robots.rules import (
    MAX_ROBOTS_BYTES,
    RobotsRules,
    read_robots,
)
from crawler.fetch.robots.status import RobotsStatus, judge_url
from crawler.testing.timeouts import MAX_WAIT_S


def allows(text: str, path: str, *, agent: str = "FooBot") -> bool:
    return RobotsRules(text, agent=agent).allows(path)


def path_of(url: str) -> str:
    """Of URLs as the suites of others have them, whole or not, with tildes as the rules expect them."""
    rest = url.partition("#")[0].replace("%7E", "~")
    if "//" in rest[:9]:
        rest = rest.partition("//")[2]
    at = min((found for mark in "/?" if (found := rest.find(mark)) >= 0), default=-1)
    return "/" if at < 0 else f"{'' if rest[at] == '/' else '/'}{rest[at:]}"


def cases(corpora: Path, name: str) -> Any:
    return json.loads((corpora / "robots" / name).read_bytes())


def test_every_case_of_googles_matcher_is_judged_as_it_does(corpora: Path) -> None:
    judged = cases(corpora, "google-robotstxt/google_robotstxt_tests.json")["can_fetch"]
    assert len(judged) > 100
    for case in judged:
        text = read_robots(case["robotstxt"].encode("utf-8", "surrogateescape"))
        path = path_of(case["url"])
        assert allows(text, path, agent=case["user_agent"]) is case["allowed"], (case["test"], text[:200], path[:100])


def test_cases_of_crawler_commons_pass_where_google_agrees(corpora: Path) -> None:
    counts: Counter[str] = Counter()
    for case in cases(corpora, "crawler-commons/simple_robot_rules_tests.json"):
        agents = case.get("user_agent") or "anybot"
        agent = agents if isinstance(agents, str) else agents[0]
        if "robotstxt_base64" not in case or (case["test"], agent) == ("testHtmlMarkupInRobotsTxt", "bogusbot"):
            continue  # `*<BR>` is nobody to Google
        token = agent.partition("/")[0] if case["test"] == "testRfpCases" else agent
        rules = RobotsRules(read_robots(base64.b64decode(case["robotstxt_base64"])), agent=token)
        if case["call"] == "can_fetch" and case.get("google_cpp_agrees"):
            assert rules.allows(path_of(case["url"])) is case["expected"], case["test"]
        elif case["call"] == "getSitemaps" and isinstance(case["expected"], int):
            # A URL on a line of its own is a sitemap to them.
            assert len(rules.sitemaps) == case["expected"] - (case["test"] == "testSitemap"), case["test"]
        elif case["call"] == "crawl_delay_ms" and "/" not in agent and " " not in agent:
            assert rules.crawl_delay_s == case["expected"] / 1000, case["test"]
        else:
            continue
        counts[case["call"]] += 1
    assert counts["can_fetch"] >= 300
    assert counts["crawl_delay_ms"] >= 5


@lru_cache(maxsize=1)
def _archive(corpora: Path) -> ZipFile:
    return ZipFile(corpora / "robots-real.zip")


def differences_from_google(corpora: Path, *, every: int) -> Iterator[tuple[str, str, bool | None]]:
    """File, URL and Google's verdict of each judged question on real files; None where both agree."""
    archive = _archive(corpora)
    files: dict[str, list[tuple[str, list[tuple[str, bool]]]]] = {}
    for line in archive.read("verdicts_dev.jsonl").splitlines():
        row = json.loads(line)
        verdicts = [(agent, google) for agent, google, _ in row["verdict"]]
        files.setdefault(row["file"], []).append((row["url"], verdicts))
    for name, questions in list(files.items())[::every]:
        text = read_robots(archive.read(f"robots/{name}"))
        rules: dict[str, RobotsRules] = {}
        for url, verdicts in questions:
            for agent, google in verdicts:
                if agent not in rules:
                    rules[agent] = RobotsRules(text, agent=agent)
                yield name, url, None if rules[agent].allows(path_of(url)) is google else google


def _class_of(corpora: Path, name: str, url: str) -> str:
    if path_of(url) == "/robots.txt":
        return "robots.txt may always be fetched (RFC 9309, 2.2.2)"
    body = _archive(corpora).read(f"robots/{name}")
    if len(body) > MAX_ROBOTS_BYTES:
        return "longer than 500 KiB: the rest is not read (RFC 9309, 2.5)"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 is read"
    return f"unknown: {name}"


def test_real_files_are_judged_as_google_does_but_for_named_differences(corpora: Path) -> None:
    counts: Counter[str] = Counter()
    judged = 0
    for name, url, google in differences_from_google(corpora, every=2):
        judged += 1
        if google is not None:
            counts[_class_of(corpora, name, url)] += 1
    assert judged > 24_000
    assert not [name for name in counts if name.startswith("unknown")], counts
    assert sum(counts.values()) < 0.001 * judged, counts


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /admin", "/%61dmin", False),
        ("User-agent: *\nDisallow: /%61dmin", "/admin", False),
        ("User-agent: *\nDisallow: /%61dmin", "/%61dmin", False),
        ("User-agent: *\nDisallow: /%61dmin", "/%61%64min", False),
        ("User-agent: *\nDisallow: /admin", "/x/..%2Fadmin", True),
        ("User-agent: *\nDisallow: /a/b", "/a%2Fb", True),
        ("User-agent: *\nDisallow: /a*%2E%70df$", "/a/x.pdf", False),
        ("User-agent: *\nDisallow: /\nAllow: /%61", "/%61", True),
        ("User-agent: *\nDisallow: /\nAllow: /%61", "/a", False),
        ("User-agent: *\nDisallow: /\nAllow: /a", "/%61", False),
        ("User-agent: *\nDisallow: /\nAllow: /%2a", "/%2A", True),
        ("User-agent: *\nDisallow: /a*b*c$", "/axbxc", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/abcc", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/axbxcx", True),
        ("User-agent: *\nDisallow: /a*bc$", "/abc", False),
        ("User-agent: *\nDisallow: /abc*bc$", "/abc", True),
        ("User-agent: *\nDisallow: /a$b", "/a$bc", False),
        ("User-agent: *\nDisallow: *.pdf", "/x/y.pdf?z", False),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /\nAllow: /", "/x", True),
        ("User-agent: *\nDisallow: /x\nAllow: /x/y", "/x/y/z", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("Disallow: /", "/x", True),
        ("User-agent: foobot/2.0\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", "/x", False),
        ("User-agent: foobot/2.0\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", "/y", True),
        ("User-agent: foo\nDisallow: /", "/x", True),
        ("User-agent: foobots\nDisallow: /", "/x", True),
        ("User-agent: *\nDisallow: /é", "/%C3%A9", False),
        ("User-agent: *\nDisallow: /Media Library/*.pdf", "/Media%20Library/a.pdf", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /\nAllow: /x/index.html", "/x/", True),
        ("User-agent: *\nDisallow: /\nAllow: /x/index.html", "/x/y", False),
        ("disallow /x\nuser-agent *\ndissallow /y", "/y", False),
        ("User-agent: *\nDisallow: /x\u00a0", "/x", True),
        ("User-agent: *\nDisallow: /x\u00a0", "/x%C2%A0", False),
        ("User-agent: *\n\u00a0Disallow: /x", "/x", True),
        ("User-agent: *\nDisallow\u00a0/x", "/x", True),
        ("\t User-agent\t:\v*\f\n\tDisallow \t: /x\t", "/x", False),
        ("User-agent: *\nDisallow: /x\0/y", "/x", False),
    ],
)
def test_the_longest_pattern_for_this_name_decides(text: str, path: str, allowed: bool) -> None:
    assert allows(text, path) is allowed


@pytest.mark.parametrize("rule", ["/~a", "/%7Ea", "/%7ea"])
@pytest.mark.parametrize("path", ["/~a/b", "/%7Ea/b", "/%7ea/b"])
def test_a_tilde_may_be_escaped(rule: str, path: str) -> None:
    status = RobotsStatus(expires_at=inf, text=f"User-agent: *\nDisallow: {rule}")
    rules = RobotsRules(status.text or "", agent="FooBot")
    assert not judge_url(status, rules, f"http://a.example{path}", 0.0).allowed
    assert judge_url(status, rules, "http://a.example/a", 0.0).allowed


@pytest.mark.parametrize(
    ("body", "path", "allowed"),
    [
        (b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9", False),
        (b"User-agent: *\nDisallow: /caf\xe9", "/caf%C3%A9", True),
        ("User-agent: *\nDisallow: /café".encode(), "/caf%C3%A9", False),
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", "/x", False),
        (b"\xef\xbbUser-agent: *\nDisallow: /x", "/x", False),
    ],
)
def test_octets_that_are_no_utf8_are_compared_as_they_are(body: bytes, path: str, allowed: bool) -> None:
    assert allows(read_robots(body), path) is allowed


def test_delay_and_sitemaps_are_read_with_the_rules() -> None:
    text = (
        "User-agent: *\nCrawl-delay: 9\nUser-agent: x\nDisallow: /\n\nUser-agent: foobot\nCrawl-delay: 0.5\n"
        "Crawl-delay: soon\nDisallow: /a\nSitemap: /one.xml\nsite-map : https://a.test/two.xml # both\n"
    )
    rules = RobotsRules(text, agent="foobot")
    assert rules.crawl_delay_s == 0.5
    assert rules.sitemaps == ("/one.xml", "https://a.test/two.xml")
    assert RobotsRules(text, agent="other").crawl_delay_s == 9
    assert (
        RobotsRules("User-agent: *\nCrawl-delay: 9\n\nUser-agent: foobot\nDisallow: /a", agent="foobot").crawl_delay_s
        is None
    )
    for odd in ("-1", "nan", "inf", "9" * 400, "x"):
        assert RobotsRules(f"User-agent: *\nCrawl-delay: {odd}", agent="foobot").crawl_delay_s is None


@pytest.mark.timeout(MAX_WAIT_S)
def test_a_hostile_file_takes_no_hostile_time() -> None:
    rules = RobotsRules(
        "User-agent: *\nDisallow: /" + "*a" * 8000 + "$\n" + "Disallow: /*b*c\n" * 20_000, agent="foobot"
    )
    for _ in range(20):
        assert rules.allows("/" + "a" * 2000)


class CountedPath(str):
    """A path that counts how many characters a search in it may compare."""

    __slots__ = ("compared",)
    compared: int

    def __new__(cls, path: str) -> Self:
        counted = super().__new__(cls, path)
        counted.compared = 0
        return counted

    def __contains__(self, text: Any) -> bool:
        self.compared += len(text) * len(self)
        return super().__contains__(text)

    def find(self, text: str, start: int) -> int:  # type: ignore[override]
        self.compared += len(text) * (len(self) - start)
        return super().find(text, start)


@pytest.mark.parametrize("rule", ["/*{0}b{1}", "/*{0}b{1}*{0}", "/*b*{0}b{1}*{0}", "/*{0}*{1}b{0}*{1}$"])
@pytest.mark.parametrize("path", ["/" + "a" * 2000, "/" + "a" * 1900 + "b" + "a" * 99, "/" + "ab" * 1000])
def test_rules_whose_texts_nearly_occur_everywhere_take_no_hostile_time(rule: str, path: str) -> None:
    """One such file took a fifth of a second for each URL."""
    lines = [
        f"Disallow: {rule.format('a' * first, 'a' * second)}" for first in range(10, 72) for second in range(10, 72)
    ]
    rules = RobotsRules("\n".join(["User-agent: *", *lines]), agent="foobot")
    counted = CountedPath(path)
    rules.allows(counted)
    assert counted.compared < 10_000_000


def test_of_stars_that_stand_together_one_is_kept() -> None:
    rules = RobotsRules("User-agent: *\nDisallow: /a" + "*" * 8000 + "b", agent="foobot")
    assert not rules.allows("/ab")
    assert rules.size_bytes < 10_000


LONG_PATHS = ("/" + "a" * 60_000, "/" + "".join(map(str, range(12_500))))


@pytest.mark.parametrize("path", LONG_PATHS, ids=["same", "others"])
def test_hundreds_of_wildcards_take_little_memory_for_the_longest_urls(path: str) -> None:
    rules = RobotsRules("User-agent: *\n" + "".join(f"Disallow: /*x{n}=*&\n" for n in range(500)), agent="foobot")
    tracemalloc.start()
    try:
        assert rules.allows(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("path", LONG_PATHS, ids=["same", "others"])
def test_the_wildcards_of_a_usual_file_are_searched_in_the_path_itself(path: str) -> None:
    assert searchable(path, characters=4000) is path
    assert isinstance(searchable(path, characters=5000), Occurrences)


@given(
    st.text("ab/", min_size=1, max_size=30) | st.text("ab", min_size=1, max_size=5).map(lambda part: part * 40),
    st.text("ab/", min_size=1, max_size=6) | st.text("ab", min_size=1, max_size=5).map(lambda part: part * 20),
    st.integers(0, 35),
    st.booleans(),
)
def test_a_text_is_found_among_the_suffixes_of_a_path_where_it_is_in_the_path(
    path: str, text: str, start: int, are_cut: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if are_cut:
            patch.setattr("crawler.fetch.robots.occurrences._SUFFIX_CHARACTERS", 3 * len(path))
        occurrences = Occurrences(path)
    assert (text in occurrences) is (text in path)
    assert occurrences.find(text, start) == path.find(text, start) == occurrences.find(text, start)


def test_a_hostile_file_takes_no_hostile_memory_to_judge_a_long_url() -> None:
    """Such as a page asks for that is rendered. All suffixes of this one have two hundred million characters."""
    texts = ("a" * length for length in range(2, 900))
    rules = RobotsRules(
        "\n".join(["User-agent: *", *(f"Disallow: /*{text}*b{text}" for text in texts)]), agent="foobot"
    )
    path = "/" + "a" * 20_000
    tracemalloc.start()
    try:
        assert rules.allows(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 80_000_000


LINES = st.sampled_from(
    [
        "user-agent:",
        " *",
        "foobot",
        "allow:",
        "disallow",
        "sitemap:",
        "crawl-delay: 1",
        ":",
        "/",
        "*",
        "$",
        "\n",
        "\r",
        "#",
        "é",
        "%aa",
        " ",
    ]
)


def _check_any(body: bytes, path: str) -> None:
    rules = RobotsRules(read_robots(body), agent="foobot")
    assert isinstance(rules.allows(f"/{path}"), bool)
    assert sum(map(len, rules.sitemaps)) <= len(body) * 3


@given(st.lists(LINES, max_size=60).map("".join).map(str.encode) | st.binary(max_size=300), st.text(max_size=20))
def test_no_file_breaks_the_reader(body: bytes, path: str) -> None:
    _check_any(body, path)


@pytest.mark.long
@settings(settings.get_profile("long"), max_examples=100_000)
@given(st.lists(LINES, max_size=60).map("".join).map(str.encode) | st.binary(max_size=300), st.text(max_size=20))
def test_no_file_breaks_the_reader_in_the_long_run(body: bytes, path: str) -> None:
    _check_any(body, path)


def test_fuzz_inputs_of_others_break_nothing(corpora: Path) -> None:
    with tarfile.open(
        fileobj=io.BytesIO((corpora / "robots/temoto-robotstxt/fuzz_corpus.tar.gz").read_bytes())
    ) as inputs:
        files = [file.read() for member in inputs if (file := inputs.extractfile(member)) is not None]
    assert len(files) > 10
    for body in files:
        _check_any(body, "x")


def test_of_thousands_of_rules_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    matches = Pattern.matches

    def counted(self: Pattern, *searched: Any) -> bool:
        nonlocal looked
        looked += 1
        return matches(self, *searched)

    monkeypatch.setattr(Pattern, "matches", counted)
    text = "User-agent: *\nAllow: /a\n" + "".join(f"Disallow: /a/{number}/*.html$\n" for number in range(10_000))
    rules = RobotsRules(text, agent="FooBot")
    assert not rules.allows("/a/77/x.html")
    assert rules.allows("/a/77/x.htm")
    assert rules.allows("/b")
    assert looked == 2


@pytest.mark.parametrize("rule", ["/*x{}*y$", "/*/{}/*/print.html$", "/x{}/*/print.html$", "/*?sort={}&*"])
@pytest.mark.parametrize("path", ["/x77/a/y", "/77/x77/a/print.html", "/" + "?sort=77&" * 200])
def test_of_thousands_of_rules_with_wildcards_few_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, rule: str, path: str
) -> None:
    looked = 0
    matches = Pattern.matches

    def counted(self: Pattern, *searched: Any) -> bool:
        nonlocal looked
        looked += 1
        return matches(self, *searched)

    monkeypatch.setattr(Pattern, "matches", counted)
    RobotsRules(
        "User-agent: *\n" + "".join(f"Disallow: {rule.format(number)}\n" for number in range(5_000)), agent="FooBot"
    ).allows(path)
    assert looked <= 3


def test_thousands_of_rules_without_wildcards_are_few_objects() -> None:
    """Otherwise the event loop stops while their memory is freed."""
    text = "User-agent: *\n" + "".join(f"Allow: /a/{number}\nDisallow: /b/{number}\n" for number in range(5_000))
    gc.collect()
    before = len(gc.get_objects())
    rules = RobotsRules(text, agent="FooBot")
    assert len(gc.get_objects()) - before < 1_000
    assert [rules.allows(path) for path in ("/b/", "/b/4999x", "/a/4999")] == [True, False, True]


def test_rules_for_others_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    name_of = groups._name_of

    def counted(key: str) -> str | None:
        parsed.append(key)
        return name_of(key)

    monkeypatch.setattr(groups, "_name_of", counted)
    text = "User-agent: other\n" + "Disallow: /a\nAllow: /b\n" * 5_000 + "User-agent: *\nDisallow: /c\n"
    rules = RobotsRules(text, agent="FooBot")
    assert [rules.allows(path) for path in ("/a", "/b", "/c")] == [True, True, False]
    assert len(parsed) == 4


def test_a_rule_that_is_repeated_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Pattern] = []
    monkeypatch.setattr(Pattern, "matches", lambda self, *_: looked.append(self))
    RobotsRules("User-agent: *\n" + "Disallow: /*b*c\n" * 20_000, agent="FooBot").allows("/abc")
    assert len(looked) == 1


PATTERNS = st.lists(
    st.tuples(st.booleans(), st.text("ab/*$", max_size=6).map("/{}".format) | st.text("ab/*$", min_size=1, max_size=6)),
    max_size=40,
)


@given(PATTERNS, st.lists(st.text("ab/$", max_size=12).map("/{}".format), max_size=10), st.booleans())
def test_the_index_of_rules_changes_no_verdict(
    patterns: list[tuple[bool, str]], paths: list[str], is_long: bool
) -> None:
    if is_long:
        # Nothing matches this one.
        patterns = [*patterns, (True, "/*c" + "a" * (1 << 22))]
    lines = [f"{'Allow' if allows else 'Disallow'}: {pattern}" for allows, pattern in patterns]
    rules = RobotsRules("\n".join(["User-agent: *", *lines]), agent="foobot")
    for path in paths:
        # The longest that matches decides, and Allow between two of one length.
        verdicts = [
            (len(pattern), allows)
            for allows, pattern in patterns
            if not RobotsRules(f"User-agent: *\nDisallow: {pattern}", agent="foobot").allows(path)
        ]
        assert rules.allows(path) is max(verdicts, default=(0, True))[1]


@pytest.mark.parametrize(
    ("text", "delay_s"),
    [
        ("User-agent: *\nCrawl-delay: 10\n\nUser-agent: other\nCrawl-delay: 2\nDisallow: /x", 10),
        ("User-agent: other\nCrawl-delay: 2\nUser-agent: *\nCrawl-delay: 10", 10),
        ("User-agent: other\n\nUser-agent: *\nCrawl-delay: 4", 4),
        ("User-agent: *\nDisallow: /x\nCrawl-delay: 4\nUser-agent: other\nCrawl-delay: 9", 4),
        ("User-agent: *\nUser-agent: FooBot\nCrawl-delay: 3\nUser-agent: other\nCrawl-delay: 9", 3),
    ],
)
def test_a_crawl_delay_is_for_the_names_directly_above_it(text: str, delay_s: float) -> None:
    assert RobotsRules(text, agent="FooBot").crawl_delay_s == delay_s
