"""Pieces of texts around the words that are searched, and where these are in them."""

import re
import sqlite3
import unicodedata
from typing import Final, Self

from crawler.search.forms import Marks
from crawler.search.words import BREAK, TOKENIZER, Query

BEGIN: Final = "\x02"
"""Stands in a text before each word that is searched."""
END: Final = "\x03"
"""Stands behind it."""
_WORDS: Final = 32
_PIECE: Final = re.compile(rf"(?s).{{1,4000}}(?:[\s{BREAK}]|\Z)|.{{4000}}")
"""A text is cut into these, where its words end if it has any so short."""
_WORD: Final = re.compile(r"\w+\W*|\W+")


class Excerpts:
    """Makes excerpts. FTS5 finds the words, but takes a time that grows with the square of how often they are in a
    text. So it gets small pieces, in a table in memory. As a context this frees them."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        # Its columns are those of the index, which a query may name.
        self._database.execute(f'CREATE VIRTUAL TABLE piece USING fts5 (title, path, text, tokenize = "{TOKENIZER}")')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def excerpt(self, query: Query, text: str) -> str:
        """Some words around those that are searched; the first ones if only the title or the path has those."""
        pieces = _PIECE.findall(text)
        self._database.execute("DELETE FROM piece")
        self._database.executemany(
            "INSERT INTO piece (rowid, title, path, text) VALUES (?, '', '', ?)", enumerate(pieces, 1)
        )
        best = self._database.execute(
            "SELECT rowid, snippet(piece, 2, ?, ?, '…', ?) FROM piece WHERE piece MATCH ? ORDER BY rank, rowid LIMIT 1",
            (BEGIN, END, _WORDS, query.any_of),
        ).fetchone()
        if best is None:
            first = "".join(_WORD.findall("".join(pieces[:1]))[:_WORDS])
            return first if first == text else f"{first.rstrip()}…"
        number, excerpt = best
        before = "" if number == 1 or excerpt.startswith("…") else "…"
        after = "" if number == len(pieces) or excerpt.endswith("…") else "…"
        return f"{before}{excerpt}{after}"


def marked(text: str) -> tuple[str, Marks]:
    """A text on one line, without what marks words in it, and where these are. A letter and its accent are one
    character again, if there is one (NFC)."""
    plain, marks, begin = "", list[tuple[int, int]](), 0
    for character in unicodedata.normalize("NFC", " ".join(text.replace(BREAK, "").split())):
        if character == BEGIN:
            begin = len(plain)
        elif character == END:
            marks.append((begin, len(plain)))
        else:
            plain += character
    return plain, marks
