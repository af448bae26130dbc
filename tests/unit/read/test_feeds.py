import base64
import gzip
import io
import json
import random
import re
import tarfile
import tracemalloc
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import READ_IN_PART, Extract, Link, LinkKind
from crawler.read.feeds import feeds, sitemaps, xml_reader
from crawler.read.feeds.feeds import xml_links
from crawler.read.feeds.sitemaps import MAX_LINKS, parse_url_list
from crawler.read.feeds.unpack import MAX_SITEMAP_BYTES, PIECE_BYTES, GzipPieces
from crawler.read.html.lexbor import lexbor_extractor
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.url.urls import MAX_URL_LENGTH, join
from tests.unit.read.suites import page


def found(body: bytes | str) -> list[tuple[str, LinkKind]]:
    return [(link.href, link.kind) for link in xml_links([body.encode() if isinstance(body, str) else body]).links]


def extract(body: bytes, declared: str | None = None) -> Extract:
    result = lexbor_extractor().extract(page(body, headers=(("Content-Type", declared),) if declared else ()))
    assert re.match(r"\w+(Error|Exception)\b", result.error or "") is None, result.error
    return result


SITEMAP, LISTED, FEED, EMBED = LinkKind.SITEMAP, LinkKind.LISTED, LinkKind.FEED, LinkKind.EMBED
FRAME = LinkKind.FRAME


def test_a_sitemap_gives_its_pages_and_what_its_extensions_name() -> None:
    assert found(
        """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i" xmlns:xhtml="x" xmlns:video="v">
        <url><loc> /a?x=1&amp;y=<![CDATA[2&z]]> </loc><image:image><image:loc>a.png</image:loc></image:image>
        <xhtml:link rel="alternate" hreflang="de" href="/de"/>
        <video:video><video:content_loc>v.mp4</video:content_loc><video:player_loc>p</video:player_loc></video:video></url>
        <url><loc></loc></url><url><loc>b</loc></url></urlset>"""
    ) == [
        ("/a?x=1&y=2&z", LISTED),
        ("a.png", EMBED),
        ("/de", LinkKind.ALTERNATE),
        ("v.mp4", EMBED),
        ("p", LinkKind.FRAME),
        ("b", LISTED),
    ]


def test_a_sitemap_index_gives_its_sitemaps_in_whatever_name_space() -> None:
    index = "<s:SitemapIndex xmlns:s='wrong'><s:sitemap><s:loc>a.xml</s:loc></s:sitemap><s:sitemap>https://e.org/b.xml</s:sitemap>"
    assert found(index) == [("a.xml", SITEMAP), ("https://e.org/b.xml", SITEMAP)]


def test_the_date_of_an_entry_is_that_of_its_page_and_of_no_other_link() -> None:
    sitemap = (
        b"<urlset><url><lastmod> 2026-01-02 </lastmod><loc>/a</loc><image><loc>i.png</loc></image></url>"
        b"<url><loc>/b</loc></url><url><loc>/c</loc><lastmod>2026</lastmod></url>"
        b"<url><loc>/d</loc><lastmod>" + b"9" * 99 + b"</lastmod></url></urlset>"
    )
    links = xml_links([sitemap]).links
    assert [(link.href, link.last_modified, link.entry_date) for link in links] == [
        ("/a", "2026-01-02", "2026-01-02"),
        ("i.png", "", "2026-01-02"),
        ("/b", "", ""),
        ("/c", "2026", "2026"),
        ("/d", "", ""),
    ]


@pytest.mark.parametrize(
    ("feed", "date"),
    [
        (
            "<rss><item><link>/a</link><pubDate> Sun, 06 Nov 1994 08:49:37 GMT </pubDate>{}</item></rss>",
            "Sun, 06 Nov 1994 08:49:37 GMT",
        ),
        ("<rss><item><dc:date>1994-11-06</dc:date><link>/a</link>{}</item></rss>", "1994-11-06"),
        ("<feed><entry><published>1994</published><updated>1995</updated><link href='/a'/>{}</entry></feed>", "1995"),
        ("<feed><entry><source><updated>1995</updated></source><link href='/a'/>{}</entry></feed>", ""),
    ],
)
def test_the_date_of_an_entry_of_a_feed_is_that_of_all_its_links(feed: str, date: str) -> None:
    feed = feed.format("<enclosure url='/i.mp3'/><link>/b</link>").replace("><", "><link href='/channel'/><", 1)
    links = xml_links([feed.encode()]).links
    assert [(link.href, link.last_modified) for link in links] == [
        (each, "") for each in ("/channel", "/a", "/i.mp3", "/b")
    ]
    assert [link.entry_date for link in links] == ["", date, date, date]


