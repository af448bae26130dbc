"""The simplest baseline: a Python set of the URLs themselves."""

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from visited.batch import check_batch
from visited.bits.memory import object_bytes
from visited.descriptor import Descriptor
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "raw"


class RawUrlSet:
    """Stores each URL as it is. It is exact, and needs 100 to 200 bytes per URL, more than any other set.

    When Python's table grows, the C library may keep the memory of the smaller tables, at most as much as the table has
    now. glibc does so after the first large block was freed, unless the process forbids it, as a crawl does.
    """

    def __init__(self) -> None:
        self._urls: set[str] = set()
        self._url_bytes = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = []
        for url in urls:
            before = len(self._urls)
            self._urls.add(url)
            new = len(self._urls) > before
            verdicts.append(new)
            if new:
                self._url_bytes += object_bytes(url)
        return verdicts

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        return [url in self._urls for url in urls]

    def urls(self) -> Iterator[str]:
        """List the URLs, in any order."""
        return iter(self._urls)

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        known = self._urls.intersection(urls)
        self._urls -= known
        self._url_bytes -= sum(map(object_bytes, known))
        return len(known)

    def describe(self) -> VisitedStats:
        return VisitedStats(
            backend=BACKEND,
            count=len(self._urls),
            capacity=None,
            memory_bytes=sys.getsizeof(self._urls) + self._url_bytes,
            details={"url_bytes": self._url_bytes},
        )

    def dump(self, file: BinaryIO, /) -> None:
        encoded = [url.encode("utf-8", "surrogatepass") for url in self._urls]
        sizes = np.array([len(data) for data in encoded], dtype="<u4")
        state: dict[str, Value] = {"count": len(encoded)}
        parts = [sizes.tobytes(), b"".join(encoded)]
        write_snapshot(file, backend=BACKEND, parameters={}, state=state, parts=parts)

    def load(self, file: BinaryIO, /) -> None:
        self._urls = set()
        self._url_bytes = 0
        snapshot = read_snapshot(file, backend=BACKEND, parameters={})
        if len(snapshot.parts) != 2 or len(snapshot.parts[0]) != snapshot.integer("count") * 4:
            raise SnapshotRefused("expected the sizes and the text of all URLs in the snapshot")
        ends = np.cumsum(np.frombuffer(snapshot.parts[0], dtype="<u4"), dtype=np.int64).tolist()
        text = bytes(snapshot.parts[1])
        if (ends[-1] if ends else 0) != len(text):
            raise SnapshotRefused("the sizes of the URLs in the snapshot do not add up to their text")
        starts = [0, *ends[:-1]]
        self._urls = {
            text[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=False)
        }
        self._url_bytes = sum(map(object_bytes, self._urls))

    def __len__(self) -> int:
        return len(self._urls)

    async def aclose(self) -> None:
        """Nothing to close."""


DESCRIPTOR = Descriptor(name=BACKEND, make=lambda _parameters, _options: RawUrlSet(), is_exact=True, can_forget=True)
