"""Reads HTML with lexbor. Most pages are scanned without building a tree."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from crawler.read.descriptor import Descriptor
from crawler.read.elements.element_reader import Document, ElementReader
from crawler.read.html.scan import scan
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.read.pages import PageReader


def lexbor_extractor(*, agent: str = "", options: Options = DEFAULT_OPTIONS) -> PageReader:
    """An extractor that reads pages as browsers do."""
    return PageReader(_LateTrees(options).read, scan=scan, agent=agent, options=options)


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
    name="lexbor", make=lambda parameters, _: lexbor_extractor(agent=parameters.agent, options=parameters.reads)
)