def test_a_change_frequency_is_a_hint_of_its_entry_and_a_wrong_one_is_counted() -> None:
    sitemap = (
        b"<urlset><url><loc>/a</loc><changefreq> Daily </changefreq><lastmod>2026</lastmod></url>"
        b"<url><changefreq>often</changefreq><loc>/b</loc></url><url><loc>/c</loc><changefreq/></url>"
        b"<url><loc>/d</loc><changefreq>7</changefreq></url></urlset>"
    )
    listing = xml_links([sitemap])
    assert [(link.href, link.change_frequency, link.last_modified) for link in listing.links] == [
        ("/a", "daily", "2026"),
        ("/b", "", ""),
        ("/c", "", ""),
        ("/d", "", ""),
    ]
    assert listing.trouble == "ignored 2 values of <changefreq> without a meaning"
    assert (
        xml_links([sitemap.replace(b">7<", b">never<")]).trouble == "ignored 1 value of <changefreq> without a meaning"
    )
    assert xml_links([sitemap[:-20]]).trouble == "ends in the middle"


def test_feeds_give_their_entries() -> None:
    assert found(
        "<rss><channel><link>/</link><item><link>a</link><guid>https://e.org/a</guid><guid isPermaLink='false'>https://x/</guid>"
        "<enclosure url='a.mp3'/><comments>a#c</comments></item></channel></rss>"
    ) == [("/", FEED), ("a", FEED), ("https://e.org/a", FEED), ("a.mp3", EMBED), ("a#c", FEED)]
    assert found(
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/'/><link rel='hub' href='h'/><link rel=next href='n'/>"
        "<entry><link rel='alternate' href='a'/><link rel='enclosure' href='e'/></entry></feed>"
    )[-2:] == [("a", FEED), ("e", EMBED)]


@pytest.mark.parametrize(
    "feed",
    [
        "<rss><channel><item><enclosure url='a.mp3'/></item></channel></rss>",
        "<rss xmlns:media='http://search.yahoo.com/mrss/'><item><media:content url='a.mp3'/></item></rss>",
        "<feed><entry><link rel='Enclosure' href='a.mp3'/></entry></feed>",
        '{"version": "https://jsonfeed.org/version/1.1", "items": [{"attachments": [{"url": "a.mp3"}]}]}',
    ],
    ids=["rss", "media rss", "atom", "json"],
)
def test_an_enclosure_is_told_from_what_a_feed_shows(feed: str) -> None:
    declared = "application/feed+json" if feed[0] == "{" else "application/xml"
    assert extract(feed.encode(), declared).links == [Link("a.mp3", EMBED, rel="enclosure")]


def test_an_entry_of_a_feed_without_a_link_is_known_by_its_identifier() -> None:
    assert found(
        "<rss><channel><item><guid isPermaLink='false'>https://e.org/a</guid></item><item><guid>https://e.org/b</guid></item>"
        "<item><link>c</link><guid isPermaLink='false'>https://e.org/no</guid></item><item><guid>urn:x</guid></item>"
        "</channel></rss>"
    ) == [("https://e.org/a", FEED), ("https://e.org/b", FEED), ("c", FEED)]


def test_links_of_a_feed_whose_cdata_is_escaped_are_read() -> None:
    link = "&lt;![CDATA[https://e.org/{}]]&gt;"
    assert found(f"<rss><item><link>{link.format('a')}</link><guid>{link.format('b')}</guid></item></rss>") == [
        ("https://e.org/a", FEED),
        ("https://e.org/b", FEED),
    ]


def test_media_of_feeds_are_embedded() -> None:
    assert found(
        "<rss xmlns:media='m'><channel><image><url>logo.png</url><link>/</link></image><item>"
        "<media:content url='v.mp4'>"
        "<media:thumbnail url='t.png'/></media:content></item></channel></rss>"
    ) == [("logo.png", EMBED), ("/", FEED), ("t.png", EMBED), ("v.mp4", EMBED)]
    assert found("<feed><entry><content src='whole.html'/><content>text</content></entry></feed>") == [
        ("whole.html", FEED)
    ]


def test_what_feeds_name_beside_their_entries_is_found() -> None:
    assert found(
        "<rss xmlns:itunes='i' xmlns:media='m'><channel><itunes:image href='cover.jpg'/><item>"
        "<source url='https://e.org/feed'>Other</source><media:player url='watch'/></item></channel></rss>"
    ) == [("cover.jpg", EMBED), ("https://e.org/feed", FEED), ("watch", FRAME)]
    assert found(
        "<feed xmlns='http://www.w3.org/2005/Atom'><icon>/favicon.ico</icon><logo> /logo.png </logo>"
        "<generator uri='https://made.by/'>x</generator><author><name>x</name><uri>/joe</uri></author></feed>"
    ) == [("/favicon.ico", EMBED), ("/logo.png", EMBED), ("/joe", FEED)]


@pytest.mark.parametrize("html", ["a<br>b", "<p>a<p>b", "<img src=x> a", "a</b></i>c", "<br/><ul><li>a</p>"])
def test_a_feed_is_read_on_whatever_html_its_entries_have_without_escapes(html: str) -> None:
    entries = "".join(
        f"<item><title>t</title><link>/{number}</link><description>{html}</description></item>\n"
        for number in range(3000)
    )
    # Surplus end tags also end the element that names the base.
    base = "" if "</b>" in html else "http://b.test"
    body = f"<rss xml:base='{base}'><channel>{entries}</channel></rss>".encode()
    pieces = [body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES)]
    listing = xml_links(pieces)
    assert [link.href for link in listing.links] == [f"{base}/{number}" for number in range(3000)]
    assert listing.trouble is None


