"""Cases for the table of link counts. The references are a counter, and the digest in Python."""

from collections import Counter
from random import Random

from frontier.link_table import _link_table as compiled
from frontier.link_table.table import python_digest
from tests.sanitizers.calls import Call
from tests.sanitizers.corpus import Corpus

STEPS = 12
ODD_PAIRS = (
    None,
    (),
    (b"short", 1),
    ("a", 1),
    (bytes(16), None),
    (bytes(16), -1),
    (bytes(16), 2**64),
    (bytes(16), 2**64 - 1),
)
ODD_LINKS = (None, True, "1", 0.5, -1, 2**63, -(2**64))


def compare(chance: Random, corpus: Corpus) -> None:
    table, expected = compiled.LinkTable(), Counter[bytes]()
    urls = [_url(chance) for _ in range(chance.choice((1, 40, 700)))]
    for _ in range(STEPS):
        batch = chance.choices(urls, k=chance.choice((0, 1, 31, 32, 33, 300)))
        links = [chance.choice((0, 1, 2, 2**40)) for _ in batch]
        table.add(batch, links)
        for url, more in zip(batch, links, strict=True):
            expected[python_digest(url)] += more
        taken, _ = table.take(chance.choice((0, 1, 20, 1000)), chance.choice((0, 2, 3)))
        assert all(expected.pop(digest) == count for digest, count in taken)
        kept = taken[: chance.randrange(30)]
        table.put_back(kept)
        expected.update(dict(kept))
        url = chance.choice(urls)
        assert table.get(url) == expected[python_digest(url)]
        assert table.pop(url) == expected.pop(python_digest(url), 0)
        assert len(table) == len(+expected)
    if chance.random() < 0.2:
        crowd = _crowd(chance)
        table.put_back(crowd)
        expected.update(dict(crowd))
        assert table.is_crowded()
        taken, is_end = table.take(chance.choice((1, 5000)), 2)
        assert not is_end
        assert all(expected.pop(digest) == count for digest, count in taken)
    table.rewind()
    found: dict[bytes, int] = {}
    while len(table):
        found |= dict(table.take(10_000, 0)[0])
    assert found == dict(+expected)


def _crowd(chance: Random) -> list[tuple[bytes, int]]:
    """Counts of URLs whose digests begin alike."""
    start = chance.choice((bytes(8), b"\xff" * 8, chance.randbytes(8)))
    return [(start + number.to_bytes(8, "big"), chance.choice((1, 5))) for number in range(6000)]


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    table, urls = compiled.LinkTable(), [_url(chance) for _ in range(chance.choice((0, 1, 33, 90)))]
    links = [chance.choice((0, 1, 2**63 - 1)) for _ in urls]
    if chance.random() < 0.5:
        table.add(urls, links)
    return [
        (compiled.digest, (_url(chance),)),
        (table.add, (urls, links)),
        (table.get, (_url(chance),)),
        (table.pop, (_url(chance),)),
        (table.put_back, ([(python_digest(url), count) for url, count in zip(urls, links, strict=True)],)),
        (table.put_back, ([(bytes(16), 1), chance.choice(ODD_PAIRS)],)),
        (table.add, (["a", "b"], [1, chance.choice(ODD_LINKS)])),
        (table.take, (chance.randrange(50), chance.choice((0, 2)))),
        (table.is_crowded, ()),
        (table.add, ([f"http://m/{number}" for number in range(200)], [1] * 200)),
    ]


def _url(chance: Random) -> str:
    if chance.random() < 0.8:
        return f"http://h/{chance.randrange(900)}"
    return "".join(chance.choices("a/é\0\ud800\U0001f600", k=chance.choice((0, 1, 15, 16, 17, 400))))
