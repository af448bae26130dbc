"""Reads HTML with lexbor. Most pages are scanned without building a tree."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from crawler.page import Extract, Page
from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import ElementReader
from crawler.read.html.scan import scan
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import Document, PageReader


class LexborExtractor:
    """Extracts links and metadata as browsers see them."""

    def __init__(self, *, agent: str = "", options: Options = DEFAULT_OPTIONS) -> None:
        self._pages = PageReader(_LateTrees(options).read, scan=scan, agent=agent, options=options)

    def extract(self, page: Page, /) -> Extract:
        return self._pages.extract(page)


class _LateTrees:
    """Reads documents by their trees. Lexbor is loaded when the first one needs it, since it takes 3 MB."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def read(self, document: Document) -> ElementReader[Any]:
        return self._read(document)

    @cached_property
    def _read(self) -> Callable[[Document], ElementReader[Any]]:
        from crawler.read.html.lexbor_trees import LexborTrees  # noqa: PLC0415 - see above

        return LexborTrees(self._options).read


DESCRIPTOR: Final = Descriptor(
    name="lexbor", make=lambda parameters, _: LexborExtractor(agent=parameters.agent, options=parameters.reads)
)
