"""Cases for the kernel. The reference is written in NumPy."""

from random import Random
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tests.sanitizers.calls import Call, copy_exactly
from tests.sanitizers.corpus import Corpus
from visited.bits import _kernel as compiled
from visited.bits import numpy_counting, numpy_kernel, numpy_table
from visited.bits.kernel import ADD, FORGET, TEST
from visited.bits.memory import Memory
from visited.bits.sketch import SKETCH_BYTES

ROUNDS = 3


def compare(chance: Random, corpus: Corpus) -> None:
    chance.choice((_hashes, _bloom, _blocked, _counting, _leaves, _table))(chance)


def _hashes(chance: Random) -> None:
    urls, seed = _batch(chance), chance.getrandbits(32)
    first, second = np.zeros(2 * len(urls), np.uint64), np.zeros(2 * len(urls), np.uint64)
    compiled.hash_many(urls, seed, first)
    numpy_kernel.hash_many(urls, seed, second)
    assert first.tolist() == second.tolist()
    assert compiled.digest_many(urls) == numpy_table.digest_many(urls)


def _bloom(chance: Random) -> None:
    size, hashes, seed = chance.randint(1, 300), chance.randint(1, 64), chance.getrandbits(32)
    first, second = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    sketches = np.zeros(SKETCH_BYTES, np.uint8), np.zeros(SKETCH_BYTES, np.uint8)
    for _ in range(ROUNDS):
        urls, mode = _batch(chance), chance.choice((TEST, ADD))
        found = compiled.bloom_probe(urls, first, hashes, seed, mode, sketches[0])
        assert found == numpy_kernel.bloom_probe(urls, second, hashes, seed, mode, sketches[1])
        assert first.tobytes() == second.tobytes()
        assert sketches[0].tobytes() == sketches[1].tobytes()


def _blocked(chance: Random) -> None:
    blocks, hashes, seed = chance.randint(1, 9), chance.randint(1, 64), chance.getrandbits(32)
    first, second = np.zeros(blocks * 64, np.uint8), np.zeros(blocks * 64, np.uint8)
    tables = np.zeros(513, np.int64), np.zeros(513, np.int64)
    sketches = np.zeros(SKETCH_BYTES, np.uint8), np.zeros(SKETCH_BYTES, np.uint8)
    for _ in range(ROUNDS):
        urls, mode = _batch(chance), chance.choice((TEST, ADD))
        found = compiled.blocked_probe(urls, first, tables[0], hashes, seed, mode, sketches[0])
        assert found == numpy_kernel.blocked_probe(urls, second, tables[1], hashes, seed, mode, sketches[1])
        assert first.tobytes() == second.tobytes()
        assert tables[0].tolist() == tables[1].tolist()
        assert sketches[0].tobytes() == sketches[1].tobytes()


def _counting(chance: Random) -> None:
    words, width, hashes = chance.randint(1, 80), chance.choice((4, 8, 32)), chance.randint(1, 64)
    seed = chance.getrandbits(32)
    first, second = np.zeros(words, np.uint32), np.zeros(words, np.uint32)
    sketches = np.zeros(SKETCH_BYTES, np.uint8), np.zeros(SKETCH_BYTES, np.uint8)
    for _ in range(ROUNDS):
        urls, mode = _batch(chance), chance.choice((TEST, ADD, FORGET))
        found = compiled.counting_probe(urls, first, width, hashes, seed, mode, sketches[0])
        assert found == numpy_counting.counting_probe(urls, second, width, hashes, seed, mode, sketches[1])
        assert first.tolist() == second.tolist()
        assert sketches[0].tobytes() == sketches[1].tobytes()


def _leaves(chance: Random) -> None:
    sizes, hashes, seed = [chance.randint(1, 99) for _ in range(4)], chance.randint(1, 64), chance.getrandbits(32)
    routes = np.array([chance.randrange(4) for _ in range(chance.randint(1, 20))], np.int32)
    first, second = _leaves_of(sizes), _leaves_of(sizes)
    counts = np.zeros((4, 2), np.int64), np.zeros((4, 2), np.int64)
    for _ in range(ROUNDS):
        urls, mode = _batch(chance), chance.choice((TEST, ADD))
        lists = np.zeros(len(urls), np.uint64), np.zeros(len(urls), np.uint64)
        found = compiled.leaf_probe(urls, routes, first, counts[0], hashes, seed, lists[0], mode)
        assert found == numpy_kernel.leaf_probe(urls, routes, second, counts[1], hashes, seed, lists[1], mode)
        lows = np.sort(np.array([chance.getrandbits(64) for _ in range(4)], np.uint64))
        ascending, last = np.sort(lists[0]), chance.getrandbits(64)
        compiled.leaves_fill(ascending, lows, last, first, counts[0], hashes)
        numpy_kernel.leaves_fill([ascending], lows, last, second, counts[1], hashes)
        assert [bytes(each) for each in first] == [bytes(each) for each in second]
        assert [each.tolist() for each in (counts[0], lists[0])] == [each.tolist() for each in (counts[1], lists[1])]


