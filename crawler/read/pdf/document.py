"""What is read of a PDF document.

We read only links that a person can click, which are annotations with a URI or the name of another document. Text that
looks like a URL is no link.
"""

import io
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from pypdf import PageObject, PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import ByteStringObject, DictionaryObject, TextStringObject

from crawler.page import Link, LinkKind
from crawler.read.elements.attributes import collapse_space
from crawler.read.elements.element_reader import MAX_LINKS, MAX_TEXT_CHARACTERS
from crawler.read.options import PdfContent
from crawler.url.urls import MAX_URL_LENGTH, join

MAX_PAGES: Final = 2_000
"""Limit per document; further pages are ignored."""
MAX_HREF_CHARACTERS: Final = 10_000_000
"""Limit for all links of a document together; further ones are ignored. Many annotations may share one long URI."""
_BROKEN: Final = (
    PyPdfError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    RecursionError,
    OverflowError,
)
"""What pypdf raises for a part of a document that is broken. Such a part loses only what is in it."""


def read_pdf(
    body: bytes, /, *, with_links: bool = True, text_bytes: int = 0, until: float = float("inf")
) -> PdfContent:
    """Read a PDF document; of a broken one as much as possible. Raises what pypdf raises if it can read nothing.

    Of the text, read about `text_bytes`. From `until` on (monotonic time), read no further page.
    """
    reader = PdfReader(io.BytesIO(body))
    links: list[Link] = []
    texts: list[str] = []
    left, hrefs_left = text_bytes, MAX_HREF_CHARACTERS
    count = len(reader.pages)
    base = _base(reader)
    read = 0
    for number in range(min(count, MAX_PAGES)):
        wants_links = with_links and len(links) < MAX_LINKS and hrefs_left >= 0
        if time.monotonic() >= until or not (wants_links or left > 0):
            break
        read += 1
        with suppress(*_BROKEN):
            page = reader.pages[number]
            if wants_links:
                hrefs_left = _add_links(page, links, hrefs_left, base=base)
            if left > 0 and (text := page.extract_text().strip()):
                texts.append(text)
                left -= len(text.encode("utf-8", "replace"))
    title = author = None
    with suppress(*_BROKEN):
        metadata = reader.metadata
        title = metadata.title if metadata else None
        author = metadata.author if metadata else None
    return PdfContent(
        links=links[:MAX_LINKS],
        title=_text(title),
        author=_text(author),
        text="\n\n".join(texts) or None,
        pages=count,
        pages_read=read,
    )


def _add_links(page: PageObject, links: list[Link], left: int, *, base: str | None) -> int:
    """Add the links of a page, of so many characters at most. Returns how many are left; negative if a link did not
    fit."""
    with suppress(*_BROKEN):
        for link in _links(page, base):
            left -= len(link.href)
            if left < 0:
                break
            links.append(link)
    return left


def _links(page: PageObject, base: str | None) -> Iterator[Link]:
    annotations = page.get("/Annots")
    for reference in annotations.get_object() if annotations is not None else ():
        href = None
        with suppress(*_BROKEN):
            action = reference.get_object().get("/A")
            href = _target(action.get_object(), base) if action is not None else None
        if href:
            yield Link(href, LinkKind.LINK)


def _target(action: DictionaryObject, base: str | None) -> str | None:
    """What an action leads to: a URI, or the file name of another document, which is relative to this one."""
    if "/URI" in action:
        href = _href(action["/URI"])
        return _by_base(href, base) if href else None
    if action.get("/S") != "/GoToR":
        return None
    file = action["/F"]
    name = _href(file["/UF" if "/UF" in file else "/F"] if isinstance(file, DictionaryObject) else file)
    # An absolute one is of the disk of its author. Windows writes it with a backslash.
    return None if name is None or name.startswith(("/", "\\")) else name


def _by_base(href: str, base: str | None) -> str:
    # As viewers do: authors omit the scheme, and `www.pdf` is a document.
    has_host = href.startswith("www.") and href.count(".") > 1
    href = f"http://{href}" if has_host else href
    return href if base is None else join(base, href) or href


def _base(reader: PdfReader) -> str | None:
    """The base of relative links, if the document names one that is not too long."""
    with suppress(*_BROKEN):
        base = _href(reader.trailer["/Root"]["/URI"]["/Base"])  # type: ignore[index]
        return base if base and len(base) <= MAX_URL_LENGTH else None
    return None


def _href(uri: object) -> str | None:
    """The URI as its author meant it. It should be ASCII, but some are UTF-8, as browsers know."""
    if isinstance(uri, TextStringObject) and (uri.isascii() or uri.autodetect_utf16):
        return uri.strip()
    if not isinstance(uri, TextStringObject | ByteStringObject):
        return None
    with suppress(UnicodeDecodeError):
        return uri.original_bytes.decode("utf-8").strip()
    return (uri if isinstance(uri, str) else uri.decode("latin-1")).strip()


def _text(found: object) -> str | None:
    return collapse_space(found, MAX_TEXT_CHARACTERS) if isinstance(found, str) else None
