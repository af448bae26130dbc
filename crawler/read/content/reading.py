"""Reads what is wanted of a page."""

from crawler.page import Content, Extract, Page, Wanted
from crawler.read.content.document import document_of
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
    troubles = []
    if document.read_bytes is not None:
        troubles.append(f"its text is that of the first {document.read_bytes:,} bytes")
    texts: dict[str, str | None] = {}
    element = main_element(document.tree)
    if element is not None and wanted.text:
        texts["text"] = _limited("text", plain_text(element), wanted.max_bytes, troubles)
    if element is not None and wanted.markdown:
        texts["markdown"] = _limited("markdown", markdown(element, extract.base_url), wanted.max_bytes, troubles)
    return Content(**texts, troubles=tuple(troubles))


def _limited(name: str, text: str, max_bytes: int, troubles: list[str]) -> str | None:
    """The text within the limit; None if it is empty."""
    if len(text) * 4 > max_bytes:
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > max_bytes:
            troubles.append(f"its {name} is cut at {max_bytes:,} bytes")
            return encoded[:max_bytes].decode("utf-8", "ignore")
    return text or None
