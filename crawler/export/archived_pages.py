"""Pages from the archive, so that their links can be extracted again."""

import sys

from crawler.fetch.coding import codings, decode
from crawler.page import Page, body_digest
from crawler.write.warc_reader import Capture

_MAX_RATIO = 1000.0
_END = b"\r\n\r\n"
_CODED = b"\r\ncontent-encoding:"


def page_of_capture(capture: Capture, *, max_body_bytes: int) -> Page | None:
    """The page that a record of the archive holds; None if the record is not HTTP."""
    if capture.kind == "conversion":
        headers = [(b"Content-Type", b"text/html; charset=utf-8")]
        status, reason, raw, body = 200, "OK", capture.block, capture.block
    else:
        try:
            status, reason, headers, raw = capture.http()
        except ValueError:
            return None
        encodings = b", ".join(value for name, value in headers if name.lower() == b"content-encoding")
        body = decode(raw, codings(encodings.decode("latin-1")), max_bytes=max_body_bytes, max_ratio=_MAX_RATIO).body
    return Page(
        url=capture.url,
        status=status,
        reason=reason,
        headers=headers,
        fetched_at=0,
        duration_s=0,
        body=body,
        raw_body=raw,
        truncated=capture.truncated,
    )


def digest_of_capture(capture: Capture) -> str | None:
    """The digest of a body without content coding. None if that is not complete, and for what a crawl decodes only up
    to a limit without saying so: the compressed body of a redirect, which may be enormous."""
    if capture.truncated is not None or _is_compressed_redirect(capture):
        return None
    page = page_of_capture(capture, max_body_bytes=sys.maxsize)
    return None if page is None else body_digest(page.body)


def _is_compressed_redirect(capture: Capture) -> bool:
    head = capture.block[: capture.block.find(_END) + 2].lower()
    return capture.kind == "response" and _CODED in head and head[head.find(b" ") + 1 :].startswith(b"3")