def test_an_entry_with_very_many_unclosed_tags_keeps_no_other_from_being_read() -> None:
    entries = "".join(
        f"<item><description>{'a<br>' * breaks}</description><link>{breaks}</link></item>"
        for breaks in (xml_reader.MAX_DEPTH, 0, 3000, 1)
    )
    listing = xml_links([f"<rss><channel>{entries}</channel></rss>".encode()])
    assert [link.href for link in listing.links] == [str(xml_reader.MAX_DEPTH), "0", "1"]


def test_entries_without_an_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_reader, "MAX_LINKS", 100)
    entry = b"<item><link>a</link>" + b"<a>" * 30
    assert xml_links([b"<rss><channel>" + entry * 300]).trouble == "lists more than 100 URLs; the rest is not read"


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("caf&eacute;", "café"),
        ("a?b&copy;", "a?b©"),
        ("a?b&copy=1", "a?b&copy=1"),
        ("a&#233;&#xe9;&amp;&quot;&apos;&lt;&gt;", "aéé&\"'<>"),
        ("a<!-- not --><?nor this?>b", "ab"),
        ("<![CDATA[ a?b&eacute;&c ]]>", "a?b&eacute;&c"),
        (" &lt;![CDATA[ a?b&amp;c ]]&gt; ", "a?b&c"),
        ("<![CDATA[<![CDATA[a]]]]><![CDATA[>]]>", "a"),
        ("&lt;![CDATA[a", "<![CDATA[a"),
    ],
)
def test_a_url_is_read_whole_whatever_is_written_in_it(written: str, url: str) -> None:
    assert found(f"<urlset><url><loc>{written}</loc></url></urlset>") == [(url, LISTED)]


@pytest.mark.parametrize("declared", ["application/xml", "text/html", "application/octet-stream", None])
@pytest.mark.parametrize("encoded", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_sitemaps_in_utf16_are_known_by_their_content(declared: str | None, encoded: str, mark: str) -> None:
    body = f"{mark}<?xml version='1.0'?><urlset><url><loc>/é</loc></url></urlset>".encode(encoded)
    assert [link.href for link in extract(body, declared).links] == ["/é"]
    assert [link.href for link in extract(gzip.compress(body), declared).links] == ["/é"]


def test_prefixes_that_nobody_declared_are_understood() -> None:
    assert found(
        "<urlset><url><loc>/a</loc><image:image><image:loc>i.png</image:loc></image:image></url></urlset>"
    ) == [
        ("/a", LISTED),
        ("i.png", EMBED),
    ]
    assert found("<rss><item><link>a</link><wfw:commentRss>a/feed</wfw:commentRss></item></rss>") == [
        ("a", FEED),
        ("a/feed", FEED),
    ]


def test_a_list_of_urls_is_one_also_where_it_is_declared_to_be_xml() -> None:
    assert [link.href for link in extract(b"https://e.org/a\nhttps://e.org/b", "text/xml").links] == [
        "https://e.org/a",
        "https://e.org/b",
    ]


def test_other_xml_has_no_links() -> None:
    assert found("<note><link>x</link><loc>y</loc></note>") == []


def test_broken_xml_is_read_as_far_as_it_goes() -> None:
    assert found("<urlset><url><loc>a</loc></url><url><loc>b&nbsp;</loc></url><url><loc>c")[:2] == [
        ("a", LISTED),
        ("b", LISTED),
    ]


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("/a?b=1&c=2", "/a?b=1&c=2"),
        ("/a?b=1&amp;c=2&d=3&copy=4", "/a?b=1&c=2&d=3&copy=4"),
        ("/a?b=1& c", "/a?b=1& c"),
        ("/a?&", "/a?&"),
        ("/a?&&#38;&#x26;&#;&#xg;", "/a?&&&&#;&#xg;"),
        ("<![CDATA[/a?b=1&c=2]]>&d=3<![CDATA[&amp;]]>", "/a?b=1&c=2&d=3&amp;"),
    ],
)
def test_urls_with_bare_ampersands_are_read_as_they_are_meant(written: str, url: str) -> None:
    sitemap = f"<urlset><url><loc>{written}</loc></url><url><loc>/b</loc></url></urlset>".encode()
    for pieces in ([sitemap], [bytes([byte]) for byte in sitemap]):
        assert [link.href for link in xml_links(pieces).links] == [url, "/b"]


@pytest.mark.parametrize(
    "piece",
    [
        *(b"<![CDATA[]]>", b"<![CDATA[", b"&", b"]]>", b"<!", b"&#1", b"<a>&"),
        *(b"<a", b"<?", b"<a></a", b"<a<!---->", b"<a<![CDATA[]]>", b'<a b="', b'<a b=">" c='),
        *(b'<a b="<"', b"<a \"<a '", b'<a b="<" c="<" d="<" e="<"', b"</a"),
    ],
)
@pytest.mark.timeout(MAX_WAIT_S)
def test_hostile_xml_takes_no_hostile_time(piece: bytes) -> None:
    xml_links([b"<feed>" + piece * 400_000 + b"?>"])


