"""Reads what is wanted of a page."""

import turbohtml

from crawler.page import Content, Extract, Page, Wanted
from crawler.page.anchors import Anchors, packed
from crawler.read.content.document import cut_note, document_of, limited
from crawler.read.content.main_text import main_element, markdown, plain_text
from crawler.read.content.structured_data import json_ld, open_graph
from crawler.read.options import ReadPdf, reason_of
from crawler.read.sniff import is_html, is_pdf

_NOTHING = Content()


def read_content(page: Page, extract: Extract, wanted: Wanted, /, *, pdf: ReadPdf | None = None) -> Content:
    """Read the content of a page. Never raises, whatever a page contains. `pdf` reads documents, as
    `PdfProcesses.read`."""
    try:
        if is_html(extract.content_type):
            return _read_html(page, extract, wanted)
        if wanted.pdf_text and pdf is not None and extract.content_type == "application/pdf" and is_pdf(page.body):
            return _read_pdf(page, wanted, pdf)
        return _NOTHING
    except Exception as error:  # noqa: BLE001 - as in an extractor: a document may break a parser in unforeseen ways
        return Content(troubles=(f"its content can't be read: {reason_of(error)}",))


def _read_pdf(page: Page, wanted: Wanted, pdf: ReadPdf) -> Content:
    troubles: list[str] = []
    found = pdf(page.body, with_links=False, text_bytes=wanted.max_bytes + 1)
    text = limited("text", found.text or "", wanted.max_bytes, troubles)
    if found.pages_read < found.pages and not troubles:
        troubles.append(f"its text is that of the first {found.pages_read} of {found.pages} pages")
    return Content(text=text, troubles=tuple(troubles))


def _read_html(page: Page, extract: Extract, wanted: Wanted) -> Content:
    tree, read_bytes = document_of(page, extract)
    troubles, limit = cut_note(read_bytes), wanted.max_bytes
    blocks = json_ld(tree, limit, troubles) if wanted.structured_data else None
    properties = open_graph(tree, extract.base_url, limit, troubles) if wanted.structured_data else None
    text = in_markdown = None
    element = main_element(tree) if wanted.text or wanted.markdown else None
    if element is not None and wanted.text:
        text = limited("text", plain_text(element), limit, troubles)
    if element is not None and wanted.markdown:
        in_markdown = limited("markdown", markdown(element, extract.base_url), limit, troubles)
    # Of a page that was not read to its end, nobody knows which anchors it lacks.
    is_whole = read_bytes is None and page.truncated is None
    anchors = packed(_anchor_names(tree)) if wanted.anchors and is_whole else None
    return Content(
        text=text,
        anchors=anchors,
        broken_fragments=None if anchors is None else _broken_fragments(page, extract, anchors) or None,
        markdown=in_markdown,
        json_ld=blocks or None,
        open_graph=properties or None,
        troubles=tuple(troubles),
    )


def _anchor_names(tree: turbohtml.Document) -> set[str]:
    """Every id, and the names of links."""
    names: set[str] = set()
    for element in tree.select("[id],a[name]"):
        for attribute in ("id", "name") if element.tag == "a" else ("id",):
            if name := element.attrs.get(attribute):
                names.add(str(name))
    return names


def _broken_fragments(page: Page, extract: Extract, anchors: str) -> list[str]:
    """The fragments of links within the page that lead nowhere, each once, in their order."""
    if extract.base_url.partition("#")[0] != page.url.partition("#")[0]:
        return []  # a <base> leads them to another page
    known = Anchors(anchors)
    fragments = dict.fromkeys(link.href.strip()[1:] for link in extract.links if link.href.lstrip().startswith("#"))
    return [each for each in fragments if not known.have(each)]
