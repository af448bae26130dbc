"""Local sets for programs without an event loop."""

from collections.abc import Coroutine, Sequence
from typing import Any, BinaryIO, TypeVar

from visited.protocol import LocalSet, VisitedStats

_Result = TypeVar("_Result")


class PlainSet:
    """A local set whose methods are no coroutines.

    A batch costs less than its URLs one by one. The set belongs to one thread, and to nobody else.
    """

    def __init__(self, visited: LocalSet, /) -> None:
        self._visited = visited

    def add(self, url: str, /) -> bool:
        """Return whether the URL is new, and remember it."""
        return self.add_many((url,))[0]

    def add_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL, in order, whether it is new, and remember it. A URL that occurs twice is new once."""
        return _now(self._visited.add_many(urls))

    def forget_many(self, urls: Sequence[str], /) -> int:
        """Forget the URLs, and return how many of them were known. Raises `CannotForget` if the set can't do that."""
        return _now(self._visited.forget_many(urls))

    def __contains__(self, url: str, /) -> bool:
        return self._visited.has_many((url,))[0]

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        """Return for each URL whether it is known, without remembering it."""
        return self._visited.has_many(urls)

    def __len__(self) -> int:
        return len(self._visited)

    def describe(self) -> VisitedStats:
        """Count, memory, fill and loss, now."""
        return self._visited.describe()

    def dump(self, file: BinaryIO, /) -> None:
        """Write the whole set to a file."""
        self._visited.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        """Replace the content by what `dump` wrote. Raises `SnapshotRefused`, and leaves the set empty then."""
        self._visited.load(file)

    def close(self) -> None:
        """Release files. Closing twice is harmless."""
        _now(self._visited.aclose())


def _now(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    work.close()
    raise RuntimeError("this set waits for something: it needs an event loop")