def _table(chance: Random) -> None:
    shards, factor = chance.choice((1, 2, 8, 256)), chance.getrandbits(64) | 1
    first: list[Memory] = [_zeros(0) for _ in range(shards)]
    second: list[Memory] = [bytearray() for _ in range(shards)]
    counts = np.zeros(shards, np.int64), np.zeros(shards, np.int64)
    for _ in range(ROUNDS):
        urls, mode = _batch(chance, most=500), chance.choice((TEST, ADD, ADD, FORGET))
        found = compiled.table_probe(_zeros, urls, first, counts[0], mode, factor)
        assert found == numpy_table.table_probe(urls, second, counts[1], mode, factor)
        assert [bytes(each) for each in first] == [bytes(each) for each in second]
        assert counts[0].tolist() == counts[1].tolist()
        index, slots = chance.randrange(shards), chance.randint(1, 900)
        compiled.table_spread(_zeros, first, index, slots)
        numpy_table.table_spread(second, index, slots)
        assert bytes(first[index]) == bytes(second[index])
    data = chance.randbytes(chance.randint(0, 99_000))
    assert compiled.block_sums(data) == numpy_kernel.block_sums(data)


def calls(chance: Random, corpus: Corpus) -> list[Call]:
    urls, hashes, seed = _batch(chance), chance.randint(1, 64), chance.getrandbits(32)
    count, mode = len(urls), chance.choice((TEST, ADD))
    bits = np.zeros(chance.randint(1, 9) * 64, np.uint8)
    table: tuple[list[Memory], NDArray[np.int64]] = ([_zeros(0), _zeros(64)], _numbers(2))

    def allocate_and_interfere(size: int) -> Memory:
        compiled.table_probe(_zeros, urls, *table, chance.choice((ADD, FORGET)))
        table[0][:] = chance.choice((table[0], [], [_zeros(16)] * 2))
        return _zeros(size)

    return [
        (compiled.hash_many, (urls, seed, np.zeros(2 * count, np.uint64))),
        (compiled.digest_many, (urls,)),
        (compiled.bloom_probe, (urls, bits, hashes, seed, mode, np.zeros(SKETCH_BYTES, np.uint8))),
        (compiled.blocked_probe, (urls, bits, _numbers(513), hashes, seed, mode)),
        (compiled.counting_probe, (urls, bits, chance.choice((4, 8, 32)), hashes, seed, chance.choice((mode, FORGET)))),
        (
            compiled.leaf_probe,
            (
                urls,
                np.arange(3, dtype=np.int32),
                _leaves_of([8, 9, 64]),
                _numbers(6),
                hashes,
                seed,
                _numbers(count),
                mode,
            ),
        ),
        (
            compiled.leaves_fill,
            (
                np.arange(count, dtype=np.uint64),
                np.arange(3, dtype=np.uint64),
                2**63,
                _leaves_of([8, 9, 64]),
                _numbers(6),
                hashes,
            ),
        ),
        *(
            (compiled.table_probe, (allocate, urls, *table, chance.choice((mode, FORGET))))
            for allocate in (_zeros, allocate_and_interfere)
        ),
        (
            compiled.table_spread,
            (_few_zeros, [_zeros(0), _zeros(64)], chance.randrange(2), chance.choice((1, 9, 2**62))),
        ),
        (compiled.block_sums, (copy_exactly(chance.randbytes(chance.choice((0, 32_767, 65_536)))),)),
    ]


def _batch(chance: Random, *, most: int = 70) -> list[str]:
    return [_url(chance) for _ in range(chance.choice((0, 1, 31, 32, 33, chance.randrange(most))))]


def _url(chance: Random) -> str:
    if chance.random() < 0.6:
        return f"http://h/{chance.randrange(600)}"
    return "".join(chance.choices("a/é\0\ud800\U0001f600", k=chance.choice((0, 1, 15, 16, 17, 55, 56, 64, 400))))


def _zeros(size: int) -> Memory:
    """Memory that ends with its last byte. A bytearray has one more byte behind its end."""
    return cast(Memory, np.zeros(size, np.uint8))


def _few_zeros(size: int) -> Memory:
    return _zeros(min(size, 1 << 20))


def _leaves_of(sizes: list[int]) -> list[Memory]:
    return [_zeros(size) for size in sizes]


def _numbers(count: int) -> NDArray[np.int64]:
    return np.zeros(count, np.int64)
