"""The four extractors."""

from collections.abc import Callable

from crawler.read.html.bs4 import bs4_extractor
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lxml import lxml_extractor
from crawler.read.html.turbohtml import turbohtml_extractor
from crawler.seams import LinkExtractor

Make = Callable[..., LinkExtractor]
MAKERS: list[Make] = [turbohtml_extractor, lexbor_extractor, lxml_extractor, bs4_extractor]
