"""The four extractors."""

from collections.abc import Callable

from crawler.protocols import LinkExtractor
from crawler.read.html.bs4 import Bs4Extractor
from crawler.read.html.lexbor import LexborExtractor
from crawler.read.html.lxml import LxmlExtractor
from crawler.read.html.turbohtml import TurboHtmlExtractor

Make = Callable[..., LinkExtractor]
MAKERS: list[Make] = [TurboHtmlExtractor, LexborExtractor, LxmlExtractor, Bs4Extractor]
