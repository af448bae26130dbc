import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.preferences.directives import robots_tag_words, robots_words
from crawler.read.abstract import MAX_ABSTRACT_CHARACTERS, shorten, summary
from crawler.read.elements.attributes import (
    collapse_space,
    refresh_url,
    srcset_urls,
)
from crawler.read.encoding.labels import encoding_of_label
from crawler.read.headers import MediaType, extract_media_type, read_headers
from crawler.testing.timeouts import MAX_WAIT_S


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("a,b.png 2x,c.png", ["a,b.png", "c.png"]),
        (" , ,a.png,, b.png ,", ["a.png", "b.png"]),
        ("data:image/png;base64,AA== 1x, b.png", ["data:image/png;base64,AA==", "b.png"]),
        ("a.png calc(1, 2) , b.png", ["a.png", "b.png"]),
        ("a.png (unclosed, b.png", ["a.png"]),
        ("\n\ta.png\n100w,\n\tb.png\t200w\n", ["a.png", "b.png"]),
        ("", []),
        (",", []),
    ],
)
def test_srcset_is_split_as_the_standard_says(srcset: str, urls: list[str]) -> None:
    assert list(srcset_urls(srcset)) == urls


@given(st.text(alphabet="ab ,()\t1x", max_size=60))
def test_no_srcset_yields_an_empty_url(srcset: str) -> None:
    assert all(url and not url.endswith(",") and not url.startswith(",") for url in srcset_urls(srcset))


@pytest.mark.parametrize(
    ("content", "url"),
    [
        ("0;url=a", "a"),
        ("5; URL = 'a b' trailing", "a b"),
        ('0;url="a', "a"),
        ("0,url=a", "a"),
        ("0 url=a", "a"),
        ("0;a", "a"),
        ("0.5;url=a;b", "a;b"),
        (".5;url=a", "a"),
        ("0;urla", "urla"),
        ("5", None),
        ("5;", None),
        ("5;url=", None),
        ("x;url=a", None),
        ("5a;url=a", None),
        (";url=a", None),
        ("", None),
    ],
)
def test_a_refresh_is_read_as_the_standard_says(content: str, url: str | None) -> None:
    assert refresh_url(content) == url


def test_none_means_neither_index_nor_follow() -> None:
    assert robots_words("NONE") >= {"noindex", "nofollow"}
    assert robots_words("NoIndex ,max-snippet:3") == {"noindex", "max-snippet:3"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("noindex, nofollow", {"noindex", "nofollow"}),
        ("mybot: noindex", {"noindex"}),
        ("otherbot: noindex", set()),
        ("unavailable_after: 25 Jun 2027 15:00:00 PST", None),
        ("unavailable_after: Sat, 25 Jun 2027 15:00:00 PST, nofollow", {"nofollow"}),
        ("max-snippet: 5, max-video-preview: -1, noindex", {"noindex"}),
        ("unavailable_after: 25 Jun 2027, 15:00:00 PST, noindex", {"noindex"}),
        ("otherbot: noindex, nofollow, mybot: nofollow", {"nofollow"}),
        ("nofollow, otherbot: noindex", {"nofollow"}),
        ("MyBot:none", {"none", "noindex", "nofollow"}),
    ],
)
def test_robots_tags_are_for_all_or_for_one_agent(value: str, words: set[str] | None) -> None:
    found = robots_tag_words([value], frozenset({"robots", "mybot"}))
    assert found & {"none", "noindex", "nofollow"} == (words or set())


def test_headers_are_read_whatever_their_case_and_the_last_type_counts() -> None:
    headers = read_headers(
        [
            (b"CONTENT-TYPE", b"text/plain"),
            (b"content-type", b" Text/HTML ; Charset=koi8-r"),
            (b"Link", b"<a,b>; rel=next, <c>"),
            (b"link", b"nonsense"),
        ]
    )
    assert (headers.media_type, headers.charset) == ("text/html", "koi8-r")
    assert headers.links == (("a,b", "next"), ("c", ""))
    assert read_headers([]).media_type is None


def test_headers_are_read_as_utf8_if_they_are_that() -> None:
    for encoding in ("utf-8", "latin-1"):
        headers = read_headers(
            [(b"Link", "</müller>; rel=canonical".encode(encoding)), (b"Refresh", "0; /grün".encode(encoding))]
        )
        assert (headers.links, headers.refresh) == ((("/müller", "canonical"),), "0; /grün")