@pytest.mark.parametrize("title", ["A <B", "A <b>B</b>", "1 < 2", "a &lt; <b> <c"])
def test_a_link_of_a_feed_whose_title_has_an_angle_bracket_is_read(title: str) -> None:
    entries = f"""<entry><link title="{title}" rel='alternate' href="/a"/></entry><entry><link href="/b"/></entry>"""
    assert [link.href for link in xml_links([f"<feed>{entries}</feed>".encode()]).links] == ["/a", "/b"]


def test_links_of_a_feed_are_relative_to_the_base_it_names() -> None:
    feed = (
        b"<feed xml:base='/blog/'><link href='a'/><entry xml:base='x/'><link href='b'/><content src='/c'/></entry>"
        b"<entry><link href='https://other.test/d'/></entry></feed>"
    )
    result = extract(feed, "application/atom+xml")
    assert [link.href for link in result.links] == [
        "https://example.org/blog/a",
        "https://example.org/blog/x/b",
        "https://example.org/c",
        "https://other.test/d",
    ]
    assert found("<rss><channel><link xml:base='mailto:x'>a</link><item><link>b</link></item></channel></rss>") == [
        ("a", FEED),
        ("b", FEED),
    ]


def test_a_long_base_makes_no_more_of_a_feed_than_a_few_times_its_size() -> None:
    for feed in (
        b"<feed xml:base='http://e.org/" + b"x" * 2_000 + b"/'>" + b"<link href='a'/>" * 20_000,
        b"<feed xml:base='http://e.org/" + b"x" * 9_000 + b"/'>" + b"<link href='a'/>" * 20_000,
        b"<feed>" + b"<e xml:base='abcdefghij/'>" * 200 + b"<link href='a'/>" * 20_000,
    ):
        links = xml_links([feed], url="https://e.org/feed").links
        assert len(links) > 100
        assert sum(len(link.href) for link in links) <= 4 * len(feed) + 100_000


LONG_BASE = f"<base href='http://e.org/{'x' * 9_000}/'>"
MANY_LINKS = "<a href=a>" * 5_000


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", f'<iframe srcdoc="{LONG_BASE}{MANY_LINKS}"></iframe>'),
        ("text/html", f'<iframe srcdoc="{LONG_BASE}{MANY_LINKS[:1_000]}"></iframe>' * 100),
        ("application/rss+xml", f"<rss><item><description>{escape(LONG_BASE + MANY_LINKS)}</description></item></rss>"),
        (
            "application/json",
            json.dumps(
                {"version": "https://jsonfeed.org/version/1.1", "items": [{"content_html": LONG_BASE + MANY_LINKS}]}
            ),
        ),
    ],
)
def test_the_base_of_html_within_a_document_makes_no_more_of_it_than_a_few_times_its_size(
    content_type: str, body: str
) -> None:
    links = lexbor_extractor().extract(page(body.encode(), headers=(("Content-Type", content_type),))).links
    assert links
    assert sum(len(link.href) for link in links) <= 4 * len(body) + 100_000


def test_links_are_not_joined_with_a_link_of_their_item_that_is_too_long_to_crawl() -> None:
    for length, base in ((1_000, f"https://e.org/{'x' * 1_000}/"), (MAX_URL_LENGTH, "")):
        about = f"https://e.org/{'x' * length}/"
        feed = f"<rss><item><link>{about}</link><description>&lt;a href=a></description></item></rss>"
        read = lexbor_extractor().extract(page(feed.encode(), headers=(("Content-Type", "text/xml"),)))
        assert [link.href for link in read.links] == [about, f"{base}a"]


def test_no_entity_is_loaded_or_expanded(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("https://secret.test/")
    bomb = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 12))
    for body in (
        f"<!DOCTYPE urlset [<!ENTITY x SYSTEM '{secret.as_uri()}'>]><urlset><url><loc>&x;</loc></url></urlset>",
        f"<!DOCTYPE urlset [<!ENTITY e0 'x'>{bomb}]><urlset><url><loc>&e11;</loc></url></urlset>",
    ):
        assert found(body) == []


def test_a_sitemap_may_not_have_more_urls_than_its_protocol_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (feeds, sitemaps, xml_reader):
        monkeypatch.setattr(module, "MAX_LINKS", 3)
    for many in (
        xml_links([b"<urlset>" + b"<url><loc>a</loc></url>" * 9 + b"</urlset>"]),
        parse_url_list("https://e.org/\n" * 9),
    ):
        assert len(many.links) == 3
        assert many.trouble == "lists more than 3 URLs; the rest is not read"
    for few in (
        xml_links([b"<urlset>" + b"<url><loc>a</loc></url>" * 3 + b"</urlset>"]),
        parse_url_list("https://e.org/\n" * 3 + "\n\n"),
    ):
        assert (len(few.links), few.trouble) == (3, None)


