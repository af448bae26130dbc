"""Reads HTML with lexbor. Most pages are scanned without building a tree."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Document, ElementReader
from crawler.read.html.scan import scan
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader


def lexbor_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor that reads pages as browsers do."""
    return PageReader(_read, scan=scan, agent=agent, options=options)


def _read(document: Document) -> ElementReader[Any]:
    return _reader_of_trees(document.options)(document)


@lru_cache(maxsize=8)
def _reader_of_trees(options: Options) -> Callable[[Document], ElementReader[Any]]:
    # Lexbor is loaded when the first page needs a tree, since it takes 3 MB.
    from crawler.read.html.lexbor_trees import LexborTrees  # noqa: PLC0415 - see above

    return LexborTrees(options).read


DESCRIPTOR: Final = Descriptor(
    name="lexbor", make=lambda parameters, _: lexbor_extractor(agent=parameters.agent, options=parameters.reads)
)
