"""Sitemaps as they are served: what other readers bear is read, and what is missing is told."""

import gzip
import random
import zlib

import pytest

from crawler.page import Extract, LinkKind
from crawler.read.feeds import xml_reader
from crawler.read.feeds.feeds import xml_links
from crawler.read.feeds.unpack import MAX_SITEMAP_BYTES, GzipPieces
from crawler.read.feeds.xml_fixups import _CHUNK_BYTES, RepairedXml
from crawler.read.feeds.xml_reader import MAX_DEPTH
from crawler.read.html.lexbor import lexbor_extractor
from tests.unit.read.suites import page

HEAD = "<?xml version='1.0' encoding='UTF-8'?>"
NAMESPACE = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
A, B = "https://h.example/a", "https://h.example/b"


def urlset(*urls: str) -> str:
    return f"<urlset {NAMESPACE}>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


def read(body: str | bytes, declared: str | None = "application/xml") -> Extract:
    return lexbor_extractor().extract(
        page(
            body.encode() if isinstance(body, str) else body,
            url="https://h.example/sitemap.xml",
            headers=(("Content-Type", declared),) if declared else (),
        )
    )


def hrefs(extract: Extract) -> list[str]:
    return [link.href for link in extract.links]


BEFORE = [
    "Some words of a template.\n",
    "\nWarning: Undefined variable $x in /var/www/x.php on line 3\n",
    "<br />\n<b>Warning</b>:  foo() in <b>/x.php</b> on line <b>3</b><br />\n",
    "<br />\n<b>Deprecated</b>:  foo() in <b>/x.php</b> on line <b>3</b><br />\n" * 500,
    "<!-- <urlset> --><document>",
]
DECLARED = ["application/xml", "text/html", "text/plain", "application/octet-stream", None]


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("before", BEFORE, ids=lambda before: before[:12])
def test_what_stands_before_a_sitemap_hides_nothing(before: str, declared: str | None) -> None:
    for body in (before + HEAD + urlset(A, B), before + urlset(A, B) + "\n<!-- 0.1 s -->"):
        for served in (body.encode(), gzip.compress(body.encode())):
            found = read(served, declared)
            assert (hrefs(found), found.error) == ([A, B], None)


@pytest.mark.parametrize("declared", DECLARED)
def test_warnings_before_a_feed_hide_nothing(declared: str | None) -> None:
    feed = f"{HEAD}<rss version='2.0'><channel><item><link>{A}</link></item></channel></rss>"
    assert hrefs(read("<br />\n<b>Warning</b>: foo<br />\n" + feed, declared)) == [A]


def test_text_and_pages_that_show_how_a_sitemap_is_written_are_none() -> None:
    shown = urlset(A)
    assert read(f"# Sitemaps\n\n{shown}\n\nThat is all.", "text/plain").links == []
    assert read(f"<!doctype html><p>So:<pre>{shown}</pre>", "text/html").content_type == "text/html"
    assert read(f"<html><body>{shown}</body></html>", "text/html").links == []
    assert read(f"<reply><rss><link>{A}</link></rss></reply>").links == []


def test_two_documents_in_one_are_read_both() -> None:
    first, second = urlset(A), urlset(B)
    for body in (first + second, HEAD + first + "\n" + HEAD + second, HEAD + first + "<!DOCTYPE urlset [ ]>" + second):
        found = read(body)
        assert (hrefs(found), found.error) == ([A, B], None)
    index = "<sitemapindex><sitemap><loc>s.xml</loc></sitemap></sitemapindex>"
    links = read(index + first).links
    assert [(link.href, link.kind) for link in links] == [("s.xml", LinkKind.SITEMAP), (A, LinkKind.LISTED)]


def test_the_end_of_a_second_prolog_is_not_looked_for_in_the_rest_of_the_document() -> None:
    short, long = (f"<!DOCTYPE a []{' ' * length}>".encode() for length in (100, 3000))
    assert b"".join(RepairedXml([urlset(A).encode(), short, long])) == urlset(A).encode() + b"&lt;" + long[1:]
    short, long = (f"<!DOCTYPE a [{' ' * length}]>".encode() for length in (1000, 3000))
    assert b"".join(RepairedXml([urlset(A).encode(), short, long])) == urlset(A).encode() + b"&lt;" + long[1:]


