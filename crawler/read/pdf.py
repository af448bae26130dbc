"""Links and metadata of PDF documents, by pypdf: an extra, because few crawls want it and it is slow.

Only links that a reader can click are taken, annotations with a URI; what merely looks like a URL in the text is not.
"""

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import DictionaryObject

from crawler.page import Link, LinkKind
from crawler.read.elements.attributes import collapsed
from crawler.read.elements.element_readers import MAX_LINKS, MAX_TEXT_CHARACTERS
from crawler.read.options import Printed

MAX_PAGES: Final = 2_000
"""Of a document; what follows is ignored."""


def read_pdf(body: bytes, /) -> Printed:
    """What a PDF tells. Of a broken one as much as can be read; raises what pypdf raises for none at all."""
    reader = PdfReader(io.BytesIO(body))
    links: list[Link] = []
    for number in range(min(len(reader.pages), MAX_PAGES)):
        # A page that is broken takes only its own links with it.
        with suppress(PyPdfError, KeyError, TypeError, ValueError, AttributeError):
            links.extend(_links(reader.pages[number]))
        if len(links) >= MAX_LINKS:
            break
    title = author = None
    with suppress(PyPdfError, KeyError, TypeError, ValueError, AttributeError):
        told = reader.metadata
        title = told.title if told else None
        author = told.author if told else None
    return Printed(links=links[:MAX_LINKS], title=_text(title), author=_text(author))


def _links(page: DictionaryObject) -> Iterator[Link]:
    annotations = page.get("/Annots")
    for reference in annotations.get_object() if annotations is not None else ():
        action = reference.get_object().get("/A")
        uri = action.get_object().get("/URI") if action is not None else None
        href = uri.get_object() if uri is not None else None
        if isinstance(href, bytes):
            href = href.decode("latin-1")
        if isinstance(href, str) and href.strip():
            yield Link(href.strip(), LinkKind.LINK)


def _text(found: object) -> str | None:
    return collapsed(found, MAX_TEXT_CHARACTERS) if isinstance(found, str) else None
