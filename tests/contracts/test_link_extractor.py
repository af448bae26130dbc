"""The promises of every link extractor, kept by ours."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.read.html import bs4, lexbor, lxml, turbohtml
from crawler.testing import HtmlExtractorContract
from crawler.testing.read.robustness import MEDIA_TYPES, TOKENS, encode
from crawler.testing.read.suite import page
from tests.unit.read.extractors import MAKERS


class OurContract(HtmlExtractorContract):
    def test_no_page_is_an_error(self) -> None:
        extractor = self.make_extractor()

        @given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join).map(encode))
        def check(body: bytes) -> None:
            assert extractor.extract(page(body)).error is None

        check()


class TestTurboHtml(OurContract):
    descriptor = turbohtml.DESCRIPTOR


class TestLexbor(OurContract):
    descriptor = lexbor.DESCRIPTOR


class TestLxml(OurContract):
    descriptor = lxml.DESCRIPTOR


class TestBs4(OurContract):
    descriptor = bs4.DESCRIPTOR


@pytest.mark.long
@settings(settings.get_profile("long"))
@given(
    st.binary(max_size=2000) | st.lists(st.sampled_from(TOKENS), max_size=100).map("".join).map(encode),
    st.sampled_from(MEDIA_TYPES),
)
def test_no_bytes_break_an_extractor_in_the_long_run(body: bytes, declared: str) -> None:
    for make in MAKERS:
        assert make().extract(page(body, headers=(("Content-Type", declared),))).error is None
