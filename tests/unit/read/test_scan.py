"""A page that is scanned tells what its tree tells."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler.page import Extract, Link, LinkKind
from crawler.read.elements.element_reader import Document
from crawler.read.elements.link_tables import FEED_TYPES
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lexbor_trees import LexborTrees
from crawler.read.html.scan import IS_COMPILED, scan
from crawler.read.options import Options
from crawler.read.pages import PageReader
from tests.unit.read.pieces import ATTRIBUTES, NAMES, STYLES, TEXTS, WHOLE
from tests.unit.read.suites import page, real_pages

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="built without the compiled scan of pages")

OPTIONS = Options(forms=True, scripts=True, preview_images=True)
BY_SCAN = lexbor_extractor(options=OPTIONS)
BY_TREE = PageReader(LexborTrees(OPTIONS).read, options=OPTIONS)


names = st.sampled_from(NAMES)
attributes = st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map(" ".join)
starts = st.builds("<{} {}{}>".format, names, attributes, st.sampled_from(("", "", "", "/")))
styles = st.lists(st.sampled_from(STYLES), max_size=8).map("".join)
texts = st.one_of(st.sampled_from(TEXTS), styles.map("<style>{}</style>".format), styles.map('<p style="{}">'.format))
elements = st.recursive(
    texts,
    lambda inner: st.builds("<{0} {1}>{2}</{0}>".format, names, attributes, st.lists(inner, max_size=4).map("".join)),
)
documents = st.lists(st.one_of(texts, starts, names.map("</{}>".format), elements), max_size=12).map("".join)


def by_scan(html: bytes) -> Extract | None:
    """None where a tree is needed."""
    document = Document(html=html, robots_names=frozenset({"robots"}), options=OPTIONS)
    return None if scan(document) is None else BY_SCAN.extract(page(html))


@example("<p style=\"@import 'i'CURL(\">")
@given(documents)
def test_a_scan_tells_what_a_tree_tells(html: str) -> None:
    assert BY_SCAN.extract(page(html.encode())) == BY_TREE.extract(page(html.encode()))


@st.composite
def broken_documents(draw: st.DrawFn) -> bytes:
    broken = bytearray(draw(documents).encode())
    for _ in range(draw(st.integers(0, 3)) if broken else 0):
        broken[draw(st.integers(0, len(broken) - 1))] = draw(st.sampled_from(b"<>/\"'= &;!-a\x80\xff\x00\r"))
    return bytes(broken[: draw(st.integers(0, len(broken)))])


@given(broken_documents())
def test_a_scan_of_torn_and_broken_markup_tells_what_a_tree_tells(body: bytes) -> None:
    assert BY_SCAN.extract(page(body)) == BY_TREE.extract(page(body))


@pytest.mark.long
@settings(settings.get_profile("long"), max_examples=100_000)
@given(documents.map(str.encode) | broken_documents() | st.binary(max_size=1000))
def test_in_the_long_run_a_scan_tells_what_a_tree_tells(body: bytes) -> None:
    assert BY_SCAN.extract(page(body)) == BY_TREE.extract(page(body))


def test_a_page_as_people_write_it_needs_no_tree() -> None:
    extract = by_scan(WHOLE.encode())
    assert extract is not None
    assert extract == BY_TREE.extract(page(WHOLE.encode()))
    assert [link.href for link in extract.links] == [
        *("s.css", "bg.png", "n", "g", "x?a=1&b=2", "t", "c", "l1", "l2", "j", "k", "i", "f", "u#v", "w", "z"),
        *("h", "v", "w", "open", "y"),
    ]


def test_a_page_that_ends_anywhere_is_read_as_its_tree_says() -> None:
    body = WHOLE.encode()
    for length in range(len(body)):
        torn = page(body[:length])
        assert BY_SCAN.extract(torn) == BY_TREE.extract(torn), body[:length]


@pytest.mark.parametrize(
    "html",
    [
        "<p><a href=x>one</p>two</a>",
        "<a href=x><b>one</a>two<a href=y>three</b>four</a>",
        "<b><a href=x>one</b>two</a>",
        "<a href=x><p>one</a>two",
        "<a href=x><div><a href=y>",
        "<table><a href=x>moved</a><tr><td></table>",
        "<math><a href=x>",
        "<frameset><frame src=x></frameset>",
        "<plaintext><a href=x>",
        "<image src=x>",
        "<svg><p><a href=x>",
        # Elements that need no look elsewhere.
        "<svg><b></svg>",
        "<table><b></table>",
        "<select><b>x</select>",
        "x<b data-bg=y>",
        "<svg><![CDATA[<a href=x>]]></svg>",
        "<select><a href=x>y</a></select>",
        "<html xml:lang=de><p>x<html lang=en>",
        "<a href=x\0y>",
    ],
)
def test_a_scan_gives_up_where_only_a_tree_can_tell(html: str) -> None:
    assert by_scan(html.encode()) is None


@pytest.mark.parametrize(
    "html",
    [
        # Comments that have not begun before they seem to end.
        "<!--!><a href=x>-->y</a>",
        "<!---!><a href=x>-->y</a>",
        # Doctypes that come too late, or have another name.
        "<!doctype><!doctype html><p>x<table><tr><td>y</table>z",
        "</p><!doctype html><p>x<table><tr><td>y</table>z",
        "<!doctype\vhtml><p>x<table><tr><td>y</table>z",
        "<!doctype html\v><p>x<table><tr><td>y</table>z",
        # Names that differ in one bit from one that is known.
        "<p>x<h\x11>y</p>",
        "<p>x<div\x60>y</p>",
        # References to what stands for nothing: a blank before the doctype, a line end where an element begins.
        "&#32;<!doctype html><p>x<table><tr><td>y</table>z",
        "<a href=x>y<pre>&#10;z",
        "<a href=x>y<textarea>&NewLine;z</textarea>",
        # References in what is looked for in a style.
        "<div style='url(a)'><div style='u&#114;l(b)'>",
        "<html style='url(a)'><p><html style='u&#114;l(b)'>",
        # Line ends of two bytes before the place where a text is cut.
        "<a href=x>" + "\r\n" * 3000 + "y</a>",
        "<p>" + "\r\n" * 1500 + "y</p>",
        # A formatting element that a cell hides from the end of the template.
        "<template><a href=x><table><td></template>y",
        # A column in a template, behind which all but columns is ignored.
        "<template><col><style></template><title></style>",
        # Line ends in a style sheet that is text.
        "<svg><style>url('\\r/",
        "<svg><style>a{b:url(\\r\\nc)}&#13;@import 'd&#10;</style></svg>",
        # A script with many comments, some of which hide its end.
        "<script><!-- --><!--<script></script>--><!----></script><a href=x>y</a>",
        # A tree of a large page is asked for fewer attributes.
        "<feimage xlink:href=x>" + " " * 20_000,
        "<style>@\u0130mport 'x'; @name\u017fpace url(y)</style>",
        "<style>" + "url(a)" * 100_001 + "</style><a href=x>y</a><title>z</title>",
        "<img src=first srcset='" + "a 1x," * 100_001 + "'><a href=x>y</a><title>z</title>",
        "<?doctype html><p>a<table><tr><td>b</table>c",
    ],
)
def test_what_a_scan_could_mistake_it_reads_as_a_tree_does(html: str) -> None:
    assert BY_SCAN.extract(page(html.encode())) == BY_TREE.extract(page(html.encode()))


def test_text_of_broken_characters_is_not_cut_to_nothing() -> None:
    for body in (b"<a href=x>" + b"\x80" * 20_000, b"<p>" + b"\x80" * 20_000):
        given = page(body, headers=(("Content-Type", "text/html; charset=utf-8"),))
        assert BY_SCAN.extract(given) == BY_TREE.extract(given)


def test_a_tree_of_a_large_page_tells_what_one_of_a_small_page_tells() -> None:
    small = b"<source data-src=x><source data-srcset=y>"
    assert BY_TREE.extract(page(small)).links == BY_TREE.extract(page(small + b" " * 20_000)).links


@example("<a href=x>" * 50_000)
@example("<div>" * 50_000)
@example("<!--" * 50_000)
@example("<a " * 50_000)
@example("<script><!--<script>" * 10_000)
@example("<script>" + "<!---->" * 100_000 + "</script>")
@example("<title>" * 50_000)
@example("<p><b>" * 30_000)
@example("<template>" * 50_000)
@example("<svg>" * 50_000)
@example("<a href='" + "&" * 200_000 + "'>")
@given(st.just(""))
def test_whatever_is_nested_it_is_read(html: str) -> None:
    assert BY_SCAN.extract(page(html.encode())).error is None


def test_of_real_pages_nearly_all_are_scanned_and_tell_what_their_trees_tell(corpora: Path) -> None:
    given = [each for _, each in real_pages(corpora)]
    assert [each.url for each in given if BY_SCAN.extract(each) != BY_TREE.extract(each)] == []
    assert sum(by_scan(each.body) is not None for each in given) > 0.9 * len(given)


def test_a_type_is_looked_at_only_where_it_may_make_a_link_one_to_a_feed() -> None:
    """What is read further takes a dictionary of attributes."""
    compiled = pytest.importorskip("crawler.read.html._scan")
    kinds = {"alternate": LinkKind.ALTERNATE, "icon": LinkKind.EMBED, "wlwmanifest": None}
    html = (
        b"<link rel=icon type=image/svg+xml href=a><link rel=alternate type=application/rss+xml href=b>"
        b"<link rel=wlwmanifest type=application/wlwmanifest+xml href=c><link rel=alternate type=text/html href=d>"
        b"<link rel=alternate type=application/opensearchdescription+xml href=e>"
    )
    links, elements, *_ = compiled.scan(
        html, {}, Link, LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS, kinds, frozenset(), False
    )
    assert [(link.href, link.kind) for link in links] == [
        *[("a", LinkKind.EMBED), ("d", LinkKind.ALTERNATE), ("e", LinkKind.ALTERNATE)],
    ]
    assert [attributes["href"] for _, _, attributes, _ in elements] == ["b"]


@pytest.mark.parametrize("media_type", sorted(FEED_TYPES))
def test_a_type_of_a_feed_is_recognised(media_type: str) -> None:
    body = f"<link rel=alternate type='\n{media_type.upper()} ' href=x>".encode()
    assert [link.kind for link in BY_SCAN.extract(page(body)).links] == [LinkKind.FEED]


def test_titles_and_canonical_urls_are_read_by_the_scan_itself() -> None:
    """What is read further takes ten times as long."""
    compiled = pytest.importorskip("crawler.read.html._scan")
    kinds = {"next": LinkKind.NEXT, "canonical": LinkKind.CANONICAL}
    html = (
        "<link rel=next title='caf\xe9 \u2014\n b ' href=a><link rel=Canonical href=' c '><link rel=canonical href=d>"
    )
    links, elements, _, _, canonical = compiled.scan(
        html.encode(), {}, Link, LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS, kinds, frozenset(), False
    )
    assert elements == []
    assert [(link.href, link.text) for link in links] == [("a", "caf\xe9 \u2014 b"), ("c", ""), ("d", "")]
    assert canonical == "c"


@pytest.mark.parametrize(
    "html",
    [
        "<link rel=canonical href=a><link rel='canonical x' href=b>",
        "<link rel='canonical x' href=a><link rel=canonical href=b>",
        "<link rel='x &amp;' href=a><link rel=canonical href=b>",
        "<link rel=canonical href=' '><link rel=canonical href=b>",
        "<link rel=canonical href='&#32;'><link rel=canonical href=b>",
        "<link rel=canonical href><link rel=canonical href=b>",
        "<link rel=canonical><link rel=canonical href=b>",
        "<svg><title>x</title></svg><link rel=canonical title='caf\xe9' href='a\r\nb&amp;c'>",
        "<img srcset='" + "a 1x," * 100_001 + "'><link rel=canonical href=b>",
    ],
)
def test_the_first_canonical_url_counts_whoever_reads_it(html: str) -> None:
    assert BY_SCAN.extract(page(html.encode())) == BY_TREE.extract(page(html.encode()))


def test_white_space_beyond_ascii_separates_words_as_in_python() -> None:
    gaps = [gap for gap in map(chr, range(sys.maxunicode + 1)) if gap.isspace()]
    near = [chr(ord(gap) + step) for gap in gaps for step in (-1, 1, 64) if ord(gap) > 0x7F]
    html = "".join(f"<a href=x>{each}\xe9{each} {each}y{each}</a>" for each in (*gaps, *near))
    titles = "".join(f"<link rel=next href=x title='{each}\xe9{each} {each}y{each}'>" for each in (*gaps, *near))
    extract = by_scan((titles + html).encode())
    assert extract is not None
    assert extract == BY_TREE.extract(page((titles + html).encode()))


@pytest.mark.parametrize("length", [*range(190, 210), 3990, 4000, 4010])
def test_long_texts_beyond_ascii_are_cut_as_in_python(length: int) -> None:
    for text in ("\xe9" * length, "a" * length + "\xb6 b", "\u2014 " * length, " " * length + "\xe9"):
        html = f"<a href=x>{text}</a><link rel=next href=y title='{text}'>".encode()
        assert BY_SCAN.extract(page(html)) == BY_TREE.extract(page(html))


def test_names_that_are_no_set_are_an_error_of_type() -> None:
    compiled = pytest.importorskip("crawler.read.html._scan")
    for names in (None, ["a"], {"a": "b"}):
        with pytest.raises(TypeError, match="must be a set"):
            compiled.scan(b"<meta name=a content=b>", {}, str, 0, 0, 0, {}, names, False)


def test_what_was_compiled_from_older_code_is_not_used() -> None:
    older = """
import sys, types
sys.modules["crawler.read.html._scan"] = types.SimpleNamespace(scan=lambda html: ([], [], []))
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.scan import IS_COMPILED
from tests.unit.read.suites import page
print(IS_COMPILED, len(lexbor_extractor().extract(page(b"<a href=x>y</a>")).links))
"""
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "1"]


def test_others_run_while_a_long_page_is_scanned() -> None:
    body = b"<p>some <b>text</b>" * 1_000_000
    began, ended = threading.Event(), threading.Event()

    def scan_long_page() -> None:
        began.set()
        scan(Document(html=body, robots_names=frozenset(), options=OPTIONS))
        ended.set()

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        scanning = threading.Thread(target=scan_long_page)
        scanning.start()
        began.wait()
        turns = 0
        while not ended.is_set():
            time.sleep(0)  # lets the other thread go on
            turns += 1
        scanning.join()
    finally:
        sys.setswitchinterval(interval_s)
    assert turns > 50  # of some 290 that there may be