def test_a_list_of_urls_is_one_if_most_lines_are() -> None:
    assert [link.href for link in parse_url_list("\n https://e.org/a\r\n\nHTTP://e.org/b\n").links] == [
        "https://e.org/a",
        "HTTP://e.org/b",
    ]
    headed = "My pages\nhttps://e.org/a\nwww.e.org/b\nhttps://e.org/c"
    assert [link.href for link in parse_url_list(headed).links] == ["https://e.org/a", "https://e.org/c"]
    assert parse_url_list("https://e.org/a\nand some words\nand more").links == []
    assert parse_url_list("https://e.org/a has words").links == []
    assert [link.href for link in parse_url_list("\thttps://e.org/a\t\nhttps://e.org/b\t0.5").links] == [
        "https://e.org/a"
    ]
    assert [link.href for link in extract(b"My page:\nhttps://e.org/a", "text/plain").links] == ["https://e.org/a"]


@pytest.mark.parametrize(
    "declared", ["text/xml", "text/html", "text/plain", "application/x-xml", "application/octet-stream", None]
)
def test_sitemaps_are_known_by_their_content(declared: str | None) -> None:
    body = b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<urlset><url><loc>/a</loc></url></urlset>"
    for each in (body, body[3:].lstrip(), b"<urlset><url><loc>/a</loc></url></urlset>"):
        result = extract(each, declared)
        assert [link.href for link in result.links] == ["/a"], (declared, each)


@pytest.mark.parametrize("declared", ["application/gzip", "application/x-gzip"])
def test_what_is_declared_to_be_compressed_and_is_not_is_read_as_it_is(declared: str) -> None:
    for body in (
        b"https://e.org/a\n",
        b"<urlset><url><loc>https://e.org/a</loc></url></urlset>",
        b"<a href=https://e.org/a>",
    ):
        assert [link.href for link in extract(body, declared).links] == ["https://e.org/a"]


def test_compressed_sitemaps_are_unpacked_and_other_archives_are_not() -> None:
    sitemap = gzip.compress(b"<?xml version='1.0'?><urlset><url><loc>/a</loc></url></urlset>")
    for declared in ("application/x-gzip", "gzip/document", "application/octet-stream", "text/html", "application/xml"):
        assert [link.href for link in extract(sitemap, declared).links] == ["/a"], declared
    assert [link.href for link in extract(gzip.compress(b"https://e.org/a\n"), None).links] == ["https://e.org/a"]
    assert extract(gzip.compress(bytes(10_000)), None).links == []
    assert extract(sitemap[:30], None).links == []
    assert extract(b"\x1f\x8b\x08broken", None).links == []


def _archive(corpora: Path) -> ZipFile:
    return ZipFile(corpora / "sitemaps.zip")


def _cases(corpora: Path, end: str) -> Any:
    with _archive(corpora) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(end)]
        return json.loads(archive.read(name))


def test_sitemaps_that_scrapy_reads_are_read_alike(corpora: Path) -> None:
    cases = [case for case in _cases(corpora, "scrapy/sitemap_tests.json") if case["kind"] == "sitemap"]
    assert cases
    for case in cases:
        expected = [entry["loc"] for entry in case["expected"] if "loc" in entry]
        hrefs = [href for href, kind in found(base64.b64decode(case["body_base64"])) if kind in (SITEMAP, LISTED)]
        if case["test"] == "test_xml_entity_expansion":
            # An entity that lies elsewhere is left out by them; here what is left is half a URL, and none.
            expected = []
        assert hrefs == [loc for loc in expected if loc], case["test"]


_POLICIES = {
    "testSitemapXXE": "refused as a whole by them; here the entity is not read, and the rest is",
    "testSitemapXXEWithDocTypeAllowed": "its file name could not be taken over into the corpus, which left NULs",
    "testSitemapTXTfilterUrls": "a line without a scheme is no URL",
    "testLenientParser": "they judge by the place of the sitemap, which is the scope's business here",
    "testSitemapParserBrokenXml": "refused as a whole by them; here it is read as far as it goes",
    "testPartialSitemapsAllowed": "half a URL is not taken for one",
    "testAtomFormat": "of a feed, the links of the feed itself count here too",
    "testRSSFormat": "as above",
    "testRSS10SyndicationFormat": "as above",
    "testRSSPubDate": "as above",
}
"""Cases of crawler-commons in which another answer is given, and why."""


def test_sitemaps_that_crawler_commons_reads_are_read_alike(corpora: Path) -> None:
    counted = named = 0
    suites = _cases(corpora, "crawler-commons/inline_sitemaps_and_asserts.json")
    for case in [case for cases in suites.values() for case in cases]:
        if case["test"] in _POLICIES or len(case["bodies"]) != 1:
            continue
        links = extract(case["bodies"][0].encode()).links
        for what, expected, *rest in case["asserts"]:
            if what != "assertEquals" or not rest:
                continue
            if rest[0].endswith((".getSiteMapUrls().size()", ".getSitemaps().size()")) and expected.isdecimal():
                assert len([link for link in links if link.kind in (SITEMAP, LISTED)]) == int(expected), case["test"]
                counted += 1
            elif "getUrl()" in rest[0] and expected.startswith('"http'):
                assert expected.strip('"') in {link.href for link in links}, case["test"]
                named += 1
    assert counted >= 8
    assert named >= 4


