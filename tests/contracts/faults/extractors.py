"""Link extractors with one fault each."""

import re
import time

import msgspec

from crawler.page import Extract, Link, LinkKind, Page
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.seams import LinkExtractor
from crawler.testing import HtmlExtractorContract, LinkExtractorContract


class Patterns:
    """A correct extractor: it finds what looks like a link."""

    def extract(self, page: Page, /) -> Extract:
        links = [Link(href.decode("latin-1"), LinkKind.LINK) for href in re.findall(rb"href=(\S+)", page.body)]
        return Extract(content_type="text/html", base_url=page.url, links=links)


class TestGood(LinkExtractorContract):
    FAILS = ()

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return Patterns()


class Strict(Patterns):
    """Takes text that is not UTF-8 for an error."""

    def extract(self, page: Page, /) -> Extract:
        page.body.decode()
        return super().extract(page)


class TestStrict(LinkExtractorContract):
    FAILS = ("test_any_body_of_any_type_has_an_extract[text/html]", "test_no_page_breaks_an_extractor")

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return Strict()


class Untyped(Patterns):
    """Returns texts for links."""

    def extract(self, page: Page, /) -> Extract:
        extract = super().extract(page)
        return msgspec.structs.replace(extract, links=[link.href for link in extract.links])


class TestUntyped(LinkExtractorContract):
    FAILS = ("test_any_body_of_any_type_has_an_extract[text/html]",)

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return Untyped()


class Remembering(Patterns):
    """Keeps the links of the page before."""

    def __init__(self) -> None:
        self.links: list[Link] = []

    def extract(self, page: Page, /) -> Extract:
        self.links += super().extract(page).links
        return Extract(content_type="text/html", base_url=page.url, links=list(self.links))


class TestRemembering(LinkExtractorContract):
    FAILS = ("test_a_page_has_the_same_extract_whatever_was_read_before",)

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return Remembering()


class OnlyOneThread(Patterns):
    """Has one place for the page that it reads."""

    def extract(self, page: Page, /) -> Extract:
        self.page = page
        time.sleep(0.001)
        return super().extract(self.page)


class TestOnlyOneThread(LinkExtractorContract):
    FAILS = ("test_threads_share_an_extractor",)

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return OnlyOneThread()


class TestPatternsAreNoHtml(HtmlExtractorContract):
    FAILS = (
        "test_each_link_has_its_kind_and_stands_in_document_order",
        "test_metadata_is_read_from_the_head",
        "test_noscript_is_read_and_templates_and_comments_are_not",
    )

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return Patterns()


class TestDeafToOptions(HtmlExtractorContract):
    FAILS = ("test_forms_are_left_alone_unless_asked_for", "test_robots_directives_for_all_and_for_this_agent_are_read")

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        return lexbor_extractor()
