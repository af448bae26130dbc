"""The compiled kernel and the one in NumPy agree bit for bit, and both with what the literature says."""

import gc
import hashlib
import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import mmh3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import REPOSITORY
from tests.unit.visited.kernels import available_kernels
from visited import KernelRefused
from visited.bits import kernel as kernels
from visited.bits.kernel import ADD, FORGET, TEST, Kernel, best_kernel
from visited.bits.memory import Memory, zeros
from visited.bits.numpy_table import SLOT
from visited.bits.sketch import MOST_RANK, SKETCH_BYTES, STATE, change_probability, lost_and_variance

URLS = st.lists(st.text(st.characters(), max_size=40) | st.integers(0, 60).map("http://h/{}".format), max_size=120)
BATCHES = st.lists(st.tuples(URLS, st.sampled_from([TEST, ADD, ADD, FORGET])), max_size=6)


def both() -> tuple[Kernel, Kernel]:
    available = available_kernels()
    if len(available) < 2:
        pytest.skip("the compiled kernel is not built: run `python setup.py build_ext --inplace`")
    return available[0], available[1]


def memories(*words: int) -> list[Memory]:
    """Some of each size."""
    return [zeros(each * 8) for each in words]


def murmur(kernel: Kernel, url: str, seed: int = 0) -> tuple[int, int]:
    out = np.zeros(2, dtype=np.uint64)
    kernel.hash_many([url], seed, out)
    return int(out[0]), int(out[1])


