"""Fingerprints of texts: two texts that are almost the same have fingerprints that differ in few bits.

The fingerprint is the 64-bit SimHash of Charikar ("Similarity estimation techniques from rounding algorithms", STOC
2002), as Manku, Jain and Das Sarma use it for a crawl ("Detecting near-duplicates for web crawling", WWW 2007): each
feature of the text has a hash; a bit of the fingerprint is set if it is set in more than half of the hashes. A feature
is a shingle of `SHINGLE` words in a row, and counts as often as it occurs.

The text of markup is what stands between its tags, without scripts, styles, templates and comments. Each tag ends a
word. This depends on the tokens alone, so it is the same for each extractor. `ranges` says which characters belong to
words; A and a are the same in ASCII. Text that is not UTF-8 ends a word, too.

`_simhash`, compiled C, does all this in one pass. This module does the same in Python, for installations without
compiled code.
"""

import re
from functools import cache
from html.entities import html5
from typing import Final

import msgspec

from crawler.read.similarity.ranges import BREAKS, SINGLE

try:
    from crawler.read.similarity import _simhash as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 2  # False if it was compiled from older code

BITS: Final = 64
SHINGLE: Final = 3
"""Words in a shingle. docs/duplicates.md says what shorter and longer ones would recognize."""
_ALL: Final = 2**BITS - 1
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


class Fingerprint(msgspec.Struct, frozen=True, gc=False):
    """What is compared of a text."""

    simhash: int
    """64 bits; 0 for a text without words."""
    words: int
    """How many words the text has. Short texts differ in few features, so their fingerprints say little."""


def fingerprint(text: bytes, /, *, is_markup: bool) -> Fingerprint:
    """The fingerprint of a text in UTF-8."""
    if IS_COMPILED:
        return Fingerprint(*compiled.simhash(text, is_markup, html5))
    return fingerprint_in_python(text, is_markup=is_markup)


def _class_of(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


@cache
def _word() -> re.Pattern[str]:
    """A word, or a character of a script without spaces between words."""
    return re.compile(f"[{_class_of(SINGLE)}]|[^{_class_of(SINGLE)}{_class_of(BREAKS)}]+")


@cache
def _tag() -> re.Pattern[bytes]:
    """A comment, a declaration, or a tag with its name. A quote begins a value only behind `=`."""
    return re.compile(
        rb"<(?:!(?=--).*?(?:-->|\Z)|[!?][^>]*(?:>|\Z)"
        rb"""|/?([a-zA-Z][^\t\n\f\r />]*)(?:=[\t\n\f\r ]*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))|[^>])*(?:>|\Z))""",
        re.DOTALL,
    )


@cache
def _end_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"</%b(?=[\t\n\f\r />]|\Z)" % name, re.IGNORECASE)


@cache
def _reference() -> re.Pattern[bytes]:
    return re.compile(rb"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{0,31}));")


_NO_TEXT: Final = frozenset({b"script", b"style", b"template"})
"""Elements that are no text."""


def fingerprint_in_python(text: bytes, /, *, is_markup: bool) -> Fingerprint:
    counts = [0] * BITS
    words = features = 0
    last: list[int] = []
    for word in _words(_text_of(text) if is_markup else text):
        words += 1
        last = [*last[1 - SHINGLE :], _fnv1a(word)]
        if len(last) == SHINGLE:
            features += 1
            _count(counts, _mix(last))
    if 0 < words < SHINGLE:
        features = 1
        _count(counts, _mix(last))
    return Fingerprint(sum(1 << bit for bit, count in enumerate(counts) if 2 * count > features), words)


def _text_of(html: bytes) -> bytes:
    """What stands between the tags."""
    pieces: list[bytes] = []
    at = 0
    tags, references = _tag(), _reference()
    while (tag := tags.search(html, at)) is not None:
        pieces.append(references.sub(_character, html[at : tag.start()]))
        at = tag.end()
        name = b"" if tag[1] is None or html[tag.start() + 1 : tag.start() + 2] == b"/" else tag[1].lower()
        if name in _NO_TEXT:
            end = _end_of(name).search(html, at)
            at = len(html) if end is None else end.start()
    pieces.append(references.sub(_character, html[at:]))
    return b" ".join(pieces)


def _character(reference: re.Match[bytes]) -> bytes:
    """What a reference stands for, in UTF-8; the reference as it is, if it stands for nothing."""
    decimal, hexadecimal, name = reference.groups()
    if name is not None:
        found = html5.get(f"{name.decode()};")
        return reference[0] if found is None else found.encode()
    number = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return b" " if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF else chr(number).encode()


def _words(text: bytes) -> list[str]:
    return _word().findall(text.lower().decode("utf-8", "replace"))


def _fnv1a(word: str) -> int:
    """The hash of Fowler, Noll and Vo: cheap for the short words of a text."""
    found = _FNV_OFFSET
    for byte in word.encode():
        found = (found ^ byte) * _FNV_PRIME & _ALL
    return found


def _mix(words: list[int]) -> int:
    """The hash of a shingle. The steps are those of MurmurHash3's finalizer, which spreads each bit over all."""
    found = 0
    for word in words:
        found = (found ^ word) * 0x9E3779B97F4A7C15 & _ALL
        found ^= found >> 32
    found = (found ^ found >> 33) * 0xFF51AFD7ED558CCD & _ALL
    found = (found ^ found >> 33) * 0xC4CEB9FE1A85EC53 & _ALL
    return found ^ found >> 33


def _count(counts: list[int], found: int) -> None:
    for bit in range(BITS):
        counts[bit] += found >> bit & 1
