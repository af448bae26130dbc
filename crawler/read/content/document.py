"""A page as a tree, and its texts, within limits."""

from typing import Final

import turbohtml

from crawler.page import Extract, Page
from crawler.read.elements.flatten import flatten
from crawler.read.elements.hostile import is_hostile, readable_bytes
from crawler.read.elements.xhtml import xhtml_to_html
from crawler.read.encoding.text import utf8_of
from crawler.read.sniff import XHTML

MAX_HTML_BYTES: Final = 2_000_000
"""Limit per page, in UTF-8: at most 50 ms for each step."""


def document_of(page: Page, extract: Extract) -> tuple[turbohtml.Document, int | None]:
    """The tree of a page that is HTML, and how many bytes of the page were read; None if all."""
    html = utf8_of(page.body, extract.charset or "utf-8")
    if extract.content_type == XHTML:
        html = xhtml_to_html(html)
    readable = min(readable_bytes(html), MAX_HTML_BYTES)
    is_cut = readable < len(html)
    if is_cut:
        html = html[:readable]
    if is_hostile(html):
        html = flatten(html, for_content=True)
    tree = turbohtml.parse(html.decode("utf-8", "replace"), positions=False)
    return tree, readable if is_cut else None


def limited(name: str, text: str, max_bytes: int, troubles: list[str]) -> str | None:
    """The text within the limit, in UTF-8; None if it is empty. What is cut is noted."""
    if len(text) * 4 > max_bytes:
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > max_bytes:
            troubles.append(f"its {name} is cut at {max_bytes:,} bytes")
            return encoded[:max_bytes].decode("utf-8", "ignore")
    return text or None


def cut_note(read_bytes: int | None) -> list[str]:
    """A note, if only so much of a page was read."""
    return [] if read_bytes is None else [f"its text is that of the first {read_bytes:,} bytes"]
