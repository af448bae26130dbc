"""Which bodies have been met before, so that a record can name the page that it repeats. Pure."""


class Duplicates:
    """The sha1 of the bodies met last, each with the URL that had it first; at most `capacity`."""

    def __init__(self, *, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._first: dict[bytes, str] = {}

    def met(self, sha1: bytes, url: str, /) -> str | None:
        """The URL that had a body of this sha1 before; None if this is the first, which is remembered."""
        first = self._first.pop(sha1, None)
        self._first[sha1] = first or url
        if len(self._first) > self._capacity:
            del self._first[next(iter(self._first))]
        return None if first == url else first
