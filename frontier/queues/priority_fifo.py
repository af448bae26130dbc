"""First come, first served at each precedence; lower precedences go first."""

from collections import OrderedDict
from collections.abc import Hashable
from itertools import chain, islice
from operator import itemgetter
from typing import Generic, TypeVar

_Item = TypeVar("_Item", bound=Hashable)


class PriorityFifo(Generic[_Item]):
    """One FIFO for each precedence that was ever used. There are at most 256. An item is in a FIFO once, and can be
    removed from anywhere. Each call takes the same time however many items there are: a `dict` would not, because it
    finds its first item by a walk over those that were removed."""

    __slots__ = ("_fifos", "_in_order")

    def __init__(self) -> None:
        self._fifos: dict[int, OrderedDict[_Item, None]] = {}
        self._in_order: list[tuple[int, OrderedDict[_Item, None]]] = []
        """The same, in the order of precedences."""

    def put(self, precedence: int, item: _Item) -> None:
        fifo = self._fifos.get(precedence)
        if fifo is None:
            fifo = self._fifos[precedence] = OrderedDict()
            self._in_order = sorted(self._fifos.items(), key=itemgetter(0))
        fifo[item] = None

    def first(self) -> tuple[int, _Item] | None:
        """The next item and its precedence."""
        for precedence, fifo in self._in_order:
            if fifo:
                return precedence, next(iter(fifo))
        return None

    def first_ones(self, limit: int) -> list[_Item]:
        """The next items, in order."""
        return list(islice(chain.from_iterable(fifo for _, fifo in self._in_order), limit))

    def remove(self, precedence: int, item: _Item) -> None:
        """Remove the item, which has this precedence."""
        del self._fifos[precedence][item]

    def send_back(self, precedence: int, item: _Item) -> None:
        """Move the item, which has this precedence, to the end of its FIFO."""
        self._fifos[precedence].move_to_end(item)
