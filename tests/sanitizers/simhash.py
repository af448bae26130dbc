"""Cases for the fingerprint of a text. The reference is written in Python."""

from html.entities import html5
from random import Random
from typing import cast

from crawler.read.similarity import _simhash as compiled
from crawler.read.similarity.simhash import Fingerprint, fingerprint_in_python
from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus, make_markup


def compare(chance: Random, corpus: Corpus) -> None:
    text, is_markup = make_markup(chance, corpus, 30), chance.random() < 0.8
    found = Fingerprint(*compiled.simhash(cast(bytes, copy_exactly(text)), is_markup, html5))
    assert found == fingerprint_in_python(text, is_markup=is_markup), text


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    text = copy_exactly(make_markup(chance, corpus, 30))
    odd_names: dict[str, object] = {"amp;": chance.choice((7, b"&", "\ud800", "")), "nbsp;": None}
    return [
        (compiled.simhash, (text, chance.random() < 0.8, dict(html5))),
        (compiled.simhash, (text, True, odd_names)),
    ]
