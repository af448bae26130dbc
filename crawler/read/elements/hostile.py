"""Pages that would hold a parser for minutes, and how they are read nevertheless.

HTML parsers follow the standard, and what it asks for takes time by the square of some things: how deep elements are
nested, how many attributes a tag has, how many formatting elements are left open (which are made anew in every block
that follows, so that a hundred kilobytes become gigabytes). Pages have tens of these; a body with thousands is an
accident or an attack.

So tags are counted, and where the counts allow for the worst, the page is `flat.flattened` first. The counts are
bounds, whatever the tags say of each other: a true depth could be told only by a parser. Pages as people make them lie
far below, since nearly all of their elements are closed where they should be, and few are open at once.

A tree takes far more memory than its text: 250 bytes for a tag of three, 16 for a NUL. So there are limits on these,
and what lies behind is left.
"""

from typing import Final

from crawler.read.elements.markup import Survey, kinds_of_formatting, survey

MAX_TAGS: Final = 150_000
"""Start and end tags of a document, as far as it is read: 40 MB of memory, 0.1 s."""
MAX_READ_BYTES: Final = 10_000_000
"""Of a document; of text alone, a tree takes five times as much."""
MAX_NULS: Final = 20_000

_FEW_TAGS: Final = 1_500
"""So few can do no harm, whatever they are: 0.2 s."""
_MAX_STEPS: Final = 50_000_000
"""Elements that may be open times all tags, each of which may look through them: 0.2 s."""
_MAX_WALKS: Final = 5_000_000
"""Elements that may be open times end tags of formatting, each of which may walk through them eight times: 0.3 s."""
_MAX_REMADE: Final = 500_000
"""Formatting elements that may be open times all tags: about as many elements may be made, of 100 bytes each."""
_FEW_BYTES: Final = 60_000
"""So few can't hold attributes enough to do harm: 0.5 s."""
MAX_ATTRIBUTES: Final = 1000
"""Of a tag. Each is compared with all before it."""
_MAX_ATTRIBUTES_OF_MANY: Final = 200
_MANY_BYTES: Final = 500_000
"""In a body of that size there may be many such tags."""
_MAX_ROOTS: Final = 8
"""<html> and <body> tags, whose attributes are gathered in one element."""

_BLOCK_BYTES: Final = 4096


def readable_bytes(html: bytes, /) -> int:
    """How much of a page in UTF-8, from its start, is read: up to `MAX_TAGS`, `MAX_NULS` and `MAX_READ_BYTES`."""
    end = min(len(html), MAX_READ_BYTES)
    if b"\0" in html and html.count(b"\0", 0, end) > MAX_NULS:
        end = _nth(html, b"\0", MAX_NULS)
    if end > 2 * MAX_TAGS and html.count(b"<", 0, end) > MAX_TAGS:
        end = _nth(html, b"<", MAX_TAGS)
    return end


def is_hostile(html: bytes, /) -> bool:
    """Whether a parser might take a second or more, or hundreds of megabytes, for that page."""
    if len(html) <= _FEW_BYTES and html.count(b"<") <= _FEW_TAGS:
        return False
    found = survey(html, most_attributes=MAX_ATTRIBUTES if len(html) <= _MANY_BYTES else _MAX_ATTRIBUTES_OF_MANY)
    if len(html) > _FEW_BYTES and (found.is_laden or found.roots > _MAX_ROOTS):
        return True
    return found.tags > _FEW_TAGS and _may_be_entangled(html, found)


def _may_be_entangled(html: bytes, found: Survey) -> bool:
    tags = found.tags
    return (
        found.elements * tags > _MAX_STEPS
        or found.elements * found.formatting_ends > _MAX_WALKS
        # Of formatting elements that are alike, the standard keeps three; and <a> is closed by the next one.
        or (found.formatting * tags > _MAX_REMADE and 3 * kinds_of_formatting(html) * tags > _MAX_REMADE)
    )


def _nth(body: bytes, byte: bytes, number: int) -> int:
    """Where the byte stands for the time of that number."""
    at = 0
    while number > 0:
        # Block by block: counting is a hundred times as fast as finding one after the other.
        block = body.count(byte, at, at + _BLOCK_BYTES)
        if block >= number:
            break
        number -= block
        at += _BLOCK_BYTES
    at -= 1
    for _ in range(number):
        at = body.find(byte, at + 1)
    return at
