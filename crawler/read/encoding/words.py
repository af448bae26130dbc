"""The text of a body that tells its encoding, and counts of its bytes. Pure.

`_words`, compiled C, does this for a page of 8 KB in a tenth of the time of Python.
"""

import re
from functools import cache
from typing import Final

try:
    from crawler.read.encoding import _words as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 1  # False if it was compiled from older code

TEXT_BYTES: Final = 4 * 1024
"""With four times as many, detection takes half as long again, and as many pages of the corpora are read wrong."""
_MARKUP_BYTES: Final = 512 * 1024
"""The part of a page in which we look for text."""
_BEYOND_ASCII: Final = bytes(range(128, 256))
_CLASSES: Final = bytes(
    ord("H") if byte > 127 else ord("a") if chr(byte).isalpha() else ord(" ") for byte in range(256)
)
"""Of each byte: beyond ASCII, a letter, or another."""


@cache
def _pattern(text: bytes) -> re.Pattern[bytes]:
    """Of these functions, which most installations do not need."""
    return re.compile(text)


def gather_words_in_python(body: bytes, /) -> bytes:
    """The text of a page, up to a limit, mostly what is beyond ASCII. Markup, scripts and styles are left out: they may
    fill most of the page and tell nothing about its language."""
    head = body[:_MARKUP_BYTES]
    gathered: list[bytes] = []
    at = 0
    left, plain_left = TEXT_BYTES, TEXT_BYTES // 2
    skipped = _pattern(rb"(?i)<(?:(script|style)(?=[\t\n\f\r />])|(!--)|[a-z/!?][^>]*+(>?))")
    while left > 0:
        found = skipped.search(head, at)
        piece = head[at : found.start() if found else len(head)]
        if piece.isascii():
            # All candidates share ASCII, so the detector needs little of it: how letters and white space alternate.
            piece = piece[:plain_left]
            plain_left -= len(piece)
        piece = piece[:left]
        left -= len(piece)
        gathered.append(piece)
        if found is None:
            break
        if found[3]:
            at = found.end()
        elif found[1] and (raw := _pattern(rb"(?i)</%b" % found[1].lower()).search(head, found.end())):
            at = raw.start()
        elif found[2] and (end := head.find(b"-->", found.end())) >= 0:
            at = end + 1
        else:
            break
    return b"\n".join(gathered)


def count_beyond_ascii_in_python(text: bytes, /) -> int:
    """How many bytes are beyond ASCII."""
    return len(text) - len(text.translate(None, _BEYOND_ASCII))


def count_runs_in_python(text: bytes, /) -> tuple[int, int]:
    """How many runs of bytes beyond ASCII it has, and how many of these touch an ASCII letter."""
    # A pattern that looks behind each byte takes as long as all else here together.
    classes = text.translate(_CLASSES)
    behind, before = classes.count(b"aH"), classes.count(b"Ha")
    runs = behind + classes.count(b" H") + classes.startswith(b"H")
    return runs, behind + before - len(_pattern(rb"aH+(?=a)").findall(classes))


gather_words = compiled.gather_words if IS_COMPILED else gather_words_in_python  # type: ignore[possibly-undefined]
count_beyond_ascii = compiled.count_beyond_ascii if IS_COMPILED else count_beyond_ascii_in_python
count_runs = compiled.count_runs if IS_COMPILED else count_runs_in_python
