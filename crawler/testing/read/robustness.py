"""What an extractor does with pages that nobody has foreseen."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crawler.page import Extract
from crawler.testing.read.suite import LinkExtractorSuite, check_that_it_ends, page

TOKENS: Final = [
    *("<?xml version='1.0'?>", "<script/>", "/>", "<a href=", "<img srcset=", "<base href=", "<meta ", "<link rel="),
    *("<template>", "<svg>", "<table>", "</table>", "<p>", "</a>", "<!--", "-->", ">", '"', "'", " ", "x", "\0"),
    *("&amp;", "&#0;", "\ud800", "é", "<title>", "<noscript>", "charset=", "content=", "http-equiv=refresh ", "0;url="),
    *("name=robots ", "<![CDATA[", "<frameset>", "/", "=", "//["),
]
MEDIA_TYPES: Final = ("text/html", "text/xml", "text/css", "application/rss+xml", "application/pdf", "text/plain", "")
_BODIES: Final = (
    b"",
    b"\xef\xbb\xbf",
    b"<p><a href=/x title='\xff'>x</a>",
    b"<?xml version='1.0'?><rss><channel><item><link>/x</link></item></channel></rss>",
    b"@import 'x.css'; p { background: url(y.png",
    b'{"version": "https://jsonfeed.org/version/1", "items": [{"url": "/x"}]}',
    b"%PDF-1.7 nothing",
    b"\x89PNG\r\n\x1a\n\x00\x01\x02",
    bytes(range(256)) * 4,
)
_HOSTILE: Final = (
    b"<div>" * 100_000,
    b"<div></x>" * 50_000,
    b"<svg><style><g>" * 1_500 + b"x" * 100_000,
    b"<svg><g><title>" * 1_500 + b"<g>" * 1_000,
    b"<math>" * 165 + b"<mi href=x></mi>" * 74_000,
    b"<div>" * 5_000 + b"".join(b"<b a=%d>" % number for number in range(5_000)) + b"</div>x" * 5_000,
    b"<ul><li>" * 100_000,
    b"<a " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">",
    b"<img srcset='" + b"," * 100_000 + b"'>",
    b"<meta http-equiv=refresh content='" + b"1" * 100_000 + b"'>",
    b"<!-- -->" * 50_000,
    b"<![CDATA[" * 50_000,
    b"<base " * 50_000,
    b'<a b="' * 50_000,
    b"<!-- " * 50_000,
    b"<meta charset=" * 20_000,
)
_THREADS: Final = 4


def encode(html: str) -> bytes:
    return html.encode("utf-8", "surrogatepass")


class RobustnessTests(LinkExtractorSuite):
    """An extractor never raises, ends soon, and keeps nothing of one page for the next."""

    @pytest.mark.parametrize("media_type", MEDIA_TYPES)
    def test_any_body_of_any_type_has_an_extract(self, media_type: str) -> None:
        extractor = self.make_extractor()
        for body in _BODIES:
            found = extractor.extract(page(body, headers=(("Content-Type", media_type),)))
            assert isinstance(found, Extract)
            assert found.base_url.startswith("https://")
            # Raises an error with the place of a value of a wrong type.
            msgspec.convert(msgspec.to_builtins(found, enc_hook=_plain), Extract)

    def test_a_page_has_the_same_extract_whatever_was_read_before(self) -> None:
        extractor = self.make_extractor()
        pages = [page(body, url=f"https://example.org/{number}/") for number, body in enumerate(_BODIES)]
        assert [extractor.extract(each) for each in pages[::-1]][::-1] == [extractor.extract(each) for each in pages]

    def test_threads_share_an_extractor(self) -> None:
        extractor = self.make_extractor()
        pages = [
            page(b"<title>%d</title>" % number + b"<p><a href=/%d>x</a>" % number * 500, url=f"https://e.org/{number}/")
            for number in range(12)
        ]
        expected = [extractor.extract(each) for each in pages]
        with ThreadPoolExecutor(_THREADS) as threads:
            assert list(threads.map(extractor.extract, pages)) == expected

    @pytest.mark.parametrize("body", _HOSTILE, ids=lambda body: body[:12].decode())
    def test_hostile_pages_take_no_hostile_time(self, body: bytes) -> None:
        check_that_it_ends(lambda: self.make_extractor().extract(page(body)))

    def test_no_page_breaks_an_extractor(self) -> None:
        extractor = self.make_extractor()

        @settings(deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join).map(encode), st.sampled_from(MEDIA_TYPES))
        @example(encode("<title>\ud800"), "text/html")
        def check(body: bytes, media_type: str) -> None:
            extractor.extract(page(body, headers=(("Content-Type", media_type),)))

        check()


def _plain(value: Any) -> object:
    """Texts and sequences may be of types of their own."""
    return str(value) if isinstance(value, str) else list(value)
