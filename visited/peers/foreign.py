"""Gives the set of another library our protocol."""

from collections.abc import Callable, Sequence
from typing import BinaryIO, NoReturn

from visited.protocol import CannotForget, Unsaved, VisitedStats

Answer = Callable[[Sequence[str]], list[bool]]


class ForeignSet:
    """A set of another library: one function that tests and adds a batch, and one that only tests."""

    def __init__(
        self,
        name: str,
        add: Answer,
        has: Answer,
        *,
        close: Callable[[], object] = lambda: None,
        size: Callable[[], int] = lambda: 0,
    ) -> None:
        """`size` returns its bytes if it is not in this process."""
        self._name = name
        self.add = add
        self.has_many = has
        self._close = close
        self._size = size
        self._count = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        answers = self.add(urls)
        self._count += sum(answers)
        return answers

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget(f"{self._name} can't forget URLs")

    def describe(self) -> VisitedStats:
        return VisitedStats(backend=self._name, count=self._count, capacity=None, memory_bytes=self._size())

    def dump(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved(f"{self._name} has no snapshots")

    def load(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved(f"{self._name} has no snapshots")

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._close()
