"""Reads a document once for two readers: who wants its links, and then who wants its text."""

import threading
from collections.abc import Callable

from crawler.read.options import PdfContent, PdfFailed


class PdfReadOnce:
    """In each thread it remembers the last document of which the links were wanted, until somebody wants the text of
    it: both are read at once. Safe in threads."""

    def __init__(self, read: Callable[..., PdfContent], *, text_bytes: int) -> None:
        """`read` is a `PdfProcesses.read`. `text_bytes`: how much text of a document will be wanted."""
        self._read = read
        self._text_bytes = text_bytes
        self._last = threading.local()
        """Its `document`: the body, how much of its text was read, and what came of it."""

    def read(self, body: bytes, /, *, with_links: bool = True, text_bytes: int = 0) -> PdfContent:
        """Like `PdfProcesses.read`."""
        last: tuple[bytes, int, PdfContent | PdfFailed] | None = getattr(self._last, "document", None)
        self._last.document = None
        if not with_links and last is not None and last[0] is body and last[1] >= text_bytes:
            found = last[2]
        else:
            text_bytes = max(text_bytes, self._text_bytes) if with_links else text_bytes
            try:
                found = self._read(body, with_links=with_links, text_bytes=text_bytes)
            except PdfFailed as error:
                found = error
            if with_links:
                self._last.document = body, text_bytes, found
        if isinstance(found, PdfFailed):
            raise found
        return found
