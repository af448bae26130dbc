from json_links import DESCRIPTOR

from crawler.testing import HtmlExtractorContract


class TestJsonLinks(HtmlExtractorContract):
    descriptor = DESCRIPTOR
