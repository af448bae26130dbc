"""The abstract of a page: its first sentences, or its description cut to length."""

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, TypeVar

Node = TypeVar("Node")

MAX_ABSTRACT_CHARACTERS: Final = 300
_MAX_PARAGRAPHS: Final = 20
_BESIDE: Final = frozenset({"aside", "footer", "header", "nav"})
"""What these contain stands beside the content of the page."""
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


def abstract_of(
    paragraphs: Iterable[Node], text_of: Callable[[Node], str], tags_around: Callable[[Node], Iterable[str]], /
) -> str | None:
    """The first sentences of a document, from its elements `<p>` in their order."""
    first = islice(paragraphs, _MAX_PARAGRAPHS)
    return summary(text_of(each) for each in first if _BESIDE.isdisjoint(tags_around(each)))


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
