"""Reads attribute values: srcset, refresh."""

import re
from collections.abc import Iterator
from typing import Final

WHITE_SPACE: Final = " \t\n\r\f\v\0"
"""Stripped from both ends of URLs and names."""


def collapse_space(text: str, limit: int, /) -> str | None:
    """Collapse white space and cut at `limit` characters; None if nothing is left."""
    return " ".join(text[: 20 * limit].split())[:limit].rstrip() or None


_MAX_REFRESH_CHARACTERS: Final = 4000
_REFRESH = re.compile(r"\s*(?=[\d.])[\d.]*(?=[\s;,])\s*[;,]?\s*(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL)


def refresh_url(content: str, /) -> str | None:
    """The URL of a <meta http-equiv=refresh>, by the "shared declarative refresh steps" of the HTML standard; None if
    it has none and so reloads the page itself."""
    match = _REFRESH.match(content[:_MAX_REFRESH_CHARACTERS])
    if match is None:
        return None
    url = match[1]
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return url.strip(WHITE_SPACE) or None


_SRCSET_GAP = re.compile(r"[\t\n\f\r ,]*")
_SRCSET_URL = re.compile(r"[^\t\n\f\r ]+")
_SRCSET_DESCRIPTORS = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")


def srcset_urls(srcset: str, /) -> Iterator[str]:
    """The URLs of a srcset, by the HTML standard: a comma separates candidates only after white space or at the end of
    a URL, so URLs may contain commas."""
    position = 0
    while True:
        position = _end(_SRCSET_GAP, srcset, position)
        end = _end(_SRCSET_URL, srcset, position)
        if end == position:
            return
        word = srcset[position:end]
        url = word.rstrip(",")
        yield url
        position = end if url != word else _end(_SRCSET_DESCRIPTORS, srcset, end)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
