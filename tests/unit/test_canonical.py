"""The rules of canonical URLs: those of the user, and how the named ones compare with those of other crawlers."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.url.canonical import rule_of
from crawler.url.urls import Target, UrlReader


def canonical(url: str, *rules: str) -> str:
    target = UrlReader(rules=rules).read(url, url)
    assert isinstance(target, Target)
    return target.canonical


@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        (r"/print/?$ => /", "https://e.org/a/print", "https://e.org/a/"),
        (r"^https?://m\.e\.org => https://e.org", "http://m.e.org/a?b", "https://e.org/a?b"),
        (r"^(https://e\.org)/(..)/(.*) => \1/\3?lang=\2", "https://e.org/de/a", "https://e.org/a?lang=de"),
        (r"[?&]view=[a-z]+ => ", "https://e.org/a?view=list&b=1&view=x", "https://e.org/a&b=1"),
        (r"x => \\", "https://e.org/x", "https://e.org/\\"),
        (r"x(y)? => [\0\1]", "https://e.org/xxy", "https://e.org/[x][xyy]"),
        (r"nothing => else", "https://e.org/a", "https://e.org/a"),
        (r" =>  => x", "https://e.org/a", "https://e.org/a"),
    ],
)
def test_a_user_replaces_what_a_pattern_finds_in_the_url(rule: str, url: str, expected: str) -> None:
    assert canonical(url, rule) == expected


def test_what_makes_no_url_of_it_changes_nothing() -> None:
    for rule in ("^.* => ", "https => ftp", "// => /", "/ => ", "$ => #x"):
        assert canonical("https://e.org/a", rule) == "https://e.org/a"


def test_rules_of_the_user_run_once_behind_the_named_and_in_their_order() -> None:
    url = "https://e.org/a?B=1&utm_id=2"
    assert canonical(url, "tracking-parameters", "B=1$ => b=9") == "https://e.org/a?b=9"
    assert canonical(url, "B=1$ => b=9", "tracking-parameters") == "https://e.org/a?b=9"
    assert canonical("https://e.org/A", "a => B", "lower-case") == "https://e.org/B"
    assert canonical("https://e.org/x", "x => xx", "xx => y", "lower-case") == "https://e.org/y"
    assert canonical("https://e.org/x", "xx => y", "x => xx") == "https://e.org/xx"


def test_another_pattern_is_another_identity() -> None:
    assert UrlReader(rules=["a => b"]).identity != UrlReader(rules=["a => c"]).identity


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("( => x", "not a pattern that RE2 can search for"),
        (r"(a)\1 => x", "back-references are not available"),
        (r"(a) => \2", r"'\\2': expected \\0 for the match, \\1 to \\1"),
        (r"a => \d", "two backslashes for one"),
        ("print", "unknown canonical rule 'print'; known are session-ids"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_the_reason(rule: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\\\\", r"\\+")):
        rule_of(rule)


Explained = dict[str, Callable[[str, str], bool]]

OTHERS: dict[tuple[str, str], tuple[tuple[str, ...], int, Explained]] = {
    ("w3lib", "canonicalize_url: sorts query, drops fragment"): (
        ("empty-query", "percent-encoding", "sort-query"),
        40,
        {
            "parameters of one name keep their order here": lambda url, _: url.count("b=") > 1,
            "`c` and `c=` are two things": lambda _, expected: expected.endswith("=") or "=&" in expected,
            "a space is %20, and + is a plus": lambda _, expected: "+" in expected,
            "reserved characters are left as they were written": lambda url, _: "%2c" in url or "," in url,
            "credentials are never fetched": lambda url, _: "@" in url,
            "a host that is no domain name": lambda _, expected: not expected.split("/")[2].isascii(),
        },
    ),
    ("surt-python", "GoogleURLCanonicalizer"): (
        ("percent-encoding", "trailing-dot", "extra-slashes"),
        20,
        {"escapes are undone once: %2525 is another page than %25": lambda url, _: "%25" in url},
    ),
    ("surt-python", "DefaultIAURLCanonicalizer"): (
        ("session-ids", "empty-query", "percent-encoding", "sort-query", "strip-www", "lower-case", "trailing-slash"),
        8,
        {"lower-case has no exception": lambda _, expected: expected != expected.lower()},
    ),
    ("surt-python", "IAURLCanonicalizer"): (
        ("session-ids", "empty-query", "percent-encoding", "sort-query", "strip-www", "lower-case", "trailing-slash"),
        7,
        {"lower-case has no exception": lambda _, expected: expected != expected.lower()},
    ),
    ("urlcanon", "WHATWG serialisation"): (
        (),
        50,
        {
            "a host of dots is no IPv4 address to the standard": lambda _, expected: "0.0.0.0" in expected,
            "credentials are never fetched": lambda url, _: "@" in url,
            "other escapes in hosts and paths than the standard's": lambda url, _: "%" in url or not url.isascii(),
        },
    ),
}
"""Of other crawlers, whose policy can be had with rules: by which rules, at least how many cases agree, and why those
that do not. The remaining profiles contradict these, or read URLs out of broken markup."""


@pytest.mark.parametrize("profile", OTHERS, ids=" ".join)
def test_differences_from_other_crawlers_have_reasons(corpora: Path, profile: tuple[str, str]) -> None:
    rules, least, reasons = OTHERS[profile]
    reader = UrlReader(rules=rules, max_length=100_000)
    agreed = 0
    for line in (corpora / "canonical/pairs_dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        url, expected = row["input"], row["expected"]
        if (row["source"], row["profile"]) != profile or not isinstance(url, str) or not isinstance(expected, str):
            continue
        try:
            found = reader.seed(url).canonical
        except ValueError:
            # Their functions also take what is no URL of a page.
            continue
        if found == expected.partition("#")[0]:
            agreed += 1
        else:
            assert any(holds(url, expected) for holds in reasons.values()), (url, found, expected)
    assert agreed >= least
