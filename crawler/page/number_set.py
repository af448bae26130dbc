"""A set of record numbers, with one bit for each."""

import zlib
from typing import Final, Self

_PAGE_BITS = 16
_PAGE_BYTES: Final = 1 << (_PAGE_BITS - 3)
_UPPER_BYTES: Final = 8


class NumberSet:
    """A set of numbers from 0 on. It is small if they are mostly consecutive."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        """By the upper bits of the numbers, so that a single huge number takes only 8 KiB."""
        self._count = 0

    def add(self, number: int) -> bool:
        """Returns whether it is new."""
        page = self._pages.get(number >> _PAGE_BITS)
        if page is None:
            page = self._pages[number >> _PAGE_BITS] = bytearray(_PAGE_BYTES)
        index, mask = _position(number)
        is_new = not page[index] & mask
        self._count += is_new
        page[index] |= mask
        return is_new

    def discard(self, number: int) -> None:
        if number in self:
            index, mask = _position(number)
            self._pages[number >> _PAGE_BITS][index] ^= mask
            self._count -= 1

    def add_all(self, other: Self) -> None:
        """Add the numbers of another set."""
        for upper, page in other._pages.items():
            mine = int.from_bytes(self._pages.get(upper, b""), "little")
            joined = mine | int.from_bytes(page, "little")
            self._count += joined.bit_count() - mine.bit_count()
            self._pages[upper] = bytearray(joined.to_bytes(_PAGE_BYTES, "little"))

    def count_without(self, other: Self) -> int:
        """How many of its numbers another set lacks."""
        pages = ((int.from_bytes(page, "little"), other._pages.get(upper, b"")) for upper, page in self._pages.items())
        return sum((bits & ~int.from_bytes(theirs, "little")).bit_count() for bits, theirs in pages)

    @property
    def highest(self) -> int:
        """0 if it is empty."""
        for upper in sorted(self._pages, reverse=True):
            if bits := int.from_bytes(self._pages[upper], "little"):
                return (upper << _PAGE_BITS) + bits.bit_length() - 1
        return 0

    def dump(self) -> bytes:
        """Its numbers, compressed."""
        pages = (upper.to_bytes(_UPPER_BYTES, "little") + self._pages[upper] for upper in sorted(self._pages))
        return zlib.compress(b"".join(pages))

    @classmethod
    def load(cls, dumped: bytes) -> Self:
        """What `dump` has returned. Raises `ValueError`."""
        try:
            pages = zlib.decompress(dumped)
        except zlib.error as error:
            raise ValueError(f"expected compressed numbers: {error}") from error
        step = _UPPER_BYTES + _PAGE_BYTES
        if len(pages) % step:
            raise ValueError(f"expected pages of {step} bytes, found {len(pages)} bytes")
        made = cls()
        for at in range(0, len(pages), step):
            page = bytearray(pages[at + _UPPER_BYTES : at + step])
            made._pages[int.from_bytes(pages[at : at + _UPPER_BYTES], "little")] = page
            made._count += int.from_bytes(page, "little").bit_count()
        return made

    def __contains__(self, number: int) -> bool:
        page = self._pages.get(number >> _PAGE_BITS)
        index, mask = _position(number)
        return page is not None and bool(page[index] & mask)

    def __len__(self) -> int:
        return self._count


def _position(number: int) -> tuple[int, int]:
    within = number & ((1 << _PAGE_BITS) - 1)
    return within >> 3, 1 << (within & 7)
