"""Whether many hrefs are read as each of them alone: the first by compiled code, where there is some."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from ada_url import normalize_url
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.url import hrefs
from crawler.url.canonical_rules import MARKS
from crawler.url.urls import BadUrl, Target, UrlReader
from tests.unit.test_urls import BASE, PIECES

READERS = [
    UrlReader(),
    UrlReader(rules=("session-ids", "empty-query")),
    UrlReader(rules=("sort-query",)),
    UrlReader(queue_by="domain"),
    UrlReader(queue_of=lambda site, path: f"{site}#{path[:3]}"),
    UrlReader(max_length=40),
]
BASES = [BASE, "http://u:p@e.org:81/a;sid=1/b", "https://e.org./", "https://e.org/?/x/", "ftp://e.org/", "no base", ""]


def each(reader: UrlReader, given: list[str], base: str) -> list[Target | BadUrl]:
    return [reader.read(href, base) for href in given]


@settings(max_examples=300)
@given(
    st.lists(st.lists(st.sampled_from([*PIECES, "\0", "\ud800", "x" * 200]), max_size=8).map("".join), max_size=6),
    st.sampled_from(READERS),
    st.sampled_from(BASES) | st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
)
def test_many_are_read_as_each_alone(given: list[str], reader: UrlReader, base: str) -> None:
    assert reader.read_many(given, base) == each(reader, given, base)


@given(st.text(max_size=60), st.sampled_from(BASES))
def test_any_text_is_read_as_alone(href: str, base: str) -> None:
    reader = UrlReader()
    assert reader.read_many([href], base) == [reader.read(href, base)]


@settings(max_examples=1000)
@given(
    st.sampled_from(READERS),
    st.sampled_from(["http:", "http://e.org", "https://u:p@E.org:8443/a/b?c#d"]),
    st.lists(st.sampled_from([*PIECES, "?", "#", "%7e", "x" * 200]), max_size=6).map("".join),
)
def test_an_empty_href_means_what_a_fragment_means(reader: UrlReader, start: str, end: str) -> None:
    for base in (*BASES, start + end):
        assert reader.read("", base) == reader.read("#x", base) == reader.read_many([""], base)[0]


_LABEL = r"(?:[0-9A-Z_a-z-]{0,4}|xn--[a-z0-9-]{1,4}|0[xX][0-9a-f]{0,2})"


@settings(max_examples=1000)
@given(st.from_regex(rf"\Ahttps?://(?:{_LABEL}\.){{0,3}}{_LABEL}(?::(?:80|443|[0-9]{{0,5}}))?\Z", fullmatch=True))
def test_origins_are_those_of_the_standard(origin: str) -> None:
    try:
        expected = normalize_url(f"{origin}/")
    except ValueError:
        expected = None
    found = hrefs.join_plain(f"{origin}/", None)
    assert found is None or f"{found[0].text}{found[1]}" == expected


@pytest.mark.parametrize("base", BASES)
def test_schemes_in_capitals_are_read_as_each_alone(base: str) -> None:
    reader = UrlReader()
    given = ["HTTP://e.org", "hTTp://e.org/a", "httpS://e.org/a", "https://e.org/a"]
    assert reader.read_many(given, base) == each(reader, given, base)


_MARKED = st.from_regex(re.compile(MARKS.pattern, re.ASCII)).filter(str.isprintable)


@given(st.sampled_from(["a", "a;", "a?", "a?b=1&", "/c?d&e"]), _MARKED)
def test_no_mark_of_the_standard_rules_is_overlooked(before: str, marked: str) -> None:
    reader = UrlReader()
    href = before + marked
    assert reader.read_many([href], BASE) == [reader.read(href, BASE)]


def _real(corpora: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(corpora / "url/real-hrefs/hrefs_dev.jsonl.gz") as lines:
        for line in lines:
            case = json.loads(line)
            yield case["base"], case["href"]
    for path in sorted((corpora / "url-lists").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as urls:
            yield from ((BASE, url.strip()) for number, url in enumerate(urls) if number % 25 == 1)


@pytest.mark.parametrize("reader", READERS[:4:3])
def test_many_real_hrefs_are_read_as_each_alone(corpora: Path, reader: UrlReader) -> None:
    by_base: dict[str, list[str]] = {}
    for base, href in _real(corpora):
        by_base.setdefault(base, []).append(href)
    for base, found in by_base.items():
        assert reader.read_many(found, base) == each(reader, found, base)


@pytest.mark.parametrize("length", [300, 2047, 2048, 2049, 4096, 70_000])
def test_the_length_of_an_href_or_base_changes_nothing(length: int) -> None:
    reader = UrlReader(max_length=100_000)
    long = "x" * length
    for href in (f"/{long}", long, f"//{long}/", f"https://{long}", f"//e.org/{long}", f"?{long}", "ü" * length, "a"):
        for base in (BASE, f"https://e.org/{long}/", f"https://e.org/{'ü' * length}/"):
            assert reader.read_many([href], base) == [reader.read(href, base)]


def test_an_href_that_is_no_text_is_an_error() -> None:
    with pytest.raises((TypeError, AttributeError)):
        UrlReader().read_many(["a", None, "b"], BASE)  # type: ignore[list-item]


@pytest.mark.parametrize("parts", [["https://e.org", "e.org", "org,e"], "abc", 1, (), ("https://e.org",), ("", 1)])
def test_parts_of_a_place_that_are_none_are_an_error_of_type_or_index(parts: object) -> None:
    compiled = pytest.importorskip("crawler.url._hrefs")
    place = SimpleNamespace(parts=parts)
    with pytest.raises((TypeError, IndexError)):
        compiled.read_many(["/a"], "https", place, "/", str, str, 100, str)


@pytest.mark.parametrize(("directory", "error"), [(b"/\xff", TypeError), ("/\ud800", UnicodeEncodeError)])
def test_a_directory_that_is_no_text_is_an_error_of_its_own(directory: object, error: type[Exception]) -> None:
    compiled = pytest.importorskip("crawler.url._hrefs")
    with pytest.raises(error):
        compiled.read_many(["a"], "https", hrefs.parse_origin("https://e.org"), directory, str, str, 100, str)


class Interrupted(Exception): ...


def test_what_is_called_may_fail_and_may_change_the_list() -> None:
    def fail(_: str) -> str:
        raise Interrupted

    def clear(href: str) -> str:
        those.clear()
        return href

    def read(texts: list[str], fallback: Callable[[str], str]) -> list[str]:
        base = hrefs.base_of(BASE)
        return hrefs.read_plain(texts, base, make=lambda *of: of[0], max_length=100, fallback=fallback)

    with pytest.raises(Interrupted):
        read(["a", "mailto:b"], fail)
    those = ["a:b", *("c" * number for number in range(100))]
    assert len(read(those, clear)) in (1, 101)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_a_base_is_the_same_whether_a_parser_reads_it_or_not(rest: str) -> None:
    base = f"http://e.org/a/{rest}"
    if hrefs.join_plain(base, None) is not None:
        assert hrefs.base_of(base) == hrefs.base_of(f"{base}#") is not None


def test_what_was_compiled_from_older_code_is_not_used() -> None:
    older = """
import sys, types
sys.modules["crawler.url._hrefs"] = types.SimpleNamespace(read_many=None, VERSION=-1)
from crawler.url.hrefs import IS_COMPILED
from crawler.url.urls import UrlReader
print(IS_COMPILED, UrlReader().read_many(["/a"], "https://e.org/")[0].url)
"""
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "https://e.org/a"]
