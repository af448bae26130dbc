"""Recognises pages that would keep a parser busy for minutes.

HTML parsers follow the standard, and some of its steps take quadratic time: in the depth of nesting, in the attributes
of a tag, and in the formatting elements left open, which the parser repeats in every block that follows, so that a
hundred kilobytes become gigabytes. Pages have tens of these; a page with thousands is an accident or an attack.

So we count tags, and where the counts allow for the worst, `flatten` rewrites the page before it is parsed. The counts
are upper bounds, since only a parser could find the true depth. Ordinary pages stay far below them: they close nearly
all of their elements in the right place, and few are open at once.

A tree takes far more memory than its text: 250 bytes for a tag of three, 16 for a NUL. So these are limited too, and
the rest of the page is not read.
"""

from typing import Final

from crawler.read.elements.markup import Survey, kinds_of_formatting, survey

MAX_TAGS: Final = 150_000
"""Start and end tags that a tree may have: 40 MB of memory, 0.1 s."""
MAX_READ_BYTES: Final = 10_000_000
"""Limit per document; a tree takes five times as much memory, even for text alone."""
MAX_NULS: Final = 20_000

_FEW_TAGS: Final = 1_500
"""So few tags can do no harm, whatever they are: 0.2 s."""
_MAX_STEPS: Final = 25_000_000
"""Open elements times tags: each tag may search all open elements, and each link may have all that follow within it.
None of 481 real pages has more than 20 million."""
_MAX_WALKS: Final = 5_000_000
"""Open elements times end tags of formatting elements: each may search all open elements eight times. 0.3 s."""
_MAX_REPEATED: Final = 500_000
"""Open formatting elements times tags: the parser may create about that many elements, of 100 bytes each."""
_FEW_BYTES: Final = 60_000
"""So few bytes have no room for enough attributes to do harm: 0.5 s."""
MAX_ATTRIBUTES: Final = 1000
"""Limit per tag. The parser compares each attribute with all before it."""
_MAX_ATTRIBUTES_OF_MANY: Final = 200
_MANY_BYTES: Final = 500_000
"""A page of this size has room for many such tags."""
_MAX_ROOTS: Final = 8
"""<html> and <body> tags. The parser merges their attributes into one element, which may take memory for each step."""

_BLOCK_BYTES: Final = 4096


def readable_bytes(html: bytes, /, *, max_tags: int = MAX_TAGS) -> int:
    """How many bytes of a page in UTF-8 we read: up to `max_tags`, which is one at least, `MAX_NULS` and
    `MAX_READ_BYTES`."""
    end = min(len(html), MAX_READ_BYTES)
    if b"\0" in html and html.count(b"\0", 0, end) > MAX_NULS:
        end = _nth(html, b"\0", MAX_NULS)
    if end > 2 * max_tags and html.count(b"<", 0, end) > max_tags:
        end = _nth(html, b"<", max_tags)
    return end


def is_hostile(html: bytes, /) -> bool:
    """Whether a parser might take a second or more, or hundreds of megabytes, for the page."""
    if len(html) <= _FEW_BYTES and html.count(b"<") <= _FEW_TAGS:
        return False
    found = survey(html, most_attributes=MAX_ATTRIBUTES if len(html) <= _MANY_BYTES else _MAX_ATTRIBUTES_OF_MANY)
    if found.roots > _MAX_ROOTS or (len(html) > _FEW_BYTES and found.is_laden):
        return True
    return found.tags > _FEW_TAGS and _may_be_entangled(html, found)


def _may_be_entangled(html: bytes, found: Survey) -> bool:
    tags = found.tags
    return (
        found.elements * tags > _MAX_STEPS
        or found.elements * found.formatting_ends > _MAX_WALKS
        # The standard keeps three formatting elements that are alike; and the next <a> closes an open one.
        or (found.formatting * tags > _MAX_REPEATED and 3 * kinds_of_formatting(html) * tags > _MAX_REPEATED)
    )


def _nth(body: bytes, byte: bytes, number: int) -> int:
    """The position of the n-th such byte."""
    at = 0
    while number > 0:
        # Block by block: counting is a hundred times as fast as finding each byte.
        block = body.count(byte, at, at + _BLOCK_BYTES)
        if block >= number:
            break
        number -= block
        at += _BLOCK_BYTES
    at -= 1
    for _ in range(number):
        at = body.find(byte, at + 1)
    return at
