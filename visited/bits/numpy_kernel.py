"""The kernel in NumPy: it replaces the compiled kernel where that is missing, and the tests compare the two. `kernel`
says what each function promises.

Each function processes a batch with the same result as for one URL after the other: a URL is not new if earlier URLs of
the same batch have set all its bits. URLs are hashed as UTF-8, with `surrogatepass` for lone surrogates.
"""

from collections.abc import Iterable, Sequence

import mmh3
import numpy as np
from numpy.typing import NDArray

from visited.batch import check_batch
from visited.bits.kernel import ADD, TEST
from visited.bits.memory import Array, Memory, Part, Writable
from visited.bits.sketch import ALL, MOST_RANK, SKETCH_BYTES, STATE

Words = NDArray[np.uint64]

_BLOCK_BYTES = 32 * 1024
_POSITIVE = np.uint64(0x7FFF_FFFF_FFFF_FFFF)
_SKETCH_INDEX_BITS = 11
_SKETCH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def encode(urls: Sequence[str]) -> list[bytes]:
    """Return the bytes to hash. Raises TypeError for anything but a sequence of str."""
    check_batch(urls)
    return [url.encode("utf-8", "surrogatepass") for url in urls]


def hash_many(urls: Sequence[str], seed: int, out: Writable) -> None:
    byte_view(out)[:] = np.frombuffer(_murmur(urls, seed), dtype=np.uint8)


def bloom_probe(
    urls: Sequence[str],
    bits: Writable,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
) -> tuple[list[bool], int, int]:
    """All bits of `bits` are used. Positions are Guava's MURMUR128_MITZ_64: (h1 + i·h2 without its sign bit) mod m,
    i = 0..k-1."""
    view = byte_view(bits)
    words = hash_words(urls, seed)
    fresh, ones = test_and_set(view, guava_positions(words, len(view) * 8, hashes), mode)
    if mode == ADD:
        count_lost(sketch, words[:, 1], fresh)
    return fresh.tolist(), int(fresh.sum()), ones


