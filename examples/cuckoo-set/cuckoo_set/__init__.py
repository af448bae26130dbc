"""A visited set: the cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher 2014).

A URL leaves a mark of 16 bits in one of its two buckets of four slots. If both are full, a mark in them moves to its
other bucket. The filter takes 2.2 to 4.4 bytes for each URL of its capacity, and it can forget.
"""

from array import array
from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import Meta

from visited import LocalSet
from visited.descriptor import Cost, Descriptor, Parameters
from visited.wrappers.simple import SimpleSet

_SLOTS = 4
_MARKS = 2**16 - 1
"""Zero is an empty slot."""
_MOST_FILL = 0.9


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the set."""

    moves: Annotated[int, Meta(ge=1, le=10_000, description="How many marks may move to make room for one.")] = 500


class CuckooFilter:
    """A `SimpleFilter`. When there is no room for a mark, it takes every URL for a known one."""

    def __init__(self, buckets: int, moves: int) -> None:
        self._buckets, self._moves = buckets, moves
        self._marks = array("H", bytes(2 * _SLOTS * buckets))
        self._count, self._is_full = 0, False

    def add(self, url: str, /) -> bool:
        if self.has(url):
            return False
        mark, bucket = self._place(url)
        self._count += 1
        for move in range(self._moves):
            for other in (bucket, self._other(mark, bucket)):
                if (slot := self._find(0, other)) is not None:
                    self._marks[slot] = mark
                    return True
            bucket = self._other(mark, bucket)
            slot = _SLOTS * bucket + move % _SLOTS
            mark, self._marks[slot] = self._marks[slot], mark
        self._is_full = True
        return True

    def has(self, url: str, /) -> bool:
        return self._is_full or self._slot_of(url) is not None

    def discard(self, url: str, /) -> bool:
        if (slot := self._slot_of(url)) is None:
            return False
        self._marks[slot] = 0
        self._count -= 1
        return True

    def rate(self) -> float:
        return 1.0 if self._is_full else 2 * self._count / self._buckets / _MARKS

    def memory_bytes(self) -> int:
        return 2 * len(self._marks)

    def dump(self) -> bytes:
        return bytes([self._is_full]) + self._marks.tobytes()

    def load(self, data: bytes, /) -> None:
        self._is_full, self._marks = bool(data[0]), array("H", data[1:])
        self._count = len(self._marks) - self._marks.count(0) + self._is_full

    def _place(self, url: str) -> tuple[int, int]:
        digest = int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        return digest % _MARKS + 1, (digest >> 32) % self._buckets

    def _other(self, mark: int, bucket: int) -> int:
        return bucket ^ (mark * 0x5BD1E995 % self._buckets)

    def _find(self, mark: int, bucket: int) -> int | None:
        slots = self._marks[_SLOTS * bucket : _SLOTS * (bucket + 1)]
        return _SLOTS * bucket + slots.index(mark) if mark in slots else None

    def _slot_of(self, url: str) -> int | None:
        mark, bucket = self._place(url)
        first = self._find(mark, bucket)
        return self._find(mark, self._other(mark, bucket)) if first is None else first


def _buckets(capacity: int) -> int:
    """A power of two."""
    return 1 << int(capacity / _SLOTS / _MOST_FILL).bit_length()


def _make(parameters: Parameters, options: Options) -> LocalSet:
    buckets = _buckets(parameters.capacity)
    return SimpleSet(
        "cuckoo",
        lambda: CuckooFilter(buckets, options.moves),
        parameters={"buckets": buckets},
        capacity=parameters.capacity,
    )


def _cost(count: int, _error_rate: float, _options: Options) -> Cost:
    buckets = _buckets(count)
    rate = 2 * count / buckets / _MARKS
    return Cost(memory_bytes=2 * _SLOTS * buckets, false_positive_rate=rate, expected_lost=count * rate / 2)


DESCRIPTOR = Descriptor(
    name="cuckoo", make=_make, options=Options, needs=frozenset({"capacity"}), cost=_cost, can_forget=True
)
