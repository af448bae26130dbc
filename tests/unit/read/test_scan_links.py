"""The links that a scan finds are like a list, and know their groups."""

import copy
import pickle
from collections.abc import Callable, Sequence
from html.entities import html5
from itertools import count, islice, product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.discover.links import filter as link_filter
from crawler.discover.links.bulk import group_in_python, group_links
from crawler.page import Link, LinkKind
from crawler.read.elements.link_tables import KEPT_META
from crawler.read.encoding.query import encode_queries
from crawler.read.encoding.text import Encoding
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lexbor_trees import LexborTrees
from crawler.read.html.scan import IS_COMPILED
from crawler.read.options import Options
from crawler.read.pages import PageReader
from crawler.steps import run_all
from frontier import canonicals_of
from tests.unit.read.suites import page
from tests.unit.read.test_scan import BY_SCAN, OPTIONS, documents
from tests.unit.test_discovery import PAGE, discovery
from tests.unit.test_discovery import page as url_of_page

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="built without the compiled scan of pages")

IN_UTF_8 = (("Content-Type", "text/html; charset=utf-8"),)
"""In another encoding, the query of an href beyond ASCII may change, so a list is made of the links."""
KINDS = {"next": LinkKind.NEXT, "icon": LinkKind.EMBED}
HREFS = ("a", "a#", "a#b", "#", "#c", "", "a #d", "a&#32;#e", "\xe9#f", "\u3000#g", "a" * 2048, "a" * 2049)
LONG_HREFS = ("\xe9" * 2048, "\xe9" * 2049, "\xe9" * 2049 + "#h")


def scanned(html: str, make: Callable[..., Link] = Link) -> Any:
    compiled = pytest.importorskip("crawler.read.html._scan")
    found = compiled.scan(
        html.encode(), html5, make, LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS, KINDS, KEPT_META, False
    )
    assert found is not None
    return found[0]


hrefs = st.sampled_from((*HREFS, *LONG_HREFS))
tags = st.builds(
    str.format, st.sampled_from(("<a href='{}'>x</a>", "<img src='{}'>", "<link rel=next href='{}'>")), hrefs
)


@example([f"<a href='{href}'>x</a>" for href in (*HREFS, *LONG_HREFS)] * 2)
@given(st.lists(tags, max_size=30))
def test_links_are_grouped_as_a_list_of_them_is(tags: list[str]) -> None:
    groups = scanned("".join(tags)).group()
    assert groups == group_in_python(list(scanned("".join(tags))))
    links = scanned("".join(tags))
    assert groups == group_in_python(list(links)) == group_links(links, 0, 30) == links.group()
    for start, stop in ((0, 7), (7, 14), (14, 14), (29, 99)):
        assert links.group(start, stop) == group_links(list(links), start, stop) == group_links(links, start, stop)


@given(st.lists(tags, max_size=30))
def test_links_are_ascii_if_all_hrefs_are(tags: list[str]) -> None:
    links = scanned("".join(tags))
    assert links.are_ascii() is all(link.href.isascii() for link in links)


@given(st.lists(tags, max_size=30))
def test_queries_of_a_scan_are_encoded_as_those_of_a_list_are(tags: list[str]) -> None:
    html, encoding = "".join(tags).replace("#", "?\u0436"), Encoding("koi8-r", "meta")
    assert encode_queries(scanned(html), encoding) == encode_queries(list(scanned(html)), encoding)


def test_links_that_are_ascii_are_not_made_for_their_queries() -> None:
    links = scanned("<a href='a?b'>\xe9</a>")
    assert encode_queries(links, Encoding("koi8-r", "meta")) is links