def test_and_set(view: NDArray[np.uint8], positions: Words, mode: int) -> tuple[NDArray[np.bool_], int]:
    """Return for each row of `positions` whether it has a clear bit, and the number of bits set."""
    rows, hashes = positions.shape
    flat = positions.ravel()
    clear = (view[flat >> np.uint64(3)] >> (flat & np.uint64(7)).astype(np.uint8) & np.uint8(1)) == 0
    if mode == TEST:
        return clear.reshape(rows, hashes).any(axis=1), 0
    where = np.flatnonzero(clear)
    # Of equal positions the first one in the batch sets the bit, so its row is new.
    unique, first = np.unique(flat[where], return_index=True)
    fresh = np.zeros(rows, dtype=np.bool_)
    fresh[where[first] // hashes] = True
    masks = np.uint8(1) << (unique & np.uint64(7)).astype(np.uint8)
    np.bitwise_or.at(view, unique >> np.uint64(3), masks)
    return fresh, len(unique)


def guava_positions(hashes: Words, bit_count: int, count: int) -> Words:
    steps = np.arange(count, dtype=np.uint64)
    combined = hashes[:, :1] + hashes[:, 1:] * steps
    positions: Words = (combined & _POSITIVE) % np.uint64(bit_count)
    return positions


def _murmur(urls: Sequence[str], seed: int) -> bytes:
    return b"".join([mmh3.mmh3_x64_128_digest(data, seed) for data in encode(urls)])


def hash_words(urls: Sequence[str], seed: int) -> Words:
    """Return h1 and h2 of each URL, as an (n, 2) array."""
    return np.frombuffer(_murmur(urls, seed), dtype="<u8").reshape(-1, 2)


def block_sums(data: Part) -> bytes:
    view = np.frombuffer(data, dtype=np.uint8)
    blocks = view[: len(view) // _BLOCK_BYTES * _BLOCK_BYTES].view("<u8").reshape(-1, _BLOCK_BYTES // 8)
    sums: bytes = blocks.sum(axis=1, dtype="<u8").tobytes()
    return sums


def byte_view(buffer: Writable) -> NDArray[np.uint8]:
    return np.asarray(buffer).reshape(-1).view(np.uint8)


def blocked_probe(
    urls: Sequence[str],
    bits: Writable,
    blocks_by_ones: Writable,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
) -> tuple[list[bool], int, int]:
    """h1 chooses the block, h2 gives nine bits for each position."""
    view = byte_view(bits)
    words = hash_words(urls, seed)
    blocks = _scale(words[:, 0], len(view) // 64)
    flat = (blocks << np.uint64(9))[:, None] | _block_positions(words[:, 1], hashes)
    touched = np.unique(blocks).astype(np.int64) if mode == ADD else np.empty(0, dtype=np.int64)
    by_block = view.reshape(-1, 64)
    before = _ones_of(by_block[touched])
    fresh, ones = test_and_set(view, flat, mode)
    numbers = np.asarray(blocks_by_ones)
    np.subtract.at(numbers, before, 1)
    np.add.at(numbers, _ones_of(by_block[touched]), 1)
    if mode == ADD:
        count_lost(sketch, words[:, 1], fresh)
    return fresh.tolist(), int(fresh.sum()), ones


def leaf_probe(
    urls: Sequence[str],
    routes: Array,
    leaves: list[Memory],
    counts: Writable,
    hashes: int,
    seed: int,
    fingerprints: Array,
    mode: int,
) -> tuple[list[bool], int]:
    """`routes` maps the leading bits of h1, the fingerprint, to the leaf that has all bits of a URL."""
    words = hash_words(urls, seed)[:, 0]
    leaf_by_bits, numbers, out = map(np.asarray, (routes, counts, fingerprints))
    leaf_of = leaf_by_bits[_scale(words, len(leaf_by_bits)).astype(np.int64)]
    fresh = np.zeros(len(words), dtype=np.bool_)
    for leaf in np.unique(leaf_of).tolist():
        rows = np.flatnonzero(leaf_of == leaf)
        view = byte_view(leaves[leaf])
        fresh[rows], set_bits = test_and_set(view, leaf_positions(words[rows], len(view) * 8, hashes), mode)
        if mode == ADD:
            numbers[leaf] += (set_bits, fresh[rows].sum())
    count = int(fresh.sum())
    if mode == ADD:
        out[:count] = words[fresh]
        out[count : len(words)] = words[~fresh][::-1]
    return fresh.tolist(), count


def leaves_fill(
    runs: Iterable[Array], lows: Array, last: int, leaves: list[Memory], counts: Writable, hashes: int
) -> None:
    # A call for a leaf costs the same for few fingerprints as for many, and each run has only a few.
    ascending = np.sort(np.concatenate(list(map(np.asarray, runs))))
    numbers = np.asarray(counts)
    end = int(np.searchsorted(ascending, np.uint64(last), side="right"))
    edges = [*np.minimum(np.searchsorted(ascending, np.asarray(lows)), end).tolist(), end]
    for leaf, bits in enumerate(leaves):
        view = byte_view(bits)
        for start in range(edges[leaf], edges[leaf + 1], 4096):
            part = ascending[start : min(start + 4096, edges[leaf + 1])]
            numbers[leaf] += (_set_bits(view, leaf_positions(part, len(view) * 8, hashes).ravel()), len(part))


def _set_bits(view: NDArray[np.uint8], positions: Words) -> int:
    """Set bits. Returns how many were clear."""
    if len(positions) * 64 < len(view):
        positions = np.unique(positions)
        masks = np.uint8(1) << (positions & np.uint64(7)).astype(np.uint8)
        places = positions >> np.uint64(3)
        clear = int(((view[places] & masks) == 0).sum())
        np.bitwise_or.at(view, places, masks)
        return clear
    # Counting all bits before and after is faster than finding duplicate positions.
    before = _count_ones(view)
    np.bitwise_or.at(view, positions >> np.uint64(3), np.uint8(1) << (positions & np.uint64(7)).astype(np.uint8))
    return _count_ones(view) - before


def _count_ones(view: NDArray[np.uint8]) -> int:
    whole = len(view) // 8 * 8
    return int(np.bitwise_count(view[:whole].view(np.uint64)).sum()) + int(np.bitwise_count(view[whole:]).sum())


def _scale(words: Words, count: int) -> Words:
    """Map 0..2^64-1 evenly to 0..count-1: the high half of the product, for count < 2^32."""
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFF_FFFF)
    factor = np.uint64(count)
    scaled: Words = (high * factor + (low * factor >> np.uint64(32))) >> np.uint64(32)
    return scaled


def _mix(words: Words) -> Words:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ words >> np.uint64(33)) * np.uint64(factor)
    return words ^ words >> np.uint64(33)


def _block_positions(words: Words, hashes: int) -> Words:
    positions = np.empty((len(words), hashes), dtype=np.uint64)
    word = words
    for step in range(hashes):
        if step and step % 7 == 0:
            word = _mix(words + np.uint64(step // 7 * 0x9E3779B97F4A7C15 % 2**64))
        positions[:, step] = word & np.uint64(511)
        word = word >> np.uint64(9)
    return positions


def leaf_positions(fingerprints: Words, bit_count: int, hashes: int) -> Words:
    mixed = _mix(fingerprints ^ np.uint64(0x6A09E667F3BCC909))
    steps = np.arange(hashes, dtype=np.uint64)
    start, step = mixed >> np.uint64(32), mixed & np.uint64(0xFFFF_FFFF)
    change = mixed * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    pairs: Words = steps * (steps - np.uint64(1)) >> np.uint64(1)
    # A sum may overflow 64 bits; its lower half is right nevertheless.
    at = (start[:, None] + step[:, None] * steps + change[:, None] * pairs) & np.uint64(0xFFFF_FFFF)
    positions: Words = at * np.uint64(bit_count) >> np.uint64(32)
    return positions


def _ones_of(blocks: NDArray[np.uint8]) -> NDArray[np.int64]:
    ones: NDArray[np.int64] = np.bitwise_count(blocks).sum(axis=1, dtype=np.int64)
    return ones


def count_lost(sketch: Writable | None, hashes: NDArray[np.uint64], absent: NDArray[np.bool_]) -> None:
    """Count the lost URLs of a batch, given one hash of each URL and whether it was absent from the filter."""
    if sketch is None:
        return
    view = np.asarray(sketch).reshape(-1).view(np.uint8)
    if len(view) != SKETCH_BYTES:
        raise ValueError(f"expected a sketch of {SKETCH_BYTES} bytes, found {len(view)}")
    used, lost, variance = STATE.unpack_from(view.data)
    registers = view[STATE.size :]
    words = hashes * _SKETCH_FACTOR
    indices = words >> np.uint64(64 - _SKETCH_INDEX_BITS)
    ranks = _ranks(words << np.uint64(_SKETCH_INDEX_BITS))
    for row in np.flatnonzero(ranks > registers[indices]).tolist():
        index, rank = int(indices[row]), int(ranks[row])
        before = int(registers[index])
        # An earlier URL of the batch may have raised the register.
        if rank <= before:
            continue
        if not absent[row]:
            weight = ALL / (ALL - used)
            lost += weight
            variance += weight * (weight - 1)
        used += (1 << MOST_RANK - before) - (1 << MOST_RANK - rank)
        registers[index] = rank
    STATE.pack_into(view.data, 0, used, lost, variance)


def _ranks(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return one more than the number of leading zeros of each word, at most 40."""
    # Only the upper 40 bits are converted: a double would round a full word up to the next power of two.
    exponents = np.frexp((words >> np.uint64(64 - MOST_RANK)).astype(np.float64))[1]
    ranks: NDArray[np.int64] = np.minimum(MOST_RANK + 1 - exponents, MOST_RANK).astype(np.int64)
    return ranks
