"""The abstract of a page: its first sentences, or its description cut to length."""

import re
from collections.abc import Iterable
from typing import Final

MAX_ABSTRACT_CHARACTERS: Final = 300
_SENTENCE_END = re.compile(r".*[.!?。！？](?=\s|$)|.*[。！？]", re.DOTALL)


def shorten(text: str, /) -> str:
    """Cut to `MAX_ABSTRACT_CHARACTERS`: at the end of a sentence if one ends in the second half, else between words."""
    if len(text) <= MAX_ABSTRACT_CHARACTERS:
        return text
    cut = text[:MAX_ABSTRACT_CHARACTERS]
    sentences = _SENTENCE_END.match(cut)
    if sentences is not None and sentences.end() >= MAX_ABSTRACT_CHARACTERS // 2:
        return sentences[0]
    return f"{cut.rpartition(' ')[0] or cut[:-1]}…"


def summary(paragraphs: Iterable[str], /) -> str | None:
    """The first sentences of the paragraphs; None if they contain no words. Reads only as many paragraphs as needed."""
    collected: list[str] = []
    length = 0
    for paragraph in paragraphs:
        words = " ".join(paragraph[: 8 * MAX_ABSTRACT_CHARACTERS].split())
        if words:
            collected.append(words)
            length += len(words) + 1
        if length >= MAX_ABSTRACT_CHARACTERS:
            break
    return shorten(" ".join(collected)) if collected else None
