"""The depths of URLs by their record numbers, with one byte for each."""

_PAGE_BITS = 16
_DEEPEST = 255


class Depths:
    """Depths from 0 to 255; deeper ones count as 255. It is small if the numbers are mostly consecutive."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        """By the upper bits of the numbers, which name the part of the crawl that gave them."""

    def __setitem__(self, number: int, depth: int) -> None:
        page = self._pages.get(number >> _PAGE_BITS)
        if page is None:
            page = self._pages[number >> _PAGE_BITS] = bytearray(1 << _PAGE_BITS)
        page[number & ((1 << _PAGE_BITS) - 1)] = min(depth, _DEEPEST)

    def __getitem__(self, number: int) -> int:
        """0 if none was set."""
        page = self._pages.get(number >> _PAGE_BITS)
        return 0 if page is None else page[number & ((1 << _PAGE_BITS) - 1)]
