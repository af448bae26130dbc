"""Cases for the heads of responses. The reference is written in Python, with patterns."""

from random import Random

from crawler.fetch.connect import _heads as compiled
from crawler.fetch.connect.response_heads import read_plain_head, read_plain_head_in_python
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus, make_text, tear

STATUS_LINES = (b"HTTP/1.1 200 OK", b"HTTP/1.0 204 ", b"HTTP/1.1 304", b"HTTP/1.1 500 \xc3\xa4 \xe4")
VALUES = (
    b"",
    b" 5",
    b" 05\t",
    b" chunked",
    b" Close",
    b"keep-alive",
    b" a\t b ",
    b" 123456789012345",
    b" " + b"x" * 9000,
)
FRAMING = (
    b"Content-Length: 5",
    b"content-length:0005\t",
    b"Transfer-Encoding: chunked",
    b"Connection: Close",
    b"Connection: Upgrade, Keep-Alive",
)
"""Without such lines, no head with a body is plain."""


def compare(chance: Random, corpus: Corpus) -> None:
    received = _received(chance, corpus)
    assert read_plain_head(received) == read_plain_head_in_python(received), received


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    return [(compiled.read_plain_head, (lambda *of: of, (1, 0), (1, 1), _received(chance, corpus)))]


def _received(chance: Random, corpus: Corpus) -> bytes:
    lines = [chance.choice(STATUS_LINES), *(_line(chance, corpus) for _ in range(chance.randrange(6)))]
    received = b"\r\n".join([*lines, b"", make_text(chance, corpus, 2)])
    return received if chance.random() < 0.6 else tear(chance, received)


def _line(chance: Random, corpus: Corpus) -> bytes:
    if chance.random() < 0.4:
        return chance.choice(FRAMING)
    word = chance.choice(corpus.words).strip() or b"X"
    name = word if chance.random() < 0.7 else word.title()
    return name + b":" + (chance.choice(VALUES) if chance.random() < 0.8 else make_text(chance, corpus, 3))