_FILES = {
    "sitemap.ns.xml": 2,
    "sitemap.badns.xml": 2,
    "sitemap.index.xml": 15,
    "sitemap.txt": 2,
    "sitemap-with-bom.txt": 2,
    "sitemap.txt.gz": 5,
    "xmlSitemap.gz": 5,
    "extension/sitemap-videos.xml": 3,
    "extension/sitemap-videos-tvshow.xml": 1,
    "extension/sitemap-images.xml": 1,
    "extension/sitemap-links.xml": 3,
    "extension/sitemap-news.xml": 2,
    "extension/sitemap-mobile.xml": 3,
    "extension/shinpaideshou-news-sitemap.xml": 3,
    "extension/hebdenbridgetimes-articles-sitemap.xml": 74,
    "extension/pagemaps-sitemap.xml": 2,
}
"""Files of crawler-commons, and how many URLs its tests expect of each."""


@pytest.mark.parametrize("name", _FILES)
def test_files_that_crawler_commons_reads_have_as_many_urls_here(corpora: Path, name: str) -> None:
    with _archive(corpora) as archive:
        links = extract(archive.read(f"crawler-commons/{name}")).links
    assert len([link for link in links if link.kind in (SITEMAP, LISTED)]) == _FILES[name]


def test_entries_of_feeds_that_crawler_commons_reads_are_found(corpora: Path) -> None:
    with _archive(corpora) as archive:
        feed = extract(archive.read("crawler-commons/rss/feed.rss")).links
        dated = extract(archive.read("crawler-commons/rss/xmlRss_pubDate.xml")).links
        atom = extract(archive.read("crawler-commons/atom.xml")).links
    # The first is that of the channel.
    assert [link.href.removeprefix("https://www.example.com/") for link in feed][1:] == [
        "blog/post/1",
        "guid.html",
        "foo?q=a&l=en",
        "foo?q=a&l=fr",
    ]
    assert len(dated[1:]) == 7
    assert "http://example.org/2003/12/13/atom03" in {link.href for link in atom}


def test_extensions_of_sitemaps_are_found_in_files_of_others(corpora: Path) -> None:
    with _archive(corpora) as archive:
        for name, kind, least in (
            ("sitemap-images.xml", EMBED, 2),
            ("sitemap-videos.xml", EMBED, 2),
            ("sitemap-links.xml", LinkKind.ALTERNATE, 3),
            ("sitemap-news.xml", LISTED, 1),
            ("shinpaideshou-news-sitemap.xml", LISTED, 1),
            ("pagemaps-sitemap.xml", LISTED, 1),
        ):
            links = extract(archive.read(f"crawler-commons/extension/{name}")).links
            assert len([link for link in links if link.kind is kind]) >= least, name


_SITEMAPS_AND_FEEDS = {
    "DP6+dp6.github.io/sitemap/sitemap.xml": 10,
    "DP6+dp6.github.io/sitemap/sitemap.txt": 10,
    "DP6+dp6.github.io/sitemap/sitemap.rss": 21,
    "arrowfeng+arrowfeng.github.io/sitemap.xml": 5,
    "arrowfeng+arrowfeng.github.io/rss.xml": 3,
    "arrowfeng+arrowfeng.github.io/posts/rss.xml": 3,
    "arrowfeng+arrowfeng.github.io/categories/rss.xml": 2,
    "arrowfeng+arrowfeng.github.io/tags/rss.xml": 2,
}
"""Of two real sites, all of them; how many URLs each names, by the eye."""


def _named(text: str) -> list[str]:
    """What a reader sees who knows neither XML nor a parser of it."""
    if not text.lstrip("\ufeff").startswith("<"):
        return text.split()
    # An identifier is a URL only if it is absolute.
    found = re.findall(r"<(?:loc|link|guid(?=>http))>([^<]*)<|<atom:link href=\"([^\"]*)\"", text)
    return [unescape(plain or quoted).strip() for plain, quoted in found]


@pytest.mark.parametrize("name", _SITEMAPS_AND_FEEDS)
def test_sitemaps_of_real_sites_are_read_whole(corpora: Path, name: str) -> None:
    with _archive(corpora) as archive:
        body = archive.read(f"real-sites/{name}")
    site, _, path = name.partition("/")
    url = f"https://{site.partition('+')[2]}/{path}"
    links = lexbor_extractor().extract(page(body, url=url, headers=())).links
    wanted = [urljoin(url, each) for each in _named(body.decode())]
    assert [join(url, link.href) for link in links] == [f"{each}/" if each.count("/") < 3 else each for each in wanted]
    assert len(links) == _SITEMAPS_AND_FEEDS[name]
    dates = re.findall(rb"<lastmod>\s*([^<\s]+)\s*</lastmod>", body)
    assert [link.last_modified for link in links if link.last_modified] == [date.decode() for date in dates]


