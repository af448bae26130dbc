"""Reads what is wanted of a page."""

from crawler.page import Content, Extract, Page, Wanted
from crawler.read.content.document import document_of
from crawler.read.content.limits import cut_note, limited
from crawler.read.content.main_text import main_element, markdown, plain_text
from crawler.read.sniff import is_html

_NOTHING = Content()


def read_content(page: Page, extract: Extract, wanted: Wanted, /) -> Content:
    """Read the content of a page. Never raises, whatever a page contains."""
    try:
        return _read_html(page, extract, wanted) if is_html(extract.content_type) else _NOTHING
    except Exception as error:  # noqa: BLE001 - as in an extractor: a document may break a parser in unforeseen ways
        return Content(troubles=(f"its text can't be read: {type(error).__name__}: {error}",))


def _read_html(page: Page, extract: Extract, wanted: Wanted) -> Content:
    document = document_of(page, extract)
    troubles = cut_note(document.read_bytes)
    text = in_markdown = None
    element = main_element(document.tree)
    if element is not None and wanted.text:
        text = limited("text", plain_text(element), wanted.max_bytes, troubles)
    if element is not None and wanted.markdown:
        in_markdown = limited("markdown", markdown(element, extract.base_url), wanted.max_bytes, troubles)
    return Content(text=text, markdown=in_markdown, troubles=tuple(troubles))
