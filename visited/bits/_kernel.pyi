from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from visited.bits.memory import Memory
from visited.bits.numpy_kernel import Writable

VERSION: int

def hash_many(urls: Sequence[str], seed: int, out: Writable, /) -> None: ...
def digest_many(urls: Sequence[str], /) -> bytes: ...
def bloom_probe(
    urls: Sequence[str],
    bits: Writable,
    hashes: int,
    seed: int,
    mode: int,
    sketch: NDArray[np.uint8] | None = None,
    /,
) -> tuple[list[bool], int, int]: ...
def blocked_probe(
    urls: Sequence[str],
    bits: Writable,
    blocks_by_ones: NDArray[np.int64],
    hashes: int,
    seed: int,
    mode: int,
    sketch: NDArray[np.uint8] | None = None,
    /,
) -> tuple[list[bool], int, int]: ...
def counting_probe(
    urls: Sequence[str],
    counters: Writable,
    width: int,
    hashes: int,
    seed: int,
    mode: int,
    sketch: NDArray[np.uint8] | None = None,
    /,
) -> tuple[list[bool], int, int, int]: ...
def leaf_probe(
    urls: Sequence[str],
    routes: NDArray[np.int32],
    leaves: list[Memory],
    counts: NDArray[np.int64],
    hashes: int,
    seed: int,
    fingerprints: NDArray[np.uint64],
    mode: int,
    /,
) -> tuple[list[bool], int]: ...
def leaves_fill(
    ascending: NDArray[np.uint64],
    lows: NDArray[np.uint64],
    last: int,
    leaves: list[Memory],
    counts: NDArray[np.int64],
    hashes: int,
    /,
) -> None: ...
def table_probe(
    allocate: Callable[[int], Memory],
    urls: Sequence[str],
    shards: list[Memory],
    counts: NDArray[np.int64],
    mode: int,
    /,
) -> tuple[list[bool], int]: ...