def test_no_sitemap_of_the_real_sites_is_left_out(corpora: Path) -> None:
    with _archive(corpora) as archive:
        names = {name for name in archive.namelist() if re.search("sitemap\\.|rss", name.rpartition("/")[2])}
    assert {name for name in names if name.startswith("real-sites/")} == {
        f"real-sites/{name}" for name in _SITEMAPS_AND_FEEDS
    }


def test_a_sitemap_is_taken_in_pieces_and_no_further_than_it_is_needed() -> None:
    asked = 0

    def pieces() -> Iterator[bytes]:
        nonlocal asked
        yield b" \n "
        yield b" <?xml version='1.0'?><url"
        yield b"set>"
        for number in range(100_000):
            asked += 1
            yield b"<url><loc>/%d</loc></url>" % number

    assert len(xml_links(pieces()).links) == MAX_LINKS
    assert asked <= MAX_LINKS + 5_000


@pytest.mark.parametrize("members", [1, 2, 5_000])
def test_a_compressed_sitemap_may_have_any_number_of_members(members: int) -> None:
    text = b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % number for number in range(5_000)) + b"</urlset>"
    size = -(-len(text) // members)
    packed = b"".join(gzip.compress(text[at : at + size]) for at in range(0, len(text), size))
    assert b"".join(GzipPieces([packed])) == text
    assert len(extract(packed, "application/gzip").links) == 5_000


def test_of_a_torn_or_broken_compressed_sitemap_the_beginning_is_read() -> None:
    packed = gzip.compress(random.Random(1).randbytes(200_000))
    whole = b"".join(GzipPieces([packed]))
    torn = b"".join(GzipPieces([packed[:100_000]]))
    assert whole.startswith(torn)
    assert len(torn) > 90_000
    broken = b"".join(GzipPieces([packed[:100_000] + b"\xff" * 5_000 + packed[105_000:]]))
    assert len(broken) > 90_000
    assert list(GzipPieces([b"no gzip"])) == []
    assert b"".join(GzipPieces([packed + b"rubbish"])) == whole


def test_a_compressed_bomb_is_unpacked_up_to_the_limit_of_the_protocol_piece_by_piece() -> None:
    bomb = gzip.compress(b"<urlset>" + bytes(MAX_SITEMAP_BYTES + 1_000_000))
    sizes = [len(piece) for piece in GzipPieces([bomb])]
    assert sum(sizes) == MAX_SITEMAP_BYTES
    assert max(sizes) <= 2 * PIECE_BYTES


def test_fuzz_inputs_of_others_break_nothing(corpora: Path) -> None:
    with _archive(corpora) as archive:
        names = [name for name in archive.namelist() if name.endswith(".tar.gz")]
        for name in names:
            with tarfile.open(fileobj=io.BytesIO(archive.read(name))) as inputs:
                for member in inputs:
                    file = inputs.extractfile(member)
                    if file is not None:
                        extract(file.read(), "application/xml")
    assert names


TOKENS = [
    "<urlset>",
    "<url>",
    "<loc>",
    "</loc>",
    "a",
    "&amp;",
    "&x;",
    "&",
    "&#1",
    ";",
    "<![CDATA[",
    "]]>",
    "]",
    "<rss xml:base='x'>",
    "<link ",
    "href='x'",
    ">",
    "\0",
    "é",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join))
def test_no_xml_breaks_it(text: str) -> None:
    whole = xml_links([text.encode()])
    assert xml_links(bytes([byte]) for byte in text.encode()) == whole


def test_a_long_text_that_is_no_list_takes_no_memory() -> None:
    text = "and some words\n" * 50_000
    tracemalloc.start()
    try:
        assert parse_url_list(text).links == []
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 100_000


def read_text(body: bytes, charset: str) -> Extract:
    headers = (("Content-Type", f"text/plain; charset={charset}"),)
    return lexbor_extractor().extract(page(body, url="https://e.org/a.txt", headers=headers))


@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", "\n\n", "\n" * 10_000])
def test_a_list_is_read_to_its_end_whatever_its_first_lines_take(charset: str, before: str) -> None:
    urls = [f"https://e.org/{number}" for number in range(1000)]
    read = read_text((before + "\n".join(urls)).encode(charset), charset)
    assert [link.href for link in read.links] == urls
    one = f"https://e.org/{'x' * 9000}"
    assert [link.href for link in read_text(one.encode(charset), charset).links] == [one]
    assert read_text(("\n".join(urls) + "\nand some words" * 1001).encode(charset), charset).links == []


def test_a_long_text_that_begins_as_no_list_is_not_decoded_whole() -> None:
    body = ("\N{GRINNING FACE} and some words\n" * 200_000).encode()
    tracemalloc.start()
    try:
        assert read_text(body, "utf-8").links == []
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2 * len(body)  # all of it takes four times as much, as text


HTML = '<p><a href="b?x=1&amp;y=2">b</a> <img src="/i.png"> <iframe src="f"></iframe>'


IN_XML = "<a href='b?x=1&amp;y=2'>b</a><img src='/i.png'/><iframe src='f'/>"
XHTML = f"<div xmlns='http://www.w3.org/1999/xhtml'><p>{IN_XML}</p></div>"


