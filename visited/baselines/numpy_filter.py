"""A filter of the literature: its cells are tested and set in NumPy, at positions that it computes itself."""

from collections.abc import Callable, Sequence
from typing import BinaryIO

import numpy as np

from visited.batch import add_in_pieces
from visited.bits.kernel import ADD, FORGET, TEST
from visited.bits.numpy_counting import Cells, count_positions
from visited.bits.numpy_kernel import Words, byte_view, count_lost, hash_words, test_and_set
from visited.filters.cells import CANNOT_FORGET, FilterCells
from visited.protocol import CannotForget, VisitedStats

Positions = Callable[[Sequence[str]], Words]
"""Computes the cells of URLs, a row for each. Raises TypeError for anything but a sequence of str."""


class NumpyFilter:
    """A filter of bits, or of counters of 32 bits, which can forget."""

    def __init__(self, cells: FilterCells, positions: Positions, *, piece: int, has_counters: bool = False) -> None:
        """A huge batch changes the rate while it fills the filter, so the rate is computed for each piece of so many
        URLs."""
        self._cells = cells
        self._positions = positions
        self._piece = piece
        self._has_counters = has_counters

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        return add_in_pieces(urls, self._piece, self._add_piece)

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return [not absent for absent in self._probe(urls, TEST)[0]]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        if not self._has_counters:
            raise CannotForget(CANNOT_FORGET)
        absent, ones = self._probe(urls, FORGET)
        forgotten = len(urls) - sum(absent)
        self._cells.ones += ones
        self._cells.losses.count -= forgotten
        return forgotten

    def describe(self) -> VisitedStats:
        names = ("counters", "counters_in_use") if self._has_counters else ("bits", "bits_set")
        return self._cells.describe(dict(zip(names, (self._cells.cell_count, self._cells.ones), strict=True)))

    def dump(self, file: BinaryIO, /) -> None:
        self._cells.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._cells.restore(self._cells.read(file))

    def __len__(self) -> int:
        return self._cells.losses.count

    async def aclose(self) -> None:
        """Nothing to close."""

    def _probe(self, urls: Sequence[str], mode: int) -> tuple[list[bool], int]:
        """Return for each URL whether it was absent, and by how much the number of used cells has changed."""
        view, positions = byte_view(self._cells.array), self._positions(urls)
        if self._has_counters:
            absent, _, ones, _ = count_positions(Cells(view, 32), positions, mode)
            return absent, ones
        clear, ones = test_and_set(view, positions, mode)
        return clear.tolist(), ones

    def _add_piece(self, urls: Sequence[str]) -> list[bool]:
        absent, ones = self._probe(urls, ADD)
        count_lost(self._cells.sketch, hash_words(urls, 0)[:, 1], np.array(absent, dtype=np.bool_))
        new = sum(absent)
        if new or self._cells.uses_sketch:
            self._cells.count_batch(new, ones)
        return absent
