"""Cases for the scan of pages. The reference is lexbor's tree."""

from copy import copy
from html.entities import html5
from random import Random
from typing import Any

from crawler.page import Link, LinkKind
from crawler.read.elements.link_tables import KEPT_META, KIND_OF_REL
from crawler.read.html import _scan as compiled
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lexbor_trees import LexborTrees
from crawler.read.options import Options
from crawler.read.pages import PageReader
from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus, make_markup, tear
from tests.unit.read.pieces import ATTRIBUTES, NAMES, STYLES, TEXTS, WHOLE
from tests.unit.read.suites import page

OPTIONS = Options(forms=True, scripts=True, preview_images=True)
BY_SCAN = lexbor_extractor(options=OPTIONS)
BY_TREE = PageReader(LexborTrees(OPTIONS).read, options=OPTIONS)
TABLE_NAMES = "table caption colgroup col col tbody thead tfoot tr tr td td th".split()
LARGE_BYTES = 4_000
"""Trees of larger pages take too long."""


def compare(chance: Random, corpus: Corpus) -> None:
    html = _make_page(chance, corpus)
    if len(html) < LARGE_BYTES:
        assert BY_SCAN.extract(page(html)) == BY_TREE.extract(page(html)), html


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    kinds = (LinkKind.LINK, LinkKind.EMBED, LinkKind.CSS)
    return [
        (
            _scan_and_use,
            (copy_exactly(html), dict(html5), Link, *kinds, dict(KIND_OF_REL), KEPT_META, chance.random() < 0.5),
        )
        for html in (_make_page(chance, corpus), make_markup(chance, corpus, 60))
    ]


def _every_second(links: Any) -> object:
    return links[::-2]


def _with_all(links: Any) -> object:
    return links == links[:]


_USES = list, repr, reversed, copy, _every_second, _with_all
"""Python 3.13 may crash where a function is made without memory, so these are made before."""


_RANGES = (), (1, 3), (2, 1), (-3, 1 << 40)


def _scan_and_use(*given: Any) -> None:
    """Scan a page, and make the objects of its links in all ways."""
    found = compiled.scan(*given)
    if found is not None:
        links = found[0]
        links.are_ascii()
        for places in _RANGES:
            links.group(*places)
        for use in _USES:
            use(links)
        if links:
            links.index(links[-1], -1)
            links.count(links[0])
        links.group()


def _make_page(chance: Random, corpus: Corpus) -> bytes:
    """Make mostly markup that the scan reads far into before it gives up."""
    if corpus.pages and chance.random() < 0.5:
        return make_markup(chance, corpus, 20)
    whole = WHOLE if chance.random() < 0.2 else "".join(_make_part(chance, 3) for _ in range(chance.randrange(12)))
    return tear(chance, whole.encode()) if chance.random() < 0.5 else whole.encode()


def _make_part(chance: Random, depth: int, parent: str = "") -> str:
    in_table = parent in TABLE_NAMES and chance.random() < 0.7
    name, kind = chance.choice(TABLE_NAMES if in_table else NAMES), chance.randrange(5 * in_table, 10)
    attributes = " ".join(chance.choices(ATTRIBUTES, k=chance.choice((0, 0, 1, 2, 3, 60))))
    if kind < 2 or not depth:
        return chance.choice(TEXTS) * chance.choice((1, 1, 1, 3000))
    if kind < 4:
        style = "".join(chance.choices(STYLES, k=chance.randrange(8)))
        return f"<style>{style}</style>" if chance.random() < 0.7 else f'<p style="{style}">'
    if kind < 5:
        return f"</{name}>"
    if kind < 6:
        return f"<{name} {attributes}{chance.choice(('', '', '/'))}>"
    inner = "".join(_make_part(chance, depth - 1, name) for _ in range(chance.randrange(5)))
    return f"<{name} {attributes}>{inner}</{name}>"
