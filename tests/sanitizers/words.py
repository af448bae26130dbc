"""Cases for the text that tells an encoding. The reference is written in Python."""

from random import Random

from crawler.read.encoding import _words as compiled
from crawler.read.encoding.words import (
    count_beyond_ascii_in_python,
    count_runs_in_python,
    gather_words_in_python,
)
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus, make_markup


def compare(chance: Random, corpus: Corpus) -> None:
    body = _body(chance, corpus)
    assert compiled.gather_words(body) == gather_words_in_python(body), body
    assert compiled.count_beyond_ascii(body) == count_beyond_ascii_in_python(body), body
    assert compiled.count_runs(body) == count_runs_in_python(body), body


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    body = _body(chance, corpus)
    return [(each, (body,)) for each in (compiled.gather_words, compiled.count_beyond_ascii, compiled.count_runs)]


def _body(chance: Random, corpus: Corpus) -> bytes:
    """Repeated, so that it comes to the limits of what is gathered."""
    return make_markup(chance, corpus, 30) * chance.choice((1, 1, 50))
