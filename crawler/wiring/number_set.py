"""A set of record numbers, of a bit each."""

_PAGE_BITS = 16


class Numbers:
    """Numbers of 0 and more, most of them in a row."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        """By the upper bits, so that a stray huge number costs 8 KiB, not more."""
        self._count = 0

    def add(self, number: int) -> None:
        page = self._pages.get(number >> _PAGE_BITS)
        if page is None:
            page = self._pages[number >> _PAGE_BITS] = bytearray(1 << (_PAGE_BITS - 3))
        place, mask = _place(number)
        self._count += not page[place] & mask
        page[place] |= mask

    def discard(self, number: int) -> None:
        if number in self:
            place, mask = _place(number)
            self._pages[number >> _PAGE_BITS][place] ^= mask
            self._count -= 1

    def __contains__(self, number: int) -> bool:
        page = self._pages.get(number >> _PAGE_BITS)
        place, mask = _place(number)
        return page is not None and bool(page[place] & mask)

    def __len__(self) -> int:
        return self._count


def _place(number: int) -> tuple[int, int]:
    within = number & ((1 << _PAGE_BITS) - 1)
    return within >> 3, 1 << (within & 7)
