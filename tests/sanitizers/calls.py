"""Correct calls, and ways to make them wrong."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

Call = tuple[Callable[..., object], tuple[object, ...]]

REFUSALS = (TypeError, ValueError, OverflowError, BufferError, LookupError, AttributeError, MemoryError)
"""How a function may refuse its arguments. Any other exception, such as SystemError, is a fault."""


def copy_exactly(data: bytes) -> NDArray[np.uint8]:
    """Copy into memory that ends with the last byte. A bytes object has one more byte behind its end."""
    return np.frombuffer(data, dtype=np.uint8).copy()


class Text(str):
    __slots__ = ()


class Meddler(Sequence[object]):
    """A sequence that, when read, changes the lists among the other arguments of the call."""

    def __init__(self, items: Sequence[object], chance: Random, lists: list[list[object]]) -> None:
        self._items, self._chance, self._lists = items, chance, lists

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> object:  # type: ignore[override]
        return self._items[index]

    def __iter__(self) -> Iterator[object]:
        for each in self._lists:
            with contextlib.suppress(BufferError):
                meddle(self._chance, each)
        return iter(self._items)


def meddle(chance: Random, those: list[object]) -> None:
    change = chance.randrange(4)
    if change == 0:
        those.clear()
    elif change == 1:
        those.extend([bytearray(64)] * 300)
    elif change == 2:
        del those[1:]
    else:
        those[:] = [odd_value(chance) for _ in those]


def odd_value(chance: Random) -> object:
    return chance.choice(_ODD)()


def _read_only() -> NDArray[np.int64]:
    made = np.zeros(600, np.int64)
    made.setflags(write=False)
    return made


def _released() -> memoryview:
    view = memoryview(bytearray(8))
    view.release()
    return view


def _fail(*_: object) -> object:
    raise ValueError


_NUMBERS = (0, 1, -1, 3, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), -(2**64))
_ODD: list[Callable[[], object]] = [
    *[lambda number=number: number for number in _NUMBERS],
    *[lambda size=size: bytearray(size) for size in (0, 1, 7, 8, 63, 64, 4096)],
    *[lambda kind=kind: np.zeros(513, kind) for kind in (np.int8, np.int32, np.int64, np.float64, np.complex128)],
    lambda: None,
    lambda: True,
    lambda: 0.5,
    lambda: float("nan"),
    lambda: "",
    lambda: "a",
    lambda: "\ud800",
    lambda: "é\0" * 3000,
    lambda: Text("http://e.org/"),
    lambda: b"",
    lambda: b"http://e.org/<a>",
    lambda: memoryview(bytearray(64))[::2],
    lambda: memoryview(bytearray(64))[::-1],
    # Unaligned numbers.
    lambda: memoryview(bytearray(8 * 513 + 8))[1:-7],
    lambda: memoryview(bytearray(72))[3:-5],
    lambda: np.full(513, 2**63 - 1, np.int64),
    lambda: np.full(513, -(2**63), np.int64),
    lambda: np.full(8, -1, np.int32),
    lambda: np.zeros((8, 64), np.uint8).T,
    lambda: np.zeros((), np.int64),
    _read_only,
    _released,
    list,
    lambda: [None],
    lambda: ["a", b"b"],
    lambda: ["\ud800", Text("a"), "a" * 5000],
    lambda: [bytearray(), b"", bytearray(1)],
    lambda: [memoryview(bytearray(64))[1:17]] * 4,
    tuple,
    lambda: ("a", "b"),
    lambda: ("\ud800", "b", "c"),
    dict,
    lambda: {"a": 1, "amp;": None, "lt": "\ud800"},
    lambda: frozenset({"a"}),
    lambda: range(3),
    lambda: iter("ab"),
    lambda: _fail,
    lambda: object,
    lambda: lambda *of: of,
    lambda: lambda *of: None,
    lambda: bytearray,
    lambda: lambda size: bytearray(size // 2),
    object,
]


def spoil(chance: Random, call: Call) -> Call:
    """Make arguments wrong, leave them out, add some, or have one change the others."""
    function, given = call
    arguments = [list(each) if isinstance(each, list) else each for each in given]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place, change = chance.randrange(len(arguments) + 1), chance.randrange(12)
        if place == len(arguments) or change == 0:
            arguments.insert(place, odd_value(chance))
        elif change == 1 and len(arguments) > 1:
            del arguments[place]
        elif change <= 7:
            arguments[place] = _imitate(
                chance, arguments[place], [each for each in arguments if isinstance(each, list)]
            )
        else:
            arguments[place] = odd_value(chance)
    return function, tuple(arguments)


def _imitate(chance: Random, argument: object, lists: list[list[object]]) -> object:
    """A wrong argument that looks much like the right one."""
    if isinstance(argument, np.ndarray):
        return _imitate_memory(chance, argument.tobytes())
    if isinstance(argument, list | tuple):
        if chance.random() < 0.5 and all(isinstance(each, np.ndarray) for each in argument):
            return [_imitate_memory(chance, bytes(each)) for each in argument]
        return Meddler(argument, chance, lists)
    if isinstance(argument, int):
        return argument + chance.choice((-1, 1, 64, 2**31, -(2**31)))
    return odd_value(chance)


def _imitate_memory(chance: Random, data: bytes) -> object:
    """Memory that is unaligned, too short or too long, or holds the largest or smallest numbers."""
    change = chance.randrange(5)
    if change == 0:
        return memoryview(bytearray(1) + data)[1:]
    if change == 1:
        return copy_exactly(data[: -chance.choice((1, 8))])
    if change == 2:
        return copy_exactly(data + bytes(chance.choice((1, 8, 64))))
    return copy_exactly((2**63 - change % 2).to_bytes(8, "little") * (len(data) // 8 + 1))[: len(data)]


def make(call: Call) -> None:
    """Make the call. The function may refuse it."""
    function, arguments = call
    sys._clear_type_cache()  # A look-up that is not in the cache clears an exception that was left set.
    try:  # noqa: SIM105, a context manager needs memory, and there may be none
        function(*arguments)
    except REFUSALS:
        pass
