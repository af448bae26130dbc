"""Encodes the query of an href in the encoding of its page, as browsers do."""

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote_from_bytes

from msgspec.structs import replace

from crawler.page import Link
from crawler.read.encoding.labels import CODE_PAGES
from crawler.read.encoding.text import Encoding

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_FROM_BEYOND_ASCII = re.compile(r"[^\x00-\x7f].*", re.DOTALL)
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")
_QUERY_SAFE: Final = r"!$%&*()+,/:;=?@[\]^`{|}"
"""Characters that the URL standard does not escape in a query, beside letters, digits and `-._~`."""


def encode_queries(links: Sequence[Link], encoding: Encoding, /) -> Sequence[Link]:
    """The links of a page in that encoding, with their queries in it. Links that can say that all are ASCII, as those
    of a scan, need not be made for it."""
    are_ascii: Callable[[], bool] | None = getattr(links, "are_ascii", None)
    if are_ascii is not None and are_ascii():
        return links
    return [
        link if link.href.isascii() else replace(link, href=percent_encode_query(link.href, encoding)) for link in links
    ]


def percent_encode_query(href: str, encoding: Encoding, /) -> str:
    """Percent-encode the query of an href in the page's encoding, as browsers do. The URL parser knows UTF-8 only; it
    leaves the ASCII result as it is."""
    path, mark, query = href.partition("?")
    if not mark or query.isascii() or encoding.name.startswith("utf-") or encoding.name == "replacement":
        return href
    query, hash_mark, fragment = query.partition("#")
    # In ISO-2022-JP, a character beyond ASCII may change how the letters after it are written.
    pattern = _FROM_BEYOND_ASCII if encoding.name == "iso-2022-jp" else _BEYOND_ASCII
    query = pattern.sub(lambda found: _percent_encode(found[0], encoding.name), query.translate(_NOT_IN_URLS))
    return f"{path}?{query}{hash_mark}{fragment}"


def _percent_encode(text: str, name: str) -> str:
    if (encoded := _try_encode(text, name)) is not None:
        return quote_from_bytes(encoded, safe=_QUERY_SAFE)
    if len(text) == 1:
        return f"%26%23{ord(text)}%3B"
    lacking = "".join(re.escape(char) for char in set(text) if _try_encode(char, name) is None)
    return "".join(_percent_encode(piece, name) for piece in re.split(f"([{lacking}])", text) if piece)


def _try_encode(text: str, name: str) -> bytes | None:
    import endec  # noqa: PLC0415 - most crawls meet UTF-8 only

    try:
        return text.encode(CODE_PAGES[name]) if name in CODE_PAGES else endec.encode(text, name)
    except UnicodeError:
        return None