MURMUR_VECTORS = [
    ("", 0x0000000000000000, 0x0000000000000000),
    ("foo", 0xE271865701F54561, 0x7EAF87E42BBA7D87),
    ("hello", 0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19),
    ("The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347),
    ("http://www.163.com", 0x8F6332A1F09203BD, 0x21BC490CF2203EB3),
    ("http://example.com/", 0xA097098A4E7151F8, 0xCC4B29393778419D),
]


@pytest.mark.parametrize(("text", "h1", "h2"), MURMUR_VECTORS)
def test_murmur3_gives_its_published_values(kernel: Kernel, text: str, h1: int, h2: int) -> None:
    assert murmur(kernel, text) == (h1, h2)


def test_murmur3_gives_smhashers_verification_value() -> None:
    # Keys {}, {0}, {0,1} … with seeds 256, 255 …; then the hash of all the hashes.
    digests = b"".join(mmh3.mmh3_x64_128_digest(bytes(range(size)), 256 - size) for size in range(256))
    assert int.from_bytes(mmh3.mmh3_x64_128_digest(digests, 0)[:4], "little") == 0x6384BA69


def test_both_kernels_hash_as_the_library_that_gives_the_verification_value(kernel: Kernel) -> None:
    for size in range(300):
        text = "".join(chr(1 + (size * 7 + place) % 127) for place in range(size))
        for seed in (0, 1, 256 - size % 256, 0xFFFF_FFFF):
            assert murmur(kernel, text, seed) == mmh3.mmh3_x64_128_utupledigest(text.encode(), seed)


RFC_1321 = {
    "": "d41d8cd98f00b204e9800998ecf8427e",
    "a": "0cc175b9c0f1b6a831c399e269772661",
    "abc": "900150983cd24fb0d6963f7d28e17f72",
    "message digest": "f96b697d7cb7938d525a2f31aaf161d0",
    "abcdefghijklmnopqrstuvwxyz": "c3fcd3d76192e4007dfb496cca67e13b",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789": "d174ab98d277d9f5a5611c2c9f419d9f",
    "1234567890" * 8: "57edf4a22be3c955ac49da2e2107b67a",
}


def test_md5_gives_the_values_of_rfc_1321(kernel: Kernel) -> None:
    digests = kernel.digest_many(list(RFC_1321))
    assert [digests[at : at + 16].hex() for at in range(0, len(digests), 16)] == list(RFC_1321.values())


def test_md5_is_right_at_every_length_around_its_blocks(kernel: Kernel) -> None:
    texts = ["é" * (size % 3) + "x" * size for size in range(260)]
    assert kernel.digest_many(texts) == b"".join(hashlib.md5(text.encode()).digest() for text in texts)


@given(URLS)
def test_hashes_of_any_strings_agree(urls: list[str]) -> None:
    one, other = both()
    first, second = np.zeros(2 * len(urls), np.uint64), np.zeros(2 * len(urls), np.uint64)
    one.hash_many(urls, 9, first)
    other.hash_many(tuple(urls), 9, second)
    assert first.tolist() == second.tolist()
    assert one.digest_many(urls) == other.digest_many(urls)


@given(BATCHES, st.integers(1, 20), st.integers(1, 40))
def test_bloom_filters_agree(batches: list[tuple[list[str], int]], hashes: int, words: int) -> None:
    one, other = both()
    first, second = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    for urls, mode in batches:
        how = min(mode, ADD)
        assert one.bloom_probe(urls, first, hashes, 3, how) == other.bloom_probe(urls, second, hashes, 3, how)
        assert first.tolist() == second.tolist()


@given(st.lists(URLS, max_size=8), st.integers(1, 4))
def test_sketches_of_lost_urls_agree(batches: list[list[str]], words: int) -> None:
    """In filters so small that they reject nearly everything."""
    one, other = both()
    bits, blocks, counters = (np.zeros(words * size, np.uint64) for size in (1, 8, 4))
    table = np.array([words, *[0] * 512])
    found = []
    for kernel in (one, other):
        arrays = bits.copy(), blocks.copy(), table.copy(), counters.copy()
        of_bloom, of_blocked, of_counting = (np.zeros(SKETCH_BYTES, np.uint8) for _ in range(3))
        for urls in batches:
            kernel.bloom_probe(urls, arrays[0], 3, 5, ADD, of_bloom)
            kernel.bloom_probe(urls, arrays[0], 3, 5, TEST, of_bloom)
            kernel.blocked_probe(urls, arrays[1], arrays[2], 8, 5, ADD, of_blocked)
            kernel.counting_probe(urls, arrays[3], 4, 3, 5, ADD, of_counting)
            kernel.counting_probe(urls, arrays[3], 4, 3, 5, FORGET, of_counting)
        found.append([each.tobytes() for each in (of_bloom, of_blocked, of_counting)])
    assert found[0] == found[1]


def test_a_sketch_counts_each_lost_url_once(kernel: Kernel) -> None:
    """A filter of one word is full at once; all others that come are lost, whether they come once or three times."""
    bits, sketch = np.zeros(1, np.uint64), bytearray(SKETCH_BYTES)
    urls = [f"http://h/{number}" for number in range(60_000)]
    accepted = sum(kernel.bloom_probe(urls, bits, 3, 0, ADD, sketch)[1] for _ in range(3))
    lost, variance = lost_and_variance(sketch)
    assert lost == pytest.approx(60_000 - accepted, abs=4 * variance**0.5)
    assert variance**0.5 < 0.03 * lost
    assert change_probability(sketch) == pytest.approx(0.72 * 2048 / 60_000, rel=0.1)


def test_a_sketch_has_counted_urls_that_came_while_others_were_read(kernel: Kernel) -> None:
    bits, sketch = np.zeros(1000, np.uint64), bytearray(SKETCH_BYTES)

    class Interrupted(list[str]):
        def __iter__(self) -> Iterator[str]:
            kernel.bloom_probe([f"http://h/{number}" for number in range(500)], bits, 3, 0, ADD, sketch)
            return super().__iter__()

    kernel.bloom_probe(Interrupted(["a", "b"]), bits, 3, 0, ADD, sketch)
    registers = sketch[STATE.size :]
    assert STATE.unpack_from(sketch)[0] == sum((1 << MOST_RANK) - (1 << MOST_RANK - rank) for rank in registers)


def test_a_sketch_of_another_size_is_refused(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="expected a sketch of 2072 bytes, found 2071"):
        kernel.bloom_probe(["a"], np.zeros(1, np.uint64), 3, 0, ADD, np.zeros(SKETCH_BYTES - 1, np.uint8))


@given(BATCHES, st.integers(1, 20), st.integers(1, 9))
def test_blocked_filters_agree(batches: list[tuple[list[str], int]], hashes: int, blocks: int) -> None:
    one, other = both()
    first, second = np.zeros(blocks * 8, np.uint64), np.zeros(blocks * 8, np.uint64)
    tables = np.zeros(513, np.int64), np.zeros(513, np.int64)
    for table in tables:
        table[0] = blocks
    for urls, mode in batches:
        how = min(mode, ADD)
        found = one.blocked_probe(urls, first, tables[0], hashes, 3, how)
        assert found == other.blocked_probe(urls, second, tables[1], hashes, 3, how)
        assert first.tolist() == second.tolist()
        assert tables[0].tolist() == tables[1].tolist()
        counts = np.bitwise_count(first).reshape(-1, 8).sum(axis=1)
        assert tables[0].tolist() == np.bincount(counts, minlength=513).tolist()


@given(BATCHES, st.integers(1, 20), st.integers(1, 60), st.sampled_from([4, 8, 32]))
def test_counting_filters_agree(batches: list[tuple[list[str], int]], hashes: int, words: int, width: int) -> None:
    one, other = both()
    first, second = np.zeros(words, np.uint32), np.zeros(words, np.uint32)
    for urls, mode in batches:
        found = one.counting_probe(urls, first, width, hashes, 3, mode)
        assert found == other.counting_probe(urls, second, width, hashes, 3, mode)
        assert first.tolist() == second.tolist()


@given(BATCHES, st.integers(1, 20), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_leaves_agree(batches: list[tuple[list[str], int]], hashes: int, sizes: list[int]) -> None:
    one, other = both()
    routes = np.array([0, 0, *range(len(sizes))], dtype=np.int32)
    first, second = memories(*sizes), memories(*sizes)
    counts = np.zeros((len(sizes), 2), np.int64), np.zeros((len(sizes), 2), np.int64)
    lists: list[int] = []
    for urls, mode in batches:
        how = min(mode, ADD)
        fresh = np.zeros(len(urls), np.uint64), np.zeros(len(urls), np.uint64)
        found = one.leaf_probe(urls, routes, first, counts[0], hashes, 3, fresh[0], how)
        assert found == other.leaf_probe(urls, routes, second, counts[1], hashes, 3, fresh[1], how)
        assert first == second
        assert counts[0].tolist() == counts[1].tolist()
        assert fresh[0].tolist() == fresh[1].tolist()
        lists += fresh[0].tolist()
    lows = np.arange(1, 1 + len(sizes), dtype=np.uint64) << np.uint64(60)
    last = 14 << 60
    fingerprints = np.sort(np.array(lists, dtype=np.uint64))
    copies = memories(*sizes), memories(*sizes)
    sums = np.zeros((len(sizes), 2), np.int64), np.zeros((len(sizes), 2), np.int64)
    one.leaves_fill([fingerprints[:9], fingerprints[9:]], lows, last, copies[0], sums[0], hashes)
    other.leaves_fill([fingerprints[:9], fingerprints[9:]], lows, last, copies[1], sums[1], hashes)
    assert copies[0] == copies[1]
    assert sums[0].tolist() == sums[1].tolist()
    assert sums[0][:, 0].tolist() == [int.from_bytes(copy, "little").bit_count() for copy in copies[0]]
    assert sums[0][:, 1].sum() == ((fingerprints >= lows[0]) & (fingerprints <= last)).sum()


@given(BATCHES, st.sampled_from([1, 4, 256]), st.integers(0, 2**63 - 1).map(lambda half: 2 * half + 1))
@settings(deadline=None)
def test_tables_agree(batches: list[tuple[list[str], int]], shard_count: int, factor: int) -> None:
    one, other = both()
    first, second = memories(*[0] * shard_count), memories(*[0] * shard_count)
    counts = np.zeros(shard_count, np.int64), np.zeros(shard_count, np.int64)
    for urls, mode in batches:
        found = one.table_probe(urls, first, counts[0], mode, factor)
        assert found == other.table_probe(urls, second, counts[1], mode, factor)
        assert first == second
        assert counts[0].tolist() == counts[1].tolist()


def test_a_table_stands_in_order_and_holds_what_was_put_in(kernel: Kernel) -> None:
    shards, counts = memories(0), np.zeros(1, np.int64)
    chance = random.Random(1)
    model: set[bytes] = set()
    for _ in range(60):
        urls = [f"http://{chance.randrange(900)}/" for _ in range(40)]
        mode = chance.choice([ADD, ADD, FORGET])
        kernel.table_probe(urls, shards, counts, mode)
        digests = {hashlib.md5(url.encode()).digest() for url in urls}
        model = model | digests if mode == ADD else model - digests
        slots = [bytes(shards[0][at : at + SLOT]) for at in range(0, len(shards[0]), SLOT)]
        held = [slot for slot in slots if slot != bytes(SLOT)]
        assert held == sorted(model)
        assert counts.tolist() == [len(model)]


@given(st.lists(st.text(max_size=3), max_size=60), st.sampled_from([1, 4]), st.integers(1, 200))
@settings(deadline=None)
def test_a_table_that_is_spread_has_the_same_digests_in_as_many_slots(urls: list[str], parts: int, slots: int) -> None:
    one, other = both()
    first, second = memories(*[0] * parts), memories(*[0] * parts)
    counts = np.zeros(parts, np.int64)
    one.table_probe(urls, first, counts, ADD)
    other.table_probe(urls, second, np.zeros(parts, np.int64), ADD)
    one.table_spread(first, parts - 1, slots)
    other.table_spread(second, parts - 1, slots)
    assert first == second
    assert len(first[-1]) >= slots * SLOT
    assert not any(one.table_probe(urls, first, counts, TEST)[0])


@given(st.binary(max_size=50), st.integers(0, 3), st.integers(-2, 2))
@settings(deadline=None)
def test_sums_of_blocks_agree(data: bytes, blocks: int, more: int) -> None:
    one, other = both()
    repeated = (data * (1 + blocks * 32_768 // max(1, len(data))))[: max(0, blocks * 32_768 + more)]
    assert one.block_sums(repeated) == other.block_sums(memoryview(repeated))
    assert len(one.block_sums(repeated)) == len(repeated) // 32_768 * 8


@pytest.mark.parametrize(
    "call",
    [
        lambda kernel: kernel.bloom_probe(["a"], np.zeros(0, np.uint64), 3, 0, ADD),
        lambda kernel: kernel.bloom_probe(["a"], np.zeros(1, np.uint64), 0, 0, ADD),
        lambda kernel: kernel.bloom_probe(["a"], np.zeros(1, np.uint64), 65, 0, ADD),
        lambda kernel: kernel.bloom_probe(["a"], np.zeros(1, np.uint64), 3, 0, FORGET),
        lambda kernel: kernel.bloom_probe(["a"], b"constant", 3, 0, ADD),
        lambda kernel: kernel.blocked_probe(["a"], np.zeros(7, np.uint64), np.zeros(513, np.int64), 3, 0, ADD),
        lambda kernel: kernel.blocked_probe(["a"], np.zeros(8, np.uint64), np.zeros(512, np.int64), 3, 0, ADD),
        lambda kernel: kernel.counting_probe(["a"], np.zeros(8, np.uint32), 5, 3, 0, ADD),
        lambda kernel: kernel.counting_probe(["a"], bytearray(3), 8, 3, 0, ADD),
        lambda kernel: kernel.hash_many(["a"], 0, np.zeros(1, np.uint64)),
        lambda kernel: fill(kernel, [bytearray()], 1, 1),
        lambda kernel: fill(kernel, [], 0, 0),
        lambda kernel: fill(kernel, [bytearray(8)], 2, 1),
        lambda kernel: fill(kernel, [bytearray(8)], 1, 0),
        lambda kernel: kernel.table_probe(["a"], [bytearray()] * 3, np.zeros(3, np.int64), ADD),
        lambda kernel: kernel.table_probe(["a"], [b""], np.zeros(1, np.int64), ADD),
        lambda kernel: kernel.table_probe(["a"], [bytearray()], np.zeros(2, np.int64), ADD),
        lambda kernel: kernel.table_probe(["a"], [bytearray()], np.zeros(1, np.int64), ADD, 2),
        lambda kernel: kernel.table_spread([bytearray()] * 3, 0, 1),
        lambda kernel: kernel.table_spread([bytearray()], 1, 1),
        lambda kernel: kernel.table_spread([bytearray()], -1, 1),
        lambda kernel: kernel.table_spread([bytearray()], 0, 0),
        lambda kernel: kernel.table_spread([b""], 0, 1),
        lambda kernel: leaf(kernel, routes=[1]),
        lambda kernel: leaf(kernel, routes=[-1]),
        lambda kernel: leaf(kernel, routes=[]),
        lambda kernel: leaf(kernel, leaves=[bytearray()]),
        lambda kernel: leaf(kernel, room=0),
        lambda kernel: leaf(kernel, counts=0),
        lambda kernel: leaf(kernel, shift=1),
        lambda kernel: kernel.blocked_probe(["a"], np.zeros(8, np.uint64), shifted(513), 3, 0, ADD),
        lambda kernel: kernel.leaves_fill(
            [np.zeros(1, np.uint64)], np.zeros(1, np.uint64), 1, [bytearray(8)], shifted(2), 3
        ),
        lambda kernel: kernel.table_probe(["a"], [bytearray()], shifted(1), ADD),
        lambda kernel: kernel.table_probe(["a"], [bytearray()], np.array([2**63 - 1]), ADD),
        lambda kernel: kernel.table_probe(["a"], [bytearray(160)], np.array([-1]), ADD),
    ],
)
def test_the_compiled_kernel_refuses_what_it_would_have_to_read_or_write_out_of_bounds_for(call: object) -> None:
    compiled, _ = both()
    assert callable(call)
    with pytest.raises((ValueError, TypeError, BufferError, IndexError)):
        call(compiled)


def shifted(count: int, by: int = 1) -> NDArray[np.int64]:
    """Numbers that lie so many bytes behind where the machine would put them."""
    return np.frombuffer(bytearray(8 * count + by), dtype=np.int64, count=count, offset=by)


class Growing(list[str]):
    """URLs, to read which adds to a list."""

    def __init__(self, urls: list[str], grown: list[Memory]) -> None:
        super().__init__(urls)
        self._grown = grown

    def __iter__(self) -> Iterator[str]:
        self._grown.append(bytearray(8))
        return super().__iter__()


def test_a_leaf_that_comes_while_urls_are_read_is_refused_as_it_has_no_count() -> None:
    compiled, _ = both()
    leaves = memories(1)
    counts = np.zeros((2, 2), np.int64)
    routes, room = np.array([1], np.int32), np.zeros(1, np.uint64)
    with pytest.raises(ValueError, match="leaf"):
        compiled.leaf_probe(Growing(["a"], leaves), routes, leaves, counts[:1], 3, 0, room, ADD)
    assert counts.tolist() == [[0, 0], [0, 0]]


def test_fingerprints_above_the_last_are_left_out_also_where_leaves_begin_behind_it(kernel: Kernel) -> None:
    leaves, counts = memories(1, 1), np.zeros((2, 2), np.int64)
    fingerprints, lows = np.array([1, 5], np.uint64), np.array([0, 9], np.uint64)
    kernel.leaves_fill([fingerprints], lows, 3, leaves, counts, 1)
    assert counts.tolist() == [[1, 1], [0, 0]]


def fill(kernel: Kernel, leaves: list[Memory], lows: int, counts: int) -> None:
    kernel.leaves_fill(
        [np.zeros(1, np.uint64)], np.zeros(lows, np.uint64), 2**64 - 1, leaves, np.zeros((counts, 2), np.int64), 3
    )


def leaf(
    kernel: Kernel,
    *,
    routes: list[int] | None = None,
    leaves: list[Memory] | None = None,
    room: int = 1,
    counts: int = 1,
    shift: int = 0,
) -> tuple[list[bool], int]:
    return kernel.leaf_probe(
        ["a"],
        np.array([0] if routes is None else routes, dtype=np.int32),
        memories(1) if leaves is None else leaves,
        shifted(2 * counts, shift),
        3,
        0,
        np.zeros(room, np.uint64),
        ADD,
    )


def test_the_compiled_kernel_leaks_nothing() -> None:
    compiled, _ = both()
    urls = [f"http://h/{number}" for number in range(200)] + ["\ud800", "é"]
    bad: list[object] = ["a", 1]

    def round_trip() -> None:
        shards, counts = memories(0), np.zeros(1, np.int64)
        compiled.table_probe(urls, shards, counts, ADD)
        compiled.table_spread(shards, 0, 900)
        compiled.block_sums(bytes(40_000))
        compiled.table_probe(urls, shards, counts, FORGET)
        compiled.bloom_probe(urls, np.zeros(40, np.uint64), 5, 0, ADD)
        compiled.counting_probe(urls, np.zeros(40, np.uint32), 4, 5, 0, ADD)
        compiled.digest_many(urls)
        leaf(compiled)
        for _ in range(2):
            with suppress(TypeError):
                compiled.digest_many(bad)  # type: ignore[arg-type]

    def traced() -> Iterator[int]:
        for _ in range(3):
            for _ in range(50):
                round_trip()
            gc.collect()
            yield tracemalloc.get_traced_memory()[0]

    round_trip()
    tracemalloc.start()
    try:
        first, _, last = traced()
    finally:
        tracemalloc.stop()
    # 100 rounds that leaked one object each would show 3,000 bytes and more.
    assert last - first < 2_000


def test_the_kernel_can_be_forced_and_says_when_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEOVER_KERNEL", "numpy")
    assert best_kernel().name == "numpy"
    monkeypatch.setenv("ONCEOVER_KERNEL", "abacus")
    with pytest.raises(KernelRefused, match="must be c, numpy or unset, got 'abacus'"):
        best_kernel()
    monkeypatch.delenv("ONCEOVER_KERNEL")
    assert best_kernel().name == available_kernels()[0].name


def test_a_kernel_that_there_is_not_is_a_usage_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("https://example.org/\n")
    program = [sys.executable, "-c", "from crawler.cli import main; main()"]
    command = [*program, "compare", "--urls", "urls", "--dir", "report", "--backend", "bloom"]
    environment = {**os.environ, "ONCEOVER_KERNEL": "abacus", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["onceover: ONCEOVER_KERNEL must be c, numpy or unset, got 'abacus'"]


@pytest.mark.parametrize(("wanted", "warnings"), [("", 1), ("numpy", 0)])
def test_a_kernel_of_another_version_is_not_used_and_told_once(
    wanted: str, warnings: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernels, "_COMPILED_VERSION", 1)
    monkeypatch.setattr(kernels, "IS_COMPILED", False)
    monkeypatch.setenv("ONCEOVER_KERNEL", wanted)
    kernels._warn_of_another_build.cache_clear()
    assert [best_kernel().name for _ in range(3)] == ["numpy"] * 3
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "the compiled kernel of the visited sets is of version 1"
    ] * warnings
    kernels._warn_of_another_build.cache_clear()