@pytest.mark.parametrize(
    ("value", "links"),
    [
        ('<a>; title="x, <y>; rel=no"; rel=next', [("a", "next")]),
        ('<a>; title="\\"; rel=no"; REL = next;rel=prev', [("a", "next")]),
        ("<a>; rel='next', <b>;rel=\"Alternate  Home\"", [("a", "next"), ("b", "alternate  home")]),
        ("<a;b,c>; norel=x; rel", [("a;b,c", "")]),
        ('<a>; rel=canonical; Anchor="/b", <c>; rel=next; anchor=""', [("c", "next")]),
        ('<a>; title="torn, <b>; rel=next', [("a", "")]),
        ("<" * 200_000, []),
    ],
)  # fmt: skip
@pytest.mark.timeout(MAX_WAIT_S)
def test_a_link_header_is_read_as_the_standard_says(value: str, links: list[tuple[str, str]]) -> None:
    assert list(read_headers([(b"Link", value.encode())]).links) == links


def test_content_types_are_read_as_the_standard_says(corpora: Path) -> None:
    judged = 0
    for case in json.loads((corpora / "url/wpt-mimesniff/mime-types.json").read_bytes()):
        if isinstance(case, str) or not all(ord(char) < 256 for char in case["input"]):
            continue
        found = extract_media_type([case["input"]])
        expected = (case["output"] or "").partition(";")[0] or None
        assert found.essence == expected, case
        encoding = encoding_of_label(found.charset) if found.charset is not None else None
        assert encoding == (case.get("encoding") or "").lower() or (encoding, case.get("encoding")) == (None, None), (
            case
        )
        judged += 1
    assert judged > 50


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["text/plain", "text/html;charset=gbk", "text/html"], ("text/html", "gbk")),
        (["text/html;charset=gbk", "text/html;charset=big5"], ("text/html", "big5")),
        (["text/html;charset=gbk, text/plain"], ("text/plain", None)),
        (['text/html;x=",text/plain";charset=gbk', "nonsense", "*/*"], ("text/html", "gbk")),
        (["text/html;charset=gbk", "text/plain;charset=big5", "text/html"], ("text/html", None)),
        (["text", ""], (None, None)),
    ],
)
def test_of_several_content_types_the_last_counts(headers: list[str], expected: tuple[str | None, str | None]) -> None:
    found = extract_media_type(headers)
    assert (found.essence, found.charset) == expected


@given(st.lists(st.text(alphabet='te/;,="\\\\ x\t', max_size=40).map("text/x;charset={}".format), max_size=3))
def test_no_content_type_breaks_the_reader(headers: list[str]) -> None:
    found = extract_media_type(headers)
    assert found.essence is not None or found.charset is None
    assert len(found.charset or "") <= max(map(len, headers), default=0)


def test_text_is_collapsed_and_cut() -> None:
    assert collapse_space(" a\n\tb ", 10) == "a b"
    assert collapse_space(" \n", 10) is None
    assert collapse_space("ab cd", 3) == "ab"


def test_an_abstract_ends_with_a_sentence_if_it_can() -> None:
    assert shorten("Short.") == "Short."
    text = "A" * 200 + ". " + "b" * 200
    assert shorten(text) == "A" * 200 + "."
    assert shorten("word " * 100).endswith("word…")
    assert len(shorten("x" * 1000)) == MAX_ABSTRACT_CHARACTERS
    assert summary(["", " \n", "One.", "Two."]) == "One. Two."
    assert summary([" "]) is None


def test_a_summary_reads_no_more_paragraphs_than_it_needs() -> None:
    read = []

    def paragraphs() -> object:
        for number in range(100):
            read.append(number)
            yield "word " * 20

    assert summary(paragraphs())  # type: ignore[arg-type]
    assert len(read) < 6


def test_long_values_of_content_type_do_not_stay_in_memory() -> None:
    tracemalloc.start()
    try:
        found = {extract_media_type([f"text/html; charset=utf-8; x={at}{'x' * 60_000}"]) for at in range(50)}
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found, held < 1_000_000) == ({MediaType("text/html", "utf-8")}, True)
