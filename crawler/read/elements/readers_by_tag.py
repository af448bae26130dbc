"""Which method of `ElementReader` reads which element.

The HTML standard says which attributes hold URLs.
"""

from collections.abc import Callable
from typing import Any, Final

from crawler.page import LinkKind
from crawler.read.elements.element_reader import Attributes, ElementReader
from crawler.read.elements.link_tables import URL_ATTRIBUTES
from crawler.read.options import Options

ReadElement = Callable[[ElementReader[Any], Attributes, Any], None]
"""Reads an element. Takes its attributes (names in lower case, values unescaped) and its node."""


def _read_attributes(names: tuple[tuple[str, LinkKind], ...]) -> ReadElement:
    def read_element(reader: ElementReader[Any], attributes: Attributes, _: Any) -> None:
        for name, kind in names:
            reader.add(attributes.get(name), kind)

    return read_element


def _outside_svg(read_element: ReadElement) -> ReadElement:
    def read_outside_svg(reader: ElementReader[Any], attributes: Attributes, node: Any) -> None:
        if not reader.in_svg(node):
            read_element(reader, attributes, node)

    return read_outside_svg


_HTML_READERS: Final[dict[str, ReadElement]] = {
    **{tag: _read_attributes(names) for tag, names in URL_ATTRIBUTES.items()},
    "area": ElementReader.area,
    "base": ElementReader.base,
    "form": ElementReader.form,
    "iframe": ElementReader.iframe,
    "input": ElementReader.input,
    "link": ElementReader.link,
    "noframes": ElementReader.noframes,
    "source": ElementReader.image,
}
"""Elements that have no meaning within SVG."""

_READERS: Final[dict[str, ReadElement]] = {
    **{tag: _outside_svg(read_element) for tag, read_element in _HTML_READERS.items()},
    "a": ElementReader.anchor,
    "amp-img": ElementReader.image,
    "feimage": ElementReader.svg_reference_within,
    "html": ElementReader.html,
    "image": ElementReader.svg_image,
    "img": ElementReader.image,
    "meta": ElementReader.meta_element,
    "script": ElementReader.script,
    "style": ElementReader.style,
    "title": ElementReader.title_element,
    "use": ElementReader.svg_reference_within,
}

ELEMENTS: Final = frozenset(_READERS)
"""All elements that any options may read."""


def readers_by_tag(options: Options, /) -> dict[str, ReadElement]:
    """The elements that a parser adapter must pass to an `ElementReader`, each with the method that reads it."""
    unread = (set() if options.forms else {"form", "button"}) | (set() if options.amp_images else {"amp-img"})
    return {tag: read_element for tag, read_element in _READERS.items() if tag not in unread}


def is_shadow_root(attributes: Attributes, /) -> bool:
    """Whether browsers show the contents of a template with these attributes."""
    return (attributes.get("shadowrootmode") or "").lower() in ("open", "closed")
