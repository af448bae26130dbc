"""Text to fuzz with: strings from the sources of an extension, combined at random and damaged."""

import re
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)+)"')
_LONGEST = 60_000
_PIECES = [
    b" ",
    *(
        b"< > / = \" ' & ; # ! ? - -- % : . .. // ( ) [ ] { } , \\ \t \n \r \r\n \0 \x80 \xc3\xa9 \xed\xa0\x80 \xff "
        b"a 1 <!-- --> <!doctype <![CDATA[ ]]> &amp; &amp &#38; &#x26; &#xfffffffff; &notit; &nbsp; http:// https:// "
        b"%2e %C3 url( @import */ /* xn-- e.org ?a=b"
    ).split(b" "),
]


class Corpus(NamedTuple):
    words: list[bytes]
    pages: list[bytes]


def corpus_of(folder: Path, corpora: Path | None) -> Corpus:
    """The words of the extension in that folder, and every seventh real page if there are corpora."""
    return Corpus(_words_of(folder), [] if corpora is None else _pages_in(corpora))


def _pages_in(corpora: Path) -> list[bytes]:
    from tests.unit.read.suites import real_pages  # noqa: PLC0415 - it imports an extension that `child` has to load

    return [page.body for _, page in islice(real_pages(corpora), 0, None, 7)]


def _words_of(folder: Path) -> list[bytes]:
    """The strings in the C code of a folder: the names, prefixes and marks that it looks for."""
    text = b"\n".join(each.read_bytes() for each in sorted(folder.glob("_*.[ch]")))
    code = re.sub(rb"/\*.*?\*/|#include[^\n]*", b"", text, flags=re.DOTALL)
    return sorted(set(_STRING.findall(code)))


def make_text(chance: Random, corpus: Corpus, pieces: int) -> bytes:
    """Join up to so many words and pieces."""
    return b"".join(
        chance.choice(corpus.words if chance.random() < 0.4 else _PIECES) for _ in range(chance.randrange(pieces + 1))
    )


def make_href(chance: Random, corpus: Corpus) -> str:
    return tear(chance, make_text(chance, corpus, 8)).decode("utf-8", chance.choice(("replace", "surrogateescape")))


def make_markup(chance: Random, corpus: Corpus, pieces: int) -> bytes:
    """Take part of a real page, or combine tags and text; then damage it."""
    if corpus.pages and chance.random() < 0.5:
        page = chance.choice(corpus.pages)
        start = chance.randrange(len(page) + 1)
        return tear(chance, page[start : start + 100 * pieces])
    made = []
    for _ in range(chance.randrange(pieces + 1)):
        name, kind = chance.choice(corpus.words), chance.randrange(6)
        if kind <= 1:
            made.append(b"</%b>" % name)
        elif kind <= 3:
            made.append(b"<%b%b>" % (name, b"".join(_attribute(chance, corpus) for _ in range(chance.randrange(4)))))
        else:
            made.append(make_text(chance, corpus, 4))
    return tear(chance, b"".join(made))


def _attribute(chance: Random, corpus: Corpus) -> bytes:
    quote = chance.choice((b"", b"'", b'"'))
    return b" %b=%b%b%b" % (chance.choice(corpus.words), quote, make_text(chance, corpus, 3), quote)


def tear(chance: Random, whole: bytes) -> bytes:
    """Cut, repeat and replace parts at random. The result may be much longer, or empty."""
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        one, other = sorted(chance.randrange(len(whole) + 1) for _ in range(2))
        change = chance.randrange(5)
        if change == 0:
            whole = whole[:one] + whole[other:]
        elif change == 1:
            whole = whole[:other]
        elif change == 2:
            whole = whole[:one] + bytes([chance.randrange(256)]) + whole[one + 1 :]
        elif change == 3:
            whole = whole[:one] + chance.choice(_PIECES) + whole[one:]
        else:
            times = min(chance.choice((2, 2, 3, 60, 3000)), _LONGEST // max(1, other - one))
            whole = (whole[:one] + whole[one:other] * times + whole[other:])[:_LONGEST]
    return whole
