"""The exact table of the NumPy kernel: MD5 digests in open addressing, ordered by digest.

The first 64 bits of each digest are multiplied by a factor, so that no site can choose URLs that crowd in the table. A
table is a list of 1, 2, 4 … 256 shards. The leading bits of a digest choose the shard, the next 32 bits its home
slot, so larger digests have later homes. The digests of a shard are in ascending order. Each takes the first slot that
is at or after its home and after its predecessor, so the layout depends on the content alone. A search ends at the
first larger digest, and one pass spreads a shard over more slots. A slot of zeros is empty.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from visited.bits.kernel import ADD, FORGET
from visited.bits.memory import Memory, Writable, zeros
from visited.bits.numpy_kernel import encode

SLOT = 16
_MOST = 2**64 - 1
_EMPTY = bytes(SLOT)
# A digest of zeros would look like an empty slot, so it is stored as the next larger one. No text with it is known.
_STAND_IN = bytes(SLOT - 1) + b"\x01"


def digest_many(urls: Sequence[str]) -> bytes:
    return b"".join([hashlib.md5(data, usedforsecurity=False).digest() for data in encode(urls)])


def table_probe(
    urls: Sequence[str], shards: list[Memory], counts: Writable, mode: int, factor: int = 1
) -> tuple[list[bool], int]:
    if factor % 2 == 0:
        raise ValueError(f"expected an odd factor, found {factor}")
    digests = digest_many(urls)
    shift = 64 - (len(shards).bit_length() - 1)
    numbers = np.asarray(counts)
    absent = []
    before = int(numbers.sum())
    for start in range(0, len(digests), SLOT):
        digest = _multiply(digests[start : start + SLOT], factor)
        if digest == _EMPTY:
            digest = _STAND_IN
        index = int.from_bytes(digest[:8], "big") >> shift
        slot, found = _find(shards[index], digest, 64 - shift)
        absent.append(not found)
        if found and mode == FORGET:
            _remove(shards[index], slot, 64 - shift)
            numbers[index] -= 1
        elif not found and mode == ADD:
            _insert(shards, index, digest, int(numbers[index]))
            numbers[index] += 1
    return absent, int(numbers.sum()) - before


def _multiply(digest: bytes, factor: int) -> bytes:
    product = int.from_bytes(digest[:8], "big") * factor & _MOST
    return product.to_bytes(8, "big") + digest[8:]


def home_slots(slots: int) -> int:
    """The number of slots that can be homes. The rest is for what overflows the end."""
    return max(1, slots - slots // 64 - 4)


def table_spread(shards: list[Memory], index: int, slots: int) -> None:
    shard_bits = len(shards).bit_length() - 1
    rows = np.frombuffer(shards[index], dtype=np.uint8).reshape(-1, SLOT)
    live = rows[rows.any(axis=1)]
    heads = live[:, :8].copy().view(">u8").ravel().astype(np.uint64)
    rest = heads << np.uint64(shard_bits) >> np.uint64(32)
    while True:
        order = np.arange(len(live))
        home = (rest * np.uint64(home_slots(slots)) >> np.uint64(32)).astype(np.int64)
        places = np.maximum.accumulate(home - order) + order
        if not len(places) or places[-1] < slots:
            break
        slots = _larger(slots)
    out = zeros(slots * SLOT)
    np.frombuffer(out, dtype=np.uint8).reshape(slots, SLOT)[places] = live
    shards[index] = out


def _larger(slots: int) -> int:
    """A fifth more; from 16 KiB on in whole pages, because such memory is mapped."""
    wanted = slots + slots // 5 + 4
    return wanted if wanted < 1024 else -(-wanted // 256) * 256


def _home(digest: bytes, slots: int, shard_bits: int) -> int:
    head = int.from_bytes(digest[:8], "big") << shard_bits & _MOST
    return (head >> 32) * home_slots(slots) >> 32


def _find(shard: Memory, digest: bytes, shard_bits: int) -> tuple[int, bool]:
    """Return the digest's slot, or the slot where it belongs, which may be behind the end; and whether it is there."""
    slots = len(shard) // SLOT
    if not slots:
        return 0, False
    slot = _home(digest, slots, shard_bits)
    while slot < slots:
        there = shard[slot * SLOT : slot * SLOT + SLOT]
        if there == digest:
            return slot, True
        if there > digest or there == _EMPTY:
            return slot, False
        slot += 1
    return slot, False


def _insert(shards: list[Memory], index: int, digest: bytes, count: int) -> None:
    shard_bits = len(shards).bit_length() - 1
    while True:
        shard = shards[index]
        slots = len(shard) // SLOT
        # 7/8 full: beyond it the clusters, and the time to move them, grow fast.
        if (count + 1) * 8 <= slots * 7:
            slot = _find(shard, digest, shard_bits)[0]
            end = slot
            while end < slots and shard[end * SLOT : end * SLOT + SLOT] != _EMPTY:
                end += 1
            if end < slots:
                shard[(slot + 1) * SLOT : (end + 1) * SLOT] = shard[slot * SLOT : end * SLOT]
                shard[slot * SLOT : (slot + 1) * SLOT] = digest
                return
        table_spread(shards, index, _larger(slots))


def _remove(shard: Memory, slot: int, shard_bits: int) -> None:
    slots = len(shard) // SLOT
    end = slot + 1
    while end < slots:
        there = bytes(shard[end * SLOT : end * SLOT + SLOT])
        if there == _EMPTY or _home(there, slots, shard_bits) == end:
            break
        end += 1
    shard[slot * SLOT : (end - 1) * SLOT] = shard[(slot + 1) * SLOT : end * SLOT]
    shard[(end - 1) * SLOT : end * SLOT] = _EMPTY
