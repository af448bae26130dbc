from collections.abc import Callable, Sequence

from visited.bits.arrays import Array, Part, Writable
from visited.bits.memory import Memory

VERSION: int

def hash_many(urls: Sequence[str], seed: int, out: Writable, /) -> None: ...
def digest_many(urls: Sequence[str], /) -> bytes: ...
def bloom_probe(
    urls: Sequence[str],
    bits: Writable,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
    /,
) -> tuple[list[bool], int, int]: ...
def blocked_probe(
    urls: Sequence[str],
    bits: Writable,
    blocks_by_ones: Writable,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
    /,
) -> tuple[list[bool], int, int]: ...
def counting_probe(
    urls: Sequence[str],
    counters: Writable,
    width: int,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
    /,
) -> tuple[list[bool], int, int, int]: ...
def leaf_probe(
    urls: Sequence[str],
    routes: Array,
    leaves: list[Memory],
    counts: Writable,
    hashes: int,
    seed: int,
    fingerprints: Array,
    mode: int,
    /,
) -> tuple[list[bool], int]: ...
def leaves_fill(
    ascending: Array,
    lows: Array,
    last: int,
    leaves: list[Memory],
    counts: Writable,
    hashes: int,
    /,
) -> None: ...
def table_probe(
    allocate: Callable[[int], Memory],
    urls: Sequence[str],
    shards: list[Memory],
    counts: Writable,
    mode: int,
    factor: int = 1,
    /,
) -> tuple[list[bool], int]: ...
def table_spread(allocate: Callable[[int], Memory], shards: list[Memory], index: int, slots: int, /) -> None: ...
def block_sums(data: Part, /) -> bytes: ...
