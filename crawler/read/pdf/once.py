"""Reads a document once for two readers: who wants its links, and then who wants its text."""

import threading
from collections.abc import Callable

import msgspec

from crawler.read.options import PdfContent, PdfFailed


class _Last(msgspec.Struct, frozen=True):
    """A document, and what came of it."""

    body: bytes
    text_bytes: int
    found: PdfContent | PdfFailed


class PdfReadOnce:
    """In each thread it remembers the last document of which the links were wanted, until somebody wants the text of
    it: both are read at once. Safe in threads."""

    def __init__(self, read: Callable[..., PdfContent], *, text_bytes: int) -> None:
        """`read` is a `PdfProcesses.read`. `text_bytes`: how much text of a document will be wanted."""
        self._read = read
        self._text_bytes = text_bytes
        self._last = threading.local()

    def read(self, body: bytes, /, *, with_links: bool = True, text_bytes: int = 0) -> PdfContent:
        """Like `PdfProcesses.read`."""
        if with_links:
            text_bytes = max(text_bytes, self._text_bytes)
            found = self._try(body, with_links=True, text_bytes=text_bytes)
            self._last.document = _Last(body, text_bytes, found)
        else:
            found = self._found_before(body, text_bytes) or self._try(body, with_links=False, text_bytes=text_bytes)
        if isinstance(found, PdfFailed):
            raise found
        return found

    def _found_before(self, body: bytes, text_bytes: int) -> PdfContent | PdfFailed | None:
        last: _Last | None = getattr(self._last, "document", None)
        self._last.document = None
        return last.found if last is not None and last.body is body and last.text_bytes >= text_bytes else None

    def _try(self, body: bytes, *, with_links: bool, text_bytes: int) -> PdfContent | PdfFailed:
        try:
            return self._read(body, with_links=with_links, text_bytes=text_bytes)
        except PdfFailed as error:
            return error