@pytest.mark.parametrize(
    "body",
    [
        urlset(A, B).replace("<urlset", "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'"),
        urlset(A, B).replace("</url>", "</url></url>"),
        urlset(A, B).upper().replace("HTTPS://H.EXAMPLE/A", A).replace("HTTPS://H.EXAMPLE/B", B),
        f"<sitemap><url><loc>{A}</loc></url><url><loc>{B}</loc></url></sitemap>",
        f"<root>{urlset(A, B)}</root>",
    ],
)
def test_mistakes_in_markup_lose_no_url(body: str) -> None:
    found = read(body)
    assert ([(link.href, link.kind) for link in found.links], found.error) == (
        [(A, LinkKind.LISTED), (B, LinkKind.LISTED)],
        None,
    )


STRAY_MARKUP = [
    "a < b",
    "I <3 it",
    "<> <= <- <1>",
    "x<",
    "<!if IE>x<![endif]>",
    "<![cdata[x]]>",
    "<!-- x --->",
    "<!-->",
    "<!--->",
    "<!-- & < <![CDATA[ <link> -- > -->",
    f"<!{'-' * 100}>",
]
"""An XML parser stops at each of these."""


@pytest.mark.parametrize("written", STRAY_MARKUP)
def test_markup_of_html_and_a_lone_angle_bracket_in_a_feed_lose_no_link(written: str) -> None:
    body = f"<rss><channel><item><title>{written}</title><link>{A}</link></item><item><link>{B}</link></item></channel>"
    found = read(f"{body}</rss>")
    assert (hrefs(found), found.error) == ([A, B], None)
    encoded = f"{body}</rss>".encode()
    listing = xml_links([encoded[at : at + 1] for at in range(len(encoded))])
    assert ([link.href for link in listing.links], listing.trouble) == ([A, B], None)


@pytest.mark.parametrize(
    "written", ["<? >", '<a b="', "<p <b>x</b>", "</b <b>x</b>", "<a title='>' <!-- x -->", "<b<![CDATA[x]]>"]
)
def test_a_tag_without_an_end_in_a_feed_loses_no_link(written: str) -> None:
    found = read(
        f"<rss><channel><item><title>{written}</title><link>{A}</link></item><item><link>{B}</link></item></channel></rss>"
    )
    assert (hrefs(found), found.error) == ([A, B], None)


@pytest.mark.parametrize("ends", [("</loc", "</url>"), ("</loc>", "</url"), ("</loc", "</url")])
def test_an_end_tag_that_lacks_its_last_character_is_read(ends: tuple[str, str]) -> None:
    found = read(f"<urlset><url><loc>{A}{ends[0]}{ends[1]}<url><loc>{B}</loc></url></urlset>")
    assert (hrefs(found), found.error) == ([A, B], None)


@pytest.mark.parametrize(
    "root", ["<urlset", f"<urlset {NAMESPACE}", "<urlset xmlns='http://h.example", "<s:urlset a=b ", "<urlset a='>'\n"]
)
@pytest.mark.parametrize("before", ["", HEAD, "Some words.\n"])
def test_a_root_that_lacks_the_last_character_of_its_tag_is_read(before: str, root: str) -> None:
    entries = f"<url>\n<loc>{A}</loc></url>\n<url><loc>{B}</loc></url></urlset>"
    for padding in ("", "<!-- x -->", " " * 10_000):
        assert hrefs(read(f"{before}{root}{padding}{entries}")) == [A, B]


def test_a_root_without_the_end_of_its_tag_keeps_its_attributes() -> None:
    feed = "<feed xml:base='https://o.example/' x <entry><link href='a'/></entry></feed>"
    assert hrefs(read(feed)) == ["https://o.example/a"]


@pytest.mark.parametrize("value", ["a < b", "a <b c", "a <b> c <", "a > b <c", "a <b c='d' <e", "a > b"])
def test_a_tag_that_lies_in_two_pieces_is_read(value: str) -> None:
    first, entries = (
        b"<feed>",
        f"<entry><link title=\"{value}\" href='a'/></entry><entry><link href='b'/></entry></feed>",
    )
    for in_first in range(len(entries)):
        padding = b" " * (_CHUNK_BYTES - len(first) - in_first)
        listing = xml_links([first + padding + entries.encode()])
        assert ([link.href for link in listing.links], listing.trouble) == (["a", "b"], None)


def test_the_end_of_a_feed_is_known_where_it_lies_in_two_pieces_and_an_element_is_open() -> None:
    first, end = b"<feed><entry><entry><link href='a'/></entry>", b"</feed>"
    for in_first in range(len(end)):
        padding = b" " * (_CHUNK_BYTES - len(first) - in_first)
        listing = xml_links([first + padding + end])
        assert ([link.href for link in listing.links], listing.trouble) == (["a"], None)


