"""URLs that a filter must never swallow."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import msgspec

from visited.batch import check_batch
from visited.bits.memory import object_bytes
from visited.protocol import SnapshotRefused, VisitedSet, VisitedStats
from visited.snapshot import Value, clear_set, read_snapshot, write_snapshot

BACKEND = "white-list"


class WhiteListed:
    """A visited set that keeps the URLs of a list exactly, and leaves the others to the inner set."""

    def __init__(self, inner: VisitedSet, urls: Iterable[str]) -> None:
        self._inner = inner
        self._is_met = dict.fromkeys(urls, False)
        self._url_bytes = sum(map(object_bytes, self._is_met))

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        is_met = self._is_met
        others = [url for url in urls if url not in is_met]
        if len(others) == len(urls):
            return await self._inner.add_many(urls)
        of_others = iter(await self._inner.add_many(others)) if others else iter(())
        verdicts = []
        for url in urls:
            if url in is_met:
                verdicts.append(not is_met[url])
                is_met[url] = True
            else:
                verdicts.append(next(of_others))
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        others = [url for url in urls if url not in self._is_met]
        forgotten = await self._inner.forget_many(others) if others else 0
        for url in dict.fromkeys(urls):
            if self._is_met.get(url):
                self._is_met[url] = False
                forgotten += 1
        return forgotten

    def describe(self) -> VisitedStats:
        stats = self._inner.describe()
        return msgspec.structs.replace(
            stats,
            count=len(self),
            memory_bytes=stats.memory_bytes + sys.getsizeof(self._is_met) + self._url_bytes,
            details={**stats.details, "white_list_urls": len(self._is_met), "white_list_met": self._met_count()},
        )

    def dump(self, file: BinaryIO, /) -> None:
        met = bytes(self._is_met.values())
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state={}, parts=[met])
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._is_met = dict.fromkeys(self._is_met, False)
        try:
            snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
            if [len(part) for part in snapshot.parts] != [len(self._is_met)]:
                raise SnapshotRefused(f"expected {len(self._is_met)} bytes for the white list")
        except SnapshotRefused:
            clear_set(self._inner)
            raise
        self._inner.load(file)
        self._is_met = {url: bool(met) for url, met in zip(self._is_met, snapshot.parts[0], strict=True)}

    def __len__(self) -> int:
        return len(self._inner) + self._met_count()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _met_count(self) -> int:
        return sum(self._is_met.values())

    def _parameters(self) -> dict[str, Value]:
        text = "\n".join(self._is_met).encode("utf-8", "surrogatepass")
        return {"urls": len(self._is_met), "digest": hashlib.sha256(text).hexdigest()}
