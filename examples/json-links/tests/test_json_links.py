from json_links import DESCRIPTOR
from json_links import Options as JsonOptions

from crawler import LinkExtractor
from crawler.read.descriptor import Parameters
from crawler.read.html.lexbor import LexborExtractor
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.testing import HtmlExtractorContract


class TestJsonLinks(HtmlExtractorContract):
    def make_extractor(self, *, agent: str = "onceover", options: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        parameters = Parameters(make_default=lambda: LexborExtractor(agent=agent, options=options))
        return DESCRIPTOR.make(parameters, JsonOptions())
