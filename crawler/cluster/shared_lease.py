"""The end of a lease, in memory that the agent of a machine shares with the process of a part.

A message would have to be read before it counts, and a process may be busy for longer than a lease lasts, while it
opens a large store for example.
"""

import mmap
import os
import sys
import tempfile
from pathlib import Path
from typing import Self

_BYTES = 8


class SharedLease:
    """One number. Who reads it sees what was written last."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is that of a `made` one, which a process has inherited."""
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _BYTES)
        # An aligned number of this size is written and read at once.
        self._number = memoryview(self._memory).cast("d")

    @classmethod
    def made(cls, until: float) -> Self:
        """Shared with the processes that inherit its descriptor. The caller closes it. Raises `OSError`."""
        if sys.platform == "linux":
            descriptor = os.memfd_create("lease")
        else:
            descriptor, name = tempfile.mkstemp()
            Path(name).unlink()
        os.truncate(descriptor, _BYTES)
        shared = cls(descriptor)
        shared.renew(until)
        return shared

    def until(self) -> float:
        """When the lease ends, by CLOCK_BOOTTIME."""
        return float(self._number[0])

    def renew(self, until: float) -> None:
        """The lease ends at `until`: later than before, or at once."""
        self._number[0] = until

    def close(self) -> None:
        """Closing twice is harmless. For others, the lease stays as it is."""
        if not self._memory.closed:
            self._number.release()
            self._memory.close()
            os.close(self.descriptor)
