"""First come, first served at each precedence; lower precedences go first."""

from collections import deque
from itertools import chain, islice
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class PriorityFifo(Generic[_Item]):
    """One FIFO for each precedence that was ever used. There are at most 256."""

    __slots__ = ("_fifos", "_precedences")

    def __init__(self) -> None:
        self._fifos: dict[int, deque[_Item]] = {}
        self._precedences: list[int] = []
        """The precedences that have a FIFO, in order."""

    def put(self, precedence: int, item: _Item) -> None:
        fifo = self._fifos.get(precedence)
        if fifo is None:
            fifo = self._fifos[precedence] = deque()
            self._precedences = sorted(self._fifos)
        fifo.append(item)

    def first(self) -> tuple[int, _Item] | None:
        """The next item and its precedence."""
        for precedence in self._precedences:
            fifo = self._fifos[precedence]
            if fifo:
                return precedence, fifo[0]
        return None

    def first_ones(self, limit: int) -> list[_Item]:
        """The next items, in order; gaps and repeated items may be among them."""
        fifos = (self._fifos[precedence] for precedence in self._precedences)
        return list(islice(chain.from_iterable(fifos), limit))

    def pop(self, precedence: int) -> None:
        """Remove the first item of that precedence."""
        self._fifos[precedence].popleft()

    def send_back(self, precedence: int) -> None:
        """Move the first item of that precedence to the end of its FIFO."""
        self._fifos[precedence].rotate(-1)
