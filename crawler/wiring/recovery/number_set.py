"""A set of record numbers, with one bit for each."""

_PAGE_BITS = 16


class NumberSet:
    """A set of numbers from 0 on. It is small if they are mostly consecutive."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        """By the upper bits of the numbers, so that a single huge number takes only 8 KiB."""
        self._count = 0

    def add(self, number: int) -> None:
        page = self._pages.get(number >> _PAGE_BITS)
        if page is None:
            page = self._pages[number >> _PAGE_BITS] = bytearray(1 << (_PAGE_BITS - 3))
        index, mask = _position(number)
        self._count += not page[index] & mask
        page[index] |= mask

    def discard(self, number: int) -> None:
        if number in self:
            index, mask = _position(number)
            self._pages[number >> _PAGE_BITS][index] ^= mask
            self._count -= 1

    def __contains__(self, number: int) -> bool:
        page = self._pages.get(number >> _PAGE_BITS)
        index, mask = _position(number)
        return page is not None and bool(page[index] & mask)

    def __len__(self) -> int:
        return self._count


def _position(number: int) -> tuple[int, int]:
    within = number & ((1 << _PAGE_BITS) - 1)
    return within >> 3, 1 << (within & 7)
