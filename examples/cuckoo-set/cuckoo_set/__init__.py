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

_MARKS = 2**16 - 1
"""Zero is an empty slot."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the set."""

    moves: Annotated[int, Meta(ge=1, le=10_000, description="How many marks may move to make room for one.")] = 500


class CuckooFilter:
    """A `SimpleFilter`. Once there is no room for a mark, it takes every URL for a known one."""

    def __init__(self, buckets: int, moves: int) -> None:
        self._buckets, self._moves = buckets, moves
        self._marks = array("H", bytes(8 * buckets))
        self._used, self._is_full = 0, False

    def add(self, url: str, /) -> bool:
        if self.has(url):
            return False
        mark, bucket = self._place(url)
        for move in range(self._moves):
            if (slot := self._find(0, mark, bucket)) is not None:
                self._marks[slot] = mark
                self._used += 1
                return True
            bucket = self._other(mark, bucket)
            slot = 4 * bucket + move % 4
            mark, self._marks[slot] = self._marks[slot], mark
        self._is_full = True
        return True

    def has(self, url: str, /) -> bool:
        return self._is_full or self._slot_of(url) is not None

    def discard(self, url: str, /) -> bool:
        if (slot := self._slot_of(url)) is None:
            return False
        self._marks[slot] = 0
        self._used -= 1
        return True

    def rate(self) -> float:
        return 1.0 if self._is_full else 2 * self._used / self._buckets / _MARKS

    def memory_bytes(self) -> int:
        return 2 * len(self._marks)

    def dump(self) -> bytes:
        return bytes([self._is_full]) + self._marks.tobytes()

    def load(self, data: bytes, /) -> None:
        self._is_full, self._marks = bool(data[0]), array("H", data[1:])
        self._used = len(self._marks) - self._marks.count(0)

    def _place(self, url: str) -> tuple[int, int]:
        digest = int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        return digest % _MARKS + 1, (digest >> 32) % self._buckets

    def _other(self, mark: int, bucket: int) -> int:
        return bucket ^ (mark * 0x5BD1E995 % self._buckets)

    def _find(self, wanted: int, mark: int, bucket: int) -> int | None:
        """The slot of the wanted mark in the two buckets of another mark, or of itself."""
        for each in (bucket, self._other(mark, bucket)):
            slots = self._marks[4 * each : 4 * each + 4]
            if wanted in slots:
                return 4 * each + slots.index(wanted)
        return None

    def _slot_of(self, url: str) -> int | None:
        mark, bucket = self._place(url)
        return self._find(mark, mark, bucket)


def _buckets_for(capacity: int) -> int:
    """A power of two, so that at most nine of ten slots are in use."""
    return 1 << int(capacity / 4 / 0.9).bit_length()


def _make(parameters: Parameters, options: Options) -> LocalSet:
    capacity, buckets = parameters.capacity, _buckets_for(parameters.capacity)
    made_with = {"buckets": buckets}
    return SimpleSet("cuckoo", lambda: CuckooFilter(buckets, options.moves), parameters=made_with, capacity=capacity)


def _cost(count: int, _error_rate: float, _options: Options) -> Cost:
    rate = 2 * count / _buckets_for(count) / _MARKS
    return Cost(memory_bytes=8 * _buckets_for(count), false_positive_rate=rate, expected_lost=count * rate / 2)


DESCRIPTOR = Descriptor(
    name="cuckoo", make=_make, options=Options, needs=frozenset({"capacity"}), cost=_cost, can_forget=True
)
