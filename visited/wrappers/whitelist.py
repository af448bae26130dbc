"""URLs that a filter must never lose."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import msgspec

from visited.batch import check_batch
from visited.bits.memory import object_bytes
from visited.protocol import SnapshotRefused, VisitedSet, VisitedStats, clear_set, is_prompt, list_urls
from visited.snapshot import Value, read_snapshot, write_snapshot

BACKEND = "white-list"


class WhiteListSet:
    """A visited set that stores the URLs of a list exactly, and passes all others to the inner set."""

    def __init__(self, inner: VisitedSet, urls: Iterable[str]) -> None:
        self._inner = inner
        self.is_prompt = is_prompt(inner)
        self._seen = dict.fromkeys(urls, False)
        self._url_bytes = sum(map(object_bytes, self._seen))

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        seen = self._seen
        others = [url for url in urls if url not in seen]
        if len(others) == len(urls):
            return await self._inner.add_many(urls)
        verdicts_of_others = iter(await self._inner.add_many(others)) if others else iter(())
        verdicts = []
        for url in urls:
            if url in seen:
                verdicts.append(not seen[url])
                seen[url] = True
            else:
                verdicts.append(next(verdicts_of_others))
        return verdicts

    def urls(self) -> Iterator[str]:
        """List the URLs of the list that were added, and those of the inner set. Raises `CannotList`."""
        return chain((url for url, is_seen in self._seen.items() if is_seen), list_urls(self._inner))

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        others = [url for url in urls if url not in self._seen]
        forgotten = await self._inner.forget_many(others) if others else 0
        for url in dict.fromkeys(urls):
            if self._seen.get(url):
                self._seen[url] = False
                forgotten += 1
        return forgotten

    def describe(self) -> VisitedStats:
        stats = self._inner.describe()
        return msgspec.structs.replace(
            stats,
            count=len(self),
            memory_bytes=stats.memory_bytes + sys.getsizeof(self._seen) + self._url_bytes,
            details={**stats.details, "white_list_urls": len(self._seen), "white_list_met": self._seen_count()},
        )

    def dump(self, file: BinaryIO, /) -> None:
        flags = bytes(self._seen.values())
        write_snapshot(file, backend=BACKEND, parameters=self._parameters(), state={}, parts=[flags])
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._seen = dict.fromkeys(self._seen, False)
        try:
            snapshot = read_snapshot(file, backend=BACKEND, parameters=self._parameters())
            if [len(part) for part in snapshot.parts] != [len(self._seen)]:
                raise SnapshotRefused(f"expected {len(self._seen)} bytes for the white list")
        except SnapshotRefused:
            clear_set(self._inner)
            raise
        self._inner.load(file)
        self._seen = {url: bool(flag) for url, flag in zip(self._seen, snapshot.parts[0], strict=True)}

    def __len__(self) -> int:
        return len(self._inner) + self._seen_count()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _seen_count(self) -> int:
        return sum(self._seen.values())

    def _parameters(self) -> dict[str, Value]:
        text = "\n".join(self._seen).encode("utf-8", "surrogatepass")
        return {"urls": len(self._seen), "digest": hashlib.sha256(text).hexdigest()}
