"""Cases for the headers that are wanted. The reference is written in Python."""

from random import Random

from crawler.page import _wanted as compiled
from crawler.page.wanted import MOST_WANTED, Header, wanted_in_python
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus

_NAMES = (b"content-type", b"link", b"x", b"", b"etag", "ä".encode(), b"\x00[", b"@{")


def compare(chance: Random, _corpus: Corpus) -> None:
    headers, names = _arguments(chance, most=MOST_WANTED)
    assert compiled.wanted_headers(headers, names) == wanted_in_python(headers, names), (headers, names)


def calls(chance: Random, _corpus: Corpus) -> list[Call]:
    return [(compiled.wanted_headers, _arguments(chance, most=MOST_WANTED + 1))]


def _arguments(chance: Random, *, most: int) -> tuple[list[Header], tuple[bytes, ...]]:
    headers = [(_cased(chance, chance.choice(_NAMES)), chance.randbytes(3)) for _ in range(chance.randrange(12))]
    return headers, tuple(chance.choices(_NAMES, k=chance.randint(0, most)))


def _cased(chance: Random, name: bytes) -> bytes:
    return bytes(letter ^ 0x20 if chance.random() < 0.2 else letter for letter in name)
