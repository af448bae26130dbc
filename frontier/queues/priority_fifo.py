"""First come, first served at each precedence; lower precedences go first."""

from collections import deque
from itertools import chain, islice
from operator import itemgetter
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class PriorityFifo(Generic[_Item]):
    """One FIFO for each precedence that was ever used. There are at most 256."""

    __slots__ = ("_fifos", "_in_order")

    def __init__(self) -> None:
        self._fifos: dict[int, deque[_Item]] = {}
        self._in_order: list[tuple[int, deque[_Item]]] = []
        """The same, in the order of precedences."""

    def put(self, precedence: int, item: _Item) -> None:
        fifo = self._fifos.get(precedence)
        if fifo is None:
            fifo = self._fifos[precedence] = deque()
            self._in_order = sorted(self._fifos.items(), key=itemgetter(0))
        fifo.append(item)

    def first(self) -> tuple[int, _Item] | None:
        """The next item and its precedence."""
        for precedence, fifo in self._in_order:
            if fifo:
                return precedence, fifo[0]
        return None

    def first_ones(self, limit: int) -> list[_Item]:
        """The next items, in order; gaps and repeated items may be among them."""
        return list(islice(chain.from_iterable(fifo for _, fifo in self._in_order), limit))

    def pop(self, precedence: int) -> None:
        """Remove the first item of that precedence."""
        self._fifos[precedence].popleft()

    def send_back(self, precedence: int) -> None:
        """Move the first item of that precedence to the end of its FIFO."""
        self._fifos[precedence].rotate(-1)
