"""Finds pages with the same body, so that a record can name the page that it repeats. Pure."""

from typing import Final

BODIES_REMEMBERED: Final = 100_000


class Duplicates:
    """Remembers the SHA-1 of the last `capacity` bodies, each with the URL that had it first."""

    def __init__(self, *, capacity: int = BODIES_REMEMBERED) -> None:
        self._capacity = capacity
        self._first: dict[bytes, str] = {}

    def remember(self, sha1: bytes, url: str, /) -> str | None:
        """Remember the body of `url`. Returns the first URL that had the same body; None if `url` is the first."""
        first = self._first.pop(sha1, None)
        self._first[sha1] = first or url
        if len(self._first) > self._capacity:
            del self._first[next(iter(self._first))]
        return None if first == url else first
