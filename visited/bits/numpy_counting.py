"""Counters of 4, 8 and 32 bits in the NumPy kernel."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import ADD, TEST
from visited.bits.memory import Writable
from visited.bits.numpy_kernel import Words, byte_view, count_lost, guava_positions, hash_words

_FULL = {4: 15, 8: 255, 32: 0x7FFF_FFFF}
_PIECE = 512


def counting_probe(
    urls: Sequence[str],
    counters: Writable,
    width: int,
    hashes: int,
    seed: int,
    mode: int,
    sketch: Writable | None = None,
) -> tuple[list[bool], int, int, int]:
    """A new URL steps its counters, of `width` bits, up. Forgetting a known URL steps them down. A full counter stays
    full for ever."""
    cells = Cells(byte_view(counters), width)
    words = hash_words(urls, seed)
    found = count_positions(cells, guava_positions(words, cells.count, hashes), mode)
    if mode == ADD:
        count_lost(sketch, words[:, 1], np.array(found[0], dtype=np.bool_))
    return found


def count_positions(cells: "Cells", positions: Words, mode: int) -> tuple[list[bool], int, int, int]:
    """What `counting_probe` does, for given positions, one row for each URL."""
    if mode == TEST:
        absent = (cells.read(positions) == 0).any(axis=1)
        return absent.tolist(), int(absent.sum()), 0, 0
    if mode == ADD:
        absent, ones, full = _add(cells, positions)
        return absent.tolist(), int(absent.sum()), ones, full
    verdicts: list[bool] = []
    ones = 0
    for start in range(0, len(positions), _PIECE):
        absent, cleared = _forget(cells, positions[start : start + _PIECE])
        verdicts += absent.tolist()
        ones -= cleared
    return verdicts, sum(verdicts), ones, 0


class Cells:
    """Counters by position, two to the byte when they have four bits."""

    def __init__(self, view: NDArray[np.uint8], width: int) -> None:
        self._view: NDArray[np.uint8] | NDArray[np.uint32] = view.view(np.uint32) if width == 32 else view
        self._halves = width == 4
        self.full = _FULL[width]
        self.count = len(view) * 8 // width

    def read(self, positions: Words) -> NDArray[np.int64]:
        if not self._halves:
            return self._view[positions].astype(np.int64)
        shifts = (positions & np.uint64(1)).astype(np.uint8) * np.uint8(4)
        nibbles: NDArray[np.int64] = (self._view[positions >> np.uint64(1)] >> shifts & 15).astype(np.int64)
        return nibbles

    def write(self, positions: Words, values: NDArray[np.int64]) -> None:
        """Set counters. `positions` must not repeat."""
        if not self._halves:
            self._view[positions] = values.astype(self._view.dtype)
            return
        for half in (0, 1):
            chosen = (positions & np.uint64(1)) == half
            places, new = positions[chosen] >> np.uint64(1), values[chosen].astype(np.uint8)
            kept = np.uint8(0xF0 if half == 0 else 0x0F)
            self._view[places] = self._view[places] & kept | new << np.uint8(4 * half)


def _add(cells: Cells, positions: Words) -> tuple[NDArray[np.bool_], int, int]:
    rows, hashes = positions.shape
    flat = positions.ravel()
    empty = np.flatnonzero(cells.read(flat) == 0)
    # Of equal positions the first one in the batch makes its row new.
    _, first = np.unique(flat[empty], return_index=True)
    absent = np.zeros(rows, dtype=np.bool_)
    absent[empty[first] // hashes] = True
    unique, rises = np.unique(positions[absent].ravel(), return_counts=True)
    before = cells.read(unique)
    after = np.minimum(before + rises, cells.full)
    cells.write(unique, after)
    return absent, int((before == 0).sum()), int(((after == cells.full) & (before < cells.full)).sum())


def _forget(cells: Cells, positions: Words) -> tuple[NDArray[np.bool_], int]:
    """Rows that share a position are processed in their order: each round takes the rows that need not wait."""
    rows, hashes = positions.shape
    absent = np.zeros(rows, dtype=np.bool_)
    cleared = 0
    waiting = np.arange(rows)
    while len(waiting):
        flat = positions[waiting].ravel()
        _, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
        owner = (first // hashes)[inverse].reshape(-1, hashes)
        free = (owner == np.arange(len(waiting))[:, None]).all(axis=1)
        now = waiting[free]
        missing = (cells.read(positions[now]) == 0).any(axis=1)
        absent[now] = missing
        unique, falls = np.unique(positions[now[~missing]].ravel(), return_counts=True)
        before = cells.read(unique)
        after = np.where(before == cells.full, before, np.maximum(before - falls, 0))
        cells.write(unique, after)
        cleared += int(((after == 0) & (before > 0)).sum())
        waiting = waiting[~free]
    return absent, cleared
