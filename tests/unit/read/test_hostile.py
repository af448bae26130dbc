from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawler.page import Extract, Link, LinkKind
from crawler.read.bases import cut_links
from crawler.read.elements.element_reader import MAX_LINKS, Document, ElementReader
from crawler.read.elements.flatten import flatten
from crawler.read.elements.hostile import (
    MAX_NULS,
    MAX_READ_BYTES,
    MAX_TAGS,
    is_hostile,
    readable_bytes,
)
from crawler.read.elements.speculative import MAX_SCRIPT_CHARACTERS, script_urls
from crawler.read.elements.xhtml import xhtml_to_html
from crawler.read.html import lexbor_trees
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.scan import IS_COMPILED, scan
from crawler.read.html.turbohtml import turbohtml_extractor
from crawler.read.options import Options
from crawler.read.pages import PageReader
from crawler.testing.read.suite import HTML
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.url.urls import LONGEST_URL
from tests.unit.read.extractors import MAKERS, Make
from tests.unit.read.suites import page, real_pages
from tests.unit.read.trees import depth_of


def _unlike(tag: bytes, count: int) -> bytes:
    return b"".join(b"<%b a=%d>" % (tag, number) for number in range(count))


MANY_ATTRIBUTES = b" ".join(b"a%d" % number for number in range(20_000))

