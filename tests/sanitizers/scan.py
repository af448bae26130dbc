"""Cases of the scan of pages, whose reference is lexbor's tree."""

from html.entities import html5
from random import Random

from crawler.page import Link, LinkKind
from crawler.read.elements.link_tables import KEPT_META, KIND_OF_REL
from crawler.read.html import _scan as compiled
from crawler.read.html.lexbor import LexborExtractor, LexborTrees
from crawler.read.options import Options
from crawler.read.pages import PageReader
from tests.sanitizers.calls import Call, exact
from tests.sanitizers.corpus import Corpus, markup
from tests.unit.read.suites import page

OPTIONS = Options(forms=True, scripts=True, preview_images=True)
BY_SCAN = LexborExtractor(options=OPTIONS)
BY_TREE = PageReader(LexborTrees(OPTIONS).read, options=OPTIONS)
LARGE_BYTES = 4_000
"""Trees of larger pages take too long."""


def compare(chance: Random, corpus: Corpus) -> None:
    html = markup(chance, corpus, 20)
    if len(html) < LARGE_BYTES:
        assert BY_SCAN.extract(page(html)) == BY_TREE.extract(page(html)), html


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    kinds = (LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS)
    return [
        (compiled.scan, (exact(html), dict(html5), Link, *kinds, dict(KIND_OF_REL), KEPT_META, chance.random() < 0.5))
        for html in (markup(chance, corpus, 20), markup(chance, corpus, 60))
    ]