@pytest.mark.parametrize("written", ["<!-- x", "<![CDATA[ x", "<\N{MIDDLE DOT}>"])
def test_a_feed_that_cannot_be_read_to_its_end_says_so(written: str) -> None:
    found = read(f"<rss><channel><item><link>{A}</link></item>{written}<item><link>{B}</link></item></channel></rss>")
    assert hrefs(found) == [A]
    assert found.error


def test_entities_of_the_dtd_are_expanded() -> None:
    dtd = "<!DOCTYPE urlset [<!ENTITY host 'h.example'><!ENTITY site \"https://&host;\"><!ENTITY q 'x&amp;y'>]>"
    for body in (HEAD + dtd + urlset("&site;/a", "&site;/b?&q;"), dtd + urlset("&site;/a", "&site;/b?&q;")):
        for pieces in ([body.encode()], [bytes([byte]) for byte in body.encode()]):
            listing = xml_links(pieces)
            assert ([link.href for link in listing.links], listing.trouble) == ([A, f"{B}?x&y"], None)


def test_the_items_of_rss_1_are_known_by_what_they_are_about() -> None:
    names = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'"
    items = f"<item rdf:about='{A}'><title>x</title></item><item rdf:about='urn:x'><link>{B}</link></item>"
    for feed in (f"<rdf:RDF {names}>{items}</rdf:RDF>", f"<rdf:RDF>{items}</rdf:RDF>"):
        assert hrefs(read(feed)) == [A, B]
    listed = (
        f"<channel><items><rdf:Seq><rdf:li rdf:resource='{A}'/></rdf:Seq></items><image rdf:resource='i'/></channel>"
    )
    assert hrefs(read(f"<rdf:RDF {names}>{listed}</rdf:RDF>")) == [A, "i"]


def test_urls_of_the_own_site_need_no_scheme() -> None:
    written = ["h.example/a", "www.h.example:8080/b?c", "H.example", "h.example.html", "i.example/a", "//h.example/d"]
    meant = ["https://h.example/a", "https://www.h.example:8080/b?c", "https://H.example", *written[3:]]
    assert hrefs(read(urlset(*written))) == meant
    assert hrefs(read("h.example/a\nwww.h.example/b\nhttps://h.example/c\n", "text/plain")) == [
        "https://h.example/a",
        "https://www.h.example/b",
        "https://h.example/c",
    ]


@pytest.mark.parametrize(
    "declared",
    ["text/html", "application/json", "text/csv", "text/plain", "text/markdown", "text/xml", "application/xml", None],
)
def test_a_list_of_urls_is_known_whatever_it_is_declared_to_be(declared: str | None) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert hrefs(read(f"{A}\n{B}\n".encode(encoding), declared)) == [A, B]
    assert read(f"{A}\n<p>That is where to look.", "text/html").content_type == "text/html"
    assert read(f"{A},2026\n", "text/csv").links == []


@pytest.mark.parametrize(
    "declared", ["application/json", "text/css", "application/javascript", "application/xhtml+xml", "text/csv"]
)
def test_a_sitemap_is_known_whatever_it_is_declared_to_be(declared: str) -> None:
    found = read(HEAD + urlset(A, B), declared)
    assert (found.content_type, hrefs(found)) == ("application/xml", [A, B])


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("body", [HEAD + urlset(A, B), f"{A}\n{B}\n"])
def test_a_sitemap_may_be_compressed_several_times(body: str, times: int) -> None:
    packed = body.encode()
    for _ in range(times):
        packed = gzip.compress(packed)
    found = read(packed)
    assert (hrefs(found), found.error) == ([A, B], None)


def trouble(body: str | bytes) -> str:
    """Why a sitemap is cut, of which the first URL is read nevertheless."""
    found = read(body)
    assert hrefs(found)[0] == A
    assert found.error is not None
    return found.error


def test_what_is_cut_says_why_and_keeps_what_came_before() -> None:
    whole = HEAD + urlset(A, B)
    assert trouble(whole[: whole.index(B) + 5]) == "ends in the middle"
    deep = whole.replace("<url><loc>" + B, "<x>" * (MAX_DEPTH + 1) + "<url><loc>" + B)
    assert trouble(deep) == f"is nested deeper than {MAX_DEPTH} elements; the rest is not read"
    assert trouble(urlset(A) + "</x>" * 60 + urlset(B)) == "has too many end tags; the rest is not read"
    assert trouble(urlset(A, *[B] * 50_000)) == "lists more than 50000 URLs; the rest is not read"