def test_the_html_of_a_feed_is_read() -> None:
    escaped = escape(HTML)
    for feed, base in (
        (f"<rss><item><link>/e/a</link><content:encoded><![CDATA[{HTML}]]></content:encoded></item></rss>", "/e/"),
        (f"<rss><item><description>{escaped}</description><link>/e/a</link></item></rss>", "/e/"),
        (f"<rss><item><link>/e/a</link><description>{escaped}</description><url>/u</url></item></rss>", "/e/"),
        (f"<rss><item><guid>https://example.org/e/a</guid><description>{escaped}</description></item></rss>", "/a/"),
        (f"<feed><entry><link href='/e/a'/><content type='html'>{escaped}</content></entry></feed>", "/a/"),
        (f"<feed xml:base='/x/'><entry xml:base='y/'><summary type='html'>{escaped}</summary></entry></feed>", "/x/y/"),
        (f"<feed><entry><content type='xhtml' xml:base='/z/'>{XHTML}</content></entry></feed>", "/z/"),
        (
            json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [{"content_html": HTML}]}),
            "/a/",
        ),
    ):
        declared = "application/feed+json" if feed.startswith("{") else "application/xml"
        result = extract(feed.encode(), declared)
        found = [(urljoin(result.base_url, link.href), link.kind) for link in result.links]
        assert found[-3:] == [
            (f"https://example.org{base}b?x=1&y=2", LinkKind.LINK),
            ("https://example.org/i.png", EMBED),
            (f"https://example.org{base}f", FRAME),
        ]
        assert result.error is None


def test_text_of_a_feed_that_is_no_html_has_no_links() -> None:
    for feed in (
        f"<feed><entry><content type='text'>{escape(HTML)}</content></entry></feed>",
        "<rss><item><description>1 &lt; 2</description></item></rss>",
        f"<urlset><url><description>{escape(HTML)}</description></url></urlset>",
    ):
        assert extract(feed.encode(), "application/xml").links == []


def test_a_feed_may_ask_that_its_links_are_not_followed_but_no_sitemap() -> None:
    def rels(body: bytes) -> list[str]:
        headers = (("Content-Type", "text/xml"), ("X-Robots-Tag", "noindex, nofollow"))
        found = lexbor_extractor().extract(page(body, headers=headers))
        assert found.nofollow
        return [link.rel for link in found.links]

    feed = b"<feed><link rel='next' href='/2'/><entry><link href='/a'/></entry></feed>"
    assert rels(feed) == ["next nofollow", "alternate nofollow"]
    assert rels(b"<urlset><url><loc>http://e.org/</loc><link href='/de'/></url></urlset>") == ["", ""]


@pytest.mark.parametrize("value", ["{}", "[]", '"ab"', '{"":0}'])
def test_a_json_feed_of_more_values_than_memory_is_not_decoded(value: str) -> None:
    feed = f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{f"{value}," * 1_000_000}{{"url": "/a"}}]}}'
    tracemalloc.start()
    try:
        found = extract(feed.encode(), "application/feed+json")
        taken_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.links, found.error) == ([], f"{READ_IN_PART}: has more than 1000000 values, and is not read")
    assert taken_bytes < 4 * len(feed)


def test_a_json_feed_gives_what_it_names() -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "home_page_url": "https://e.org/",
        "feed_url": "https://e.org/feed.json",
        "next_url": "https://e.org/2.json",
        "icon": "/i.png",
        "authors": [{"url": "/joe", "avatar": "/joe.png"}, "no"],
        "hubs": [{"url": "https://no.test/"}],
        "items": [
            {"id": "1", "url": "/a", "external_url": "https://x.test/", "image": "/a.png", "content_text": "no"},
            {
                "id": "https://e.org/b",
                "attachments": [{"url": "/b.mp3"}, 5],
                "author": {"url": "/jim"},
                "date_modified": 5,
                "date_published": "2026-01-02",
            },
            {"id": 3, "url": 4},
            "no",
        ],
    }
    for declared in ("application/feed+json", "application/json"):
        result = extract(json.dumps(feed).encode(), declared)
        assert [(link.href, link.kind) for link in result.links] == [
            *((each, FEED) for each in ("https://e.org/", "https://e.org/feed.json", "https://e.org/2.json")),
            *(("/i.png", EMBED), ("/joe", FEED), ("/joe.png", EMBED), ("/a", FEED), ("https://x.test/", FEED)),
            *(("/a.png", EMBED), ("https://e.org/b", FEED), ("/jim", FEED), ("/b.mp3", EMBED)),
        ]
        assert {link.href for link in result.links if link.entry_date == "2026-01-02"} == {
            "https://e.org/b",
            "/jim",
            "/b.mp3",
        }
        # As PHP writes it.
        assert extract(json.dumps(feed).replace("/", "\\/").encode(), declared).links == result.links
    torn = extract(json.dumps(feed).encode()[:-1], "application/json")
    assert torn.links == []
    assert torn.error is not None
    for other in ('{"version": "1", "url": "/no"}', '["https://jsonfeed.org/version/1"]', '"jsonfeed.org/version/"'):
        assert extract(other.encode(), "application/json").links == []
