"""Options: what we read of a page only on request."""

from collections.abc import Callable
from typing import Final

import msgspec

from crawler.page import Link


class PdfContent(msgspec.Struct, frozen=True, kw_only=True):
    """The links and metadata of a PDF document, and its text if that is wanted."""

    links: list[Link]
    title: str | None = None
    author: str | None = None
    text: str | None = None
    pages: int
    pages_read: int


class PdfFailed(Exception):
    """A document can't be read. The message says why."""


def reason_of(error: Exception) -> str:
    """Why a document could not be read, for people."""
    return str(error) if isinstance(error, PdfFailed) else f"{type(error).__name__}: {error}"


ReadPdf = Callable[..., PdfContent]
"""Reads a document, as `PdfProcesses.read`. Raises `PdfFailed`."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What to read beside the default links and metadata."""

    forms: bool = False
    """The targets of forms."""
    scripts: bool = False
    """Probable URLs in JSON-LD and inline scripts."""
    preview_images: bool = False
    """Images that other sites show beside a link to the page: og:image, twitter:image."""
    data_links: bool = False
    """The values of `data-href` and `data-url` attributes."""
    amp_images: bool = False
    """The images of <amp-img>."""
    fingerprint_words: int | None = None
    """The fingerprint of its text, by which near duplicates are found, if it has at least so many words."""
    pdf: Callable[[bytes], PdfContent] | None = None
    """A reader of PDF documents."""


DEFAULT_OPTIONS: Final = Options()
