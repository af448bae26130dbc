"""Cases for the index of fingerprints. The reference is written in Python."""

from random import Random

from crawler.repeats import _similar as compiled
from crawler.repeats.similar import MAX_DISTANCE, PythonSimilarIndex
from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus


def compare(chance: Random, corpus: Corpus) -> None:
    index, expected = compiled.SimilarIndex(), PythonSimilarIndex()
    first = chance.getrandbits(64)
    for _ in range(chance.choice((0, 1, 5, 60))):
        many = [_changed(chance, first) for _ in range(chance.choice((0, 1, 3)))]
        for each in (index, expected):
            each.add(first)
            each.extend(b"".join(number.to_bytes(8, "little") for number in many))
        first = chance.choice((first, *many))
    assert len(index) == len(expected)
    asked = _changed(chance, first)
    for distance in range(MAX_DISTANCE + 1):
        assert index.near(asked, distance) == expected.near(asked, distance)


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    index, fingerprint = compiled.SimilarIndex(), chance.getrandbits(64)
    if chance.random() < 0.7:
        index.extend(fingerprint.to_bytes(8, "little") * chance.choice((1, 20, 20_000)))
    return [
        (index.add, (fingerprint,)),
        (index.extend, (copy_exactly(chance.randbytes(8 * chance.randrange(4))),)),
        (index.near, (_changed(chance, fingerprint), chance.randrange(MAX_DISTANCE + 1))),
    ]


def _changed(chance: Random, fingerprint: int) -> int:
    for _ in range(chance.randrange(12)):
        fingerprint ^= 1 << chance.randrange(64)
    return fingerprint