@pytest.mark.parametrize(
    "many",
    [
        "<x/>" * 120_000,
        "<x a='' b='' c=''/>" * 30_000,
        "<url>" + "<x/>" * 120_000 + "</url>",
        "<loc>" + "&none;" * 120_000 + "</loc>",
        " " * 300_000 + "<loc>" + "&e;" * 150 + "</loc>",
    ],
)
def test_what_is_no_entry_or_a_large_one_takes_little_memory(monkeypatch: pytest.MonkeyPatch, many: str) -> None:
    monkeypatch.setattr(xml_reader, "MAX_HELD", 100_000)
    dtd = f"<!DOCTYPE urlset [<!ENTITY e '{'&none;' * 1000}'>]>"
    why = "has more than 100000 elements and attributes in one entry or in none; the rest is not read"
    assert trouble(dtd + urlset(A).replace("</urlset>", f"{many}<url><loc>{B}</loc></url></urlset>")) == why


def test_entries_are_freed_whatever_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_reader, "MAX_HELD", 100)
    entry = f"<url><loc>{A}</loc><x a=''/></url>"
    found = read(HEAD + "<urlset>" + entry * 2_000 + "</urlset>")
    assert (len(found.links), found.error) == (2_000, None)


def test_entries_within_entries_are_freed_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_reader, "MAX_HELD", 100)
    entry = f"<entry><x a=''/><object><entry><id/></entry></object><link href='{A}'/></entry>"
    found = read(HEAD + "<feed>" + entry * 200 + "</feed>")
    assert (len(found.links), found.error) == (200, None)


def test_entities_that_are_not_read_say_so() -> None:
    bomb = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
    for dtd, name, why in (
        (f"<!ENTITY e0 'x'>{bomb}", "e11", "expands to more than 10000 bytes"),
        ("<!ENTITY a '&b;'><!ENTITY b '&a;'>", "a", "expands to more than 10000 bytes"),
        ("<!ENTITY x SYSTEM 'file:///etc/passwd'>", "x", "is external"),
    ):
        found = f"<!DOCTYPE urlset [{dtd}]>" + urlset(A, f"{B}&{name};")
        assert trouble(found) == f"its entity {name} {why}, and is not read"
        assert hrefs(read(found)) == [A]
    many = f"<!DOCTYPE urlset [<!ENTITY x '{'x' * 9_000}'>]>" + urlset(A, *["&x;"] * 5_000)
    assert trouble(many) == "its entities expand to many times its size; the rest is not read"
    assert sum(map(len, hrefs(read(many)))) < 4 * len(many) + 20_000
    short = f"<!DOCTYPE urlset [<!ENTITY x '{'<a/>' * 2_000}'>]>" + urlset(A, *["&x;"] * 20)
    assert trouble(short) == "its entities expand to many times its size; the rest is not read"


def test_compressed_data_that_is_not_read_says_so() -> None:
    body = (HEAD + urlset(A, *(f"{B}?{random.Random(at).random()}" for at in range(5_000)))).encode()
    packed = gzip.compress(body)
    assert trouble(packed[: len(packed) // 2]) == "its compressed data ends in the middle"
    broken = packed[: len(packed) // 2] + b"\xff" * 100 + packed[len(packed) // 2 + 100 :]
    assert trouble(broken).startswith("its compressed data is damaged: ")
    assert trouble(gzip.compress(packed[: len(packed) // 2])) == "its compressed data ends in the middle"
    nested = (HEAD + urlset(A)).encode()
    for _ in range(4):
        nested = gzip.compress(nested)
    found = read(nested)
    assert (found.links, found.error) == ([], "is compressed more than 3 times, and not read")
    members = gzip.compress(f"{A}\n".encode()) + gzip.compress(b"\n") * 10_000
    assert trouble(members) == "has 10000 compressed members or more; the rest is not read"


def test_a_compressed_bomb_says_so_and_its_beginning_is_read() -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = packer.compress((HEAD + urlset(A)[: -len("</urlset>")]).encode())
    bomb += b"".join(packer.compress(b" " * 1_000_000) for _ in range(60)) + packer.flush()
    assert trouble(bomb) == f"decompresses to more than {MAX_SITEMAP_BYTES} bytes; the rest is not read"
    exact = GzipPieces([gzip.compress(bytes(MAX_SITEMAP_BYTES))])
    assert sum(map(len, exact)) == MAX_SITEMAP_BYTES
    assert exact.trouble is None


def test_padding_behind_compressed_data_is_no_trouble() -> None:
    for padding in (bytes(512), b"rubbish", b"\x1f\x8b"):
        found = read(gzip.compress((HEAD + urlset(A)).encode()) + padding)
        assert hrefs(found) == [A]
        assert found.error is None or padding == b"\x1f\x8b"
