"""Cases for the fingerprint of a text. The reference is written in Python."""

from html.entities import html5
from random import Random
from typing import cast

from crawler.read.similarity import _simhash as compiled
from crawler.read.similarity.simhash import Fingerprint, fingerprint_in_python
from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus, make_markup

NUMBERS = (
    0,
    0x26,
    0x7F,
    0x80,
    0xE9,
    0x7FF,
    0x800,
    0x4E2D,
    0xD7FF,
    0xD800,
    0xFFFF,
    0x10000,
    0x1F600,
    0x10FFFF,
    0x110000,
)
LARGE_BYTES = 70_000
"""So much is not read at once: others run in between."""


def compare(chance: Random, corpus: Corpus) -> None:
    text, is_markup = _text(chance, corpus, large=0.02), chance.random() < 0.8
    found = Fingerprint(*compiled.simhash(cast(bytes, copy_exactly(text)), is_markup, html5))
    assert found == fingerprint_in_python(text, is_markup=is_markup), text


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    text = copy_exactly(_text(chance, corpus, large=0.1))
    odd_names: dict[str, object] = {"amp;": chance.choice((7, b"&", "\ud800", "", "a " * LARGE_BYTES)), "nbsp;": None}
    return [
        (compiled.simhash, (text, chance.random() < 0.8, dict(html5))),
        (compiled.simhash, (text, True, odd_names)),
    ]


def _text(chance: Random, corpus: Corpus, *, large: float) -> bytes:
    """Markup with references to characters of each length in UTF-8."""
    references = (chance.choice(("&#%d;", "&#x%x;", "&#X%X;", "&#%d")) % chance.choice(NUMBERS) for _ in range(3))
    text = b"".join(each.encode() + make_markup(chance, corpus, 10) for each in references)
    return text * (1 + LARGE_BYTES // len(text)) if chance.random() < large else text
