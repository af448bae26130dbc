"""First come, first served at each precedence; lower precedences first."""

from collections import deque
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class PriorityFifo(Generic[_Item]):
    """A line for each precedence that was ever used, of which there are 256."""

    __slots__ = ("_lines", "_order")

    def __init__(self) -> None:
        self._lines: dict[int, deque[_Item]] = {}
        self._order: list[int] = []
        """The precedences that have a line, in order."""

    def put(self, precedence: int, item: _Item) -> None:
        line = self._lines.get(precedence)
        if line is None:
            line = self._lines[precedence] = deque()
            self._order = sorted(self._lines)
        line.append(item)

    def first(self) -> tuple[int, _Item] | None:
        """Whose turn it is, and at which precedence."""
        for precedence in self._order:
            line = self._lines[precedence]
            if line:
                return precedence, line[0]
        return None

    def pop(self, precedence: int) -> None:
        """Let the first of that precedence go."""
        self._lines[precedence].popleft()
