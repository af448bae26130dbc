"""The main text of a page by trafilatura, an extra. It finds articles better, and takes twenty times as long."""

from typing import Final

import trafilatura

from crawler.page import Content, Extract, Page, Wanted
from crawler.read.content.document import cut_note, document_of, limited
from crawler.read.content.main_text import make_links_absolute
from crawler.read.sniff import is_html

_NOTHING: Final = Content()


def read_by_trafilatura(page: Page, extract: Extract, wanted: Wanted, /) -> Content:
    """Read the text of a page. Never raises, whatever a page contains."""
    try:
        return _read_html(page, extract, wanted) if is_html(extract.content_type) else _NOTHING
    except Exception as error:  # noqa: BLE001 - as in an extractor: a document may break a parser in unforeseen ways
        return Content(troubles=(f"its text can't be read: {type(error).__name__}: {error}",))


def _read_html(page: Page, extract: Extract, wanted: Wanted) -> Content:
    tree, read_bytes = document_of(page, extract)
    troubles = cut_note(read_bytes)
    if tree.root is None:
        return _NOTHING
    make_links_absolute(tree.root, extract.base_url)
    html = tree.html
    text = markdown = None
    if wanted.text:
        found = trafilatura.extract(html, include_comments=False)
        text = limited("text", found or "", wanted.max_bytes, troubles)
    if wanted.markdown:
        found = trafilatura.extract(
            html, include_comments=False, include_links=True, include_images=True, output_format="markdown"
        )
        markdown = limited("markdown", found or "", wanted.max_bytes, troubles)
    return Content(text=text, markdown=markdown, troubles=tuple(troubles))