def test_a_scan_reads_what_python_decodes_and_leaves_broken_text_to_a_parser() -> None:
    compiled = pytest.importorskip("crawler.read.html._scan")
    others = LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS, KINDS, KEPT_META, False
    following = (b"", *(bytes([byte]) for byte in b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xff"))
    for first in b"\x7f\x80\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff":
        for rest in map(b"".join, product(following, repeat=3)):
            text = bytes([first]) + rest
            found = compiled.scan(b"<a href='%b'>x</a>" % text, html5, Link, *others)
            try:
                expected = text.decode()
            except UnicodeDecodeError:
                assert found is None, text
            else:
                assert [link.href for link in found[0]] == [expected]


def test_links_stay_alone_if_a_page_chose_them_to_be_slow_to_group() -> None:
    """As in tests/unit/test_link_bulk.py."""
    places, chosen = 4096, 600

    def place(href: str) -> int:
        mixed = ((8 ^ int.from_bytes(href.encode(), "little")) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        return (mixed ^ mixed >> 32) % places

    near = list(islice((href for href in map("{:08}".format, count()) if place(href) < 64), chosen))
    links = scanned("".join(f"<a href={href}>x</a>" for href in near * 2))
    firsts, _, counts = links.group()
    assert len(firsts) > chosen
    assert sum(counts) == 2 * chosen


@pytest.mark.parametrize("grouped_at_once", [2, 2000])
def test_links_are_made_only_of_urls_that_somebody_asks_for(
    monkeypatch: pytest.MonkeyPatch, grouped_at_once: int
) -> None:
    monkeypatch.setattr(link_filter, "_GROUPED_AT_ONCE", grouped_at_once)
    made: list[str] = []

    def make(href: str, *others: Any) -> Link:
        made.append(href)
        return Link(href, *others)

    links = scanned("<a href=x>1</a><a href=y#a>2</a><a href=y#b>3</a><img src=z><a href=x#c>4</a>", make)
    urls = run_all(discovery().links(PAGE, links, parent=url_of_page())).urls
    assert [url.rpartition("/")[2] for url in canonicals_of(urls)] == ["x", "y", "z"]
    assert made == []
    assert (urls[1].anchor, urls[1].link_count) == ("2", 2)
    assert made == ["y#a"]


def test_links_are_a_sequence() -> None:
    links = scanned("<a href=a rel='Y  z'>b <i>c</i></a><img src=d><a href='e#f'>\xe9</a>")
    made = [
        Link("a", LinkKind.LINK, "b c", "y z"),
        Link("d", LinkKind.EMBED),
        Link("e#f", LinkKind.LINK, "\xe9"),
    ]
    assert issubclass(type(links), Sequence)
    assert len(links) == 3
    assert (links[0], links[-1]) == (made[0], made[-1])
    assert links[0] is links[0]
    assert (links[1:], links[::-2], links[5:]) == (made[1:], made[::-2], [])
    assert list(links) == [*links] == made
    assert repr(links) == repr(made)
    assert list(reversed(links)) == made[::-1]
    assert made[1] in links
    for outside in (3, -4):
        with pytest.raises(IndexError, match="there are 3 links"):
            links[outside]
    with pytest.raises(TypeError):
        links["a"]
    with pytest.raises(TypeError):
        hash(links)
    with pytest.raises(TypeError):
        type(links)()


def test_links_have_all_that_a_sequence_has() -> None:
    links = scanned("<a href=x>y</a><img src=z><a href=x>y</a>")
    x, z = Link("x", LinkKind.LINK, "y"), Link("z", LinkKind.EMBED)
    with pytest.raises(TypeError):
        links.index()
    assert isinstance(links, Sequence)
    assert (links.count(x), links.count(Link("z", LinkKind.LINK))) == (2, 0)
    assert (links.index(x), links.index(x, 1), links.index(z, -2, 2)) == (0, 2, 1)
    with pytest.raises(ValueError, match="not in list"):
        links.index(z, 2)
    match links:
        case [first, *others]:
            assert (first, others) == (x, [z, x])
        case _:
            pytest.fail("it matches no pattern of sequences")


def test_links_are_equal_to_a_list_of_equal_ones() -> None:
    links, same, other = (scanned(f"<a href={href}>x</a>") for href in "aab")
    made = [Link("a", LinkKind.LINK, "x")]
    assert links == same == made
    assert made == links
    assert links != other
    assert made != other
    assert links != (made[0],)
    assert links != []


def test_a_copy_of_links_is_a_list() -> None:
    links = scanned("<a href=a>x</a>")
    for made in (copy.copy(links), copy.deepcopy(links), pickle.loads(pickle.dumps(links))):
        assert type(made) is list
        assert made == links


@pytest.mark.parametrize(
    "between",
    [
        "<meta http-equiv=Refresh content='0; url=r'>",
        "<meta http-equiv content=x>",
        "<meta property=og:image content=i>",
        "<iframe src=f srcdoc='<a href=in>y</a>'></iframe>",
        "<title>t</title><base href=/b/><html lang=en>",
        "<p style='background: url(s)'>",
        "<link rel='x y' href=l>",
        "<form action=f></form><video src=v></video>",
    ],
)
@pytest.mark.parametrize("options", [Options(), OPTIONS])
def test_links_stand_in_document_order_whoever_reads_them(between: str, options: Options) -> None:
    readers = lexbor_extractor(options=options), PageReader(LexborTrees(options).read, options=options)
    for html in (f"{between}<a href=a>x</a>", f"<a href=a>x</a>{between}<a href=b>y</a>{between}", between):
        by_scan, by_tree = (each.extract(page(html.encode(), headers=IN_UTF_8)) for each in readers)
        assert by_scan == by_tree


def test_the_links_of_a_page_in_utf_8_stay_as_they_were_scanned() -> None:
    links = BY_SCAN.extract(page(b"<title>t</title><a href=a>x</a><a href=a#b>y</a>", headers=IN_UTF_8)).links
    assert type(links) is type(scanned(""))


@given(documents)
def test_an_extract_of_a_scan_is_equal_to_one_of_a_list(html: str) -> None:
    extract = BY_SCAN.extract(page(html.encode(), headers=IN_UTF_8))
    assert extract.links == list(extract.links)
    assert group_links(extract.links, 0, len(extract.links)) == group_in_python(list(extract.links))
