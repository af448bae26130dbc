"""Reads what is wanted of a page."""

from crawler.page import Content, Extract, Page, Wanted
from crawler.read.content.document import document_of
from crawler.read.content.limits import cut_note, limited
from crawler.read.content.main_text import main_element, markdown, plain_text
from crawler.read.content.structured_data import json_ld, open_graph
from crawler.read.sniff import is_html

_NOTHING = Content()


def read_content(page: Page, extract: Extract, wanted: Wanted, /) -> Content:
    """Read the content of a page. Never raises, whatever a page contains."""
    try:
        return _read_html(page, extract, wanted) if is_html(extract.content_type) else _NOTHING
    except Exception as error:  # noqa: BLE001 - as in an extractor: a document may break a parser in unforeseen ways
        return Content(troubles=(f"its content can't be read: {type(error).__name__}: {error}",))


def _read_html(page: Page, extract: Extract, wanted: Wanted) -> Content:
    document = document_of(page, extract)
    troubles = cut_note(document.read_bytes)
    tree, limit = document.tree, wanted.max_bytes
    blocks = json_ld(tree, limit, troubles) if wanted.structured_data else None
    properties = open_graph(tree, extract.base_url, limit, troubles) if wanted.structured_data else None
    text = in_markdown = None
    element = main_element(tree) if wanted.text or wanted.markdown else None
    if element is not None and wanted.text:
        text = limited("text", plain_text(element), limit, troubles)
    if element is not None and wanted.markdown:
        in_markdown = limited("markdown", markdown(element, extract.base_url), limit, troubles)
    return Content(
        text=text,
        markdown=in_markdown,
        json_ld=blocks or None,
        open_graph=properties or None,
        troubles=tuple(troubles),
    )