HOSTILE = {
    "nested blocks": b"<div>" * 20_000,
    "nested lists": b"<ul><li>" * 10_000,
    "links in one another": b"<a href=x><marquee>" * 3_000,
    "end tags that end nothing": b"<div></x>" * 20_000,
    "ends that are comments": b"<div><!--</div>-->" * 20_000,
    "ends in another table": b"<div><table></div></table>" * 20_000,
    "blocks that are all closed": b"<div>" * 20_000 + b"</div>" * 20_000,
    "formatting that is all closed": _unlike(b"b", 10_000) + b"</b>" * 10_000,
    "formatting that is closed after many blocks": b"<p>"
    + _unlike(b"b", 100)
    + b"<div>x</div>" * 4_000
    + b"</b>" * 100,
    "tags in tags": b"<a/b=" * 30_000 + b"x" * 1_000_000,
    "ends in an attribute": b"""<div a=">x</div>">""" * 20_000,
    "ends in what looks like no attribute": b"""<div a=b="c d="e>x</div>">""" * 20_000,
    "ends that hide a name": b"<di<b>x</b>v>y</div>" * 20_000,
    "unlike formatting, made anew in each block": b"<div>" * 3_000 + _unlike(b"b", 3_000) + b"</div>x" * 3_000,
    "the same in few bytes": b"<p>x" * 900 + _unlike(b"b", 700),
    "formatting around blocks": b"<i>" + b"<div>" * 5_000 + b"</i>" * 5_000,
    "attributes": b"<a " + MANY_ATTRIBUTES + b">",
    "attributes behind slashes": b"<a " + MANY_ATTRIBUTES.replace(b" ", b"/") + b">",
    "attributes around a bracket": b"<a b='>' " + MANY_ATTRIBUTES.replace(b"5 ", b"5='>' ") + b">",
    "attributes that others may take for a value": b"<!-- <i x='--> <a " + MANY_ATTRIBUTES + b">'",
    "attributes of roots": b"".join(
        b"<bOdY %b></body>" % MANY_ATTRIBUTES[n : n + 3000] for n in range(0, 100_000, 3000)
    ),
    "attributes of roots in few bytes": b"".join(b"<html a%d>" % n for n in range(5000)),
}
HARMLESS = {
    "a long table": b"<tr><td><img src=x><a href=y>z</a><br>" * 1_000,
    "a long script": b"<script>" + b"if (a < b) c(d, e);\n" * 3_000 + b"</script>",
    "a long text": b"<p>" + b"word " * 500_000,
    "like formatting": b"<b class=x>y</b> " * 1_000,
    "an image inlined as data": b"<img src='data:image/png;base64," + b"a/b+" * 100_000 + b"'>",
    "few tags": b"<div>" * 1_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_hold_a_parser_is_known_for_it(name: str) -> None:
    assert is_hostile(HOSTILE[name])


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_merely_long_is_no_harm(name: str) -> None:
    assert not is_hostile(HARMLESS[name])


@pytest.mark.parametrize("make", [turbohtml_extractor, lexbor_extractor])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_read_nevertheless(name: str, make: Make) -> None:
    found = make().extract(page(b"<title>T</title><a href=first>x</a>" + HOSTILE[name] + b"<a href=last>y"))
    hrefs = [link.href for link in found.links if link.kind is LinkKind.LINK]
    assert hrefs[0] == "first"
    assert "first" in hrefs
    assert found.title == "T"
    assert found.error is None
    if "attributes" not in name and "comment" not in name:
        assert hrefs[-1] == "last"


def test_elements_in_one_another_around_a_script_are_read_so_often_only(monkeypatch: pytest.MonkeyPatch) -> None:
    html = b"<a href=x>1<object>" * 40 + b"<script></script>"
    texts = [link.text for link in lexbor_extractor().extract(page(html)).links]
    assert texts == ["1" * (40 - number) for number in range(40)]
    monkeypatch.setattr(lexbor_trees, "MAX_NODES", 1000)
    few = [link.text for link in lexbor_extractor().extract(page(html)).links]
    assert few[:5] == texts[:5]
    assert few[10:] == [""] * 30


def test_no_real_page_is_taken_for_a_bomb_of_tags(corpora: Path) -> None:
    pages = [each for _, each in real_pages(corpora)]
    assert sum(is_hostile(each.body) for each in pages) * 40 < len(pages)
    assert all(readable_bytes(each.body) == len(each.body) for each in pages)


def test_a_flattened_page_has_the_links_of_its_tree(corpora: Path) -> None:
    utf8 = (("Content-Type", "text/html; charset=utf-8"),)
    extractor = turbohtml_extractor()
    for number, (_, each) in enumerate(real_pages(corpora)):
        if number % 5:
            continue
        whole, flat = (
            extractor.extract(page(body, url=each.url, headers=utf8)) for body in (each.body, flatten(each.body))
        )
        # An anchor left open is found once: there is no other block in which it is opened again.
        assert {(link.href, link.kind) for link in flat.links} == {(link.href, link.kind) for link in whole.links}
        assert (flat.title, flat.description) == (whole.title, whole.description)


def test_what_is_no_markup_stays_out_of_a_flattened_page() -> None:
    html = (
        b"<title>a<b</title><svg><title>icon</title></svg><!-- <a href=no> --><!--><a href=1>x</a>"
        b"<script>'<a href=no>'</script><style>@import 'a.css'; <a href=no></style><textarea><a href=no></textarea>"
        b"<template><a href=no><template></template><a href=no></template><a title='<a href=no>' href=2>y</a>"
        b"1 < 2 <a href=3><svg><image href=i /></svg><div><table><td><video src=v poster=p><frame src=f>"
        b"<noscript><a href=4>z</a></noscript><iframe src=g><a href=no></iframe><body background=b><a href=5>"
        b"<svg><use href=u /><a xlink:href=6>x</a><feImage xlink:href=h /></svg><i style='background: url(s)'>"
    )
    found = turbohtml_extractor().extract(page(flatten(html)))
    assert found.title == "a<b"
    assert [link.href for link in found.links] == [*"b1", "a.css", *"23ivpf4g5u6hs"]
    assert flatten(b"<a href=1><plaintext><a href=no>") == b"<a href=1 >"


PIECES = (
    "<div>|<p>|</p>|<a href=x>|</a>|<b>|</b>|<table>|<td>|</table>|<template>|</template>|<svg>|</svg>|<image href=x>|"
    "<script>|<script src=x>|</script>|<!--|-->|<style>|</style>|<title>|</title>|<object>|<video>|<iframe>|<textarea>|"
    "</textarea>|<body x>|<html y>|<select>|<frameset>|<frame>|<math>|<form>|<a b='|'|\"|=|>|<|/|x|<![CDATA[|]]>|<?|</|"
    "<plaintext>|<noframes>|<meta|<xmp>|<i style='a:url(b)'>"
).split("|")


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_whatever_is_flattened_is_flat(html: str) -> None:
    made = flatten(html.encode())
    tree = LexborHTMLParser(made)
    elements = tree.tags("*")
    assert max(map(depth_of, elements)) <= 8
    assert len(elements) <= 2 * made.count(b"<") + 3


def test_what_is_read_of_a_page_has_limits() -> None:
    row = b"<tr><td><img src=x><a href=y>z</a><br><p>text"
    assert readable_bytes(row * 20_000) == len(row) * 20_000
    assert readable_bytes(row * 50_000) == len(row) * (MAX_TAGS // 7) + row.index(b"<a")
    assert readable_bytes(b"x\0" * 150_000) == 2 * MAX_NULS - 1
    assert readable_bytes(b"x" * 11_000_000) == MAX_READ_BYTES


@pytest.mark.parametrize("make", MAKERS)
def test_the_end_of_a_condition_hides_nothing(make: Make) -> None:
    found = make().extract(page(b"<!--[if IE]><p><![endif]--><![endif]--><a href=/a>a</a><![if !IE]><a href=/b>b</a>"))
    assert [link.href for link in found.links] == ["/a", "/b"]


@pytest.mark.parametrize("make", MAKERS)
def test_what_a_page_says_of_itself_has_limits(make: Make) -> None:
    long = "x" * 100_000
    html = f"<html lang={long}><title>{long}</title><link rel=canonical href=/{long}>"
    found = make().extract(page(html.encode()))
    assert found.title == found.language == long[:1000]
    assert found.canonical is None
    in_headers = (("Content-Language", long), ("Link", f"</{long}>; rel=canonical"), ("Content-Type", "text/plain"))
    found = make().extract(page(b"text", headers=in_headers))
    assert (found.language, found.canonical) == (long[:1000], None)


@pytest.mark.parametrize("make", MAKERS)
def test_a_canonical_url_is_kept_up_to_the_highest_limit_that_a_crawl_may_set(make: Make) -> None:
    longest = f"https://example.org/{'x' * (LONGEST_URL - len('https://example.org/'))}"
    beyond = f"/{'ü' * (LONGEST_URL // 2)}"  # longer once it is escaped
    for href, expected in ((longest, longest), (f"{longest}x", None), (beyond, None)):
        assert (
            make().extract(page(f"<meta charset=utf-8><link rel=canonical href={href}>".encode())).canonical == expected
        )
        if href.isascii():
            headers = (("Link", f"<{href}>; rel=canonical"), ("Content-Type", "text/plain"))
            assert make().extract(page(b"text", headers=headers)).canonical == expected


def test_a_page_with_more_tags_than_memory_is_read_in_part_and_says_so() -> None:
    found = lexbor_extractor().extract(page(b"<a href=first>x</a>" + b"<ul><li>" * 100_000 + b"<a href=last>y</a>"))
    assert [link.href for link in found.links] == ["first"]
    assert found.error is not None
    assert "600007 bytes" in found.error


@pytest.mark.skipif(not IS_COMPILED, reason="built without the compiled scan of pages")
def test_a_page_of_which_no_tree_is_built_may_have_more_tags() -> None:
    rows = b"<tr><td>x</td></tr>" * MAX_TAGS
    found = lexbor_extractor().extract(page(b"<a href=first>x</a><table>" + rows + b"</table><a href=last>y</a>"))
    assert [link.href for link in found.links] == ["first", "last"]
    assert found.error is None


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("content", [b"<h:p><![CDATA[shorter as HTML]]></h:p>", b"<h:q/>" * (MAX_TAGS // 2 + 1)])
def test_xhtml_is_read_whole_however_long_it_is_as_html(make: Make, content: bytes) -> None:
    root = b'<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:body>'
    html = root + content + b'<h:a href="last">y</h:a></h:body></h:html>'
    found = make().extract(page(html, headers=(("Content-Type", "application/xhtml+xml"),)))
    assert [link.href for link in found.links] == ["last"]
    assert found.error is None


@pytest.mark.parametrize("tag", ["<a href=x>", "<meta name=robots content=x>", "<q style='cursor:url(x)'>"])
def test_a_page_with_more_links_or_elements_than_memory_is_read_in_part(tag: str) -> None:
    found = lexbor_extractor().extract(page(b"<a href=first>x</a>" + tag.encode() * (MAX_TAGS + 100)))
    assert found.links[0].href == "first"
    assert found.error is not None
    assert found.error.startswith("too much to parse")


@pytest.mark.skipif(not IS_COMPILED, reason="built without the compiled scan of pages")
def test_of_a_page_with_more_links_than_memory_no_tree_is_built() -> None:
    def parse(_: Document) -> ElementReader[str]:
        raise AssertionError("parsed")

    found = PageReader(parse, scan=scan).extract(page(b"<a href=x>" * (MAX_TAGS + 100)))
    assert found.error == f"too much to parse: read the first {10 * (MAX_TAGS - 1)} bytes"
    assert len(found.links) == MAX_LINKS


@pytest.mark.parametrize("is_sitemap", [False, True])
def test_the_longer_the_base_of_many_links_is_the_fewer_are_read(is_sitemap: bool) -> None:
    long = "https://example.org/" + "x" * 2000 + "/"
    links = b"<a href=x>" * 50_000
    if is_sitemap:
        links = b"<urlset><url>" + b"<link href='x'/>" * 50_000 + b"</url></urlset>"
    for url, count in ((long, 40_000_000 // len(long)), (f"https://example.org/?{'x' * 2000}", 50_000)):
        found = lexbor_extractor().extract(page(links, url=url, headers=() if is_sitemap else HTML))
        assert len(found.links) == count
        error = f"too much to parse: read its first {count} links, because their base is long"
        assert found.error == (error if count < 50_000 else None)


def test_absolute_links_do_not_become_fewer_by_a_long_base() -> None:
    url = "https://example.org/" + "x" * 2000
    links = [Link(href, LinkKind.ALTERNATE) for href in [f"{url[:8]}a.example/"] * 50_000 + ["/x"] * 20_000]
    found = cut_links(Extract(content_type="application/xml", base_url=url, links=links))
    assert (found.links, found.error is None) == (links[: 50_000 + 40_000_000 // len(url)], False)
    assert cut_links(msgspec.structs.replace(found, links=links[:60_000], error=None)).error is None


def test_documents_within_a_page_may_have_as_many_tags_together_as_a_page() -> None:
    within = "<iframe srcdoc='<a href=in>" + "&lt;p>" * 60_000 + "'></iframe>"
    found = lexbor_extractor().extract(page((within.replace("<a", "&lt;a") * 5 + "<a href=last>y</a>").encode()))
    assert [link.href for link in found.links] == ["in", "in", "in", "last"]
    assert found.error == "too much to parse: did not read all HTML within it"


def test_the_html_in_the_entries_of_a_feed_may_have_more_tags_the_longer_the_feed_is() -> None:
    entry = "<item><link>http://a.test/x</link><description><![CDATA[{}]]></description></item>"
    feed = "<rss><channel>" + entry.format("<a href=in>" + "<p>" * 140_000) * 2 + "</channel></rss>"
    rss = (("Content-Type", "application/rss+xml"),)
    found = lexbor_extractor().extract(page(feed.encode(), headers=rss))
    assert found.error == "too much to parse: did not read all HTML within it"
    assert [link.href for link in found.links].count("http://a.test/in") == 2
    long = feed.replace("<channel>", "<channel>" + " " * 16 * 140_000)
    assert lexbor_extractor().extract(page(long.encode(), headers=rss)).error is None


def test_a_hostile_svg_document_is_cut_before_it_is_rewritten() -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><a href='a'/>"
    found = lexbor_extractor().extract(
        page(svg + b"<g/>" * MAX_TAGS + b"<a href='b'/>", headers=(("Content-Type", "image/svg+xml"),))
    )
    assert [link.href for link in found.links] == ["a"]
    assert found.error == f"too much to parse: read the first {len(svg) + 4 * (MAX_TAGS - 3)} bytes"


@pytest.mark.parametrize(
    "script",
    ["'/" * 200_000, '"https:\\/' * 100_000, "'/" + "\\/" * 200_000, "'//" + "a" * 400_000],
    ids=lambda script: script[:8],
)
@pytest.mark.timeout(MAX_WAIT_S)
def test_hostile_scripts_take_no_hostile_time(script: str) -> None:
    extractor = lexbor_extractor(options=Options(scripts=True))
    for media_type, text in (("", script), ("application/ld+json", script), ("application/ld+json", "[" * 100_000)):
        assert extractor.extract(page(f"<script type='{media_type}'>{text}</script>".encode())).error is None


@pytest.mark.parametrize(
    "piece",
    [b"<a ", b"<a/", b"<![CDATA[", b"<!--", b"<script>", b"<a b='", b"<script/><script>", b'="\n', b"=\n", b"='\n\"="],
)
@pytest.mark.timeout(MAX_WAIT_S)
def test_hostile_xhtml_takes_no_hostile_time(piece: bytes) -> None:
    xhtml_to_html(piece * 200_000)


@pytest.mark.parametrize("piece", [b"'\n'", b"\"'\n", b"'x'", b"\n", b"'\n"])
@pytest.mark.timeout(MAX_WAIT_S)
def test_a_hostile_tag_of_xhtml_takes_no_hostile_time(piece: bytes) -> None:
    xhtml_to_html(b"<a " + piece * 200_000 + b"'")


@pytest.mark.timeout(MAX_WAIT_S)
def test_strings_that_are_almost_paths_take_no_hostile_time() -> None:
    string = f"'/{'%' * 2000}'"
    assert list(script_urls(string * (MAX_SCRIPT_CHARACTERS // len(string)), "")) == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("piece", [b"</html " + b"x" * 60, b"<a ", b"<div /"])
@pytest.mark.timeout(MAX_WAIT_S)
def test_torn_tags_take_no_hostile_time(piece: bytes, make: Make) -> None:
    found = make().extract(page(b"<a href=x>y</a>" + piece * (MAX_READ_BYTES // len(piece))))
    assert [link.href for link in found.links] == ["x"]
