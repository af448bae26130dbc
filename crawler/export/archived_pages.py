"""Pages from the archive, so that their links can be extracted again."""

from crawler.fetch.coding import codings, decode
from crawler.page import Page
from crawler.write.warc_reader import Capture

_MAX_RATIO = 1000.0


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
