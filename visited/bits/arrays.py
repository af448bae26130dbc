"""The types of what a kernel reads and writes. They name no type of NumPy, so that nothing imports it for them."""

from typing import Protocol

from visited.bits.memory import Memory


class Array(Protocol):
    """An array of NumPy, or `array.array`: numbers in one block of memory."""

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        ...


Writable = Memory | memoryview | Array
Part = bytes | Memory | memoryview
