"""Reads links and metadata of PDF documents with pypdf. This is an extra, because few crawls want it and it is slow.

We read only links that a person can click, which are annotations with a URI. Text that looks like a URL is no link.
"""

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import DictionaryObject

from crawler.page import Link, LinkKind
from crawler.read.elements.attributes import collapse_space
from crawler.read.elements.element_reader import MAX_LINKS, MAX_TEXT_CHARACTERS
from crawler.read.options import PdfContent

MAX_PAGES: Final = 2_000
"""Limit per document; further pages are ignored."""


def read_pdf(body: bytes, /) -> PdfContent:
    """Read a PDF document; of a broken one as much as possible. Raises what pypdf raises if it can read nothing."""
    reader = PdfReader(io.BytesIO(body))
    links: list[Link] = []
    for number in range(min(len(reader.pages), MAX_PAGES)):
        # A broken page loses only its own links.
        with suppress(PyPdfError, KeyError, TypeError, ValueError, AttributeError):
            links.extend(_links(reader.pages[number]))
        if len(links) >= MAX_LINKS:
            break
    title = author = None
    with suppress(PyPdfError, KeyError, TypeError, ValueError, AttributeError):
        metadata = reader.metadata
        title = metadata.title if metadata else None
        author = metadata.author if metadata else None
    return PdfContent(links=links[:MAX_LINKS], title=_text(title), author=_text(author))


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
    return collapse_space(found, MAX_TEXT_CHARACTERS) if isinstance(found, str) else None
