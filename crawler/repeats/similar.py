"""An index of fingerprints of 64 bits that finds those that differ in few bits. Pure.

A fingerprint has four blocks of 16 bits. If two fingerprints differ in at most d bits, then at least one of the blocks
differs in at most d // 4 of its bits. So the index has four tables, each by one block, and looks up all values of a
block within that radius. Of d = 4r + a, the radius r is needed for the first a + 1 blocks, and r - 1 for the others.
For three bits that are four exact look-ups, as with the permuted tables of Manku, Jain and Das Sarma (WWW 2007); for
more bits it is the multi-index hashing of Norouzi, Punjani and Fleet ("Fast search in Hamming space with multi-index
hashing", CVPR 2012). Unlike sorted tables, chains take new fingerprints at any time.

`_similar`, compiled C, takes 24 bytes for a fingerprint: itself, and its place in four chains. This module does the
same in Python, in more memory, for installations without compiled code.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Final, Protocol

try:
    from crawler.repeats import _similar as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 2  # False if it was compiled from older code

MAX_DISTANCE: Final = 8
BLOCKS: Final = 4
_BLOCK_BITS: Final = 16
MOST_READ: Final = 10_000
_MOST_READ_OF_EACH: Final = 32
"""Times the length that a chain has on average."""


class SimilarIndex(Protocol):
    """Fingerprints in the order in which they were added."""

    def __len__(self) -> int: ...

    def add(self, fingerprint: int, /) -> None: ...

    def extend(self, fingerprints: bytes, /) -> None:
        """Add many: 8 bytes each, the lowest first."""
        ...

    def near(self, fingerprint: int, distance: int, /) -> list[tuple[int, int]]:
        """All that differ in at most so many bits, up to `MAX_DISTANCE`: the number of bits, and the place in the order
        from 0 on. The nearest come first, of these the earliest.

        Of fingerprints with the same block, only the last `MOST_READ` or somewhat more are looked through, so that
        pages which are made for it don't slow a crawl down. Others count as not near."""
        ...


class PythonSimilarIndex:
    """A `SimilarIndex` of Python's objects."""

    def __init__(self) -> None:
        self._fingerprints: list[int] = []
        self._chains: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(BLOCKS)]

    def __len__(self) -> int:
        return len(self._fingerprints)

    def add(self, fingerprint: int, /) -> None:
        for chains, block in zip(self._chains, _blocks(fingerprint), strict=True):
            chains[block].append(len(self._fingerprints))
        self._fingerprints.append(fingerprint)

    def extend(self, fingerprints: bytes, /) -> None:
        for (each,) in struct.iter_unpack("<Q", fingerprints):
            self.add(each)

    def near(self, fingerprint: int, distance: int, /) -> list[tuple[int, int]]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"expected a distance of 0 to {MAX_DISTANCE} bits, found {distance}")
        most = MOST_READ + _MOST_READ_OF_EACH * (len(self) >> _BLOCK_BITS)
        places = {
            place
            for chains, block, radius in zip(self._chains, _blocks(fingerprint), _radii(distance), strict=True)
            for changed in _changes(radius)
            for place in chains.get(block ^ changed, ())[-most:]
        }
        found = (((self._fingerprints[place] ^ fingerprint).bit_count(), place) for place in places)
        return sorted(each for each in found if each[0] <= distance)


def _blocks(fingerprint: int) -> Iterator[int]:
    for block in range(BLOCKS):
        yield fingerprint >> _BLOCK_BITS * block & 0xFFFF


def _radii(distance: int) -> list[int]:
    """Within how many bits each block must be looked up; -1 for one that need not be."""
    return [distance // BLOCKS - (block > distance % BLOCKS) for block in range(BLOCKS)]


@lru_cache
def _changes(radius: int) -> list[int]:
    """All blocks with at most so many bits."""
    return [
        sum(1 << bit for bit in bits) for count in range(radius + 1) for bits in combinations(range(_BLOCK_BITS), count)
    ]


def make_similar_index() -> SimilarIndex:
    return compiled.SimilarIndex() if IS_COMPILED else PythonSimilarIndex()
