"""The text of a page, for programs that read it themselves."""

from collections.abc import Sequence

from crawler.read.encoding.text import decode, encoding_of, to_text
from crawler.read.headers import read_headers
from crawler.read.sniff import XHTML, is_html, is_json, is_text, is_xml, sniff_type


def page_text(body: bytes, headers: Sequence[tuple[bytes, bytes]], *, charset: str | None) -> str:
    """The decoded body; empty if it is not text. `charset` is the encoding that an extractor has found; None if the
    page was not read."""
    if charset is not None:
        return decode(body, charset)
    declared = read_headers(headers)
    content_type = sniff_type(declared.media_type, body)
    if is_html(content_type):
        return to_text(body, encoding_of(body, http_charset=declared.charset, is_xhtml=content_type == XHTML))
    if is_text(content_type):
        encoding = encoding_of(
            body, http_charset=declared.charset, is_xml=is_xml(content_type), is_json=is_json(content_type)
        )
        return to_text(body, encoding)
    return ""
