"""The long fuzz: a hundred thousand inputs to each reader, none of which may raise, hang or blow up."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.robots.rules import RobotsRules
from crawler.page import Extract
from crawler.read.css import css_urls
from crawler.read.elements.speculative import script_urls
from crawler.read.encoding.text import encoding_of, to_text, to_utf8
from crawler.read.feeds.feeds import xml_links
from crawler.read.feeds.sitemaps import parse_url_list
from crawler.read.options import Options
from crawler.seams import LinkExtractor
from crawler.url.canonical_rules import RULES
from crawler.url.urls import Target, UrlReader
from tests.unit.read.extractors import MAKERS
from tests.unit.read.suites import page

INPUTS = 100_000
HANG_S = 5.0
MOST_GROWTH = 50
LONG = settings(settings.get_profile("long"), max_examples=INPUTS)

HTML = (
    "<a href=|<img srcset=|<base href=|<meta |<link rel=|<template>|<svg>|<table>|</table>|<p>|</a>|<!--|-->|>|\"|'| |"
    "x|\0|&amp;|&#0;|\ud800|é|<title>|<noscript>|charset=|content=|http-equiv=refresh |0;url=|name=robots |<![CDATA[|"
    "<frameset>|/|=|//[|<?xml version='1.0'?>|<script>|<script/>|/>|<svg><use href=|"
    "<link rel=preload imagesrcset=|<script type=application/ld+json>|{|}|[|]|</script>|<style>|url(|</style>|,|1x|"
    "http://e.org/"
).split("|")
CSS = "url(|)|'|\"|\\|/*|*/|@import|@namespace|src(| |a|\n|\\41 |;|{|}|é".split("|")
XML = (
    "<urlset>|<sitemapindex>|<url>|<sitemap>|<loc>|</loc>|</url>|<lastmod>|a|&amp;|&x;|&|&#1|<![CDATA[|]]>|]|<rss>|"
    "<feed xml:base='y/'>|<feed>|<item>|"
    "<link |href='x'|>|\0|é|<?xml version='1.0' encoding='utf-16'?>|<!DOCTYPE x [<!ENTITY x 'y'>]>|http://e.org/|\n"
).split("|")
ROBOTS = (
    "User-agent:|useragent :|disallow:|Allow:|Disallow|Crawl-delay:|Sitemap:| |*|$|/|a|onceover|%2f|%|\n|\r|\0|é|"
    "\ufeff|#|:|http://e.org/|1e9|-1|nan"
).split("|")
URLS = "http:|https:|/|//|..|.|?|#|@|:|[|]|%|%2e|%C3|é|xn--|\\|\t|;jsessionid=|&|=|utm_source=1|e.org|1.2|0x7f|,".split(
    "|"
)
MARKS = [
    b"<meta",
    b" charset",
    b"=",
    b'"',
    b"'",
    b"utf-8",
    b"big5",
    b"euc-jp",
    b">",
    b"<!--",
    b"<?xml encoding=",
    b"<script>",
    b"</script>",
    b" " * 1024,
    b"\x1b$B",
]
MARKS += [b"\x80", b"\xa4\xa2", b"\xff\xfe", b"\0", b" ", b"content", b"\xef\xbb\xbf"]


def made_of(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=80).map("".join)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def size_of(extract: Extract) -> int:
    return sum(len(link.href) + len(link.text) for link in extract.links)


def within_limits(work: Callable[[], int], size: int) -> None:
    # Of its own time: a machine that does something else meanwhile is no hang.
    started = time.process_time()
    made = work()
    assert time.process_time() - started < HANG_S
    assert made <= MOST_GROWTH * size + 1000


@pytest.mark.long
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_no_html(make: Callable[..., LinkExtractor]) -> None:
    extractor = make(agent="onceover", options=Options(forms=True, scripts=True))

    @LONG
    @given(
        made_of(HTML).map(encoded) | st.binary(max_size=1000),
        st.sampled_from(["text/html", "text/html", "application/xhtml+xml"]),
    )
    def judge(body: bytes, declared: str) -> None:
        each = page(body, headers=(("Content-Type", declared),))
        found = extractor.extract(each)
        # What begins like a compressed list of URLs is read as one, and probably breaks off.
        assert found.error is None or found.content_type == "application/gzip"
        within_limits(lambda: size_of(extractor.extract(each)), len(body))

    judge()


@pytest.mark.long
@LONG
@given(made_of(CSS))
def test_no_style_sheet(text: str) -> None:
    within_limits(lambda: sum(map(len, css_urls(text))), len(text))
    within_limits(lambda: sum(map(len, script_urls(text, ""))), len(text))


@pytest.mark.long
@LONG
@given(made_of(XML) | st.text(max_size=200))
def test_no_sitemap_feed_or_list(text: str) -> None:
    body = encoded(text)
    within_limits(lambda: sum(len(link.href) for link in xml_links([body]).links), len(body))
    within_limits(lambda: sum(len(link.href) for link in parse_url_list(text).links), len(text))


@pytest.mark.long
@LONG
@given(made_of(ROBOTS) | st.text(max_size=300), made_of(URLS))
def test_no_robots_txt(text: str, path: str) -> None:
    rules = RobotsRules(text, agent="onceover")
    within_limits(lambda: sum(map(len, RobotsRules(text, agent="onceover").sitemaps)), len(text))
    within_limits(lambda: rules.allows(f"/{path}"), len(text))


@pytest.mark.long
@LONG
@given(st.lists(st.sampled_from(MARKS), max_size=40).map(b"".join) | st.binary(max_size=400))
def test_no_bytes_of_an_encoding(body: bytes) -> None:
    for is_xml in (False, True):
        found = encoding_of(body, http_charset=None, is_xml=is_xml)
        within_limits(lambda found=found: len(to_text(body, found)) + len(to_utf8(body, found)), len(body))  # type: ignore[misc]


@pytest.mark.long
@LONG
@given(made_of(URLS) | st.text(max_size=100), made_of(URLS))
def test_no_url(href: str, base: str) -> None:
    reader = UrlReader(rules=tuple(RULES))
    for against in (f"https://example.org/{base}", base):
        target = reader.read(href, against)
        if isinstance(target, Target):
            assert reader.read(target.url, target.url) == target
            within_limits(lambda target=target: len(target.url) + len(target.canonical), len(href) + len(against))  # type: ignore[misc]
