"""Cases for the texts of WARC records. The reference is written in Python."""

import hashlib
from random import Random

from crawler.write import _warc_members as compiled
from crawler.write.warc_members import Field, Value, lines_in_python, record_in_python
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus, make_text, tear


def compare(chance: Random, corpus: Corpus) -> None:
    first, fields = _value(chance, corpus), _fields(chance, corpus)
    assert compiled.lines(first, fields) == lines_in_python(first, fields), (first, fields)
    kind, urn, block = _word(chance, corpus), _word(chance, corpus), _block(chance, corpus)
    headers = lines_in_python(None, fields)
    given = (hashlib.sha1, kind, urn, headers, fields[::2], block)
    assert compiled.record(*given) == record_in_python(*given), given


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    fields = _fields(chance, corpus)
    block = _block(chance, corpus)
    return [
        (compiled.lines, (_value(chance, corpus), fields)),
        (compiled.lines, (None, tuple(fields))),
        (compiled.record, (hashlib.sha1, "response", "uuid:1", b"A: b\r\n", fields, block)),
    ]


def _fields(chance: Random, corpus: Corpus) -> list[Field]:
    names = [_value(chance, corpus) for _ in range(chance.randrange(20))]
    return [(name, _value(chance, corpus)) for name in names if isinstance(name, str | bytes)]


def _value(chance: Random, corpus: Corpus) -> Value:
    kind = chance.randrange(8)
    if kind == 0:
        return None
    if kind == 1:
        return chance.randrange(-(2**63), 2**63) >> chance.randrange(64)
    written = tear(chance, make_text(chance, corpus, chance.choice((3, 3, 3, 2000))))
    return written if kind < 4 else written.decode("utf-8", chance.choice(("replace", "surrogateescape")))


def _word(chance: Random, corpus: Corpus) -> str:
    return make_text(chance, corpus, 3).decode("utf-8", "replace")


def _block(chance: Random, corpus: Corpus) -> tuple[bytes, ...]:
    return tuple(make_text(chance, corpus, chance.choice((3, 100))) for _ in range(chance.randrange(4)))
